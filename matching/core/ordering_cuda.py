"""Sort lists on a GPU: each ascending, and each entry once.

Entries are sorted by (row, index) with comparisons that do not depend on the data; the first of each run of equal
entries is kept.

Arrays (n rows)
  ptr, adj           entries of row r: adj[ptr[r]:ptr[r + 1]], in any order
  key[k]             (row, index) of an entry as one integer
  own_ptr, own_adj   the sorted lists; own_adj is as long as adj

Races: none. In each step of the sort, key[i] and key[j] of a comparison belong to one thread, and barriers of the
whole grid separate steps. Positions behind the last entry count as larger than all keys. Since the smaller key always
moves to the lower position, they are never accessed.

[1] Batcher. "Sorting networks and their applications." AFIPS Spring Joint Computer Conference 1968: bitonic sorting;
    here with the first step of each merge mirrored, so that all comparisons have one direction.

O(edges log^2 edges); 8 bytes per entry in addition to the lists.
"""

import numpy as np

from gridcut.device.arrays import allocate, download
from gridcut.device.cuda import cuda, cuda_kernel, device_function, grid_sync
from gridcut.device.cuda_types import int32, int64
from matching.core.grid_cuda import MAX_BLOCKS, SCAN_THREADS, exclusive_scan, run_kernel

INDEX_MASK = 0xFFFFFFFF  # bits of a key that hold the index


@device_function
def compare_exchange(key, i, j):
    """Move the smaller key to position i and the larger one to position j, if there is a key j."""
    if j < key.size and key[i] > key[j]:
        key[i], key[j] = key[j], key[i]


@cuda_kernel
def order_kernel(ptr, adj, key, own_ptr, own_adj, block_sums, total):
    """Writes own_ptr, own_adj, and the number of remaining entries to total[0]."""
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
        # Merge sorted runs of `size` keys pairwise.
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
    """(ptr, adj) on the GPU, with at least one entry, as new sorted arrays."""
    rows, edges = ptr.size - 1, adj.size
    key, own_ptr, own_adj, block_sums, total = allocate(
        (edges, np.int64), (rows + 1, np.int64), (edges, np.int32), (MAX_BLOCKS, np.int64), (1, np.int64)
    )
    run_kernel(order_kernel, (ptr, adj, key, own_ptr, own_adj, block_sums, total), SCAN_THREADS, edges)
    return own_ptr, own_adj[: int(download(total)[0])]
