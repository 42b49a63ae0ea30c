"""Push-relabel with lists of active columns: what g_pr_noshr.py and g_pr_shr.py share.

A pass looks at the active columns only.  Slot i of two lists follows one unit of matching that is still to be placed:
previous[i] pushed in the last pass and current[i] is the column it drove away, or none.  If the push was overwritten by
another on the same row, previous[i] is active again and current[i] is forgotten (roll-back): the column driven away is
in the slot of the push that stayed.

Arrays (beside those of labels.py)                                   paper [1]
  lists[p * m + i]        the two lists, p = 0, 1 by turns;           A_c, A_p
                          NONE: nothing left to do in this slot
  stamp[c]                the pass in which c is active               iA

Races, and why they do no harm (beyond labels.py)
  A push reads who has the row before it stores itself.  Active columns are stamped before the pass, and nobody pushes
  on a row that an active column of this pass has; so all who push on one row have read the same partner, that of the
  beginning, and after the roll-back it is in one slot, of the push that stayed.  A slot so ends with a column that is
  active and in no other slot.

[1] Deveci, Kaya, Uçar, Çatalyürek. "A push-relabel-based maximum cardinality bipartite matching algorithm on GPUs."
    ICPP 2013.  Algorithms 7 to 9, and section III.C for the shrinking of lists.

Deviates from [1]: a slot that is empty empties the other list's too (the pseudocode would find in it, two passes later,
a column that is matched).  Lists are shrunk in place of the initial kernel, as there, by a prefix sum over all threads.
"""

import numpy as np
from numba import float64, int32, int64

from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import cuda, cuda_kernel, device_function, grid_sync, relaxed_load
from matching.core.grid_cuda import MAX_BLOCKS, SUMMED, add_up, next_turn, places, run_kernel
from matching.core.limits_cuda import check_labels, check_lists
from matching.core.problem_cuda import EDGES, PATH_LENGTH, PHASES, as_stats
from matching.papers.labels_cuda import (
    ACTIVE,
    FREE,
    GIVEN_UP,
    PASSES,
    least_row,
    next_renewal,
    renew_labels,
    strategy_of,
)

NONE = -1
SHRINKS = 8  # in counts


@device_function
def is_alone(row_match, col_match, c):
    """Whether column c has no row."""
    r = col_match[c]
    return r < 0 or row_match[r] != c


@device_function
def active_of(row_match, col_match, lists, previous, current):
    """Algorithm 8, lines 3 to 8: the active column of a slot, NONE if there is none."""
    c = lists[previous]
    if c != NONE and not is_alone(row_match, col_match, c):
        c = lists[current]
    return c


@cuda_kernel
def list_kernel(
    col_ptr,
    col_adj,
    row_ptr,
    row_adj,
    row_match,
    col_match,
    row_label,
    col_label,
    lists,
    stamp,
    block_sums,
    counts,
    strategy,
    k,
    shrink_from,
):
    """Algorithm 7."""
    rows = int32(row_match.size)
    cols = int32(col_match.size)
    far = int32(rows + cols)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    turn = int32(0)
    patience = int64(far)
    passes = int64(0)
    renewals = int64(0)
    shrinks = int64(0)
    edges = int64(0)
    pushes = int64(0)
    c = thread
    while c < cols:
        stamp[c] = int32(NONE)
        c = int32(c + threads)
    while True:
        turn, levels, looked = renew_labels(row_ptr, row_adj, row_match, col_match, row_label, col_label, counts, turn)
        edges += looked
        renewals += 1
        renewal = next_renewal(strategy, k, passes, levels, patience)

        count = int32(0)
        c = thread
        while c < cols:
            if is_alone(row_match, col_match, c):
                reached = col_label[c] < far
                col_match[c] = int32(FREE if reached else GIVEN_UP)
                count = int32(count + reached)
            c = int32(c + threads)
        place, slots = places(count, block_sums)
        if slots == 0:
            break
        c = thread
        while c < cols:
            if col_match[c] == FREE:
                lists[place] = c
                lists[cols + place] = c
                place += 1
            c = int32(c + threads)
        grid_sync()

        current = int32(0)
        previous = cols
        shrink = False
        while True:
            if passes == renewal:
                turn, levels, looked = renew_labels(
                    row_ptr, row_adj, row_match, col_match, row_label, col_label, counts, turn
                )
                edges += looked
                renewals += 1
                renewal = next_renewal(strategy, k, passes, levels, patience)
                shrink = slots >= shrink_from
            now = int32(passes)
            if shrink:
                shrink = False
                shrinks += 1
                count = int32(0)
                i = thread
                while i < slots:
                    c = active_of(row_match, col_match, lists, int32(previous + i), int32(current + i))
                    count = int32(count + (c != NONE))
                    i = int32(i + threads)
                place, total = places(count, block_sums)
                i = thread
                while i < slots:
                    c = active_of(row_match, col_match, lists, int32(previous + i), int32(current + i))
                    if c != NONE:
                        lists[2 * cols + place] = c
                        stamp[c] = now
                        place += 1
                    i = int32(i + threads)
                grid_sync()
                slots = total
                i = thread
                while i < slots:
                    lists[current + i] = lists[2 * cols + i]
                    i = int32(i + threads)
                going = slots > 0
                grid_sync()
            else:
                following = next_turn(counts, int32(ACTIVE), turn, thread)
                i = thread
                while i < slots:
                    c = active_of(row_match, col_match, lists, int32(previous + i), int32(current + i))
                    lists[current + i] = c
                    if c != NONE:
                        stamp[c] = now
                        counts[ACTIVE + turn] = 1
                    i = int32(i + threads)
                grid_sync()
                going = relaxed_load(counts, int32(ACTIVE + turn)) > 0
                turn = following
            if not going:
                break

            i = thread
            while i < slots:
                c = lists[current + i]
                driven = int32(NONE)
                if c != NONE:
                    best, least, looked = least_row(col_ptr, col_adj, row_label, c, int32(col_label[c] - 1), far)
                    edges += looked
                    if least < far:
                        mate = relaxed_load(row_match, best)
                        if mate == FREE or stamp[mate] != now:
                            row_match[best] = c
                            col_match[c] = best
                            col_label[c] = int32(least + 1)
                            row_label[best] = int32(least + 2)
                            driven = mate
                            pushes += 1
                    else:
                        col_match[c] = int32(GIVEN_UP)
                        lists[current + i] = int32(NONE)
                lists[previous + i] = driven
                i = int32(i + threads)
            grid_sync()
            current, previous = previous, current
            passes += 1
            patience -= 1
        patience = int64(0)

    # FIXMATCHING
    c = thread
    while c < cols:
        if is_alone(row_match, col_match, c):
            col_match[c] = int32(FREE)
        c = int32(c + threads)
    add_up(counts, int32(EDGES), edges)
    add_up(counts, int32(PATH_LENGTH), pushes)
    if thread == 0:
        counts[PHASES] = renewals
        counts[PASSES] = passes
        counts[SHRINKS] = shrinks


def maximise(method: str, graph, row_match, col_match, relabel, shrink_from: int) -> dict:
    """Make a matching on the GPU maximum in place; counts of what was done."""
    strategy = strategy_of(relabel)
    rows, cols = row_match.size, col_match.size
    check_labels(rows + cols)
    check_lists(method, "columns", cols, "'g_pr_first' or 'ms_bfs_graft'")
    sizes = (rows, cols, 3 * cols, cols)
    work = allocate(*((size, np.int32) for size in sizes), (MAX_BLOCKS, np.int64))
    counts = upload(np.zeros(9, np.int64))
    lists = (graph.col_ptr, graph.col_adj, graph.row_ptr, graph.row_adj)
    arguments = (*lists, row_match, col_match, *work, counts, *strategy, np.int32(shrink_from))
    run_kernel(list_kernel, arguments, SUMMED, max(rows, cols))
    counts = download(counts)
    return {**as_stats(counts), "passes": int(counts[PASSES]), "shrinks": int(counts[SHRINKS])}


def kernels():
    """Name, kernel and argument types of what is compiled."""
    ids, longs = int32[::1], int64[::1]
    graph = (longs, ids, longs, ids)
    return [("lists", list_kernel, (*graph, *(ids,) * 6, longs, longs, int32, float64, int32))]
