"""Method "ibfs" on one small grid in one compiled call, or two: the largest capacities, then everything else.

The grid is one strip (ibfs.py): loaded, pushed one and two hops in one pass, searched, and read.  Excess is not
aggregated, and not pushed one hop again, which takes longer than it saves.

Arrays
  planes     the capacities in raster order, int64 or float64: source, sink, and one plane per entry of `edges`
  geometry   [d0, d1, d2, s0, s1, s2, head] of the layout in gridcut/core/grid.py, then for each arc
             [o0, o1, o2, plane, shift]: pixel i of the arc is entry i + shift of its plane; plane -1: no capacity
  largest    of source, sink and each arc
  totals     capacity of the cut: of source, sink and each arc
Others as in gridcut/core/grid.py and forest.py.
"""

import numpy as np

from gridcut.core.units import units
from gridcut.device import inner_kernel, plain_kernel
from gridcut.ibfs.forest import DEPTHS, FREE, Forest, Work
from gridcut.ibfs.prepass import push_up_to_two_hops
from gridcut.ibfs.search import UNTIL_SINK, search

HEAD, ARCS = 6, 7  # positions in `geometry`, after the extent and the strides
PER_ARC = 5  # numbers per arc
LISTS, LONGER = 13, 8  # of `solve_planes`
PLANE, SHIFT = 3, 4  # positions in those of an arc


@plain_kernel
def largest_in_planes(planes, geometry, largest):
    """Write the largest capacities in use; returns whether all of them are finite and none is negative."""
    signed = largest.view(np.int64)
    for _ in range(2):
        largest_bits(planes.view(np.uint64), geometry, largest.view(np.uint64))
        bad = 0
        for t in range(largest.size):
            bad += 0 if signed[t] >= 0 and largest[t] < np.inf else 1
        if bad == 0:
            return True
        for i in range(planes.size):
            planes[i] += planes.dtype.type(0)  # makes -0.0 to 0.0
    return False


@inner_kernel
def largest_bits(bits, geometry, largest):
    """Write the largest bits of each capacity: their order is that of the numbers, and all negative ones are above.

    Processors compare four at a time, but floats, in which order matters because of NaN, one after the other.
    """
    d0, d1, d2 = geometry[0], geometry[1], geometry[2]
    pixels = d0 * d1 * d2
    for t in range(2):
        top = np.uint64(0)
        for i in range(t * pixels, (t + 1) * pixels):
            value = bits[np.uint64(i)]
            top = value if value > top else top
        largest[t] = top
    for k in range(largest.size - 2):
        a = ARCS + PER_ARC * k
        o0, o1, o2 = geometry[a], geometry[a + 1], geometry[a + 2]
        top = np.uint64(0)
        if geometry[a + PLANE] >= 0:
            start = geometry[a + PLANE] * pixels + geometry[a + SHIFT]
            for z in range(max(0, -o0), min(d0, d0 - o0)):
                for y in range(max(0, -o1), min(d1, d1 - o1)):
                    line = start + (z * d1 + y) * d2
                    for i in range(line + max(0, -o2), line + min(d2, d2 - o2)):
                        value = bits[np.uint64(i)]
                        top = value if value > top else top
        largest[2 + k] = top


@plain_kernel
def load_planes(planes, scale, geometry, excess, residual):
    """Write the initial excesses and residuals, in arrays of zeros."""
    d0, d1, d2 = geometry[0], geometry[1], geometry[2]
    s0, s1, head = geometry[3], geometry[4], geometry[6]
    arcs = (geometry.size - ARCS) // PER_ARC
    pixels = d0 * d1 * d2
    for z in range(d0):
        for y in range(d1):
            i = (z * d1 + y) * d2
            p = head + z * s0 + y * s1
            for x in range(d2):
                source, sink = planes[np.uint64(i + x)], planes[np.uint64(pixels + i + x)]
                excess[np.uint64(p + x)] = units(source, scale) - units(sink, scale)
    for k in range(arcs):
        a = ARCS + PER_ARC * k
        if geometry[a + PLANE] < 0:
            continue
        o0, o1, o2 = geometry[a], geometry[a + 1], geometry[a + 2]
        start = geometry[a + PLANE] * pixels + geometry[a + SHIFT]
        for z in range(max(0, -o0), min(d0, d0 - o0)):
            for y in range(max(0, -o1), min(d1, d1 - o1)):
                i = start + (z * d1 + y) * d2
                r = (head + z * s0 + y * s1) * arcs + k
                # Indices that are never negative: as uint64, they need no test by numba.
                for x in range(max(0, -o2), min(d2, d2 - o2)):
                    residual[np.uint64(r + x * arcs)] = units(planes[np.uint64(i + x)], scale)


@plain_kernel
def read_cut(planes, geometry, label, labels, totals):
    """Write the labels of the pixels in raster order, and the capacity of the cut."""
    d0, d1, d2 = geometry[0], geometry[1], geometry[2]
    s0, s1, head = geometry[3], geometry[4], geometry[6]
    pixels = d0 * d1 * d2
    zero = planes[0] - planes[0]
    from_source, to_sink = zero, zero
    for z in range(d0):
        for y in range(d1):
            i = (z * d1 + y) * d2
            p = head + z * s0 + y * s1
            for x in range(d2):
                is_source = label[p + x] >= 0
                labels[i + x] = is_source
                from_source += zero if is_source else planes[i + x]
                to_sink += planes[pixels + i + x] if is_source else zero
    totals[0], totals[1] = from_source, to_sink
    for k in range(totals.size - 2):
        a = ARCS + PER_ARC * k
        o0, o1, o2 = geometry[a], geometry[a + 1], geometry[a + 2]
        total = zero
        if geometry[a + PLANE] >= 0:
            start = geometry[a + PLANE] * pixels + geometry[a + SHIFT]
            ahead = (o0 * d1 + o1) * d2 + o2
            for z in range(max(0, -o0), min(d0, d0 - o0)):
                for y in range(max(0, -o1), min(d1, d1 - o1)):
                    line = (z * d1 + y) * d2
                    for i in range(line + max(0, -o2), line + min(d2, d2 - o2)):
                        crosses = labels[np.uint64(i)] > labels[np.uint64(i + ahead)]
                        value = planes[np.uint64(start + i)]
                        total += value if crosses else zero
        totals[2 + k] = total


TOO_LARGE, GAVE_UP = -1, -2  # instead of numbers of augmentations and of repaired cells


@plain_kernel
def solve_planes(planes, scale, geometry, steps, excess, residual, lists, marks, labels, totals):
    """Solve a grid of checked capacities; returns the numbers of augmentations and of repaired cells.

    Both are GAVE_UP if the search gives up.

    scale   None, or the factors of gridcut/core/units.py
    steps   flat steps of the arcs, as `unsigned_steps` returns them
    lists, marks   memory of LISTS and 2 rows, longer than the grid by LONGER and as long as it is
    """
    load_planes(planes, scale, geometry, excess, residual)
    size = excess.size
    first, last = geometry[HEAD], size - geometry[HEAD]
    jump, step = steps
    push_up_to_two_hops(excess, residual, step, jump, np.uint64(first), np.uint64(last))
    label, link, ends, head = lists[9], lists[10], lists[11], lists[12]
    parent, queued = marks[0], marks[1]
    for p in range(size):
        label[p] = 0
        parent[p] = FREE
        queued[p] = 0
    ends[0] = ends[1] = 0
    ends[2] = min(DEPTHS, head.size)
    for d in range(ends[2]):
        head[d] = -1
    work = Work(lists[0], lists[1], lists[2], lists[3], lists[4], lists[5], lists[6], lists[7], lists[8], ends, head)
    forest = Forest(label, parent, link, queued)
    _, augmentations, repaired, gave_up = search(
        first, last, UNTIL_SINK, 1.0, excess, residual, step, jump, forest, work
    )
    if gave_up:
        return GAVE_UP, GAVE_UP
    read_cut(planes, geometry, label, labels, totals)
    return augmentations, repaired


@plain_kernel
def check_and_solve_planes(planes, limit, geometry, steps, excess, residual, lists, marks, labels, totals):
    """`solve_planes` of integers, if the largest ones are valid and their sum is at most `limit`; else TOO_LARGE."""
    if not largest_in_planes(planes, geometry, totals):
        return TOO_LARGE, TOO_LARGE
    rest = limit
    for largest in totals:
        if largest > rest:
            return TOO_LARGE, TOO_LARGE
        rest -= largest
    return solve_planes(planes, None, geometry, steps, excess, residual, lists, marks, labels, totals)
