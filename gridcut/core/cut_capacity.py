"""The capacity of a cut, summed from the caller's arrays.

Integers are summed exactly: int64 arrays in two halves of 32 bits, whose sums cannot overflow.  Floats are summed as
float64, together with the loss by rounding to units (see gridcut/core/units.py).
"""

import math
from itertools import chain
from typing import NamedTuple

import numpy as np

from gridcut.core.grid import Grid
from gridcut.core.load import Plane, Reader, fill, inside
from gridcut.core.units import difference, scale_of, units
from gridcut.device import plain_kernel, run_threads
from gridcut.device.arguments import unmarked


class Measured(NamedTuple):
    """A cut of float capacities, in the caller's unit.

    value     capacity of the cut
    reduced   the same, without the common part of the two terminals of each pixel if the problem is clamped
    loss      difference by which rounding reduces `reduced`
    """

    value: float
    reduced: float
    loss: float


@plain_kernel
def lost(value, scale):
    """The loss by rounding one capacity."""
    exact = value * scale[0] * scale[1]
    return value - np.float64(np.int64(exact if exact < scale[2] else scale[2])) * scale[3]


@plain_kernel
def terminal_kernel(capacity, mask, labels, side, scale, extent, first, last, zero):
    """Sum of a terminal's capacities over the pixels of label `side` on lines first..last, and the loss."""
    total = zero
    loss = 0.0
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
            if scale is not None:
                loss += lost(value, scale) if counts else 0.0
    return total, loss


@plain_kernel
def differences_kernel(source, sink, mask, labels, scale, extent, first, last):
    """Sums over lines first..last: cut part of the terminals' differences, its loss, and the terminals' common part."""
    total = 0.0
    loss = 0.0
    shared = 0.0
    for line in range(first, last):
        z, y = divmod(line, extent[1])
        s = source.start + z * source.stride[0] + y * source.stride[1]
        t = sink.start + z * sink.stride[0] + y * sink.stride[1]
        for x in range(extent[2]):
            if mask is not None:
                if mask.data[mask.start + z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2]] == 0:
                    continue
            kept = np.float64(source.data[s + x * source.stride[2]])
            paid = np.float64(sink.data[t + x * sink.stride[2]])
            if labels[line * extent[2] + x] == 0:
                kept, paid = paid, kept
            shared += min(kept, paid)
            if paid > kept:
                total += paid - kept
                loss += (paid - kept) - np.float64(difference(paid, kept, scale)) * scale[3]
    return total, loss, shared


@plain_kernel
def arc_kernel(capacity, far_mask, labels, scale, extent, offset, first, last, zero):
    """Capacity of the arcs p -> p + offset from the source side to the sink side, p on lines first..last; the loss."""
    total = zero
    loss = 0.0
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
        begin, end = inside(width, offset[2])
        for x in range(begin, end):
            crosses = labels[np.uint64(near + x)] > labels[np.uint64(near + ahead + x)]
            if far_mask is not None:
                m = far_mask.start + z * far_mask.stride[0] + y * far_mask.stride[1] + x * far_mask.stride[2]
                crosses = crosses and far_mask.data[np.uint64(m)] != 0
            value = data[np.uint64(c + x * c2)]
            total += value if crosses else zero
            if scale is not None:
                loss += lost(value, scale) if crosses else 0.0
    return total, loss


@plain_kernel
def to_sink_kernel(sink, mask, scale, extent):
    """Sum of the capacities to the sink in units, in halves of 32 bits."""
    low = np.int64(0)
    high = np.int64(0)
    for line in range(extent[0] * extent[1]):
        z, y = divmod(line, extent[1])
        t = sink.start + z * sink.stride[0] + y * sink.stride[1]
        for x in range(extent[2]):
            if mask is not None:
                if mask.data[mask.start + z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2]] == 0:
                    continue
            value = units(sink.data[t + x * sink.stride[2]], scale)
            low += value & 0xFFFFFFFF
            high += value >> 32
    return low, high


@plain_kernel
def sink_excess_kernel(excess, sink_side):
    """Sum of the excess on the sink side in two halves of 32 bits: (low, high)."""
    low = np.int64(0)
    high = np.int64(0)
    for p in range(excess.size):
        e = np.int64(excess[p]) if sink_side[p] else np.int64(0)
        low += e & 0xFFFFFFFF
        high += e >> 32
    return low, high


def halves(capacity: Plane, is_float: bool) -> list[tuple[Plane, int]]:
    """Planes whose sums fit into 64 bits, each with the number of bits by which its sum is shifted left."""
    if is_float or capacity.data.dtype != np.int64:
        return [(capacity, 0)]
    start, stride = 2 * capacity.start, tuple(2 * s for s in capacity.stride)
    low = 0 if np.little_endian else 1
    words = capacity.data.view(np.uint32)  # the high ones, too: no capacity in use is negative
    return [(Plane(words, start + low, stride), 0), (Plane(words, start + 1 - low, stride), 32)]


def capacity_to_sink(views: Reader, unit: float | int) -> int:
    """Sum of all capacities to the sink in units; of a clamped problem, their excess over those from the source."""
    if views.bound is not None:
        start, _ = fill(views, np.int64, unit)
        return total(-np.minimum(start.excess, 0))
    low, high = to_sink_kernel(views.sink, views.mask, scale_of(unit, None), views.layout.extent)
    return int(low) + (int(high) << 32)


def unused_capacity(grid: Grid, sink_side) -> int:
    """The capacity to the sink that a maximum flow of integers leaves unused, as the excess on the sink side."""
    low, high = sink_excess_kernel(grid.excess, sink_side)
    return -(int(low) + (int(high) << 32))


def cut_capacity(views: Reader, labels: np.ndarray, is_float: bool) -> int | float:
    """Capacity of the cut between labels True and False; one pass over the arrays, no memory."""
    return add_up([capacity for capacity, _ in _terms(views, labels, is_float, None)])


def measure_cut(views: Reader, labels: np.ndarray, unit: float) -> Measured:
    """The same for float capacities, with the loss by rounding to this unit."""
    scale = scale_of(unit, views.bound)
    if views.bound is None:
        totals, losses = zip(*_terms(views, labels, True, scale), strict=True)
        value = add_up(totals)
        return Measured(value, value, add_up(losses))
    extent, flat = views.layout.extent, _bytes(labels)
    terms, shared = [], []
    for band in views.bands():
        *term, common = differences_kernel(views.source, views.sink, views.mask, flat, scale, extent, *band)
        terms.append(term)
        shared.append(common)
    terms += _terms(views._replace(source=None, sink=None), labels, True, scale)
    totals, losses = zip(*terms, strict=True)
    return Measured(add_up([*totals, *shared]), add_up(totals), add_up(losses))


def _terms(views: Reader, labels: np.ndarray, is_float: bool, scale) -> list[tuple]:
    """Sums of the capacities across a cut and their losses; without terminals if the views have none."""
    layout = views.layout
    extent = layout.extent
    flat = _bytes(labels)
    zero = np.float64(0) if is_float else np.int64(0)
    terminals = [
        (part, shift, side)
        for capacity, side in ((views.source, 0), (views.sink, 1))
        if capacity is not None
        for part, shift in halves(capacity, is_float)
    ]
    arcs = [
        (part, shift, layout.offset3(k), views.far_mask(layout.offset3(k)))
        for k, capacity in enumerate(views.arcs)
        for part, shift in halves(capacity, is_float)
    ]

    def sums_of(bands):
        found = []
        for band in bands:
            found += [
                (shift, terminal_kernel(part, views.mask, flat, side, scale, extent, *band, zero))
                for part, shift, side in terminals
            ]
            found += [
                (shift, arc_kernel(part, far_mask, flat, scale, extent, offset, *band, zero))
                for part, shift, offset, far_mask in arcs
            ]
        return found

    shares = views.shares()
    if not is_float:
        # Sums of floats depend on the bands, which must not depend on the number of threads.
        shares = [[(share[0][0], share[-1][1])] if len(shares) > 1 else share for share in shares]
    found = chain.from_iterable(run_threads(lambda i: sums_of(shares[i]), len(shares)))
    return [(float(sum_), loss) if is_float else (int(sum_) << shift, 0) for shift, (sum_, loss) in found]


def _bytes(labels: np.ndarray) -> np.ndarray:
    """Labels as kernels read them: flat, and of one type also where they are read-only, as those of a result are."""
    return unmarked(labels.view(np.uint8).reshape(-1))


def finite(cut: Measured, arcs: str) -> tuple[float, Measured]:
    """The value of a cut and the cut; ValueError if it is infinite.  arcs: the argument with the capacities of arcs."""
    if cut.value == math.inf:
        raise ValueError(
            "every cut has infinite capacity, or more than the largest float; on some way from the source to the sink, "
            f"make a capacity of source, {arcs} or sink finite, or scale all down"
        )
    return cut.value, cut


def add_up(numbers) -> int | float:
    """The sum of integers, or of floats: inf if it exceeds the largest float."""
    if not any(isinstance(n, float) for n in numbers):
        return sum(numbers)
    try:
        return math.fsum(numbers)
    except OverflowError:
        return math.inf


# Sums of arrays: integers exactly, as Python integers of any size; floats as float64, inf on overflow.
#
# One or two extra passes find the largest entry.  Only if the sum might exceed 64 bits is it split into halves, or
# are products computed with Python integers.

INT64_BITS = 63


def total(array: np.ndarray) -> int | float:
    """Sum of all entries."""
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return array.sum(dtype=np.float64).item()
    if array.size * largest(array) < 2**INT64_BITS:
        return array.sum(dtype=np.int64).item()
    wide = array.astype(np.int64)
    return ((wide >> 32).sum(dtype=np.int64).item() << 32) + (wide & (2**32 - 1)).sum(dtype=np.int64).item()


def total_of_products(first: np.ndarray, second: np.ndarray) -> int | float:
    """Sum of first * second, two arrays of the same shape."""
    if "f" in (first.dtype.kind, second.dtype.kind):
        with np.errstate(over="ignore"):
            return (first.astype(np.float64) * second).sum(dtype=np.float64).item()
    if first.size * largest(first) * largest(second) < 2**INT64_BITS:
        return (first.astype(np.int64) * second).sum(dtype=np.int64).item()
    return int(first.ravel().astype(object) @ second.ravel().astype(object))  # Python's integers


def largest(array: np.ndarray) -> int:
    """The largest absolute value of integers."""
    if array.size == 0:
        return 0
    return max(array.max().item(), -array.min().item()) if array.dtype.kind != "b" else 1
