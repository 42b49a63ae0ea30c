"""The capacity of a cut, summed from the caller's own arrays.

Integers are added up in two halves of 32 bits, so that no sum of int64 capacities can overflow; floats as float64.
"""

import math

import numpy as np

from gridcut.device import kernel
from gridcut.grid import Reader

LOW_BITS = 2**32 - 1


@kernel
def low_half(value, floats):
    """What is added to the first of two sums; `floats` is None for integers."""
    if floats is None:
        return np.int64(value) & LOW_BITS
    return np.float64(value)


@kernel
def high_half(value, floats):
    """What is added to the second of two sums."""
    if floats is None:
        return np.int64(value) >> 32
    return np.int64(0)


@kernel
def terminals_kernel(source, sink, mask, labels, extent, first, last, floats):
    """Capacity from the source to its far side and from the near side to the sink, on lines first..last."""
    low = low_half(0, floats)
    high = np.int64(0)
    s2, t2 = source.stride[2], sink.stride[2]
    for line in range(first, last):
        z, y = divmod(line, extent[1])
        s = source.start + z * source.stride[0] + y * source.stride[1]
        t = sink.start + z * sink.stride[0] + y * sink.stride[1]
        near = line * extent[2]
        for x in range(extent[2]):
            if mask is not None:
                if mask.data[np.uint64(mask.start + z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2])] == 0:
                    continue
            a = source.data[np.uint64(s + x * s2)]
            b = sink.data[np.uint64(t + x * t2)]
            value = b if labels[np.uint64(near + x)] else a
            low += low_half(value, floats)
            high += high_half(value, floats)
    return low, high


@kernel
def arc_kernel(capacity, far_mask, labels, extent, offset, first, last, floats):
    """Capacity of the arcs p -> p + offset from the source side to the sink side, p on lines first..last."""
    low = low_half(0, floats)
    high = np.int64(0)
    c2 = capacity.stride[2]
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
            value = capacity.data[np.uint64(c + x * c2)]
            low += low_half(value, floats) * crosses
            high += high_half(value, floats) * crosses
    return low, high


def cut_capacity(views: Reader, labels: np.ndarray, is_float: bool) -> int | float:
    """Capacity of the cut between labels True and False: exact for integers; one pass over the arrays, no memory."""
    layout = views.layout
    flat = labels.view(np.uint8).reshape(-1)
    floats = 1.0 if is_float else None
    lows, highs = [], []
    for first, last in views.bands():
        low, high = terminals_kernel(
            views.source, views.sink, views.mask, flat, layout.extent, first, last, floats
        )
        lows.append(low)
        highs.append(high)
        for k, capacity in enumerate(views.arcs):
            offset = layout.offset3(k)
            low, high = arc_kernel(
                capacity, views.far_mask(offset), flat, layout.extent, offset, first, last, floats
            )
            lows.append(low)
            highs.append(high)
    if is_float:
        return math.fsum(lows)
    return sum(map(int, lows)) + (sum(map(int, highs)) << 32)
