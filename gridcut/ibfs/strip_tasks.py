"""Strips and their merges as tasks, which threads take in one compiled call each.

A call from Python takes as long as a small merge, and waits for the interpreter's lock.  So each thread stays in
`run_tasks`: it solves the next strip, and then merges ranges as long as it is the second to complete one of both.
"""

import numpy as np

from gridcut.device import kernel
from gridcut.device.atomics import atomic_add, atomic_load, atomic_store
from gridcut.device.compiled_calls import call_address
from gridcut.device.team import CELL
from gridcut.ibfs.forest import activate, make_merge_work
from gridcut.ibfs.prepass import aggregate_excess, push_one_hop, push_two_hops
from gridcut.ibfs.seams import restore_seam
from gridcut.ibfs.search import UNTIL_BOTH

# Columns of tasks: first and last cell of the range; number of its seam, and first cell after it; number of its strips;
# number of the task that merges the range with a neighbour (-1: none), and which of its two ranges this one is.
FIRST, LAST, SEAM, MIDDLE, STRIPS, PARENT, SIDE = range(7)
# Columns of results: numbers of augmentations and of repaired cells; whether the range was searched after a merge.
AUGMENTATIONS, REPAIRED, SEARCHED = range(3)
TAKEN, SAMPLED, ENDED = 0, CELL, 2 * CELL  # positions in `state`
FAR_FLOW, GAVE_UP = 1, 2  # values of state[ENDED]


def new_state() -> np.ndarray:
    """What the threads share, in different cache lines."""
    return np.zeros(3 * CELL, np.int64)


def make_tasks(bounds, seams) -> np.ndarray:
    """The strips between the lines `bounds`, and merges of halves to one range, the first task."""
    tasks: list[list[int]] = []
    parts = [(0, len(bounds) - 1, -1, 0)]
    for begin, end, parent, side in parts:  # grows
        middle = (begin + end) // 2
        first, cell, last = (seams.cell(bounds[i]) for i in (begin, middle, end))
        if end - begin > 1:
            parts += [(begin, middle, len(tasks), 0), (middle, end, len(tasks), 1)]
        tasks.append([first, last, middle - 1, cell, end - begin, parent, side])
    return np.array(tasks, np.int64)


@kernel
def prepare_strip(grid, first, last, excess, residual, step, jump):
    """The steps before the search of a strip whose seams are cut; grid: as for `aggregate_excess`."""
    begin, end = np.uint64(first), np.uint64(last)
    push_one_hop(excess, residual, step, begin, end)
    push_two_hops(excess, residual, jump, begin, end)
    aggregate_excess(excess, residual, grid, first, last)
    push_one_hop(excess, residual, step, begin, end)


@kernel
def activate_seam(cell, reach, forest, work):
    """Make the cells active that are up to `reach` away from the seam before a cell."""
    for p in range(cell - reach, cell + reach):
        v = np.uint64(p)
        if forest.label[v] != 0:
            activate(v, forest.queued, work.ring, work.ends)


@kernel
def count_in_forests(first, last, label):
    """The number of cells in forests; in a grid with a mask, most may be in neither."""
    cells = np.int64(0)
    for p in range(first, last):
        cells += label[np.uint64(p)] != 0
    return cells


# args: an entry call
@kernel
def run_tasks(
    calls, tasks, waits, order, stop, samples, far, abort, state, share, least_strips, until, patience, deepest,
    reached, found, grid, rises, saved, is_cut, excess, residual, step, jump, forest, work,
):  # fmt: skip
    """Solve strips; after each, merge its range with the neighbouring one if that is complete, and so up.

    calls              addresses of `search`, `prepare_strip` and `grow_active`
    waits[i]           tasks that have to end before task i
    order, stop        the strips; those before `stop` are taken, from number state[TAKEN] on
    samples, far       if the first `samples` strips repair more than `far` cells per augmentation, the flow goes far
    abort, state       no task is begun if abort[0] is set; state[ENDED]: why it was set here
    share              a merge that repairs more of the cells in forests ends.  Then the range is searched from scratch
                       or, if it has less than `least_strips` strips or the search gives up, the range that contains it
    until, patience    of the search of the whole grid, and of all searches
    deepest[i, side]   bounds of the depths of both ranges;  reached[i, side]: numbers of cells in forests;  -1: the
                       forests are not complete
    grid               as for `aggregate_excess`
    """
    search, prepare, grow = calls
    counts = np.zeros(4, np.int64)  # that a call writes
    stride = grid[1][grid[3]]
    reach = np.int64(0)  # of the arcs across a seam
    for k in range(rises.size):
        reach = max(reach, rises[k] * stride)
    while True:
        at = atomic_add(state, TAKEN, 1)
        if at >= stop:
            return
        i = np.int64(order[at])
        while i >= 0:
            if atomic_load(abort, 0):
                return
            task = tasks[i]
            first, last, parent = task[FIRST], task[LAST], task[PARENT]
            own_until = until if parent < 0 else np.int64(UNTIL_BOTH)
            if work.queue.size <= last - first:
                work = make_merge_work(last - first, forest.link)
            is_strip = task[STRIPS] == 1
            depth, cells, gave_up = np.int64(1), np.int64(-1), False
            if is_strip:
                call_address(prepare, (grid, first, last, excess, residual, step, jump))
            else:
                is_cut[task[SEAM]] = 0
                restore_seam(residual, jump, rises, task[MIDDLE], stride, saved[task[SEAM]])
                depth = max(deepest[i, 0], deepest[i, 1])
                if reached[i, 0] >= 0 and reached[i, 1] >= 0:
                    both = reached[i, 0] + reached[i, 1]
                    budget = np.int64(share * both)
                    activate_seam(task[MIDDLE], reach, forest, work)
                    call_address(grow, (budget, depth, excess, residual, step, jump, forest, work, counts))
                    depth, found[i, AUGMENTATIONS], found[i, REPAIRED] = counts[0], counts[1], counts[2]
                    if found[i, REPAIRED] <= budget:
                        cells = both
                found[i, SEARCHED] = cells < 0 and (parent < 0 or task[STRIPS] >= least_strips)
            if is_strip or found[i, SEARCHED]:
                call_address(
                    search, (first, last, own_until, patience, excess, residual, step, jump, forest, work, counts)
                )
                depth, gave_up = counts[0], counts[3] != 0
                found[i, AUGMENTATIONS] += counts[1]
                found[i, REPAIRED] += counts[2]
            if gave_up and (is_strip or parent < 0):
                state[ENDED] = GAVE_UP
                atomic_store(abort, 0, 1)
                return
            if not gave_up and (is_strip or found[i, SEARCHED]):
                cells = count_in_forests(first, last, forest.label)
            if at < samples and is_strip and atomic_add(state, SAMPLED, 1) == samples - 1:
                augmentations = repaired = np.int64(0)
                for j in order[:samples]:
                    augmentations += found[j, AUGMENTATIONS]
                    repaired += found[j, REPAIRED]
                if repaired > far * augmentations:
                    state[ENDED] = FAR_FLOW
                    atomic_store(abort, 0, 1)
            if parent < 0:
                deepest[i, 0] = depth
                return
            deepest[parent, task[SIDE]] = depth
            reached[parent, task[SIDE]] = cells
            i = np.int64(parent) if atomic_add(waits, parent, -1) == 1 else np.int64(-1)
