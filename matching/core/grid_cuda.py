"""Primitives that all threads of a grid execute together: launch, sum, count slots, prefix sum.

Every solver here is one cooperative kernel: barriers of the whole grid separate its steps, levels and phases, so that
nothing is launched or copied between the first search and the last.
"""

from gridcut.device.cuda import SIMULATED, cuda, device_function, grid_sync, multiprocessors, shuffle
from gridcut.device.cuda_types import int32, int64
from gridcut.device.launch import launch, most_blocks
from matching.core.limits_cuda import MAX_BLOCKS

SCAN_THREADS = 32 if SIMULATED else 256  # threads per block of every kernel that calls exclusive_scan


def run_kernel(kernel, args, threads: int, items: int, blocks_per_sm: int = MAX_BLOCKS) -> None:
    """Launch a cooperative kernel with one thread per item, or as many as the GPU holds.

    threads         per block
    blocks_per_sm   maximum number of blocks per multiprocessor: barriers take longer with more
    """
    if SIMULATED:
        threads = 32
    blocks = min(most_blocks(kernel, args, threads), blocks_per_sm * multiprocessors(), MAX_BLOCKS)
    launch(kernel, max(1, min(blocks, -(-items // threads))), threads, *args)


@device_function
def pseudo_random_neighbour(v, j, number):
    """Position of the j-th neighbour of v in a cyclic order of its `number` neighbours.

    The start and the direction of the order are pseudo-random functions of v. Lists are sorted. Where indices encode
    positions, as for points in raster order, scans that all start at the first entry, or all ascend, drift in one
    direction: the pairs of many concurrent threads leave unmatched rows at one end of the graph, and unmatched
    columns at the other.
    """
    random = int64(v) * 2654435769 & 0xFFFFFFFF
    i = (random * number >> 32) + (j if random & 1 else -j)
    return i + number if i < 0 else i - number if i >= number else i


@device_function
def add_up(totals, i, value):
    """Add the values of all threads to totals[i]; all threads of the grid must call this."""
    lane = int32(cuda.threadIdx.x & 31)
    distance = int32(16)
    while distance > 0:
        value += shuffle(value, lane ^ distance)
        distance = int32(distance >> 1)
    if lane == 0 and value != 0:
        cuda.atomic.add(totals, i, value)


@device_function
def next_grid_slot(totals, first, grid_slot, thread):
    """The slot after `grid_slot`, of the three counters that start at totals[first]; thread 0 clears its counter.

    A counter that threads add to before a barrier and read after it must not be cleared before all threads have read
    it, nor while threads add to it. With three alternating slots, each counter is cleared one barrier after it was
    read and one barrier before it is added to.
    """
    following = int32(grid_slot + 1) if grid_slot < 2 else int32(0)
    if thread == 0:
        totals[first + following] = 0
    return following


@device_function
def exclusive_scan(count, block_sums):
    """Exclusive prefix sum over all threads of the grid: (sum of the counts before this thread, sum of all counts).

    All threads of the grid must call this, and pass another barrier before the next call.
    """
    sums = cuda.shared.array(SCAN_THREADS, int64)
    totals = cuda.shared.array(2, int64)
    me = cuda.threadIdx.x
    sums[me] = count
    if me < 2:
        totals[me] = 0
    cuda.syncthreads()
    offset = 1
    while offset < SCAN_THREADS:
        left = sums[me - offset] if me >= offset else int64(0)
        cuda.syncthreads()
        sums[me] += left
        cuda.syncthreads()
        offset *= 2
    upto = sums[me]
    if me == SCAN_THREADS - 1:
        block_sums[cuda.blockIdx.x] = upto
    grid_sync()
    before = int64(0)
    total = int64(0)
    b = me
    while b < cuda.gridDim.x:
        total += block_sums[b]
        if b < cuda.blockIdx.x:
            before += block_sums[b]
        b += SCAN_THREADS
    cuda.atomic.add(totals, 0, before)
    cuda.atomic.add(totals, 1, total)
    cuda.syncthreads()
    return totals[0] + upto - count, totals[1]
