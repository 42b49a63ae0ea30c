"""CudaCuts without atomics: push, pull and relabel kernels; Vineet and Narayanan, Łupińska, section 4.3.

Returns the pixels that can still reach the sink once no excess can.  As cudacuts.py, except that every thread writes to
its own pixel only: a push stores the amounts sent along the arcs, and in a separate phase every pixel adds the amounts
that its neighbours have sent.

Arrays in addition to those of cudacuts.py
  sent[a]       amount that the last push sent along arc a; valid only if sending
  sending[p]    1: the pixel pushed in the last push phase

Deviates from the description as cudacuts.py does; also, only pixels that push store amounts.

[1] Vineet, Narayanan. "CUDA cuts: fast graph cuts on the GPU." CVPR workshops 2008.
[2] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.3.

O(n^2) iterations; memory 10 bytes per pixel, and another copy of the residuals.
"""

import numpy as np

from gridcut.core.grid import Grid
from gridcut.core.push_relabel_rules_cuda import is_admissible, push_amount
from gridcut.device.arrays import allocate
from gridcut.device.cuda import cuda, cuda_kernel
from gridcut.device.cuda_types import int32, int64, uint8
from gridcut.papers.cudacuts import (
    ACTIVE,
    MAX_UNROLLED_ARCS,
    alternate,
    cell_of_thread,
    check_parameters,
    make_frame,
    neighbour_height,
    share_heights,
)
from gridcut.papers.global_relabel_cuda import count_operations, flat_steps


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


def solve(grid: Grid, *, pushes=1, global_every=64, block=(32, 8), callback=None):
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
