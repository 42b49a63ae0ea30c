"""Lock-free push-relabel on a GPU: Hong's algorithm, Łupińska, algorithm 4.5.

Returns the pixels that can still reach the sink once no excess can.  There is one thread per pixel, and only this
thread pushes from the pixel and relabels it; threads never wait for one another.  A pixel pushes to its *lowest*
residual neighbour, and is relabeled only if that one is not lower, so using an outdated height of a neighbour is safe.

Arrays (ceiling = cells + 1)          paper [1]
  excess[p]      changed atomically    e(x);  other threads only add to it
  residual[a]    changed atomically    c_f(x, y);  only the thread of x takes from it
  height[p]      written by its thread h(x)

Deviates from [1]: heights start as distances; excess disconnected from the sink stays in its pixel (`Cut.flow` returns
it) instead of rising above the source; a thread ends when its pixel holds no excess, as in the paper, but also after
`steps` operations, and pixels that become active later are processed in the next launch.  Every `global_every` launches
heights are set to distances again; otherwise the heights of pixels with disconnected excess would increase for n steps.
As on the CPU, a launch may end with an arc that falls by more than one (algorithm 4.8 cancels those).  With new
distances it is valid again, but the proof that heights only increase does not hold.  So from round FALLBACK_ROUND on,
launches alternate between pushes only and relabels only, and no such arc can arise: every height is then a lower bound
of a distance and never decreases.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.4.
[2] Hong. "A lock-free multi-threaded algorithm for the maximum flow problem." IPDPS 2008.

No bound on the number of operations is proved.  Memory: 8 bytes per pixel.
"""

import numpy as np

from gridcut.core.grid import Grid
from gridcut.core.push_relabel_rules_cuda import goes_down, lifted, push_amount
from gridcut.device.cuda import cuda, cuda_kernel, device_function, relaxed_load
from gridcut.device.cuda_types import int32, int64
from gridcut.device.launch import blocks_of
from gridcut.papers.global_relabel_cuda import (
    check_counts,
    count_operations,
    flat_steps,
    global_relabel,
    make_counts,
    make_heights,
    read_counts,
    sink_side_of,
)

FALLBACK_ROUND = 200
MAX_UNROLLED_ARCS = 10  # 64 registers per thread, so that blocks of 1024 threads fit
PUSH, RELABEL = 1, 2  # bits of the operations that a launch may execute


@device_function
def lowest_neighbour(residual, step, height, x, ceiling):
    """Lines 4-9: the height of the lowest residual neighbour of x, its index and the arc to it."""
    arcs = int32(len(step))
    arc = int64(x) * arcs
    lowest = ceiling
    y = x
    best = int32(0)
    k = int32(0)
    while k < arcs:
        q = int32(x + step[k])
        # Both are read unconditionally, so that no read waits for another.
        r = relaxed_load(residual, arc + k)
        h = relaxed_load(height, q)
        if r > 0 and h < lowest:
            lowest = h
            y = q
            best = k
        k = int32(k + 1)
    return lowest, y, best


@device_function
def operate(excess, residual, step, height, x, here, left, ceiling, may):
    """Lines 4-17: one operation of x; its height, and the numbers of pushes and relabels."""
    lowest, y, k = lowest_neighbour(residual, step, height, x, ceiling)
    if goes_down(here, lowest):
        if may & PUSH == 0:
            return here, int32(0), int32(0)
        arcs = int32(len(step))
        arc = int64(x) * arcs + k
        amount = push_amount(left, relaxed_load(residual, arc))
        cuda.atomic.add(residual, arc, -amount)
        cuda.atomic.add(residual, int64(y) * arcs + (k ^ 1), amount)
        cuda.atomic.add(excess, x, -amount)
        cuda.atomic.add(excess, y, amount)
        return here, int32(1), int32(0)
    if may & RELABEL == 0:
        return here, int32(0), int32(0)
    here = int32(lifted(lowest, ceiling))
    height[x] = here
    return here, int32(0), int32(1)


@cuda_kernel
def lock_free_kernel(excess, residual, step, height, counts, first, last, ceiling, steps, may):
    """Algorithm 4.5 for the cells from `first` to `last`, at most `steps` operations each."""
    x = int32(first + cuda.grid(1))
    if x >= last:
        return
    here = height[x]
    left = relaxed_load(excess, x)
    pushes = int32(0)
    relabels = int32(0)
    while left > 0 and here < ceiling and steps > 0:
        here, pushed, relabeled = operate(excess, residual, step, height, x, here, left, ceiling, may)
        pushes = int32(pushes + pushed)
        relabels = int32(relabels + relabeled)
        left = relaxed_load(excess, x)
        steps = int32(steps - 1)
    count_operations(counts, pushes, relabels)


def solve(grid: Grid, *, steps=64, global_every=8, block=256, callback=None):
    """Solve in place; the mask of the sink side as a device array, and stats.

    steps         maximum number of operations per pixel in one launch
    global_every  launches between two global relabelings
    block         threads per block
    """
    excess, residual, step, layout = grid.excess, grid.residual, grid.step, grid.layout
    check_counts(steps=steps, global_every=global_every, block=block)
    heights = make_heights(excess, step)
    step = flat_steps(step, MAX_UNROLLED_ARCS)
    counts = make_counts()
    first, last = np.int32(layout.head), np.int32(layout.size - layout.head)  # all pixels are in this range
    kernel = lock_free_kernel[blocks_of(int(last - first), block), block]
    steps = min(steps, 2**31 - 1)
    height, ceiling = heights.height, heights.ceiling
    stats = {"pushes": 0, "relabels": 0, "launches": 0, "global_relabels": 0}
    while True:
        active = global_relabel(excess, residual, heights)
        read_counts(counts, stats)
        stats["global_relabels"] += 1
        if callback is not None:
            callback(dict(stats))
        if not active:
            break
        launches = [(steps, PUSH | RELABEL)]
        if stats["global_relabels"] >= FALLBACK_ROUND:
            launches = [(1, PUSH), (1, RELABEL)]
        for _ in range(global_every):
            for operations, may in launches:
                kernel(
                    excess, residual, step, height, counts, first, last, ceiling, np.int32(operations), np.int32(may)
                )
                stats["launches"] += 1
    return sink_side_of(heights), stats
