"""Heights on the GPU: global relabeling (Łupińska, algorithm 4.4) in one launch, and what follows from heights.

A breadth-first search runs backwards from the sink, one level between two barriers of the whole grid.  The
threads share the pixels of a level and all arcs into them; who lowers a height first appends its pixel to the
queue, a warp at a time.  The pixels it does not reach get the height `ceiling` (gap relabeling).

Arrays (n cells; ceiling = n + 1)
  height[p]     1: capacity to the sink left;  ceiling: cannot reach the sink (and the padding)
  queue[...]    cells in the order they were reached, level by level
  tally[0..2]   pixels of the level that is read, of the one that is appended to, and 0 for the one after,
                by turns; 0 between launches
  tally[3]      active pixels: excess, and the sink in reach

The same distances as gridcut/papers/global_relabel.py, in another order of the queue.  Time O(n + m) work and one
barrier a level; memory 8 bytes a pixel.
"""

from typing import NamedTuple

import numpy as np
from numba import int32, int64, types, uint8

from gridcut.device.arguments import check_count
from gridcut.device.arrays import allocate, upload
from gridcut.device.cuda import (
    SIMULATED,
    WARP,
    ballot,
    cooperative_blocks,
    count_trailing_zeros,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    popcount,
    relaxed_load,
    shuffle,
)

MAX_CELLS = 2**31 - 2**24  # cells and heights are int32, and a thread may count one stride past the last cell
THREADS = WARP if SIMULATED else 256  # a block where the shape of blocks is of no interest
MAX_STEPS = 2**31 - 1  # what kernels count to
MAX_THREADS = 1024  # of a block, on all GPUs
SLOTS = 256  # counters of operations: as many as keep blocks from queuing for one of them


class Heights(NamedTuple):
    """The arrays above for one grid, `steps` the flat steps as a device array, and an estimate above all heights."""

    height: object
    queue: object
    tally: object
    steps: object
    ceiling: np.int32


def make_heights(excess, step) -> Heights:
    """Room for the heights of a grid; refuses a grid whose cells int32 cannot number."""
    size = excess.size
    check_size(size)
    height, queue = allocate((size, np.int32), (size, np.int32))
    return Heights(height, queue, upload(np.zeros(4, np.int32)), step_array(step), np.int32(size + 1))


def step_array(step):
    """The steps as a device array."""
    return upload(np.array(step, np.int32))


def flat_steps(step, unrolled: int):
    """The steps as kernels take them.

    A tuple, whose length the compiler knows, gives loops that are unrolled, with all reads under way at once.
    Beyond some number of arcs, `unrolled`, it no longer unrolls them and looks a tuple up by jumping; then an
    array is better.
    """
    return tuple(np.int32(s) for s in step) if len(step) <= unrolled else step_array(step)


def step_types(unrolled: int):
    """Argument types of flat_steps(step, unrolled), for the compile test."""
    return types.UniTuple(int32, 4), types.UniTuple(int32, unrolled), int32[::1]


@device_function
def append(queue, tally, slot, end, found, cell):
    """Put the cells of those lanes that found one behind `end`; all lanes of the warp call."""
    bits = ballot(found)
    if bits != 0:
        lane = int32(cuda.laneid)
        leader = count_trailing_zeros(bits)
        at = int32(0)
        if lane == leader:
            at = int32(cuda.atomic.add(tally, slot, popcount(bits)))
        at = int32(shuffle(at, leader))
        if found:
            below = (int64(1) << int64(lane)) - int64(1)
            queue[end + at + popcount(int64(bits) & below)] = cell


@cuda_kernel
def global_relabel_kernel(excess, residual, height, queue, tally, steps, ceiling):
    """Set all heights to distances to the sink, and count the active pixels; a grid that synchronises."""
    arcs = int32(steps.size)
    size = int32(excess.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    lane = int32(cuda.laneid)
    if thread == 0:
        tally[3] = 0
    base = int32(thread - lane)  # whole warps stay together
    while base < size:
        p = int32(base + lane)
        deficit = False
        if p < size:
            deficit = excess[p] < 0
            height[p] = int32(1) if deficit else ceiling
        append(queue, tally, int32(0), int32(0), deficit, p)
        base = int32(base + threads)
    grid_sync()

    # This thread looks along one kind of arc, and at every `together`-th pixel of a level.
    together = int32(threads // arcs)
    mine = int32(thread // arcs)
    k = int32(thread - mine * arcs)
    step = steps[k]
    level = int32(2)
    front = int32(0)
    slot = int32(0)
    waiting = relaxed_load(tally, int32(0))
    while waiting > 0:
        end = int32(front + waiting)
        coming = int32((slot + 1) % 3)
        if thread == 0:
            tally[(slot + 2) % 3] = 0
        base = front
        while base < end:
            found = False
            q = int32(0)
            if mine < together and base + mine < end:
                q = int32(queue[base + mine] + step)
                if relaxed_load(height, q) == ceiling and residual[int64(q) * arcs + (k ^ 1)] > 0:
                    found = cuda.atomic.cas(height, q, ceiling, level) == ceiling
            append(queue, tally, coming, end, found, q)
            base = int32(base + together)
        grid_sync()
        front = end
        slot = coming
        waiting = relaxed_load(tally, slot)
        level = int32(level + 1)

    if thread < 3:
        tally[thread] = 0
    active = int32(0)
    p = thread
    while p < size:
        if excess[p] > 0 and height[p] < ceiling:
            active = int32(active + 1)
        p = int32(p + threads)
    if active > 0:
        cuda.atomic.add(tally, int32(3), active)


@cuda_kernel
def sink_side_kernel(height, ceiling, sink_side):
    """Mark the pixels that can reach the sink."""
    p = int32(cuda.grid(1))
    if p < int32(height.size):
        sink_side[p] = uint8(1) if height[p] < ceiling else uint8(0)


def global_relabel(excess, residual, heights: Heights) -> int:
    """Set all heights to distances to the sink; returns how many pixels are active."""
    args = (excess, residual, heights.height, heights.queue, heights.tally, heights.steps, heights.ceiling)
    arcs = heights.steps.size
    threads = -(-arcs // WARP) * WARP if SIMULATED else THREADS
    most = cooperative_blocks(global_relabel_kernel, args, threads)
    wanted = max(blocks_of(excess.size, threads), blocks_of(arcs, threads))  # every kind of arc needs a thread
    global_relabel_kernel[min(most, wanted), threads](*args)
    return int(heights.tally[3:4].copy_to_host()[0])


def sink_side_of(heights: Heights):
    """The mask of the sink side, from heights that are distances; a device array."""
    size = heights.height.size
    (sink_side,) = allocate((size, np.uint8))
    sink_side_kernel[blocks_of(size, THREADS), THREADS](heights.height, heights.ceiling, sink_side)
    return sink_side


def blocks_of(items: int, threads: int) -> int:
    """Blocks of this many threads for all items."""
    return -(-items // threads)


def check_size(size: int) -> None:
    """Refuse more cells than int32 can number."""
    if size >= MAX_CELLS:
        raise ValueError(f"this method takes less than {MAX_CELLS} cells on a GPU, got {size}; cut it into pieces")


def check_counts(**parameters) -> None:
    """Refuse parameters that are no integers of 1 or more, or too large for a kernel."""
    for name, value in parameters.items():
        check_count(name, value, 1, MAX_THREADS if name == "block" else MAX_STEPS)


def make_counts():
    """Counters for what kernels do: pushes in even places, relabels in odd ones."""
    return upload(np.zeros(2 * SLOTS, np.int64))


@device_function
def count_operations(counts, pushes, relabels):
    """Add what one thread has done."""
    slot = int32(2 * (int32(cuda.blockIdx.x) % SLOTS))
    if pushes > 0:
        cuda.atomic.add(counts, slot, int64(pushes))
    if relabels > 0:
        cuda.atomic.add(counts, int32(slot + 1), int64(relabels))


def read_counts(counts, stats) -> None:
    """Bring the stats up to date."""
    host = counts.copy_to_host()
    stats["pushes"] = int(host[0::2].sum())
    stats["relabels"] = int(host[1::2].sum())


def kernels():
    """Name, kernel and argument types of what is compiled."""
    cells = int32[::1]
    found = [("sink_side", sink_side_kernel, (cells, int32, uint8[::1]))]
    for number in (int32, int64):
        arguments = (number[::1], number[::1], cells, cells, cells, cells, int32)
        found.append((f"global_relabel {number}", global_relabel_kernel, arguments))
    return found
