"""CudaCuts, the atomic version: alternating push and relabel kernels; Vineet and Narayanan, Łupińska, section 4.3.

Returns the pixels that can still reach the sink once no excess can.  There is one thread per pixel.  One kernel pushes
while all heights are fixed, the other relabels while the flow is fixed.  A block covers a rectangle of the flat
index space; its heights, and those of a one-pixel halo, are stored in shared memory.

::

      p = first + row * width + column           columns of a block
      rows of a block:   8 lines              ┌ halo ────────────────┐
      neighbours in the same plane, one away: │ ┌ heights of 32 × 8 ┐│   in shared memory
      others:                                 │ └──────────────────┘│   read from global memory
                                              └──────────────────────┘
Arrays (ceiling = cells + 1)
  excess[p]      atomic while pushing: neighbours add to it
  residual[a]    an arc and its reverse are changed by one thread only, that of the higher end: not atomic
  height[p]      h(x);  changed by the relabel kernel only
  mask[p]        1 active: excess, and a residual neighbour one lower;  0 passive: excess only, to be relabeled;
                 2 inactive: no excess, or disconnected from the sink

A neighbour's height may be read before or after it is relabeled in the same launch.  Either way the height that
follows is at most one above the neighbour's, which is all that push-relabel needs.

Deviates from the description: residuals stay in the grid's layout (a cache line holds all arcs of some pixels) instead
of one table per direction; capacities to the sink are in the signed excess; heights start as distances; excess
disconnected from the sink stays in its pixel.  The original stops when excesses have not changed for some iterations,
which does not imply a maximum flow.  The split of a multiprocessor's memory into shared memory and L1 cache, of which
the paper prefers 48 and 16 kB, is the driver's: numba cannot set it.  Here, every `global_every` iterations, heights
are set to distances, and the solve ends when no excess can reach the sink.  This also avoids most relabels.

[1] Vineet, Narayanan. "CUDA cuts: fast graph cuts on the GPU." CVPR workshops 2008.
[2] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.3.

O(n^2) iterations; memory 9 bytes per pixel.
"""

from typing import NamedTuple

import numpy as np

from gridcut.core.grid import Grid
from gridcut.core.push_relabel_rules_cuda import is_admissible, lifted, push_amount
from gridcut.device.arguments import check_count
from gridcut.device.arrays import allocate
from gridcut.device.cuda import cuda, cuda_kernel, device_function
from gridcut.device.cuda_types import int32, int64, uint8, uint32
from gridcut.device.launch import blocks_of
from gridcut.papers.global_relabel_cuda import (
    MAX_THREADS,
    check_counts,
    count_operations,
    flat_steps,
    global_relabel,
    make_counts,
    make_heights,
    read_counts,
    sink_side_of,
)

LINE_COLUMNS = 32  # columns of the rectangles of a grid with a single line
MAX_UNROLLED_ARCS = 8  # the compiler does not unroll the push of more arcs (seen in its PTX)
PASSIVE, ACTIVE, INACTIVE = 0, 1, 2  # the relabel mask


class Frame(NamedTuple):
    """How blocks cover the cells: rows of `width` columns from cell `first` to cell `last`, `across` blocks per row."""

    first: np.int32
    last: np.int32
    width: np.int32
    across: np.int32


@device_function
def quotient(a, b):
    """a // b of nonnegative integers, in 32 bits."""
    return int32(uint32(a) // uint32(b))


@device_function
def cell_of_thread(frame):
    """The cell of this thread (-1: none) and its index in the shared heights."""
    tx = int32(cuda.threadIdx.x)
    ty = int32(cuda.threadIdx.y)
    block = int32(cuda.blockIdx.x)
    down = quotient(block, frame.across)
    column = int32((block - down * frame.across) * cuda.blockDim.x + tx)
    row = int64(down) * cuda.blockDim.y + ty
    p = row * frame.width + column + frame.first
    at = int32((ty + 1) * (cuda.blockDim.x + 2) + tx + 1)
    if column < frame.width and p < frame.last:
        return int32(p), at
    return int32(-1), at


@device_function
def share_heights(height, heights, frame):
    """Copy the heights of the block and its halo to shared memory."""
    wide = int32(cuda.blockDim.x + 2)
    cells = int32(wide * (cuda.blockDim.y + 2))
    block = int32(cuda.blockIdx.x)
    down = quotient(block, frame.across)
    corner = int64(down) * cuda.blockDim.y * frame.width + (block - down * frame.across) * cuda.blockDim.x
    corner = corner + frame.first - frame.width - 1
    i = int32(cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x)
    while i < cells:
        y = quotient(i, wide)
        p = corner + int64(y) * frame.width + (i - y * wide)
        heights[i] = height[p] if p >= 0 and p < height.size else int32(0)
        i = int32(i + cuda.blockDim.x * cuda.blockDim.y)
    cuda.syncthreads()


@device_function
def neighbour_height(height, heights, at, near, y):
    """h(y), from shared memory if `near`, the offset from x to y in the shared heights, is not 0."""
    if near != 0:
        return heights[at + near]
    return height[y]


@cuda_kernel
def push_kernel(excess, residual, step, near, height, mask, counts, frame, ceiling):
    """Active pixels push to all neighbours one lower."""
    heights = cuda.shared.array(0, int32)
    share_heights(height, heights, frame)
    x, at = cell_of_thread(frame)
    if x < 0 or mask[x] != ACTIVE:
        return
    before = excess[x]
    left = before
    here = heights[at]
    arcs = int32(len(step))
    arc = int64(x) * arcs
    pushes = int32(0)
    k = int32(0)
    while k < arcs:
        r = residual[arc + k]
        y = int32(x + step[k])
        if r > 0 and left > 0 and is_admissible(here, neighbour_height(height, heights, at, near[k], y)):
            amount = push_amount(left, r)
            residual[arc + k] = r - amount
            residual[int64(y) * arcs + (k ^ 1)] += amount
            cuda.atomic.add(excess, y, amount)
            left -= amount
            pushes = int32(pushes + 1)
        k = int32(k + 1)
    if pushes > 0:
        cuda.atomic.add(excess, x, left - before)
        count_operations(counts, pushes, int32(0))


@cuda_kernel
def relabel_kernel(excess, residual, step, near, height, mask, counts, frame, ceiling):
    """Set the masks of all pixels, and the heights of the passive ones one above their lowest neighbour."""
    heights = cuda.shared.array(0, int32)
    share_heights(height, heights, frame)
    x, at = cell_of_thread(frame)
    if x < 0:
        return
    here = heights[at]
    if excess[x] <= 0 or here >= ceiling:
        mask[x] = uint8(INACTIVE)
        return
    lowest = ceiling
    arcs = int32(len(step))
    arc = int64(x) * arcs
    k = int32(0)
    while k < arcs:
        if residual[arc + k] > 0:
            h = neighbour_height(height, heights, at, near[k], int32(x + step[k]))
            if h < lowest:
                lowest = h
        k = int32(k + 1)
    if is_admissible(here, lowest):
        mask[x] = uint8(ACTIVE)
    else:
        mask[x] = uint8(PASSIVE)
        height[x] = int32(lifted(lowest, ceiling))
        count_operations(counts, int32(0), int32(1))


def make_frame(layout, columns: int) -> Frame:
    """The frame of a grid, with its lines as rows; a grid with a single line is split into rows of LINE_COLUMNS."""
    width = layout.stride[-2] if len(layout.shape) > 1 else LINE_COLUMNS
    first, last = layout.head, layout.size - layout.head  # all pixels are in this range
    return Frame(*(np.int32(i) for i in (first, last, width, blocks_of(width, columns))))


def blocks_over(frame: Frame, block) -> int:
    """Number of blocks that cover the frame."""
    rows = blocks_of(int(frame.last - frame.first), int(frame.width))
    return int(frame.across) * blocks_of(rows, block[1])


def near_steps(layout, columns: int):
    """The steps in the shared heights; 0 for neighbours beyond the halo."""
    near = []
    for offset in layout.offsets:
        *out, dy, dx = (0, 0, *offset)
        fits = not any(out) and abs(dy) <= 1 and abs(dx) <= 1
        near.append(dy * (columns + 2) + dx if fits else 0)
    return near


def check_parameters(pushes, global_every, block) -> None:
    """Raise TypeError or ValueError for parameters that a launch cannot use."""
    check_counts(pushes=pushes, global_every=global_every)
    if not isinstance(block, tuple | list) or len(block) != 2:
        raise TypeError(f"block must be a pair of integers, got {block!r:.60}")
    for i, side in enumerate(block):
        check_count(f"block[{i}]", side, 1, MAX_THREADS)
    if block[0] * block[1] > MAX_THREADS:
        raise ValueError(f"block must have a product of at most {MAX_THREADS}, got {block!r:.60}")


def solve(grid: Grid, *, pushes=1, global_every=64, block=(32, 8), callback=None):
    """Solve in place; the mask of the sink side as a device array, and stats.

    pushes        m, push phases per relabel phase (the authors: more than 1 is faster on some grids)
    global_every  iterations between two exact tests
    block         threads per block: along a line, and lines
    """
    excess, residual, step, layout = grid.excess, grid.residual, grid.step, grid.layout
    check_parameters(pushes, global_every, block)
    frame = make_frame(layout, block[0])

    def push(shape, state):
        push_kernel[shape](*state)
        return 1

    return alternate(push, excess, residual, step, layout, frame, pushes, global_every, block, callback)


def alternate(push, excess, residual, step, layout, frame, pushes, global_every, block, callback):
    """The loop of both versions; push(launch configuration, kernel arguments) returns its number of launches."""
    heights = make_heights(excess, step)
    (mask,) = allocate((excess.size, np.uint8))
    counts = make_counts()
    shape = blocks_over(frame, block), tuple(block), 0, 4 * (block[0] + 2) * (block[1] + 2)
    steps, near = flat_steps(step, MAX_UNROLLED_ARCS), flat_steps(near_steps(layout, block[0]), MAX_UNROLLED_ARCS)
    state = excess, residual, steps, near, heights.height, mask, counts, frame, heights.ceiling
    stats = {"pushes": 0, "relabels": 0, "launches": 0, "iterations": 0, "global_relabels": 0}
    while True:
        active = global_relabel(excess, residual, heights)
        read_counts(counts, stats)
        stats["global_relabels"] += 1
        if callback is not None:
            callback(dict(stats))
        if not active:
            break
        for _ in range(global_every):
            relabel_kernel[shape](*state)
            stats["launches"] += 1
            for _ in range(pushes):
                stats["launches"] += push(shape, state)
        stats["iterations"] += global_every
    return sink_side_of(heights), stats


# CudaCuts without atomics: push, pull and relabel kernels; Vineet and Narayanan, Łupińska, section 4.3.
#
# Returns the pixels that can still reach the sink once no excess can.  As cudacuts.py, except that every thread
# writes to its own pixel only: a push stores the amounts sent along the arcs, and in a separate phase every pixel
# adds the amounts that its neighbours have sent.
#
# Arrays in addition to those of cudacuts.py
#   sent[a]       amount that the last push sent along arc a; valid only if sending
#   sending[p]    1: the pixel pushed in the last push phase
#
# Deviates from the description as cudacuts.py does; also, only pixels that push store amounts.
#
# [1] Vineet, Narayanan. "CUDA cuts: fast graph cuts on the GPU." CVPR workshops 2008.
# [2] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.3.
#
# O(n^2) iterations; memory 10 bytes per pixel, and another copy of the residuals.


@cuda_kernel
def send_kernel(excess, residual, step, near, height, mask, counts, frame, ceiling, sent, sending):
    """Active pixels store the amounts that they send to neighbours one lower."""
    heights = cuda.shared.array(0, int32)
    share_heights(height, heights, frame)
    x, at = cell_of_thread(frame)
    if x < 0:
        return
    left = excess[x]
    if mask[x] != ACTIVE or left <= 0:
        sending[x] = uint8(0)
        return
    here = heights[at]
    arcs = int32(len(step))
    arc = int64(x) * arcs
    pushes = int32(0)
    k = int32(0)
    while k < arcs:
        r = residual[arc + k]
        amount = left - left
        if r > 0 and left > 0:
            if is_admissible(here, neighbour_height(height, heights, at, near[k], int32(x + step[k]))):
                amount = push_amount(left, r)
                residual[arc + k] = r - amount
                left -= amount
                pushes = int32(pushes + 1)
        sent[arc + k] = amount
        k = int32(k + 1)
    excess[x] = left
    sending[x] = uint8(1)
    count_operations(counts, pushes, int32(0))


@cuda_kernel
def pull_kernel(excess, residual, step, frame, sent, sending):
    """All pixels add the amounts that were sent to them."""
    x, _ = cell_of_thread(frame)
    if x < 0:
        return
    arcs = int32(len(step))
    arc = int64(x) * arcs
    before = excess[x]
    held = before
    k = int32(0)
    while k < arcs:
        y = int32(x + step[k])
        if sending[y] != 0:
            amount = sent[int64(y) * arcs + (k ^ 1)]
            if amount > 0:
                residual[arc + k] += amount
                held += amount
        k = int32(k + 1)
    if held != before:
        excess[x] = held


def solve_pull(grid: Grid, *, pushes=1, global_every=64, block=(32, 8), callback=None):
    """Solve in place; the mask of the sink side as a device array, and stats.

    pushes        m, push and pull phases per relabel phase (the authors: more than 1 is faster on some grids)
    global_every  iterations between two exact tests
    block         threads per block: along a line, and lines
    """
    excess, residual, step, layout = grid.excess, grid.residual, grid.step, grid.layout
    check_parameters(pushes, global_every, block)
    frame = make_frame(layout, block[0])
    steps = flat_steps(step, MAX_UNROLLED_ARCS)
    (sent,) = allocate((residual.size, residual.dtype))
    (sending,) = allocate((excess.size, np.uint8), zero=True)

    def push(shape, state):
        send_kernel[shape](*state, sent, sending)
        pull_kernel[shape](excess, residual, steps, frame, sent, sending)
        return 2

    return alternate(push, excess, residual, step, layout, frame, pushes, global_every, block, callback)
