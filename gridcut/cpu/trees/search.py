"""Incremental breadth-first search: maximum flow on a range of cells, both forests grown from nothing.

The forests grow in turns, a whole level at a time, the one that has cost less mending so far first; where they
meet, an augmenting path ends.  Depths are shortest distances throughout, so paths are short and a cell is scanned
once a depth.  Unlike [1] the graph is the implicit grid, the trees have no lists of children (the neighbours whose
parent is the cell), and mending is exact (see forest.py).

Arrays as in gridcut/grid.py and forest.py.  Arcs that leave the range must have no capacity.

[1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.

Time O(n^2 m) as [1]; memory: the lists in forest.py.
"""

import numpy as np

from gridcut.cpu.trees.forest import NONE, ONE, ROOT, ZERO, augment, compact, mend
from gridcut.device import kernel

EITHER, SINK, BOTH = 0, 1, 2  # stop once: no path is left; the sink forest is complete; both forests are


@kernel
def plant(first, last, excess, label, parent):
    """Make the cells with excess and deficit roots, all others free; returns how many roots of each kind."""
    sources = 0
    sinks = 0
    for p in range(first, last):
        e = excess[p]
        if e > 0:
            label[p] = 1
            parent[p] = ROOT
            sources += 1
        elif e < 0:
            label[p] = -1
            parent[p] = ROOT
            sinks += 1
        else:
            label[p] = 0
            parent[p] = NONE
    return sources, sinks


@kernel
def search(first, last, until, excess, residual, jump, forest, work):
    """Maximum flow among the cells first..last; returns the largest depth, and the numbers of
    augmentations and of cells mended."""
    label, parent = forest.label, forest.parent
    arcs = np.uint64(jump.size)
    source_now, source_next = work.source_now, work.source_next
    sink_now, sink_next = work.sink_now, work.sink_next
    head = np.full(256, -1, work.loose.dtype)
    # The first turn of each forest scans all cells in order instead of a list.
    sources, sinks = plant(first, last, excess, label, parent)
    source_depth = 1
    sink_depth = 1
    source_listed = False
    sink_listed = False
    source_work = 0
    sink_work = 0
    augmentations = 0
    while True:
        if sinks == 0 and (until != BOTH or sources == 0):
            break
        if sources == 0 and until == EITHER:
            break
        if max(source_depth, sink_depth) + 3 > head.size:
            head = np.full(2 * head.size, -1, work.loose.dtype)
        if not source_listed or sinks == 0:
            side = 1
        elif not sink_listed or sources == 0:
            side = -1
        else:
            side = 1 if source_work <= sink_work else -1
        source_limit = source_depth
        sink_limit = sink_depth
        if side > 0:
            now, after, others, waiting, count = source_now, source_next, sink_now, sinks, sources
            level = source_depth
            source_limit += 1
            raster = not source_listed
            source_listed = True
        else:
            now, after, others, waiting, count = sink_now, sink_next, source_now, sources, sinks
            level = -sink_depth
            sink_limit += 1
            raster = not sink_listed
            sink_listed = True
        if not sink_listed:
            waiting = 0  # nothing is listed; no cell can enter that level before its first turn
        grown = 0
        i = first if raster else 0
        end = last if raster else count
        while i < end:
            u = np.uint64(i) if raster else np.uint64(now[i])
            i += 1
            if label[u] != level:
                continue
            k = ZERO
            while k < arcs:
                w = u + jump[k]
                meets = np.int64(label[w]) * side
                if meets > 0:
                    k += ONE
                    continue
                r = np.int64(residual[u * arcs + k] if side > 0 else residual[w * arcs + (k ^ ONE)])
                if r <= 0:
                    k += ONE
                    continue
                if meets == 0:
                    if grown == after.size:
                        grown = compact(after, grown, label, level + side)
                    label[w] = level + side
                    parent[w] = k ^ ONE
                    after[grown] = w
                    grown += 1
                    k += ONE
                    continue
                augmentations += 1
                if side > 0:
                    a, b = u, w
                    there, back = u * arcs + k, w * arcs + (k ^ ONE)
                else:
                    a, b = w, u
                    there, back = w * arcs + (k ^ ONE), u * arcs + k
                amount, from_source, to_sink = augment(
                    a, b, r, excess, residual, jump, parent, work.source_orphans, work.sink_orphans
                )
                residual[there] -= amount
                residual[back] += amount
                if from_source > 0:
                    if side > 0:
                        grown, moved = mend(
                            1, source_limit, False, residual, jump, forest,
                            work.source_orphans, from_source, after, grown, work, head,
                        )  # fmt: skip
                    else:
                        waiting, moved = mend(
                            1, source_limit, False, residual, jump, forest,
                            work.source_orphans, from_source, others, waiting, work, head,
                        )  # fmt: skip
                    source_work += moved
                if to_sink > 0:
                    if side < 0:
                        grown, moved = mend(
                            -1, sink_limit, False, residual, jump, forest,
                            work.sink_orphans, to_sink, after, grown, work, head,
                        )  # fmt: skip
                    else:
                        waiting, moved = mend(
                            -1, sink_limit, False, residual, jump, forest,
                            work.sink_orphans, to_sink, others, waiting, work, head,
                        )  # fmt: skip
                    sink_work += moved
                if label[u] != level:
                    break
        if side > 0:
            source_depth += 1
            source_now, source_next = source_next, source_now
            sources = grown
            if sink_listed:
                sinks = waiting
        else:
            sink_depth += 1
            sink_now, sink_next = sink_next, sink_now
            sinks = grown
            sources = waiting
    return max(source_depth, sink_depth), augmentations, source_work + sink_work
