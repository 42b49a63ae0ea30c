"""G-PR-First: push-relabel in which every pass scans all columns.

Returns a maximum matching. A pass is one push of every active column; labels are recomputed by the given strategy.
Arrays, races and the proof of exactness: labels_cuda.py.

[1] Deveci, Kaya, Uçar, Çatalyürek. "A push-relabel-based maximum cardinality bipartite matching algorithm on GPUs."
    ICPP 2013. Algorithms 3 to 6.

O((n + m) passes (m + edges of active columns)); 4 n + 4 m bytes in addition to the graph and the matching.
"""

import numpy as np

from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import cuda, cuda_kernel, grid_sync, relaxed_load
from gridcut.device.cuda_types import int32, int64
from matching.core.grid_cuda import add_up, next_grid_slot, run_kernel
from matching.core.limits_cuda import check_labels
from matching.core.problem_cuda import EDGES, PATH_LENGTH, PHASES, DeviceGraph, as_stats
from matching.papers.labels_cuda import (
    ABANDONED,
    ACTIVE,
    FREE,
    PASSES,
    THREADS,
    fix_matching,
    global_relabel,
    is_unmatched,
    min_label_row,
    strategy_of,
)


@cuda_kernel
def first_kernel(col_ptr, col_adj, row_ptr, row_adj, row_match, col_match, row_label, col_label, counts, strategy, k):
    """Algorithm 3."""
    rows = int32(row_match.size)
    cols = int32(col_match.size)
    unreachable = int32(rows + cols)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    grid_slot = int32(0)
    passes_left = int64(unreachable)
    passes = int64(0)
    relabels = int64(0)
    edges = int64(0)
    pushes = int64(0)
    search = (row_ptr, row_adj, row_match, col_match, row_label, col_label)
    while True:
        grid_slot, next_relabel_pass, scanned = global_relabel(
            *search, counts, grid_slot, (strategy, k), (passes, passes_left)
        )
        edges += scanned
        relabels += 1

        following = next_grid_slot(counts, int32(ACTIVE), grid_slot, thread)
        c = thread
        while c < cols:
            if is_unmatched(row_match, col_match, c):
                is_reachable = col_label[c] < unreachable
                col_match[c] = int32(FREE if is_reachable else ABANDONED)
                if is_reachable:
                    counts[ACTIVE + grid_slot] = 1
            c = int32(c + threads)
        grid_sync()
        going = relaxed_load(counts, int32(ACTIVE + grid_slot)) > 0
        grid_slot = following
        if not going:
            break

        while going:
            if passes == next_relabel_pass:
                grid_slot, next_relabel_pass, scanned = global_relabel(
                    *search, counts, grid_slot, (strategy, k), (passes, passes_left)
                )
                edges += scanned
                relabels += 1
            following = next_grid_slot(counts, int32(ACTIVE), grid_slot, thread)
            c = thread
            while c < cols:
                r = col_match[c]
                if r == FREE or (r >= 0 and relaxed_load(row_match, r) != c):
                    counts[ACTIVE + grid_slot] = 1
                    best, min_label, scanned = min_label_row(
                        col_ptr, col_adj, row_label, c, int32(col_label[c] - 1), unreachable
                    )
                    edges += scanned
                    if min_label < unreachable:
                        row_match[best] = c
                        col_match[c] = best
                        col_label[c] = int32(min_label + 1)
                        row_label[best] = int32(min_label + 2)
                        pushes += 1
                    else:
                        col_match[c] = int32(ABANDONED)
                c = int32(c + threads)
            grid_sync()
            going = relaxed_load(counts, int32(ACTIVE + grid_slot)) > 0
            grid_slot = following
            passes += 1
            passes_left -= 1
        passes_left = int64(0)

    fix_matching(row_match, col_match, thread, threads)
    add_up(counts, int32(EDGES), edges)
    add_up(counts, int32(PATH_LENGTH), pushes)
    if thread == 0:
        counts[PHASES] = relabels
        counts[PASSES] = passes


def solve(graph: DeviceGraph, row_match, col_match, *, relabel: tuple = ("adaptive", 0.7)) -> dict:
    """Make a matching on the GPU maximum in place; stats: "phases" counts global relabelings, "path_length" pushes.

    relabel   ("adaptive", k): relabel after k times cLevel passes, twice the number of levels of the last search;
              ("fix", k): relabel after k passes
    """
    strategy = strategy_of(relabel)
    rows, cols = row_match.size, col_match.size
    check_labels(rows + cols)
    row_label, col_label = allocate((rows, np.int32), (cols, np.int32))
    counts = upload(np.zeros(8, np.int64))
    lists = (graph.col_ptr, graph.col_adj, graph.row_ptr, graph.row_adj)
    run_kernel(
        first_kernel, (*lists, row_match, col_match, row_label, col_label, counts, *strategy), THREADS, max(rows, cols)
    )
    counts = download(counts)
    return {**as_stats(counts), "passes": int(counts[PASSES])}
