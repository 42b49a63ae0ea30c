"""The steps before any search: pushes to deficits one and two arcs away, and aggregation of excess in blocks.

`push_up_to_two_hops` pushes excess to deficits one and two arcs away.  `aggregate_excess` then moves the remaining
excess to the middle of small blocks, if the arcs on the way have the capacity for all of it; a deficit is moved by the
flow that would satisfy it.  Both only change the pseudoflow, so the minimum cuts stay the same.  A block
then has one root instead of up to 64, and each exhausted root costs the search a tree.  On photographs with strong
regularisation this at least halves the time of the search; see benchmarks/notes/grids.md.

Arrays as in gridcut/core/grid.py.  Time: one pass each; no memory.

One- and two-hop pushes are the first levels of any augmenting-path method (Boykov, Kolmogorov. "An experimental
comparison of min-cut/max-flow algorithms for energy minimization in vision." PAMI 26(9), 2004); aggregation is ours.
"""

from itertools import product

import numpy as np

from gridcut.core.grid import Layout, make_layout
from gridcut.device import inlined_kernel, inner_kernel, kernel, plain_kernel, run_threads

BLOCK_SIDE = 8  # pixels; 4, 8 and 16 take about the same time
ONE = np.uint64(1)


@inlined_kernel
def to_neighbours(p, held, excess, residual, step):
    """Push the excess `held` of cell p to deficits of its neighbours; returns what is left of it."""
    arcs = np.uint64(len(step))
    for i in range(len(step)):
        q = p + step[i]
        need = -np.int64(excess[q])
        if need > 0:
            a = p * arcs + np.uint64(i)
            room = np.int64(residual[a])
            amount = held if held < need else need
            amount = amount if amount < room else room
            if amount > 0:
                residual[a] -= amount
                residual[q * arcs + (np.uint64(i) ^ ONE)] += amount
                excess[q] += amount
                held -= amount
                if held == 0:
                    break
    return held


@inlined_kernel
def over_neighbours(p, held, excess, residual, jump):
    """Push the excess `held` of cell p to deficits two arcs away; returns what is left of it."""
    arcs = np.uint64(jump.size)
    for k in range(arcs):
        a = p * arcs + k
        room = np.int64(residual[a])
        if room <= 0:
            continue
        v = p + jump[k]
        for j in range(arcs):
            q = v + jump[j]
            if excess[q] < 0:
                b = v * arcs + j
                need, rest = -np.int64(excess[q]), np.int64(residual[b])
                amount = held if held < room else room
                amount = amount if amount < rest else rest
                amount = amount if amount < need else need
                if amount > 0:
                    residual[a] -= amount
                    residual[v * arcs + (k ^ ONE)] += amount
                    residual[b] -= amount
                    residual[q * arcs + (j ^ ONE)] += amount
                    excess[q] += amount
                    held -= amount
                    room -= amount
                    if held == 0 or room == 0:
                        break
        if held == 0:
            break
    return held


@plain_kernel
def push_up_to_two_hops(excess, residual, step, jump, first, last):
    """Push excess of the cells first..last to deficits one arc away and, what is left of it, two arcs away."""
    for p in range(first, last):
        held = np.int64(excess[p])
        if held > 0:
            held = to_neighbours(p, held, excess, residual, step)
            excess[p] = over_neighbours(p, held, excess, residual, jump) if held > 0 else 0


@inner_kernel
def pass_excess(excess, residual, arcs, k, stride, first, count):
    """Move the excess of `count` cells along arc k, accumulating it from cell to cell; returns the amount at the end.

    An amount that exceeds the capacity of an arc stays in its cell.
    """
    p = first
    carried = np.int64(0)
    for _ in range(count):
        held = np.int64(excess[p]) + carried
        there = p * arcs + k
        back = (p + stride) * arcs + (k ^ ONE)
        fits = (residual[there] >= held) & (residual[back] >= -held)
        carried = held if fits else np.int64(0)
        residual[there] -= carried
        residual[back] += carried
        excess[p] = held - carried
        p += stride
    return carried


@inner_kernel
def middle(begin, side, length):
    """The position in which a block is aggregated that begins at `begin`, of `side` cells or less at the end."""
    end = begin + side
    return (begin + (end if end < length else length)) // 2


@plain_kernel
def aggregate_excess(excess, residual, axes, first, last):
    """Aggregate the excess on the lines from cell first to last in the middle of blocks, one axis after another.

    axes   extent and strides of three axes, the arc forward along each (-1: none), and the axis of the lines
    """
    extent, stride, forward, line_axis = axes
    lines = (last - first) // stride[line_axis]
    arcs = np.uint64(residual.size // excess.size)
    for axis in range(2, -1, -1):
        if forward[axis] < 0:
            continue
        k, apart = np.uint64(forward[axis]), np.uint64(stride[axis])
        length = lines if axis == line_axis else extent[axis]
        # The other axes; those after this one have been aggregated.
        outer, inner = (1 if axis == 0 else 0), (1 if axis == 2 else 2)
        outer_side = BLOCK_SIDE if outer > axis and forward[outer] >= 0 else 1
        inner_side = BLOCK_SIDE if inner > axis and forward[inner] >= 0 else 1
        outer_length = lines if outer == line_axis else extent[outer]
        inner_length = lines if inner == line_axis else extent[inner]
        for i in range(0, outer_length, outer_side):
            for j in range(0, inner_length, inner_side):
                line = np.uint64(
                    first
                    + middle(i, outer_side, outer_length) * stride[outer]
                    + middle(j, inner_side, inner_length) * stride[inner]
                )
                for begin in range(0, length, BLOCK_SIDE):
                    end = begin + BLOCK_SIDE if begin + BLOCK_SIDE < length else length
                    at = middle(begin, BLOCK_SIDE, length)
                    low, high = line + np.uint64(begin) * apart, line + np.uint64(end - 1) * apart
                    came = pass_excess(excess, residual, arcs, k, apart, low, at - begin)
                    came += pass_excess(excess, residual, arcs, k ^ ONE, -apart, high, end - 1 - at)
                    excess[line + np.uint64(at) * apart] += came


# A start for grids in which flow travels far: the flow of the grid of blocks of two pixels per axis, spread over
# arcs.
#
# A coarse pixel is a block, with the sum of the excesses of its pixels; its arcs have the sums of the capacities
# between two blocks.  Their maximum flow is divided among the arcs of the grid in proportion to their capacities.
# The result is a pseudoflow within all capacities, and any pseudoflow is a valid start.  What remains travels through
# a few blocks. The coarse grid is started in the same way, LEVELS times in all.
#
# O(cells) in addition to the solves of the coarse grids; memory: a third of that of the grid.

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
