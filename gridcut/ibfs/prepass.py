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

from gridcut.device import inlined_kernel, inner_kernel, kernel

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
            amount = min(held, np.int64(residual[a]), need)
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
                amount = min(min(held, room), min(np.int64(residual[b]), -np.int64(excess[q])))
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


@kernel
def push_one_hop(excess, residual, step, first, last):
    """Push excess of the cells first..last to deficits of their neighbours."""
    for p in range(first, last):
        held = np.int64(excess[p])
        if held > 0:
            excess[p] = to_neighbours(p, held, excess, residual, step)


@kernel
def push_two_hops(excess, residual, step, jump, first, last):
    """Push excess of the cells first..last to deficits two arcs away."""
    for p in range(first, last):
        held = np.int64(excess[p])
        if held > 0:
            excess[p] = over_neighbours(p, held, excess, residual, jump)


@kernel
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


@kernel
def aggregate_excess(excess, residual, grid, first, last):
    """Aggregate the excess on the lines from cell first to last in the middle of blocks, one axis after another.

    grid   extent and strides of three axes, the arc forward along each (-1: none), and the axis of the lines
    """
    shape, stride, forward, line_axis = grid
    arcs = np.uint64(residual.size // excess.size)
    count = np.empty(3, np.int64)
    for axis in range(3):
        count[axis] = (last - first) // stride[axis] if axis == line_axis else shape[axis]
    at = np.zeros((3, max(count[0], count[1], count[2])), np.int64)  # positions along each axis
    for axis in range(3):
        for i in range(count[axis]):
            at[axis, i] = i * stride[axis]
    for axis in range(2, -1, -1):
        if forward[axis] < 0:
            continue
        length, apart, k = count[axis], np.uint64(stride[axis]), np.uint64(forward[axis])
        count[axis] = 1
        # Lines outside, blocks, and lines inside, so that neighbours in memory follow one another.
        for z in range(count[0]):
            for y in range(count[1] if axis == 2 else 1):
                for begin in range(0, length, BLOCK_SIDE):
                    end = min(begin + BLOCK_SIDE, length)
                    middle = (begin + end) // 2
                    for inner in range(count[1] if axis == 0 else 1):
                        for x in range(count[2]):
                            line = np.uint64(first + at[0, z] + at[1, y + inner] + at[2, x])
                            low, high = line + np.uint64(begin) * apart, line + np.uint64(end - 1) * apart
                            came = pass_excess(excess, residual, arcs, k, apart, low, middle - begin)
                            came += pass_excess(excess, residual, arcs, k ^ ONE, -apart, high, end - 1 - middle)
                            excess[line + np.uint64(middle) * apart] += came
        for begin in range(0, length, BLOCK_SIDE):
            at[axis, begin // BLOCK_SIDE] = (begin + min(begin + BLOCK_SIDE, length)) // 2 * stride[axis]
        count[axis] = (length + BLOCK_SIDE - 1) // BLOCK_SIDE
