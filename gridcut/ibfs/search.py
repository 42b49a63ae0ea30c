"""Incremental breadth-first search: maximum flow on a range of cells, with both forests grown from scratch.

plain_ibfs.py has the same steps in plain Python, without lists by depth and sets of arcs; read it first.

In each step, the forest with fewer repaired cells so far grows by a whole level.  Where the forests meet, they form an
augmenting path.  Depths are shortest distances throughout, so paths are short and a cell is scanned once per depth.
Unlike in [1], the graph is the implicit grid, the trees have no lists of children (these are the neighbours whose
parent is the cell), and repairs are exact (see forest.py).

On long and narrow grids, an augmentation may change so much of the forests that push-relabel is a thousand times as
fast.  So the search gives up if augmentations have changed a large part of sqrt(cells) cells on average: MUCH of it
once half as many cells as there are have been repaired, LATE_MUCH once LATE times as many.  Few images reach them; see
benchmarks/notes/grids.md.  The first bound is a multiple of `patience`.  The flow found so far remains.

Arrays as in gridcut/core/grid.py and forest.py.  Arcs that leave the range must have no capacity.

[1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.

Time O(n^2 m) as [1], one search; memory: the lists in forest.py.
"""

import math

import numpy as np

from gridcut.device import inner_kernel, lowest_bit, plain_kernel
from gridcut.ibfs.forest import FREE, ONE, ROOT, ZERO, augment, compact, repair, use_depths

UNTIL_SINK, UNTIL_BOTH = 0, 1  # stop when the sink forest is complete; when both forests are complete
FOREVER = np.inf  # patience of a search that never gives up
MUCH, LATE_MUCH, LATE = 0.75, 0.25, 5
SETUP_CELLS = 2048  # that are repaired in the time in which push-relabel starts


@inner_kernel
def make_roots(first, last, excess, label, parent):
    """Make the cells with excess or a deficit roots, all others free; returns the number of roots of each forest."""
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
            parent[p] = FREE
    return sources, sinks


@inner_kernel
def open_arcs(u, side, residual, step, label):
    """A mask with bit k set if the forest can grow or meet the other one along arc k of u; without branches on data."""
    arcs = np.uint64(len(step))
    mask = ZERO
    if side > 0:
        for i in range(len(step)):
            k = np.uint64(i)
            mask |= np.uint64((label[u + step[i]] <= 0) & (residual[u * arcs + k] > 0)) << k
    else:
        for i in range(len(step)):
            k = np.uint64(i)
            w = u + step[i]
            mask |= np.uint64((label[w] >= 0) & (residual[w * arcs + (k ^ ONE)] > 0)) << k
    return mask


@inner_kernel
def deeper(depth, other):
    """The larger of two depths."""
    return depth if depth > other else other


@inner_kernel
def grow_level(cells, side, level, limits, lists, waiting, found, bounds, arrays):
    """Scan the cells of one level: grow the forest of `side` by the next level, and augment where the forests meet.

    cells            first and end of a range of cells to scan if the third is True, else of entries of the first list
    limits           the depths at which a cell of the source forest, and of the sink forest, has to be scanned
    lists            of the cells of this level, of the next one, and of the other forest's next level, which holds
                     `waiting`
    arrays           excess, residual, step, jump, forest, work
    found            numbers of repaired cells and of augmentations so far
    bounds           the first and the late number of repaired cells from which the search may give up, and sqrt(cells)

    Returns the lengths of both lists, the numbers of augmentations and of repaired cells of each forest, and whether
    the search gives up, with some cells not scanned.
    """
    excess, residual, step, jump, forest, work = arrays
    label, parent = forest.label, forest.parent
    source_orphans, sink_orphans = work.source_orphans, work.sink_orphans
    i, end, raster = cells
    now, after, others = lists
    source_limit, sink_limit = limits
    state = residual, step, jump, forest, work
    augmentations = source_work = sink_work = grown = 0
    while i < end:
        u = np.uint64(i) if raster else np.uint64(now[i])
        i += 1
        if label[u] != level:
            continue
        mask = open_arcs(u, side, residual, step, label)
        while mask != ZERO:
            k = lowest_bit(mask)
            w = u + jump[k]
            if label[w] == 0:
                mask &= mask - ONE
                if grown == after.size:
                    grown = compact(after, grown, label, level + side)
                label[w] = level + side
                parent[w] = k ^ ONE
                after[grown] = w
                grown += 1
                continue
            augmentations += 1
            from_source, to_sink = augment(u, w, k, side, excess, residual, jump, parent, source_orphans, sink_orphans)
            if from_source > 0:
                frontier, listed = (after, grown) if side > 0 else (others, waiting)
                listed, moved = repair(1, source_limit, False, source_orphans, from_source, frontier, listed, *state)
                source_work += moved
                if side > 0:
                    grown = listed
                else:
                    waiting = listed
            if to_sink > 0:
                frontier, listed = (others, waiting) if side > 0 else (after, grown)
                listed, moved = repair(-1, sink_limit, False, sink_orphans, to_sink, frontier, listed, *state)
                sink_work += moved
                if side > 0:
                    waiting = listed
                else:
                    grown = listed
            repaired = found[0] + source_work + sink_work
            if repaired > bounds[0]:
                much = bounds[2] * (MUCH if repaired < bounds[1] else LATE_MUCH)
                if repaired > much * (found[1] + augmentations):
                    return grown, waiting, augmentations, source_work, sink_work, True
            if label[u] != level:
                break
            mask = open_arcs(u, side, residual, step, label)
    return grown, waiting, augmentations, source_work, sink_work, False


@plain_kernel
def search(first, last, until, patience, excess, residual, step, jump, forest, work):
    """Find a maximum flow within the cells first..last; `jump` holds the steps as an array, for indexing.

    Returns the largest depth, the numbers of augmentations and of repaired cells, and whether the search gave up.
    """
    cells = last - first
    first_bound = patience * (cells / 2 + SETUP_CELLS)
    bounds = first_bound, first_bound + LATE * cells, math.sqrt(cells)
    source_now, source_next = work.source_now, work.source_next
    sink_now, sink_next = work.sink_now, work.sink_next
    # The first step of each forest scans all cells in raster order instead of a list.
    sources, sinks = make_roots(first, last, excess, forest.label, forest.parent)
    source_depth = 1
    sink_depth = 1
    source_listed = False
    sink_listed = False
    source_work = 0
    sink_work = 0
    augmentations = 0
    while True:
        if sinks == 0 and (until != UNTIL_BOTH or sources == 0):
            break
        use_depths(deeper(source_depth, sink_depth) + 3, work.ends, work.head)
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
            waiting = 0  # its list is empty: no cell can enter that level before its first step
        grown, waiting, more, source_moved, sink_moved, gave_up = grow_level(
            (first if raster else 0, last if raster else count, raster), side, level, (source_limit, sink_limit),
            (now, after, others), waiting, (source_work + sink_work, augmentations), bounds,
            (excess, residual, step, jump, forest, work),
        )  # fmt: skip
        augmentations += more
        source_work += source_moved
        sink_work += sink_moved
        if gave_up:
            return deeper(source_depth, sink_depth), augmentations, source_work + sink_work, True
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
    return deeper(source_depth, sink_depth), augmentations, source_work + sink_work, False
