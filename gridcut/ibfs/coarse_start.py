"""A start for grids in which flow travels far: the flow of the grid of blocks of two pixels per axis, spread over arcs.

A coarse pixel is a block, with the sum of the excesses of its pixels; its arcs have the sums of the capacities between
two blocks.  Their maximum flow is divided among the arcs of the grid in proportion to their capacities.  The result is
a pseudoflow within all capacities, and any pseudoflow is a valid start.  What remains travels through a few blocks.
The coarse grid is started in the same way, LEVELS times in all.

O(cells) in addition to the solves of the coarse grids; memory: a third of that of the grid.
"""

from itertools import product

import numpy as np

from gridcut.core.grid import Layout, make_layout
from gridcut.device import kernel, run_threads

LEVELS = 2
INSIDE = -1  # in place of a coarse arc: both ends are in one block


@kernel
def sum_blocks(extent, stride, head, coarse, arc, first, last, excess, residual, sums, capacity):
    """Fill the coarse lines first..last; returns the largest excess and the largest capacity of an arc.

    coarse          extent, stride and head of the coarse grid
    arc[parity, k]  coarse arc of arc k of a pixel whose position in its block is `parity`, or INSIDE
    """
    wide, apart, start = coarse
    arcs, coarse_arcs = arc.shape[1], capacity.size // sums.size
    total = np.zeros(coarse_arcs, np.int64)
    most = most_excess = np.int64(0)
    for line in range(first, last):
        z0, y0 = divmod(line, wide[1])
        for x0 in range(wide[2]):
            total[:] = 0
            held = np.int64(0)
            for z in range(2 * z0, min(2 * z0 + 2, extent[0])):
                for y in range(2 * y0, min(2 * y0 + 2, extent[1])):
                    for x in range(2 * x0, min(2 * x0 + 2, extent[2])):
                        p = np.uint64(head + z * stride[0] + y * stride[1] + x)
                        held += excess[p]
                        parity = 4 * (z & 1) + 2 * (y & 1) + (x & 1)
                        for k in range(arcs):
                            to = arc[parity, k]
                            if to >= 0:
                                total[to] += residual[p * np.uint64(arcs) + np.uint64(k)]
            q = start + z0 * apart[0] + y0 * apart[1] + x0
            sums[q] = held
            most_excess = max(most_excess, abs(held))
            for k in range(coarse_arcs):
                capacity[q * coarse_arcs + k] = total[k]
                most = max(most, total[k])
    return most_excess, most


@kernel
def spread(extent, stride, head, coarse, arc, first, last, step, excess, residual, capacity, rest):
    """Push the flow of the coarse lines first..last, which is the capacity of each coarse arc minus its rest."""
    wide, apart, start = coarse
    arcs, coarse_arcs = len(step), 0  # 0: one block
    for parity in range(8):
        for k in range(arcs):
            coarse_arcs = max(coarse_arcs, arc[parity, k] + 1)
    left = np.zeros(coarse_arcs, np.int64)
    room = np.zeros(coarse_arcs, np.int64)
    for line in range(first, last):
        z0, y0 = divmod(line, wide[1])
        for x0 in range(wide[2]):
            a = (start + z0 * apart[0] + y0 * apart[1] + x0) * coarse_arcs
            sends = False
            for k in range(coarse_arcs):
                room[k] = capacity[a + k]
                left[k] = room[k] - rest[a + k]
                sends |= left[k] > 0
            if not sends:
                continue
            for z in range(2 * z0, min(2 * z0 + 2, extent[0])):
                for y in range(2 * y0, min(2 * y0 + 2, extent[1])):
                    for x in range(2 * x0, min(2 * x0 + 2, extent[2])):
                        p = head + z * stride[0] + y * stride[1] + x
                        parity = 4 * (z & 1) + 2 * (y & 1) + (x & 1)
                        for k in range(arcs):
                            to = arc[parity, k]
                            if to < 0 or left[to] <= 0:
                                continue
                            has = np.int64(residual[p * arcs + k])
                            amount = left[to] * has // room[to] if has > 0 else 0
                            left[to] -= amount
                            room[to] -= has
                            q = p + step[k]
                            residual[p * arcs + k] -= amount
                            residual[q * arcs + (k ^ 1)] += amount
                            excess[p] -= amount
                            excess[q] += amount


def coarse_layout(layout: Layout) -> tuple[Layout, np.ndarray]:
    """The layout of the grid of blocks, and the table `arc` of the kernels."""
    axes = len(layout.shape)
    ends = {
        (parity, k): tuple((i + o) // 2 for i, o in zip(parity, offset, strict=True))
        for parity in product((0, 1), repeat=axes)
        for k, offset in enumerate(layout.offsets)
    }
    coarse = make_layout(tuple(-(-d // 2) for d in layout.shape), {end for end in ends.values() if any(end)})
    arc = np.full((8, layout.arcs), INSIDE, np.int64)
    for (parity, k), end in ends.items():
        if end in coarse.offsets:
            arc[int("".join(map(str, parity)), 2), k] = coarse.arc(end)
    return coarse, arc


def start_from_blocks(excess, residual, layout: Layout, solve, threads: int, levels: int = LEVELS) -> None:
    """Change the flow to one that a solve can start from, by `solve(excess, residual, layout)` of coarser grids.

    The flow stays as it is if sums of capacities are too large for the type of the arrays.
    """
    coarse, arc = coarse_layout(layout)
    sums, capacity = np.zeros(coarse.size, excess.dtype), np.zeros(coarse.size * coarse.arcs, residual.dtype)
    grid = layout.extent, layout.stride3, layout.head
    blocks = coarse.extent, coarse.stride3, coarse.head
    # Two parts with one between them write to different lines.
    reach = max(1, *(offset[0] for offset in coarse.offsets))
    length, lines = coarse.shape[0] if len(coarse.shape) > 1 else 1, coarse.extent[0] * coarse.extent[1]
    parts = max(1, min(2 * threads, length // (2 * reach)))
    bounds = [length * i // parts * (lines // length) for i in range(parts + 1)]

    def fill(i):
        return sum_blocks(*grid, blocks, arc, bounds[i], bounds[i + 1], excess, residual, sums, capacity)

    def push(i):
        spread(*grid, blocks, arc, bounds[i], bounds[i + 1], layout.step, excess, residual, capacity, rest)

    most_excess, most = np.max(run_threads(fill, parts), 0).tolist()
    if most_excess + 2 * coarse.arcs * most > np.iinfo(excess.dtype).max:
        return
    rest = capacity.copy()
    if levels > 1:
        start_from_blocks(sums, rest, coarse, solve, threads, levels - 1)
    solve(sums, rest, coarse)
    run_threads(lambda i: push(2 * i), (parts + 1) // 2)
    run_threads(lambda i: push(2 * i + 1), parts // 2)
