"""Lock-free push-relabel on a GPU: Hong's algorithm, Łupińska, algorithm 4.5.

Returns the pixels that can still reach the sink once no excess can.  Every pixel has a thread of its own, which
alone pushes from it and relabels it; threads never wait for one another.  A pixel sends its excess to its *lowest*
residual neighbour, and is relabeled only if that one is not lower, so a height read a moment too early does no harm.

Arrays (ceiling = cells + 1)          paper [1]
  excess[p]      changed atomically    e(x);  other threads only add to it
  residual[a]    changed atomically    c_f(x, y);  only the thread of x takes from it
  height[p]      its thread writes     h(x)

Deviates from [1]: heights start as distances; excess cut off from the sink stays (`Cut.flow` returns it) instead of
climbing above the source; a thread ends when its pixel holds no excess, as in the paper, but also after `steps`
operations, and pixels that became active later are met by the next launch.  Every `global_every` launches heights
are set to distances again: without that, excess cut off from the sink would climb for n steps.  As on the CPU, a
launch may end with an arc that falls by more than one (algorithm 4.8 cancels those); new distances make it
harmless, but the proof that heights only rise is lost, so from round MANY on launches push only or relabel only, by
turns, and no such arc can arise: then every height is a lower bound of a distance, and never falls.

[1] Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 4.4.
[2] Hong. "A lock-free multi-threaded algorithm for the maximum flow problem." IPDPS 2008.

O(n^2 m) operations; memory 8 bytes a pixel.
"""

import numpy as np
from numba import int32, int64

from gridcut.device.cuda import cuda, cuda_kernel, device_function, relaxed_load
from gridcut.papers.global_relabel_cuda import (
    blocks_of,
    check_counts,
    count_operations,
    flat_steps,
    global_relabel,
    make_counts,
    make_heights,
    read_counts,
    sink_side_of,
    step_types,
)
from gridcut.papers.push_relabel_rules_cuda import goes_down, lifted, push_amount

MANY = 200
UNROLLED = 10  # arcs; 64 registers a thread, so that blocks of 1024 threads fit
PUSH, RELABEL = 1, 2  # what a launch may do


@device_function
def lowest_neighbour(residual, step, height, x, ceiling):
    """Lines 4-9: the height of the lowest residual neighbour of x, its number and the arc to it."""
    arcs = int32(len(step))
    arc = int64(x) * arcs
    lowest = ceiling
    y = x
    best = int32(0)
    k = int32(0)
    while k < arcs:
        q = int32(x + step[k])
        # Both are read whether needed or not: no read waits for another.
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
    """Lines 4-17: one operation of x; its height, and the numbers of pushes and relabels done."""
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


def solve(excess, residual, step, *, layout, steps=64, global_every=8, block=256, callback=None):
    """Solve in place; the mask of the sink side as a device array, and counts of what was done.

    steps         operations of a pixel in one launch, at most
    global_every  launches between two global relabelings
    block         threads of a block
    """
    check_counts(steps=steps, global_every=global_every, block=block)
    heights = make_heights(excess, step)
    step = flat_steps(step, UNROLLED)
    counts = make_counts()
    first, last = np.int32(layout.head), np.int32(layout.size - layout.head)  # no pixel lies outside
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
        turns = [(steps, PUSH | RELABEL)]
        if stats["global_relabels"] >= MANY:
            turns = [(1, PUSH), (1, RELABEL)]
        for _ in range(global_every):
            for operations, may in turns:
                kernel(
                    excess, residual, step, height, counts, first, last, ceiling, np.int32(operations), np.int32(may)
                )
                stats["launches"] += 1
    return sink_side_of(heights), stats


def kernels():
    """Name, kernel and argument types of what is compiled."""
    return [
        (
            f"lock_free {number} {step}",
            lock_free_kernel,
            (number[::1], number[::1], step, int32[::1], int64[::1], int32, int32, int32, int32, int32),
        )
        for number in (int32, int64)
        for step in step_types(UNROLLED)
    ]
