"""The cheap initial matching on a GPU: each row takes its first unmatched column, from a pseudo-random position on.

Returns a maximal matching, so at least half as many pairs as a maximum one. The matching depends on the timing of
threads.

Arrays
  row_match[r], col_match[c]   partner, or -1; changed in place, existing pairs are kept

Races: the thread whose compare-and-swap replaces -1 in col_match[c] owns column c, and it alone writes its row_match
entry. There are no other races. A row stays unmatched only if all its columns were matched when its thread read them,
and columns stay matched, so the matching is maximal.

[1] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011, section 3.3.1 ("simple greedy matching").

O(n + edges).
"""

import numpy as np

from gridcut.device.arrays import download, upload
from gridcut.device.cuda import SIMULATED, ballot, count_trailing_zeros, cuda, cuda_kernel, device_function, shuffle
from gridcut.device.cuda_types import int32, int64
from gridcut.device.launch import launch
from matching.core.grid_cuda import add_up, pseudo_random_neighbour
from matching.core.problem_cuda import EDGES, DeviceGraph

THREADS = 32 if SIMULATED else 256
WARP_DEGREE = 2 if SIMULATED else 32  # columns that a thread scans by itself; above this degree its warp helps


@device_function
def claim_column(col_match, c, r):
    """Try to match column c with row r; returns whether it succeeded."""
    return col_match[c] < 0 and cuda.atomic.cas(col_match, c, int32(-1), r) < 0


@device_function
def pseudo_random_index(i, bits):
    """Position of i in a pseudo-random permutation of 0 to 2^bits - 1.

    Threads start in index order. Rows must not: where indices encode positions, all later rows would find the columns
    behind them matched, and the unmatched columns would gather at the far end.
    """
    if i >> bits:
        return i
    mask = (int64(1) << bits) - 1
    half = (bits + 1) >> 1
    mixed = int64(i) * 2654435769 & mask
    mixed = mixed ^ (mixed >> half)
    mixed = mixed * 2246822507 & mask
    return int32(mixed ^ (mixed >> half))


@cuda_kernel
def cheap_kernel(row_ptr, row_adj, row_match, col_match, counts, bits):
    """One row per thread; its warp helps if the row has many columns."""
    rows = int32(row_match.size)
    r = pseudo_random_index(int32(cuda.grid(1)), bits)
    lane = int32(cuda.threadIdx.x & 31)
    start = int64(0)
    degree = int64(0)
    if r < rows and row_match[r] < 0:
        start = row_ptr[r]
        degree = row_ptr[r + 1] - start
    j = int64(0)
    edges = int64(0)
    stop = min(degree, int64(WARP_DEGREE))
    while j < stop:
        c = row_adj[start + pseudo_random_neighbour(r, j, degree)]
        j += 1
        edges += 1
        if claim_column(col_match, c, r):
            row_match[r] = c
            degree = j
            stop = j
    pending = ballot(j < degree)
    while pending != 0:
        source = count_trailing_zeros(pending)
        pending = pending & (pending - 1)
        position = int64(WARP_DEGREE)
        owner_start = shuffle(start, source)
        owner_degree = shuffle(degree, source)
        owner = shuffle(r, source)
        searching = True
        while searching and position < owner_degree:
            c = int32(-1)
            if position + lane < owner_degree:
                c = row_adj[owner_start + pseudo_random_neighbour(owner, position + lane, owner_degree)]
            free = ballot(c >= 0 and col_match[max(c, int32(0))] < 0)
            while searching and free != 0:
                claimed = lane == count_trailing_zeros(free) and claim_column(col_match, c, owner)
                if claimed:
                    row_match[owner] = c
                searching = ballot(claimed) == 0
                free = free & (free - 1)
            position += 32
            edges += 1
    add_up(counts, int32(EDGES), edges)


def initialise(graph: DeviceGraph, row_match, col_match) -> dict:
    """Add pairs to a matching on the GPU in place; returns stats."""
    counts = upload(np.zeros(1, np.int64))
    bits = max(1, (row_match.size - 1).bit_length())
    arguments = graph.row_ptr, graph.row_adj, row_match, col_match, counts, np.int32(bits)
    launch(cheap_kernel, -(-(1 << bits) // THREADS), THREADS, *arguments)
    return {"edges": int(download(counts)[EDGES])}
