"""Lists in order, on a GPU: each ascending, and each entry once.

Entries are sorted by (row, index) as they are, with comparisons that do not depend on the data, and the first of each
run of equal ones is kept.

Arrays (n rows)
  ptr, adj           entries of row r: adj[ptr[r]:ptr[r + 1]], in any order
  key[k]             (row, index) of an entry in one number
  own_ptr, own_adj   the lists in order; own_adj has room for all entries

No races: in one step of the sorting a thread has its two places alone, and steps are separated by barriers of the whole
grid.  What lies behind the last entry counts as larger than all, and since the smaller of two always goes to the lower
place, is never looked at.

[1] Batcher. "Sorting networks and their applications." AFIPS Spring Joint Computer Conference 1968: bitonic sorting;
    here with the first step of each merge mirrored, so that all comparisons have one direction.

O(edges log^2 edges); 8 bytes an entry beside the lists.
"""

import numpy as np
from numba import int32, int64

from gridcut.device.arrays import allocate, download
from gridcut.device.cuda import cuda, cuda_kernel, device_function, grid_sync
from matching.core.grid_cuda import MAX_BLOCKS, SCAN_THREADS, exclusive_scan, run_kernel

INDEX_MASK = 0xFFFFFFFF  # the half of a key that holds the index


@device_function
def compare_exchange(key, i, j):
    """The smaller to place i, the larger to place j, if there is one."""
    if j < key.size and key[i] > key[j]:
        key[i], key[j] = key[j], key[i]


@cuda_kernel
def order_kernel(ptr, adj, key, own_ptr, own_adj, block_sums, total):
    """Writes own_ptr, own_adj, and in total[0] how many entries are left."""
    rows = ptr.size - 1
    edges = key.size
    thread = int64(cuda.grid(1))
    threads = int64(cuda.gridsize(1))
    lane = thread & 31
    r = thread >> 5
    while r < rows:
        k = ptr[r] + lane
        while k < ptr[r + 1]:
            key[k] = r << 32 | int64(adj[k])
            k += 32
        r += threads >> 5
    grid_sync()

    size = int64(1)
    while size < edges:
        # Runs of `size` are in order, and become runs of twice that.
        t = thread
        while t < edges:
            within = t & (2 * size - 1)
            if within < size:
                compare_exchange(key, t, t - within + 2 * size - 1 - within)
            t += threads
        grid_sync()
        distance = size >> 1
        while distance > 0:
            t = thread
            while t < edges:
                if t & distance == 0:
                    compare_exchange(key, t, t + distance)
                t += threads
            grid_sync()
            distance >>= 1
        size *= 2

    per_thread = (edges + threads - 1) // threads
    first = min(thread * per_thread, edges)
    last = min(first + per_thread, edges)
    count = int64(0)
    k = first
    while k < last:
        if k == 0 or key[k] != key[k - 1]:
            count += 1
        k += 1
    position, total_kept = exclusive_scan(count, block_sums)
    k = first
    while k < last:
        if k == 0 or key[k] != key[k - 1]:
            r = key[k - 1] >> 32 if k > 0 else int64(-1)
            while r < key[k] >> 32:
                r += 1
                own_ptr[r] = position
            own_adj[position] = int32(key[k] & INDEX_MASK)
            position += 1
        k += 1
    if first < last == edges:
        r = key[edges - 1] >> 32
        while r < rows:
            r += 1
            own_ptr[r] = total_kept
        total[0] = total_kept


def in_order(ptr, adj) -> tuple:
    """(ptr, adj) on the GPU, of at least one entry, as new arrays in order."""
    rows, edges = ptr.size - 1, adj.size
    key, own_ptr, own_adj, block_sums, total = allocate(
        (edges, np.int64), (rows + 1, np.int64), (edges, np.int32), (MAX_BLOCKS, np.int64), (1, np.int64)
    )
    run_kernel(order_kernel, (ptr, adj, key, own_ptr, own_adj, block_sums, total), SCAN_THREADS, edges)
    return own_ptr, own_adj[: int(download(total)[0])]


def kernels():
    """Name, kernel and argument types of what is compiled."""
    ids, longs = int32[::1], int64[::1]
    return [("order", order_kernel, (longs, ids, longs, longs, ids, longs, longs))]
