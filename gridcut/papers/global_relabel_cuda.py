"""Heights on the GPU: global relabeling (Łupińska, algorithm 4.4) in one launch, and the sink side.

A breadth-first search runs backwards from the sink, one level between two grid-wide barriers.  The threads share the
pixels of a level and all arcs into them.  The thread whose compare-and-swap lowers height[q] appends q to the queue,
with one atomic addition per warp.  The pixels that the search does not reach get the height `ceiling` (gap relabeling).

Arrays (n cells; ceiling = n + 1)
  height[p]     1: remaining capacity to the sink;  ceiling: cannot reach the sink (and the padding)
  queue[...]    cells in the order in which they were reached, level by level
  tally[0..2]   in rotating order: number of pixels of the level that is read, of the level that is appended to, and 0
                for the level after it; 0 between launches
  tally[3]      number of active pixels: with excess, and connected to the sink

The distances equal those of gridcut/core/push_relabel_steps.py, with another order of the queue.  O(n + m) work and one
barrier per level; memory 8 bytes per pixel.
"""

from typing import NamedTuple

import numpy as np

from gridcut.core.push_relabel_rules_cuda import append
from gridcut.device.arguments import check_count
from gridcut.device.arrays import allocate, upload
from gridcut.device.cuda import (
    SIMULATED,
    WARP,
    cooperative_blocks,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    relaxed_load,
)
from gridcut.device.cuda_types import int32, int64, uint8
from gridcut.device.launch import blocks_of

MAX_CELLS = 2**31 - 2**24  # cells and heights are int32, and a thread may count one stride past the last cell
THREADS = WARP if SIMULATED else 256  # per block, for kernels that do not depend on the shape of blocks
MAX_STEPS = 2**31 - 1  # kernels count in int32
MAX_THREADS = 1024  # per block, on all GPUs
COUNTER_SLOTS = 256  # counters of operations: enough that blocks do not wait for the same one


class Heights(NamedTuple):
    """The arrays above for one grid, the flat steps as a device array, and the height `ceiling`."""

    height: object
    queue: object
    tally: object
    steps: object
    ceiling: np.int32


def make_heights(excess, step) -> Heights:
    """Allocate the heights of a grid; raises ValueError if int32 cannot index its cells."""
    size = excess.size
    check_size(size)
    height, queue = allocate((size, np.int32), (size, np.int32))
    return Heights(height, queue, upload(np.zeros(4, np.int32)), step_array(step), np.int32(size + 1))


def step_array(step):
    """The steps as a device array."""
    return upload(np.array(step, np.int32))


def flat_steps(step, unrolled: int):
    """The steps as kernels accept them: a tuple for up to `unrolled` arcs, else an array.

    The length of a tuple is known to the compiler, which unrolls the loops, so that all reads are in flight
    concurrently.  It does not unroll loops over more than `unrolled` arcs, and then indexes a tuple by branches, which
    is slower than an array.
    """
    return tuple(np.int32(s) for s in step) if len(step) <= unrolled else step_array(step)


@cuda_kernel
def global_relabel_kernel(excess, residual, height, queue, tally, steps, ceiling):
    """Set all heights to distances to the sink, and count the active pixels; requires a cooperative launch."""
    arcs = int32(steps.size)
    size = int32(excess.size)
    thread = int32(cuda.grid(1))
    threads = int32(cuda.gridsize(1))
    lane = int32(cuda.laneid)
    if thread == 0:
        tally[3] = 0
    base = int32(thread - lane)  # all lanes of a warp execute the same iterations
    while base < size:
        p = int32(base + lane)
        deficit = False
        if p < size:
            deficit = excess[p] < 0
            height[p] = int32(1) if deficit else ceiling
        append(queue, tally, int32(0), int32(0), deficit, p)
        base = int32(base + threads)
    grid_sync()

    # This thread scans one of the arcs k of every `together`-th pixel of a level.
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
    """Set all heights to distances to the sink; returns the number of active pixels."""
    args = (excess, residual, heights.height, heights.queue, heights.tally, heights.steps, heights.ceiling)
    arcs = heights.steps.size
    threads = -(-arcs // WARP) * WARP if SIMULATED else THREADS
    max_blocks = cooperative_blocks(global_relabel_kernel, args, threads)
    wanted = max(blocks_of(excess.size, threads), blocks_of(arcs, threads))  # each arc k needs a thread
    global_relabel_kernel[min(max_blocks, wanted), threads](*args)
    return int(heights.tally[3:4].copy_to_host()[0])


def sink_side_of(heights: Heights):
    """The mask of the sink side, from heights that are distances; a device array."""
    size = heights.height.size
    (sink_side,) = allocate((size, np.uint8))
    sink_side_kernel[blocks_of(size, THREADS), THREADS](heights.height, heights.ceiling, sink_side)
    return sink_side


def check_size(size: int) -> None:
    """Raise ValueError for more cells than int32 can index."""
    if size >= MAX_CELLS:
        raise ValueError(f"this method accepts fewer than {MAX_CELLS} cells on a GPU, got {size}; split the grid")


def check_counts(**parameters) -> None:
    """Raise TypeError or ValueError for parameters that are not positive integers, or too large for a kernel."""
    for name, value in parameters.items():
        check_count(name, value, 1, MAX_THREADS if name == "block" else MAX_STEPS)


def make_counts():
    """Counters of operations: pushes at even indices, relabels at odd ones."""
    return upload(np.zeros(2 * COUNTER_SLOTS, np.int64))


@device_function
def count_operations(counts, pushes, relabels):
    """Add the operations of one thread."""
    slot = int32(2 * (int32(cuda.blockIdx.x) % COUNTER_SLOTS))
    if pushes > 0:
        cuda.atomic.add(counts, slot, int64(pushes))
    if relabels > 0:
        cuda.atomic.add(counts, int32(slot + 1), int64(relabels))


def read_counts(counts, stats) -> None:
    """Update the stats."""
    host = counts.copy_to_host()
    stats["pushes"] = int(host[0::2].sum())
    stats["relabels"] = int(host[1::2].sum())
