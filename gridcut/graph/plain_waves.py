"""The GPU default for sparse graphs without its tricks: waves on layered networks, in plain Python.

Read this first.  `graph_waves_cuda.py` does the same steps, all nodes of a level in parallel, and tests compare both:

    search   heights become exact distances to the deficits (number of arcs, found by a breadth-first search backwards)
    stop     if no node with excess can reach a deficit
    wave     the levels from the farthest one with excess to the nearest: each node pushes its excess to nodes exactly
             one level below, which push it on when the wave reaches their level

Heights do not change during a wave.  What a node cannot push stays there for the next phase: all its arcs to the level
below are saturated.

Termination: a push adds an arc from a level to the one above, so no distance decreases.  The nodes that keep excess had
all shortest arcs saturated, so their distances increase, at most to the number of nodes: O(n^2) phases.

What `graph_waves_cuda.py` adds: lists of the nodes with excess, per level, so that a wave reads no others; one block of
threads for levels of few nodes; searches that end when all nodes with excess have been found.

[1] Dinic. "Algorithm for solution of a problem of maximum flow in networks with power estimation." 1970.
[2] Tarjan. "A simple version of Karzanov's blocking flow algorithm." Operations Research Letters 2, 1984.
"""

import numpy as np


def minimum_cut(arcs, source, sink):
    """Labels of the minimum cut (True: source side), as `gridcut.graph_max_flow` returns them.

    arcs   (tail, head, capacity) of each arc;  source, sink: integers, one per node
    """
    excess = [int(s) - int(t) for s, t in zip(source, sink, strict=True)]
    residual: list[dict] = [{} for _ in excess]
    for tail, head, capacity in arcs:
        if tail != head:
            residual[tail][head] = residual[tail].get(head, 0) + int(capacity)
            residual[head].setdefault(tail, 0)
    while True:
        levels = search(excess, residual)
        height = {x: d for d, level in enumerate(levels) for x in level}
        if not any(excess[x] > 0 for x in height):
            return np.array([x not in height for x in range(len(excess))], bool)
        wave(levels, height, excess, residual)


def search(excess, residual):
    """The nodes that can reach a deficit, by their distance from it."""
    levels = [[x for x, e in enumerate(excess) if e < 0]]
    found = set(levels[0])
    while levels[-1]:
        before = {x for y in levels[-1] for x in residual[y] if residual[x][y] > 0} - found
        levels.append(sorted(before))
        found |= before
    return levels


def wave(levels, height, excess, residual):
    """Push all excess downwards, level by level."""
    for level in reversed(levels[1:]):
        for x in level:
            for y in residual[x]:
                amount = min(excess[x], residual[x][y])
                if amount > 0 and height.get(y) == height[x] - 1:
                    excess[x] -= amount
                    residual[x][y] -= amount
                    residual[y][x] += amount
                    excess[y] += amount
