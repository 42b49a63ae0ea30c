"""Continued growth of two forests after arcs or cells have changed: for merges of ranges and warm starts.

Cells that may grow or meet the other forest wait in a ring and are scanned in the order in which they became active, as
in [1].  Depths stay consistent (a child's is its parent's plus one) but are no longer shortest.  So this is efficient
for small changes only, and `budget` limits the repairs, above which a search from scratch is cheaper.

It ends: `budget` bounds the repairs, an augmentation pushes at least one unit, and otherwise a cell becomes active only
when it joins a forest.

[1] Boykov, Kolmogorov. "An experimental comparison of min-cut/max-flow algorithms for energy minimization in
vision." PAMI 26(9), 2004.
"""

import numpy as np

from gridcut.device import inner_kernel, kernel
from gridcut.device.atomics import atomic_add, atomic_load
from gridcut.ibfs.forest import ONE, ZERO, activate, augment, make_merge_work, repair, steps_as_array
from gridcut.ibfs.seams import restore_seam
from gridcut.ibfs.search import UNTIL_BOTH, search


# args: not bundled yet
@inner_kernel
def scan_active(
    budget, excess, residual, step, jump, label, parent, link, queued,
    source_orphans, sink_orphans, detached, queue, ring, ends, head,
):  # fmt: skip
    """`grow_active` until the next cell is too deep for `head`: numbers of augmentations and of repaired cells."""
    arcs = np.uint64(len(step))
    limit = head.size - 4  # `repair` frees cells that would reach it, and growth attaches them again
    augmentations = 0
    repaired = 0
    while ends[0] != ends[1] and repaired <= budget:
        u = np.uint64(ring[ends[0]])
        level = np.int64(label[u])
        if abs(level) >= limit:
            break
        ends[0] = ends[0] + 1 if ends[0] + 1 < ring.size else 0
        queued[u] = 0
        if level == 0:
            continue
        side = 1 if level > 0 else -1
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
                label[w] = label[u] + side
                parent[w] = k ^ ONE
                activate(w, queued, ring, ends)
                k += ONE
                continue
            augmentations += 1
            from_source, to_sink = augment(u, w, k, side, excess, residual, jump, parent, source_orphans, sink_orphans)
            if from_source > 0:
                _, moved = repair(
                    1, limit, True, residual, step, jump, label, parent, link, queued,
                    source_orphans, from_source, detached, 0, detached, queue, ring, ends, head,
                )  # fmt: skip
                repaired += moved
            if to_sink > 0:
                _, moved = repair(
                    -1, limit, True, residual, step, jump, label, parent, link, queued,
                    sink_orphans, to_sink, detached, 0, detached, queue, ring, ends, head,
                )  # fmt: skip
                repaired += moved
            now = np.int64(label[u]) * side
            if now <= 0:
                break
            if now >= limit:
                activate(u, queued, ring, ends)
                break
    return augmentations, repaired


@kernel
def grow_active(budget, deepest, excess, residual, step, forest, work):
    """Scan active cells until none is left, or more than `budget` cells have been repaired.

    `deepest` must bound all depths.  Returns the new bound and the numbers of augmentations and of repaired cells; if
    the latter exceeds the budget, the flow is valid but the forests are not complete.
    """
    label, parent, link, queued = forest
    source_orphans, sink_orphans = work.source_orphans, work.sink_orphans
    detached, queue, ring, ends = work.detached, work.queue, work.ring, work.ends
    jump = steps_as_array(step)
    head = work.head
    if head.size < deepest + 4:
        head = np.full(deepest + 4, -1, detached.dtype)
    augmentations = 0
    repaired = 0
    while ends[0] != ends[1] and repaired <= budget:
        if np.int64(abs(label[np.uint64(ring[ends[0]])])) >= head.size - 4:
            head = np.full(2 * head.size, -1, detached.dtype)
            continue
        more, moved = scan_active(
            budget - repaired, excess, residual, step, jump, label, parent, link, queued,
            source_orphans, sink_orphans, detached, queue, ring, ends, head,
        )  # fmt: skip
        augmentations += more
        repaired += moved
    while ends[0] != ends[1]:
        queued[np.uint64(ring[ends[0]])] = 0
        ends[0] = ends[0] + 1 if ends[0] + 1 < ring.size else 0
    return head.size - 4, augmentations, repaired


# Columns of the tasks of `merge_ranges`: first and last cell of the range; number of its seam, and first cell after it;
# number of its strips; number of the task that merges the range with a neighbour (-1: none), and which of its two
# ranges this one is.
FIRST, LAST, SEAM, CELL, STRIPS, PARENT, SIDE = range(7)
MERGED, SEARCHED, GAVE_UP = range(3)  # results of a task


def merge_tasks(bounds, seams, cells):
    """Merges of the strips between the lines `bounds` to one range, which is halved until halves are strips.

    Returns rows of the columns above and, for both ranges of each, the number of cells in forests: of strips, `cells`.
    """
    tasks: list[list[int]] = []
    reached: list[list[int]] = []
    parts = [(0, len(bounds) - 1, -1, 0)]
    for begin, end, parent, side in parts:  # grows
        if end - begin == 1:
            reached[parent][side] = cells[bounds[begin]]
            continue
        middle = (begin + end) // 2
        first, cell, last = (seams.cell(bounds[i]) for i in (begin, middle, end))
        parts += [(begin, middle, len(tasks), 0), (middle, end, len(tasks), 1)]
        tasks.append([first, last, middle - 1, cell, end - begin, parent, side])
        reached.append([0, 0])
    return np.array(tasks, np.int64), np.array(reached, np.int64)


# args: an entry call
@kernel
def merge_ranges(
    tasks, waits, order, abort, taken, share, least_strips, until, patience, deepest, reached, found, least_cells,
    rises, stride, saved, is_cut, excess, residual, step, forest,
):  # fmt: skip
    """Run tasks: merge two ranges at their seam, restored here; then what waited for this last, and so up.

    Threads enter this once: a call from Python takes as long as a small merge, and waits for the interpreter's lock.

    waits[i]           tasks that have to end before task i; order: tasks that wait for none, the first taken[0] begun
    abort[0]           if it is set, no task is begun
    share              a merge that repairs more of the cells in forests ends.  Then the range is searched from scratch
                       or, if it has less than `least_strips` strips or the search gives up, the range that contains it
    until, patience    of the search of the whole grid, and of all searches
    deepest[i, side]   bounds of the depths of both ranges;  reached[i, side]: numbers of cells in forests;  -1: the
                       forests are not complete
    found[i]           numbers of augmentations and of repaired cells, and the result
    """
    rise = rises.max()
    work = make_merge_work(least_cells, forest.link)
    jump = steps_as_array(step)
    while True:
        at = atomic_add(taken, 0, 1)
        if at >= order.size:
            return
        i = np.int64(order[at])
        while i >= 0:
            if atomic_load(abort, 0):
                return
            task = tasks[i]
            first, last, cell, parent = task[FIRST], task[LAST], task[CELL], task[PARENT]
            if work.queue.size <= last - first:
                work = make_merge_work(last - first, forest.link)
            is_cut[task[SEAM]] = 0
            restore_seam(residual, step, rises, cell, stride, saved[task[SEAM]])
            depth, cells = max(deepest[i, 0], deepest[i, 1]), np.int64(-1)
            if reached[i].min() >= 0:
                for p in range(cell - rise * stride, cell + rise * stride):
                    v = np.uint64(p)
                    if forest.label[v] != 0:
                        activate(v, forest.queued, work.ring, work.ends)
                budget = np.int64(share * reached[i].sum())
                depth, found[i, 0], found[i, 1] = grow_active(budget, depth, excess, residual, step, forest, work)
                if found[i, 1] <= budget:
                    cells = reached[i].sum()
            if cells < 0 and (parent < 0 or task[STRIPS] >= least_strips):
                depth, augmentations, repaired, gave_up = search(
                    first, last, until if parent < 0 else UNTIL_BOTH, patience,
                    excess, residual, step, jump, forest, work,
                )  # fmt: skip
                found[i, 0] += augmentations
                found[i, 1] += repaired
                found[i, 2] = GAVE_UP if gave_up and parent < 0 else SEARCHED
                if not gave_up:
                    cells = np.int64(0)
                    for p in range(first, last):
                        cells += forest.label[np.uint64(p)] != 0
            if parent < 0:
                deepest[i, 0] = depth
                return
            deepest[parent, task[SIDE]] = depth
            reached[parent, task[SIDE]] = cells
            i = np.int64(parent) if atomic_add(waits, parent, -1) == 1 else np.int64(-1)
