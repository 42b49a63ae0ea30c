"""The column adjacency lists of a graph from its row lists, on a GPU: count, prefix sum and scatter in one kernel.

Arrays (n rows, m columns)
  ptr, adj               columns of row r: adj[ptr[r]:ptr[r + 1]]
  other_ptr, other_adj   rows of column c likewise, in any order
  next_position[c]       position of the next row of c, updated atomically

O(n + m + edges); 8 m bytes in addition to the result.
"""

import numpy as np

from gridcut.device.arrays import DeviceArray, allocate
from gridcut.device.cuda import cuda, cuda_kernel, grid_sync
from gridcut.device.cuda_types import int32, int64
from matching.core.grid_cuda import MAX_BLOCKS, SCAN_THREADS, exclusive_scan, run_kernel


@cuda_kernel
def transpose_kernel(ptr, adj, other_ptr, other_adj, next_position, block_sums):
    """Writes other_ptr and other_adj."""
    rows = ptr.size - 1
    cols = other_ptr.size - 1
    thread = int64(cuda.grid(1))
    threads = int64(cuda.gridsize(1))
    c = thread
    while c < cols:
        next_position[c] = 0
        c += threads
    grid_sync()
    k = thread
    while k < adj.size:
        cuda.atomic.add(next_position, adj[k], int64(1))
        k += threads
    grid_sync()

    # A thread sums contiguous columns, so that its offset is that of the first of them.
    per_thread = (cols + threads - 1) // threads
    first = min(thread * per_thread, cols)
    last = min(first + per_thread, cols)
    count = int64(0)
    c = first
    while c < last:
        count += next_position[c]
        c += 1
    position, total = exclusive_scan(count, block_sums)
    c = first
    while c < last:
        other_ptr[c] = position
        position += next_position[c]
        next_position[c] = other_ptr[c]
        c += 1
    if thread == 0:
        other_ptr[cols] = total
    grid_sync()

    # One warp per row, since some rows have many columns.
    lane = thread & 31
    r = thread >> 5
    while r < rows:
        k = ptr[r] + lane
        end = ptr[r + 1]
        while k < end:
            other_adj[cuda.atomic.add(next_position, adj[k], int64(1))] = int32(r)
            k += 32
        r += threads >> 5


def transposed(ptr, adj, cols: int) -> tuple[DeviceArray, DeviceArray]:
    """(other_ptr, other_adj) on the GPU, for at least one row and one column."""
    other_ptr, other_adj, next_position, block_sums = allocate(
        (cols + 1, np.int64), (adj.size, np.int32), (cols, np.int64), (MAX_BLOCKS, np.int64)
    )
    run_kernel(transpose_kernel, (ptr, adj, other_ptr, other_adj, next_position, block_sums), SCAN_THREADS, adj.size)
    return other_ptr, other_adj
