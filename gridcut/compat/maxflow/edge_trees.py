"""The trees in a list of edges are solved before the edges are sorted, which takes most of the time of a tree.

A leaf, a node with a single edge, pushes its excess to its neighbour, or its deficit: as much as the edge carries,
because it has no other use for either.  Then it is removed, and its neighbour may be the next leaf.  This solves a
forest; what remains of any other graph has no leaves, and is solved in integers.  In the opposite order, a leaf is on
the sink side if it keeps a deficit, or if its edge still carries flow to a node of the sink side.

No lists of edges per node are needed: a node has the number of its edges, and their xor, which is its edge if one is
left.  Time and memory O(nodes + edges).

Arrays
  degree[u]   number of edges that are not removed; 0: u is removed, or the last node of its tree
  link[u]     xor of these edges; of a removed leaf its neighbour
  excess[u]   capacity from the source minus capacity to the sink and what was pushed, in units (gridcut/core/units.py)
  leaves[i]   the i-th removed leaf; ~leaf if its edge carries no more flow
"""

from collections.abc import Callable

import numpy as np

from gridcut.core.cut_capacity import Measured, lost
from gridcut.core.solve_exactly import is_accurate
from gridcut.core.units import choose_unit, scale_of, units
from gridcut.device import kernel

MAX_SUM = 2.0**62  # of integer capacities


def cut_with_trees(arcs, source, sink, solve_rest: Callable):
    """Value and sink side, bool (nodes,), of a graph with fewer edges than nodes; None if its capacities are unusual.

    arcs         edges without loops and their capacities, finite
    solve_rest   a function of arcs, source and sink that returns the same, for integers
    """
    nodes, edges = len(source), len(arcs.tail)
    largest = [float(array.max(initial=0)) for array in (source, sink, arcs.forward, arcs.back)]
    degree, link = np.zeros((2, nodes), np.int32)
    most = count_edges(arcs.tail, arcs.head, degree, link)
    unit: float | int = 1
    if source.dtype.kind == "f":
        unit, bound = choose_unit([*largest[:2], most * (largest[2] + largest[3])], None)
        if bound is not None:
            return None
    elif (nodes + edges) * sum(largest) > MAX_SUM:
        return None
    scale = scale_of(unit, None)
    excess, leaves = np.empty(nodes, np.int64), np.empty(nodes, np.int32)
    count = push_leaves(*arcs, source, sink, scale, degree, link, excess, leaves)
    rest = degree > 0
    sink_side = excess < 0
    if rest.any():
        kept = rest[arcs.tail] & rest[arcs.head]
        place = np.cumsum(rest) - 1
        ends = [place[end[kept]] for end in arcs[:2]]
        capacities = [capacity[kept] for capacity in arcs[2:]]
        if scale is not None:
            capacities = [(capacity / unit).astype(np.int64) for capacity in capacities]
        left = excess[rest]
        _, sink_side[rest] = solve_rest(type(arcs)(*ends, *capacities), left.clip(0), (-left).clip(0))
    label_leaves(link, leaves[:count], sink_side)
    value, loss = capacity_of_cut(*arcs, source, sink, sink_side, scale)
    return (value, sink_side) if scale is None or is_accurate(Measured(value, value, loss)) else None


@kernel
def count_edges(tail, head, degree, link):
    """Write the edges of all nodes; returns their largest number."""
    most = np.int32(0)
    for e in range(tail.size):
        u, v = np.uint64(tail[e]), np.uint64(head[e])
        degree[u] += 1
        degree[v] += 1
        link[u] ^= e
        link[v] ^= e
        most = max(most, max(degree[u], degree[v]))
    return most


@kernel
def push_leaves(tail, head, forward, back, source, sink, scale, degree, link, excess, leaves):
    """Write the excesses, and solve and remove leaves until none is left; returns their number."""
    for u in range(excess.size):
        excess[u] = units(source[u], scale) - units(sink[u], scale)
    count = 0
    for u in range(excess.size):
        v = np.uint64(u)
        while degree[v] == 1:
            e = np.uint64(link[v])
            w, out, into = np.uint64(head[e]), units(forward[e], scale), units(back[e], scale)
            if w == v:
                w, out, into = np.uint64(tail[e]), into, out
            held = excess[v]
            amount = min(max(held, -into), out)
            excess[v] = held - amount
            excess[w] += amount
            degree[v] = 0
            degree[w] -= 1
            link[v] = w
            link[w] ^= e
            leaves[count] = v if amount < out else ~v
            count += 1
            v = w
    return count


@kernel
def label_leaves(link, leaves, sink_side):
    """Label the leaves, of which those that keep a deficit are labelled already."""
    for i in range(leaves.size - 1, -1, -1):
        v = leaves[i]
        if v >= 0:
            sink_side[v] |= sink_side[link[v]]


@kernel
def capacity_of_cut(tail, head, forward, back, source, sink, sink_side, scale):
    """The capacity of the cut, and of floats the loss by rounding."""
    value = forward.dtype.type(0)
    loss = 0.0
    for u in range(sink_side.size):
        paid = source[u] if sink_side[u] else sink[u]
        value += paid
        if scale is not None:
            loss += lost(paid, scale)
    for e in range(tail.size):
        is_far = sink_side[np.uint64(head[e])]
        if sink_side[np.uint64(tail[e])] != is_far:
            paid = forward[e] if is_far else back[e]
            value += paid
            if scale is not None:
                loss += lost(paid, scale)
    return value, loss
