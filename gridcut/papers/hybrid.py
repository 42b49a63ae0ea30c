"""The CPU-GPU hybrid of Hong and He, as Łupińska wrote it: algorithms 4.6 to 4.8 with the gap relabeling of 4.6.

Returns the pixels that can still reach the sink once no excess can.  In a launch, each pixel's thread reads its excess
`cycle` times and pushes or relabels by the lock-free rules.  Then residuals, heights and excesses go to the CPU,
which cancels arcs that fall by more than one and sets heights to distances to the sink.  The pixels that this search
does not reach get the height `ceiling`, and their excess is subtracted from the total that has still to arrive.

Arrays (ceiling = cells + 1)               paper [1]
  excess[p], residual[a], height[p]        e(x), u_f(x, y), h(x), on the GPU; host_* are the CPU's copies
  marked[p]                                the excess of p, disconnected from the sink, has been subtracted
  total (of all excesses), arrived         ExcessTotal, e(t)

Deviates from [1]: heights start as distances, not as 0; the arcs of source and sink are in the signed excesses, so
there are neither threads for them nor pointers to them (toSourceOrSink), and e(s) stays 0: no excess returns to the
source.  Residuals and excesses are copied to the GPU only after arcs were cancelled.  Cancelling an arc may leave a
pixel with a deficit, if its thread had read a neighbour's height before that was increased and had pushed the excess
elsewhere.  This is a valid pseudoflow, but heights may then decrease, and the termination proof does not hold.  So from
round FALLBACK_ROUND on, launches alternate between pushes only and relabels only, and no such arc can arise.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, sections 4.5 and 4.6.
[2] Hong, He. "An asynchronous multithreaded algorithm for the maximum network flow problem with nonblocking global
relabeling heuristic." IEEE TPDS 2011.

No bound on the operations is proved before round FALLBACK_ROUND.  Memory 4 bytes per pixel on the GPU; on the host 9
bytes per pixel and another copy of the grid.
"""

import numpy as np

from gridcut.core.grid import Grid
from gridcut.core.push_relabel_steps import global_relabel
from gridcut.core.push_relabel_steps import sink_side_of as host_sink_side_of
from gridcut.device import plain_kernel
from gridcut.device.arrays import allocate, upload
from gridcut.device.cuda import cuda, cuda_kernel, relaxed_load
from gridcut.device.cuda_types import int32
from gridcut.device.launch import blocks_of
from gridcut.papers.global_relabel_cuda import (
    check_counts,
    check_size,
    count_operations,
    flat_steps,
    make_counts,
    read_counts,
)
from gridcut.papers.lock_free_cuda import MAX_UNROLLED_ARCS, PUSH, RELABEL, operate

FALLBACK_ROUND = 200
LAUNCH_PAIRS = 500  # alternating push and relabel launches between two global relabelings on the CPU


@cuda_kernel
def hybrid_kernel(excess, residual, step, height, counts, first, last, ceiling, cycle, may):
    """Algorithm 4.8, the kernel: up to `cycle` operations of each cell from `first` to `last`."""
    x = int32(first + cuda.grid(1))
    if x >= last:
        return
    here = height[x]
    pushes = int32(0)
    relabels = int32(0)
    while cycle > 0:
        left = relaxed_load(excess, x)
        if left > 0 and here < ceiling:
            here, pushed, relabeled = operate(excess, residual, step, height, x, here, left, ceiling, may)
            pushes = int32(pushes + pushed)
            relabels = int32(relabels + relabeled)
        cycle = int32(cycle - 1)
    count_operations(counts, pushes, relabels)


@plain_kernel
def cancel_kernel(excess, residual, step, height):
    """Algorithm 4.8, lines 1-6: saturate the arcs that fall by more than one; returns their number."""
    arcs = len(step)
    cancelled = 0
    for x in range(excess.size):
        for k in range(arcs):
            amount = residual[x * arcs + k]
            if amount > 0:
                y = x + step[k]
                if height[x] > height[y] + 1:
                    excess[x] -= amount
                    excess[y] += amount
                    residual[y * arcs + (k ^ 1)] += amount
                    residual[x * arcs + k] = 0
                    cancelled += 1
    return cancelled


@plain_kernel
def positive_kernel(excess):
    """The sum of all excesses, in two parts: low + 2^32 high."""
    low = np.int64(0)
    high = np.int64(0)
    for x in range(excess.size):
        if excess[x] > 0:
            e = np.int64(excess[x])
            low += e & 0xFFFFFFFF
            high += e >> 32
    return low, high


@plain_kernel
def mark_kernel(excess, height, ceiling, marked):
    """Algorithm 4.8, lines 9-13: mark unreached pixels with excess; the sum of excess of the newly marked."""
    low = np.int64(0)
    high = np.int64(0)
    for x in range(excess.size):
        if excess[x] > 0 and height[x] == ceiling and marked[x] == 0:
            marked[x] = 1
            e = np.int64(excess[x])
            low += e & 0xFFFFFFFF
            high += e >> 32
    return low, high


def joined(parts) -> int:
    """A sum in two parts as one Python integer, which may exceed int64."""
    low, high = parts
    return int(low) + (int(high) << 32)


def solve(grid: Grid, *, cycle=7000, block=256, callback=None):
    """Solve in place; the mask of the sink side as a device array, and stats.

    cycle  number of times that each thread reads its pixel's excess in one launch (the paper: 7000)
    block  threads per block
    """
    excess, residual, step, layout = grid.excess, grid.residual, grid.step, grid.layout
    check_counts(cycle=cycle, block=block)
    check_size(excess.size)
    size = excess.size
    ceiling = np.int32(size + 1)
    (height,) = allocate((size, np.int32))
    host_excess = excess.copy_to_host(cuda.pinned_array(size, excess.dtype))
    host_residual = residual.copy_to_host(cuda.pinned_array(residual.size, residual.dtype))
    host_height = cuda.pinned_array(size, np.int32)
    queue = np.empty(size, np.int32)
    marked = np.zeros(size, np.uint8)
    steps = flat_steps(step, MAX_UNROLLED_ARCS)
    counts = make_counts()
    first, last = np.int32(layout.head), np.int32(size - layout.head)  # all pixels are in this range
    cycle = min(cycle, 2**31 - 1)
    run = hybrid_kernel[blocks_of(int(last - first), block), block]
    stats = {"pushes": 0, "relabels": 0, "launches": 0, "global_relabels": 0, "cancelled": 0}

    initial = joined(positive_kernel(host_excess))
    total = initial
    arrived = 0
    while True:
        global_relabel(host_excess, host_residual, step, host_height, queue, ceiling)
        total -= joined(mark_kernel(host_excess, host_height, ceiling, marked))
        read_counts(counts, stats)
        stats["global_relabels"] += 1
        if callback is not None:
            callback(dict(stats))
        if arrived >= total:
            break
        height.copy_to_device(host_height)
        launches = [(cycle, PUSH | RELABEL)]
        if stats["global_relabels"] >= FALLBACK_ROUND:
            launches = [(1, PUSH), (1, RELABEL)] * min(cycle, LAUNCH_PAIRS)
        for operations, may in launches:
            run(excess, residual, steps, height, counts, first, last, ceiling, np.int32(operations), np.int32(may))
            stats["launches"] += 1
        residual.copy_to_host(host_residual)
        height.copy_to_host(host_height)
        excess.copy_to_host(host_excess)
        cancelled = cancel_kernel(host_excess, host_residual, step, host_height)
        if cancelled:
            stats["cancelled"] += int(cancelled)
            residual.copy_to_device(host_residual)
            excess.copy_to_device(host_excess)
        arrived = initial - joined(positive_kernel(host_excess))
    sink_side = np.empty(size, np.uint8)
    host_sink_side_of(host_height, ceiling, sink_side)
    return upload(sink_side), stats
