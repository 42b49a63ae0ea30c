"""The capacity of a cut, summed from the caller's own arrays.

Integers are summed exactly: int64 arrays in two halves of 32 bits, whose sums cannot overflow.  Floats as
float64.
"""

import math

import numpy as np

from gridcut.device import kernel
from gridcut.load import Plane, Reader


@kernel
def terminal_kernel(capacity, mask, labels, side, extent, first, last, zero):
    """Sum of a terminal's capacities over the pixels whose label is `side`, on lines first..last."""
    total = zero
    c2 = capacity.stride[2]
    data = capacity.data
    for line in range(first, last):
        z, y = divmod(line, extent[1])
        c = capacity.start + z * capacity.stride[0] + y * capacity.stride[1]
        near = line * extent[2]
        for x in range(extent[2]):
            counts = labels[np.uint64(near + x)] == side
            if mask is not None:
                m = mask.start + z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2]
                counts = counts and mask.data[np.uint64(m)] != 0
            value = data[np.uint64(c + x * c2)]
            total += value if counts else zero
    return total


@kernel
def arc_kernel(capacity, far_mask, labels, extent, offset, first, last, zero):
    """Capacity of the arcs p -> p + offset from the source side to the sink side, p on lines first..last."""
    total = zero
    c2 = capacity.stride[2]
    data = capacity.data
    width = extent[2]
    ahead = (offset[0] * extent[1] + offset[1]) * width + offset[2]
    for line in range(first, last):
        z, y = divmod(line, extent[1])
        if not (0 <= z + offset[0] < extent[0] and 0 <= y + offset[1] < extent[1]):
            continue
        c = capacity.start + z * capacity.stride[0] + y * capacity.stride[1]
        near = line * width
        for x in range(max(0, -offset[2]), min(width, width - offset[2])):
            crosses = labels[np.uint64(near + x)] > labels[np.uint64(near + ahead + x)]
            if far_mask is not None:
                m = far_mask.start + z * far_mask.stride[0] + y * far_mask.stride[1] + x * far_mask.stride[2]
                crosses = crosses and far_mask.data[np.uint64(m)] != 0
            value = data[np.uint64(c + x * c2)]
            total += value if crosses else zero
    return total


def halves(capacity: Plane, is_float: bool) -> list[tuple[Plane, int]]:
    """Planes whose sums fit into 64 bits, and by how many bits each counts more."""
    if is_float or capacity.data.dtype != np.int64:
        return [(capacity, 0)]
    start, stride = 2 * capacity.start, tuple(2 * s for s in capacity.stride)
    low = 0 if np.little_endian else 1
    return [
        (Plane(capacity.data.view(np.uint32), start + low, stride), 0),
        (Plane(capacity.data.view(np.int32), start + 1 - low, stride), 32),
    ]


def capacity_to_sink(views: Reader, is_float: bool, lines: tuple[int, int] | None = None) -> int | float:
    """Sum of all capacities to the sink; lines: of these alone, as `Reader.bands` counts them."""
    extent = views.layout.extent
    everything = np.zeros(math.prod(extent), np.uint8)
    zero = np.float64(0) if is_float else np.int64(0)
    first, last = lines or (0, extent[0] * extent[1])
    total = 0
    for part, shift in halves(views.sink, is_float):
        found = terminal_kernel(part, views.mask, everything, 0, extent, first, last, zero)
        total += float(found) if is_float else int(found) << shift
    return total


def cut_capacity(views: Reader, labels: np.ndarray, is_float: bool, lines=None) -> int | float:
    """Capacity of the cut between labels True and False; one pass over the arrays, no memory.

    lines: what begins on these alone, (first, last) as `Reader.bands` counts them.
    """
    layout = views.layout
    extent = layout.extent
    flat = labels.view(np.uint8).reshape(-1)
    zero = np.float64(0) if is_float else np.int64(0)
    terminals = [
        (part, shift, side)
        for capacity, side in ((views.source, 0), (views.sink, 1))
        for part, shift in halves(capacity, is_float)
    ]
    arcs = [
        (part, shift, layout.offset3(k), views.far_mask(layout.offset3(k)))
        for k, capacity in enumerate(views.arcs)
        for part, shift in halves(capacity, is_float)
    ]
    terms = []
    for first, last in views.bands(lines):
        for part, shift, side in terminals:
            total = terminal_kernel(part, views.mask, flat, side, extent, first, last, zero)
            terms.append(float(total) if is_float else int(total) << shift)
        for part, shift, offset, far_mask in arcs:
            total = arc_kernel(part, far_mask, flat, extent, offset, first, last, zero)
            terms.append(float(total) if is_float else int(total) << shift)
    return math.fsum(terms) if is_float else sum(terms)
