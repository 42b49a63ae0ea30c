"""The steps before any search: pushes to deficits one and two arcs away, and aggregation of excess in blocks.

`push_one_hop` and `push_two_hops` push excess to deficits one and two arcs away.  `aggregate_excess` then moves the
remaining excess to the middle of small blocks, if the arcs on the way have the capacity for all of it; a deficit is
moved by the flow that would satisfy it.  Both only change the pseudoflow, so the minimum cuts stay the same.  A block
then has one root instead of up to 64, and each exhausted root costs the search a tree.  On photographs with strong
regularisation this at least halves the time of the search; see benchmarks/notes/grids.md.

Arrays as in gridcut/core/grid.py.  Time: one pass each; no memory.

One- and two-hop pushes are the first levels of any augmenting-path method (Boykov, Kolmogorov. "An experimental
comparison of min-cut/max-flow algorithms for energy minimization in vision." PAMI 26(9), 2004); aggregation is ours.
"""

import numpy as np

from gridcut.device import inlined_kernel, inner_kernel, plain_kernel

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
def push_one_hop(excess, residual, step, first, last):
    """Push excess of the cells first..last to deficits of their neighbours."""
    for p in range(first, last):
        held = np.int64(excess[p])
        if held > 0:
            excess[p] = to_neighbours(p, held, excess, residual, step)


@plain_kernel
def push_two_hops(excess, residual, step, jump, first, last):
    """Push excess of the cells first..last to deficits two arcs away."""
    for p in range(first, last):
        held = np.int64(excess[p])
        if held > 0:
            excess[p] = over_neighbours(p, held, excess, residual, jump)


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
def aggregate_excess(excess, residual, grid, first, last):
    """Aggregate the excess on the lines from cell first to last in the middle of blocks, one axis after another.

    grid   extent and strides of three axes, the arc forward along each (-1: none), and the axis of the lines
    """
    extent, stride, forward, line_axis = grid
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
