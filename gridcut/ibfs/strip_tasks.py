"""Strips and their merges as tasks, which threads take in one compiled call each.

A call from Python takes as long as a small merge, and waits for the interpreter's lock.  So each thread stays in
`run_tasks`: it solves the next strip, and then merges ranges as long as it is the second to complete one of both.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import inner_kernel, plain_kernel
from gridcut.device.intrinsics import atomic_add, atomic_load, atomic_store
from gridcut.device.threads import CELL, new_cells
from gridcut.ibfs.forest import FREE, ONE, ORPHAN, ROOT, ZERO, activate, augment, repair, use_depths
from gridcut.ibfs.prepass import aggregate_excess, push_up_to_two_hops
from gridcut.ibfs.search import UNTIL_BOTH, deeper, search

# Continued growth of two forests after arcs or cells have changed: for merges of ranges and warm starts.
#
# Cells that may grow or meet the other forest wait in a ring and are scanned in the order in which they became
# active, as in [1].  Depths stay consistent (a child's is its parent's plus one) but are no longer shortest.  So this
# is efficient for small changes only, and `budget` limits the repairs, above which a search from scratch is cheaper.
#
# It ends: `budget` bounds the repairs, an augmentation pushes at least one unit, and otherwise a cell becomes active
# only when it joins a forest.
#
# [1] Boykov, Kolmogorov. "An experimental comparison of min-cut/max-flow algorithms for energy minimization in
# vision." PAMI 26(9), 2004.


@inner_kernel
def repair_both(limit, from_source, to_sink, residual, step, jump, forest, work):
    """Repair both forests after a merge or changes; returns the number of repaired cells."""
    state = residual, step, jump, forest, work
    _, source = repair(1, limit, True, work.source_orphans, from_source, work.detached, 0, *state)
    _, sink = repair(-1, limit, True, work.sink_orphans, to_sink, work.detached, 0, *state)
    return source + sink


@inner_kernel
def scan_active(budget, excess, residual, step, jump, forest, work):
    """`grow_active` until a cell is too deep for `head`: numbers of augmentations and of repaired cells."""
    label, parent, queued = forest.label, forest.parent, forest.queued
    source_orphans, sink_orphans, ring, ends = work.source_orphans, work.sink_orphans, work.ring, work.ends
    arcs = np.uint64(len(step))
    limit = ends[2] - 4  # `repair` frees cells that would reach it, and growth attaches them again
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
            repaired += repair_both(limit, from_source, to_sink, residual, step, jump, forest, work)
            now = np.int64(label[u]) * side
            if now <= 0:
                break
            if now >= limit:
                activate(u, queued, ring, ends)
                break
    return augmentations, repaired


@plain_kernel
def grow_active(budget, deepest, excess, residual, step, jump, forest, work):
    """Scan active cells until none is left, or more than `budget` cells have been repaired.

    `deepest` must bound all depths.  Returns the new bound and the numbers of augmentations and of repaired cells; if
    the latter exceeds the budget, the flow is valid but the forests are not complete.
    """
    ring, ends, head = work.ring, work.ends, work.head
    use_depths(deepest + 4, ends, head)
    augmentations = 0
    repaired = 0
    while ends[0] != ends[1] and repaired <= budget:
        use_depths(np.int64(abs(forest.label[np.uint64(ring[ends[0]])])) + 5, ends, head)
        more, moved = scan_active(budget - repaired, excess, residual, step, jump, forest, work)
        augmentations += more
        repaired += moved
    while ends[0] != ends[1]:
        forest.queued[np.uint64(ring[ends[0]])] = 0
        ends[0] = ends[0] + 1 if ends[0] + 1 < ring.size else 0
    return ends[2] - 4, augmentations, repaired


# Warm starts: after changes of some capacities, the forests of the last solve are repaired and grown further.
#
# Each changed cell is removed from its tree and becomes a root if it has excess or a deficit.  Its former children
# are repaired as orphans, and only the affected cells are scanned again (forest.py).  The changes
# themselves are reparametrisations as in [1]; the repair of trees after them follows [2].
#
# [1] Kohli, Torr. "Dynamic graph cuts for efficient inference in Markov random fields." PAMI 29(12), 2007.
# [2] Goldberg, Hed, Kaplan, Kohli, Tarjan, Werneck. "Faster and more dynamic maximum flow by incremental
# breadth-first search." ESA 2015.


@plain_kernel
def resume(cells, budget, excess, residual, step, jump, deepest, forest, work):
    """`reroot` and `grow_active` in one call from Python, since passing their arrays takes as long as small changes.

    Returns the new bound of all depths, and the numbers of augmentations and of cells repaired by either.
    """
    repaired = reroot(cells, excess, residual, step, jump, deepest, forest, work)
    deepest, augmentations, more = grow_active(budget, deepest, excess, residual, step, jump, forest, work)
    return deepest, augmentations, repaired, more


@plain_kernel
def reroot(cells, excess, residual, step, jump, deepest, forest, work):
    """Reset the changed cells to roots or free cells, and repair both forests; cells that may grow become active.

    A new root scans all its arcs, so its neighbours need not; those of a freed cell may attach it.

    `deepest` must bound all depths.  Returns the number of repaired cells.
    """
    label, parent, queued = forest.label, forest.parent, forest.queued
    source_orphans, sink_orphans, ring, ends = work.source_orphans, work.sink_orphans, work.ring, work.ends
    arcs = np.uint64(len(step))
    from_source = 0
    to_sink = 0
    for i in range(cells.size):
        v = np.uint64(cells[i])
        level = np.int64(label[v])
        side = 1 if level > 0 else -1
        e = np.int64(excess[v])
        for k in range(arcs):
            q = v + jump[k]
            if label[q] != 0:
                if e == 0:
                    activate(q, queued, ring, ends)
                if level != 0 and parent[q] == np.uint8(k ^ ONE) and label[q] == level + side:
                    parent[q] = ORPHAN
                    if side > 0:
                        source_orphans[from_source] = q
                        from_source += 1
                    else:
                        sink_orphans[to_sink] = q
                        to_sink += 1
        if e == 0:
            label[v] = 0
            parent[v] = FREE
        else:
            label[v] = 1 if e > 0 else -1
            parent[v] = ROOT
            activate(v, queued, ring, ends)
    # A cell that was itself reset (to a root or to free) is no longer an orphan.
    use_depths(deepest + 4, ends, work.head)
    return repair_both(ends[2] - 4, from_source, to_sink, residual, step, jump, forest, work)


# Seams: the arcs between two neighbouring strips of lines, removed so that the strips can be solved separately.
#
# A strip is a range of lines along the first axis (rows, planes), so its cells are contiguous.  The seam before line
# `line` consists of the arcs from the `rise` lines before it, where rise is the arc's offset along the first axis.


@plain_kernel
def cut_seams(residual, step, rises, cells, stride, saved, is_cut):
    """Save and clear the capacities of all arcs across the seams before the lines that start at `cells`."""
    arcs = len(step)
    for seam in range(cells.size):
        i = 0
        for k in range(0, arcs, 2):  # even arcs lead forward
            for p in range(cells[seam] - rises[k] * stride, cells[seam]):
                there = p * arcs + k
                back = (p + step[k]) * arcs + k + 1
                saved[seam, i] = residual[there]
                saved[seam, i + 1] = residual[back]
                residual[there] = 0
                residual[back] = 0
                i += 2
        is_cut[seam] = 1


@plain_kernel
def restore_seam(residual, step, rises, first, stride, saved):
    """Restore the capacities of the seam before the line that starts at cell `first`."""
    arcs = len(step)
    i = 0
    for k in range(0, arcs, 2):
        for p in range(first - rises[k] * stride, first):
            residual[p * arcs + k] = saved[i]
            residual[(p + step[k]) * arcs + k + 1] = saved[i + 1]
            i += 2


class Seams:
    """The seams of a grid before the lines `lines`, in order.

    rises     offsets of the arcs along the first axis
    saved[i]  capacities of the seam before lines[i], while is_cut[i]
    """

    def __init__(self, residual, layout, lines):
        self.residual = residual
        self.layout = layout
        self.lines = lines
        self.rises = np.array([offset[0] for offset in layout.offsets], np.int64)
        size = 2 * int(self.rises[::2].sum()) * layout.stride[0]
        self.saved = np.empty((len(lines), size), residual.dtype)
        self.is_cut = np.zeros(len(lines), np.uint8)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What `run_tasks` restores seams from."""
        return self.rises, self.saved, self.is_cut

    def cell(self, line: int) -> int:
        return self.layout.head + line * self.layout.stride[0]

    def cut(self) -> None:
        """Cut all seams."""
        layout, cells = self.layout, np.array([self.cell(line) for line in self.lines], np.int64)
        cut_seams(self.residual, layout.step, self.rises, cells, layout.stride[0], self.saved, self.is_cut)

    def restore(self) -> None:
        """Restore the seams that are still cut."""
        layout = self.layout
        for i in np.flatnonzero(self.is_cut):
            first = self.cell(self.lines[i])
            restore_seam(self.residual, layout.step, self.rises, first, layout.stride[0], self.saved[i])
            self.is_cut[i] = 0


# Columns of `Tasks.table`: first and last cell of the range; number of its seam, and first cell after it; number of its
# strips; number of the task that merges the range with a neighbour (-1: none), and which of its two ranges this one is.
FIRST, LAST, SEAM, MIDDLE, STRIPS, PARENT, SIDE = range(7)
# Columns of `Tasks.found`: numbers of augmentations and of repaired cells; whether a range was searched after a merge.
AUGMENTATIONS, REPAIRED, SEARCHED = range(3)
TAKEN, SAMPLED, ENDED = 0, CELL, 2 * CELL  # positions in `Tasks.state`, in different cache lines
FAR_FLOW, GAVE_UP = 1, 2  # values of state[ENDED]


class Tasks(NamedTuple):
    """Strips and merges, and what the threads that take them share.

    table, found       a row for each task, see above
    waits[i]           tasks that have to end before task i
    order              the strips; from number state[TAKEN] on, they are not taken yet
    samples            number of strips in `order` that show whether flow goes far
    deepest[i, side]   bounds of the depths of both ranges of a merge
    reached[i, side]   numbers of their cells in forests;  -1: the forests are not complete
    abort, state       no task is begun if abort[0] is set; state[ENDED]: why it was set by a task
    """

    table: np.ndarray
    found: np.ndarray
    waits: np.ndarray
    order: np.ndarray
    samples: int
    deepest: np.ndarray
    reached: np.ndarray
    abort: np.ndarray
    state: np.ndarray

    def size(self, i) -> int:
        """The number of cells of tasks."""
        return int((self.table[i, LAST] - self.table[i, FIRST]).max())


def make_tasks(bounds, seams, samples: int, deepest: int) -> Tasks:
    """The strips between the lines `bounds`, and merges of halves to one range, the first task."""
    rows: list[list[int]] = []
    parts = [(0, len(bounds) - 1, -1, 0)]
    for begin, end, parent, side in parts:  # grows
        middle = (begin + end) // 2
        first, cell, last = (seams.cell(bounds[i]) for i in (begin, middle, end))
        if end - begin > 1:
            parts += [(begin, middle, len(rows), 0), (middle, end, len(rows), 1)]
        rows.append([first, last, middle - 1, cell, end - begin, parent, side])
    table, count = np.array(rows, np.int64), len(rows)
    strips = np.flatnonzero(table[:, STRIPS] == 1)
    order = strips[np.argsort(table[strips, FIRST])]
    if samples:
        sampled = np.unique(np.linspace(0, len(order) - 1, samples).astype(int))
        order, samples = np.concatenate([order[sampled], np.delete(order, sampled)]), len(sampled)
    waits = np.bincount(table[1:, PARENT], minlength=count)
    found, reached = np.zeros((count, 3), np.int64), np.zeros((count, 2), np.int64)
    deepest_of = np.full((count, 2), deepest)
    return Tasks(table, found, waits, order, samples, deepest_of, reached, new_cells(), np.zeros(3 * CELL, np.int64))


@plain_kernel
def solve_strip(axes, first, last, until, patience, excess, residual, step, jump, forest, work):
    """Solve a strip whose seams are cut; axes: as for `aggregate_excess`.  Returns as `search`."""
    push_up_to_two_hops(excess, residual, step, jump, np.uint64(first), np.uint64(last))
    aggregate_excess(excess, residual, axes, first, last)
    return search(first, last, until, patience, excess, residual, step, jump, forest, work)


@plain_kernel
def merge(cell, reach, budget, deepest, excess, residual, step, jump, forest, work):
    """Merge the ranges before and after a cell, by arcs between cells up to `reach` away; returns as `grow_active`."""
    for p in range(cell - reach, cell + reach):
        v = np.uint64(p)
        if forest.label[v] != 0:
            activate(v, forest.queued, work.ring, work.ends)
    return grow_active(budget, deepest, excess, residual, step, jump, forest, work)


@plain_kernel
def count_in_forests(first, last, label):
    """The number of cells in forests; in a grid with a mask, most may be in neither."""
    cells = np.int64(0)
    for p in range(first, last):
        cells += label[np.uint64(p)] != 0
    return cells


# args: an entry call
@plain_kernel
def run_tasks(
    tasks, stop, far, share, least_strips, until, patience, axes, seams, excess, residual, step, jump, forest, work, i
):
    """Solve strips; after each, merge its range with the neighbouring one if that is complete, and so up.

    Returns -1, or the number of a task that needs longer lists than those of `work`, to be passed as `i` with them.

    stop               the strips before this number in the order are taken
    far                if the sampled strips repair more cells per augmentation, the flow goes far
    share              a merge that repairs more of the cells in forests ends.  Then the range is searched from scratch
                       or, if it has less than `least_strips` strips or the search gives up, the range that contains it
    until, patience    of the search of the whole grid, and of all searches
    axes, seams        as for `aggregate_excess`, and `Seams.arrays`
    """
    table, found, deepest, reached = tasks.table, tasks.found, tasks.deepest, tasks.reached
    abort, state = tasks.abort, tasks.state
    rises, saved, is_cut = seams
    stride = axes[1][axes[3]]
    reach = np.int64(0)  # of the arcs across a seam
    for k in range(rises.size):
        reach = deeper(reach, rises[k] * stride)
    at = tasks.samples
    while True:
        if i < 0:
            at = atomic_add(state, TAKEN, 1)
            if at >= stop:
                return -1
            i = np.int64(tasks.order[at])
        while i >= 0:
            if atomic_load(abort, 0):
                return -1
            task = table[i]
            first, last, parent = task[FIRST], task[LAST], task[PARENT]
            own_until = until if parent < 0 else UNTIL_BOTH
            if work.queue.size <= last - first:
                return i
            is_strip = task[STRIPS] == 1
            depth, cells, gave_up = np.int64(1), np.int64(-1), False
            if is_strip:
                depth, found[i, AUGMENTATIONS], found[i, REPAIRED], gave_up = solve_strip(
                    axes, first, last, own_until, patience, excess, residual, step, jump, forest, work
                )
            else:
                is_cut[task[SEAM]] = 0
                restore_seam(residual, step, rises, task[MIDDLE], stride, saved[task[SEAM]])
                depth = deeper(deepest[i, 0], deepest[i, 1])
                if reached[i, 0] >= 0 and reached[i, 1] >= 0:
                    both = reached[i, 0] + reached[i, 1]
                    budget = np.int64(share * both)
                    depth, found[i, AUGMENTATIONS], found[i, REPAIRED] = merge(
                        task[MIDDLE], reach, budget, depth, excess, residual, step, jump, forest, work
                    )
                    if found[i, REPAIRED] <= budget:
                        cells = both
                if cells < 0 and (parent < 0 or task[STRIPS] >= least_strips):
                    found[i, SEARCHED] = 1
                    depth, augmentations, repaired, gave_up = search(
                        first, last, own_until, patience, excess, residual, step, jump, forest, work
                    )
                    found[i, AUGMENTATIONS] += augmentations
                    found[i, REPAIRED] += repaired
            if gave_up and (is_strip or parent < 0):
                state[ENDED] = GAVE_UP
                atomic_store(abort, 0, 1)
                return -1
            if not gave_up and (is_strip or found[i, SEARCHED]):
                cells = count_in_forests(first, last, forest.label)
            if at < tasks.samples and is_strip and atomic_add(state, SAMPLED, 1) == tasks.samples - 1:
                augmentations = repaired = np.int64(0)
                for j in tasks.order[: tasks.samples]:
                    augmentations += found[j, AUGMENTATIONS]
                    repaired += found[j, REPAIRED]
                if repaired > far * augmentations:
                    state[ENDED] = FAR_FLOW
                    atomic_store(abort, 0, 1)
            if parent < 0:
                deepest[i, 0] = depth
                return -1
            deepest[parent, task[SIDE]] = depth
            reached[parent, task[SIDE]] = cells
            i = np.int64(parent) if atomic_add(tasks.waits, parent, -1) == 1 else np.int64(-1)
