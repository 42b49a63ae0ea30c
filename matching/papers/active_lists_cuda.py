"""G-PR-NoShr and G-PR-Shr: push-relabel with lists of active columns.

G-PR-Shr shrinks the lists after every global relabeling; those of G-PR-NoShr keep their initial length.

A pass scans the active columns only. Slot i of two lists follows one unit of matching that is still to be placed:
previous[i] pushed in the last pass, and current[i] is the column that it displaced, or none. If another push to the
same row overwrote it, previous[i] is active again and current[i] is discarded (roll-back); the displaced column is in
the slot of the push that won.

Arrays (in addition to those of labels_cuda.py)                      paper [1]
  lists[p * m + i]        the two lists, p = 0 and 1 alternately;     A_c, A_p
                          NO_COLUMN: nothing left to do in this slot
  stamp[c]                the pass in which c is active               iA

Races (in addition to those of labels_cuda.py)
  The thread of a push reads row_match[r] before it stores its own column there. Active columns are stamped before the
  pass, and no thread pushes to a row whose partner is an active column of this pass. So all threads that push to one
  row have read the same partner, that of the start of the pass, and after the roll-back this partner is in one slot
  only, that of the push that won. Each slot thus ends with a column that is active and in no other slot.

[1] Deveci, Kaya, Uçar, Çatalyürek. "A push-relabel-based maximum cardinality bipartite matching algorithm on GPUs."
    ICPP 2013. Algorithms 7 to 9, and section III.C for the shrinking of lists.

Deviates from [1]: an empty slot also empties the slot of the other list (the pseudocode would find a column there, two
passes later, that is matched). As there, shrinking a list replaces the initial kernel, here by a prefix sum over all
threads.
"""

import numpy as np

from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import cuda, cuda_kernel, device_function, grid_sync, relaxed_load
from gridcut.device.cuda_types import int32, int64
from matching.core.grid_cuda import MAX_BLOCKS, SCAN_THREADS, add_up, exclusive_scan, next_grid_slot, run_kernel
from matching.core.limits_cuda import check_labels, check_lists
from matching.core.problem_cuda import EDGES, PATH_LENGTH, PHASES, DeviceGraph, as_stats
from matching.papers.labels_cuda import (
    ABANDONED,
    ACTIVE,
    FREE,
    PASSES,
    fix_matching,
    global_relabel,
    is_unmatched,
    min_label_row,
    strategy_of,
)

NO_COLUMN = -1
SHRINKS = 8  # in counts
NEVER_SHRINK = 2**31 - 1


@device_function
def active_column(row_match, col_match, lists, previous, current):
    """Algorithm 8, lines 3 to 8: the active column of a slot, or NO_COLUMN."""
    c = lists[previous]
    if c != NO_COLUMN and not is_unmatched(row_match, col_match, c):
        c = lists[current]
    return c


# args: an entry call, which takes twice as long to pack with several tuples
# lines: Algorithm 7 in the paper's order, with a barrier of the grid between its steps
@cuda_kernel
def lists_kernel(
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
    unreachable = int32(rows + cols)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    grid_slot = int32(0)
    passes_left = int64(unreachable)
    passes = int64(0)
    relabels = int64(0)
    shrinks = int64(0)
    edges = int64(0)
    pushes = int64(0)
    search = (row_ptr, row_adj, row_match, col_match, row_label, col_label)
    c = thread
    while c < cols:
        stamp[c] = int32(NO_COLUMN)
        c = int32(c + threads)
    while True:
        grid_slot, next_relabel_pass, scanned = global_relabel(
            *search, counts, grid_slot, (strategy, k), (passes, passes_left)
        )
        edges += scanned
        relabels += 1

        count = int32(0)
        c = thread
        while c < cols:
            if is_unmatched(row_match, col_match, c):
                is_reachable = col_label[c] < unreachable
                col_match[c] = int32(FREE if is_reachable else ABANDONED)
                count = int32(count + is_reachable)
            c = int32(c + threads)
        position, slots = exclusive_scan(count, block_sums)
        if slots == 0:
            break
        c = thread
        while c < cols:
            if col_match[c] == FREE:
                lists[position] = c
                lists[cols + position] = c
                position += 1
            c = int32(c + threads)
        grid_sync()

        current = int32(0)
        previous = cols
        shrink = False
        while True:
            if passes == next_relabel_pass:
                grid_slot, next_relabel_pass, scanned = global_relabel(
                    *search, counts, grid_slot, (strategy, k), (passes, passes_left)
                )
                edges += scanned
                relabels += 1
                shrink = slots >= shrink_from
            this_pass = int32(passes)
            if shrink:
                shrink = False
                shrinks += 1
                count = int32(0)
                i = thread
                while i < slots:
                    c = active_column(row_match, col_match, lists, int32(previous + i), int32(current + i))
                    count = int32(count + (c != NO_COLUMN))
                    i = int32(i + threads)
                position, total = exclusive_scan(count, block_sums)
                i = thread
                while i < slots:
                    c = active_column(row_match, col_match, lists, int32(previous + i), int32(current + i))
                    if c != NO_COLUMN:
                        lists[2 * cols + position] = c
                        stamp[c] = this_pass
                        position += 1
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
                following = next_grid_slot(counts, int32(ACTIVE), grid_slot, thread)
                i = thread
                while i < slots:
                    c = active_column(row_match, col_match, lists, int32(previous + i), int32(current + i))
                    lists[current + i] = c
                    if c != NO_COLUMN:
                        stamp[c] = this_pass
                        counts[ACTIVE + grid_slot] = 1
                    i = int32(i + threads)
                grid_sync()
                going = relaxed_load(counts, int32(ACTIVE + grid_slot)) > 0
                grid_slot = following
            if not going:
                break

            i = thread
            while i < slots:
                c = lists[current + i]
                displaced = int32(NO_COLUMN)
                if c != NO_COLUMN:
                    best, min_label, scanned = min_label_row(
                        col_ptr, col_adj, row_label, c, int32(col_label[c] - 1), unreachable
                    )
                    edges += scanned
                    if min_label < unreachable:
                        mate = relaxed_load(row_match, best)
                        if mate == FREE or stamp[mate] != this_pass:
                            row_match[best] = c
                            col_match[c] = best
                            col_label[c] = int32(min_label + 1)
                            row_label[best] = int32(min_label + 2)
                            displaced = mate
                            pushes += 1
                    else:
                        col_match[c] = int32(ABANDONED)
                        lists[current + i] = int32(NO_COLUMN)
                lists[previous + i] = displaced
                i = int32(i + threads)
            grid_sync()
            current, previous = previous, current
            passes += 1
            passes_left -= 1
        passes_left = int64(0)

    fix_matching(row_match, col_match, thread, threads)
    add_up(counts, int32(EDGES), edges)
    add_up(counts, int32(PATH_LENGTH), pushes)
    if thread == 0:
        counts[PHASES] = relabels
        counts[PASSES] = passes
        counts[SHRINKS] = shrinks


def g_pr_noshr(graph: DeviceGraph, row_match, col_match, *, relabel: tuple = ("adaptive", 0.7)) -> dict:
    """Make a matching on the GPU maximum in place; stats: "phases" counts global relabelings, "path_length" pushes.

    relabel   ("adaptive", k): relabel after k times cLevel passes, twice the number of levels of the last search;
              ("fix", k): relabel after k passes
    """
    return maximise("g_pr_noshr", graph, row_match, col_match, relabel, NEVER_SHRINK)


def g_pr_shr(
    graph: DeviceGraph, row_match, col_match, *, relabel: tuple = ("adaptive", 0.7), shrink_from: int = 512
) -> dict:
    """As `g_pr_noshr`; shrink_from: minimum number of slots of a list that is shrunk."""
    return maximise("g_pr_shr", graph, row_match, col_match, relabel, shrink_from)


def maximise(method: str, graph, row_match, col_match, relabel, shrink_from: int) -> dict:
    """Make a matching on the GPU maximum in place; returns counts of the work done."""
    strategy = strategy_of(relabel)
    rows, cols = row_match.size, col_match.size
    check_labels(rows + cols)
    check_lists(method, "columns", cols, "'g_pr_first' or 'ms_bfs_graft'")
    sizes = (rows, cols, 3 * cols, cols)
    work = allocate(*((size, np.int32) for size in sizes), (MAX_BLOCKS, np.int64))
    counts = upload(np.zeros(9, np.int64))
    lists = (graph.col_ptr, graph.col_adj, graph.row_ptr, graph.row_adj)
    arguments = (*lists, row_match, col_match, *work, counts, *strategy, np.int32(shrink_from))
    run_kernel(lists_kernel, arguments, SCAN_THREADS, max(rows, cols))
    counts = download(counts)
    return {**as_stats(counts), "passes": int(counts[PASSES]), "shrinks": int(counts[SHRINKS])}
