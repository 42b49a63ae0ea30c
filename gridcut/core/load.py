"""Loading the caller's arrays into the grid: one pass over the capacities, which also validates them.

Arrays of any memory layout and scalars are read in place.  A kernel reads the entries of all arcs whose arrays have one
type and layout, line by line; if there are several, in bands of lines small enough for the residuals of a pixel to stay
in the cache.  Threads share the lines of large grids.
"""

from functools import reduce
from itertools import pairwise
from operator import or_
from typing import NamedTuple

import numpy as np

from gridcut.core.grid import Grid, Layout, make_layout
from gridcut.core.problem import Offset, Problem, ends, first_bad
from gridcut.core.units import choose_unit, clamp_kernel, difference, scale_of, units
from gridcut.device import inner_kernel, plain_kernel, run_threads, thread_count
from gridcut.device.arguments import INT32_MAX, INT64_MAX, flat_memory

BAND_PIXELS = 1 << 14  # pixels loaded from all arrays before the next band; fits into a core's L2 cache
SHARED_CELLS = 1 << 20  # cells from which the threads share the lines; 2^18 cells are loaded in a millisecond
NOTHING = np.zeros((), np.int32)


class Plane(NamedTuple):
    """A capacity array as kernels read it: pixel (z, y, x) is data[start + z * s0 + y * s1 + x * s2].

    The same compiled kernel reads contiguous, strided, reversed, read-only and 0-d arrays (all strides 0).
    """

    data: np.ndarray
    start: int
    stride: tuple[int, int, int]

    def shifted(self, offset3) -> "Plane":
        """The plane that reads pixel p + offset where this one reads p."""
        return self._replace(start=self.start + sum(o * s for o, s in zip(offset3, self.stride, strict=True)))


def plane(array: np.ndarray, shape: tuple[int, ...]) -> Plane:
    """`array`, of this shape or 0-d, as kernels read it; no copy."""
    strides = tuple(s // array.itemsize for s in array.strides) if array.ndim else (0,) * len(shape)
    # Axes of length 1 may have any stride, which must not enlarge the window.
    spans = [(d - 1) * s for d, s in zip(shape, strides, strict=True)]
    below = sum(span for span in spans if span < 0)
    above = sum(span for span in spans if span > 0)
    data = flat_memory(array, below * array.itemsize, above - below + 1)
    return Plane(data, -below, (0,) * (3 - len(shape)) + strides)


# Indices below are never negative.  As uint64 they need no test by numba for indices counted from the end, and the
# loops along a line can be vectorised.


@plain_kernel
def load_terminals_kernel(source, sink, mask, scale, extent, stride, head, first, last, excess):
    """Set excess = source - sink on lines first..last; the bitwise or of all values read from each."""
    seen_source = np.int64(0)
    seen_sink = np.int64(0)
    s2, t2 = source.stride[2], sink.stride[2]
    for line in range(first, last):
        z, y = divmod(line, extent[1])
        s = source.start + z * source.stride[0] + y * source.stride[1]
        t = sink.start + z * sink.stride[0] + y * sink.stride[1]
        p = head + z * stride[0] + y * stride[1]
        for x in range(extent[2]):
            if mask is not None:
                if mask.data[np.uint64(mask.start + z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2])] == 0:
                    continue
            a = units(source.data[np.uint64(s + x * s2)], scale)
            b = units(sink.data[np.uint64(t + x * t2)], scale)
            seen_source |= a
            seen_sink |= b
            excess[np.uint64(p + x)] = a - b
    return seen_source, seen_sink


@plain_kernel
def load_differences_kernel(source, sink, mask, scale, extent, stride, head, excess):
    """Set excess = source - sink of a clamped problem, before clamping by the arcs (`clamp_kernel`)."""
    for z in range(extent[0]):
        for y in range(extent[1]):
            s = source.start + z * source.stride[0] + y * source.stride[1]
            t = sink.start + z * sink.stride[0] + y * sink.stride[1]
            p = head + z * stride[0] + y * stride[1]
            for x in range(extent[2]):
                if mask is not None:
                    if mask.data[mask.start + z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2]] == 0:
                        continue
                a, b = source.data[s + x * source.stride[2]], sink.data[t + x * sink.stride[2]]
                excess[p + x] = difference(a, b, scale)


@inner_kernel
def inside(width, offset):
    """The range of x for which x + offset is on the line, too; numba compiles `min` and `max` once for each call."""
    return -offset if offset < 0 else 0, width - offset if offset > 0 else width


@plain_kernel
def load_arcs_kernel(capacities, numbers, offsets, step, mask, scale, extent, stride, head, first, last, residual):
    """Load the residuals of some arcs on lines first..last, inside the grid; the bitwise or of all values read.

    capacities, numbers, offsets   of each of these arcs; the arrays have the same dtype and strides
    step                           of all arcs; their number, which the compiler has to know
    """
    arcs = len(step)
    c0, c1, c2 = capacities[0].stride
    seen = np.int64(0)
    for line in range(first, last):
        z, y = divmod(line, extent[1])
        r = (head + z * stride[0] + y * stride[1]) * arcs
        for i in range(len(offsets)):
            o, k = offsets[i], numbers[i]
            if 0 <= z + o[0] < extent[0] and 0 <= y + o[1] < extent[1]:
                capacity = capacities[i]
                c = capacity.start + z * c0 + y * c1
                begin, end = inside(extent[2], o[2])
                for x in range(begin, end):
                    if mask is not None:
                        m = mask.start + z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2]
                        far = m + o[0] * mask.stride[0] + o[1] * mask.stride[1] + o[2] * mask.stride[2]
                        if mask.data[np.uint64(m)] == 0 or mask.data[np.uint64(far)] == 0:
                            continue
                    value = units(capacity.data[np.uint64(c + x * c2)], scale)
                    seen |= value
                    residual[np.uint64(r + x * arcs + k)] = value
    return seen


class Reader(NamedTuple):
    """The planes from which kernels read each terminal and each arc of a problem; bound: as in Problem."""

    layout: Layout
    source: Plane
    sink: Plane
    arcs: tuple[Plane, ...]
    mask: Plane | None
    bound: float | None = None

    def far_mask(self, offset3) -> Plane | None:
        """The mask at the far end of an arc."""
        return None if self.mask is None else self.mask.shifted(offset3)

    def bands(self) -> list[tuple[int, int]]:
        """Ranges of lines of the last axis, about BAND_PIXELS pixels each."""
        extent = self.layout.extent
        lines, height = extent[0] * extent[1], max(1, BAND_PIXELS // extent[2])
        return [(first, min(lines, first + height)) for first in range(0, lines, height)]

    def shares(self) -> list[list[tuple[int, int]]]:
        """The same bands, divided among the threads; of a small grid, one share."""
        bands = self.bands()
        threads = min(thread_count(), len(bands)) if self.layout.size >= SHARED_CELLS else 1
        ends = [len(bands) * i // threads for i in range(threads + 1)]
        return [bands[first:last] for first, last in pairwise(ends)]


class LoadedGrid(NamedTuple):
    """A grid, and the views of the capacities that it was loaded through."""

    grid: Grid
    views: Reader

    @property
    def unit(self) -> float | int:
        return self.grid.unit

    @property
    def dtype(self) -> np.dtype:
        return self.grid.dtype


def reader(problem: Problem, layout: Layout) -> Reader:
    """Views of the caller's arrays; an arc without an array of its own reads its opposite's at the other end."""
    shape = problem.shape
    arcs = []
    for k, offset in enumerate(layout.offsets):
        opposite = layout.offsets[k ^ 1]
        if offset in problem.edges:
            arcs.append(plane(problem.edges[offset], shape))
        elif opposite in problem.edges:
            arcs.append(plane(problem.edges[opposite], shape).shifted(layout.offset3(k)))
        else:
            arcs.append(plane(NOTHING, shape))
    return Reader(
        layout,
        plane(problem.source, shape),
        plane(problem.sink, shape),
        tuple(arcs),
        None if problem.mask is None else plane(problem.mask.view(np.uint8), shape),
        problem.bound,
    )


def load(problem: Problem) -> LoadedGrid:
    """The grid of a checked problem that is not empty, and the views it was read through.

    Integers are loaded as int32, and again as int64 if the values read require it.  Time: one pass; memory: the
    grid's arrays only.
    """
    layout = make_layout(problem.shape, problem.edges)
    views = reader(problem, layout)
    if problem.is_float:
        unit, bound = choose_unit(largest_capacities(problem, layout), problem.bound)
        views = views._replace(bound=bound)
        return LoadedGrid(fill(views, np.int64, unit)[0], views)
    grid, seen = fill(views, np.int32, 1)
    if min(seen) >= 0 and sum(seen) <= INT32_MAX:
        return LoadedGrid(grid, views)
    # The bitwise or bounds the largest capacities from above within a factor of two, so compute them exactly.
    if integer_type(largest_capacities(problem, layout)) == np.int32:
        return LoadedGrid(grid, views)
    del grid
    return LoadedGrid(fill(views, np.int64, 1)[0], views)


def fill(views: Reader, dtype, unit) -> tuple[Grid, list[int]]:
    """A new grid with all capacities, and the bitwise or of those of the source, the sink, arc 0, arc 1, ...

    The bitwise or is at least the largest, less than twice it, and negative if one is.
    """
    layout = views.layout
    scale = scale_of(unit, views.bound)
    excess = np.zeros(layout.size, dtype)
    residual = np.zeros(layout.size * layout.arcs, dtype)
    shares = views.shares()
    found = run_threads(lambda i: load_bands(views, scale, shares[i], excess, residual), len(shares))
    seen = [reduce(or_, values) for values in zip(*found, strict=True)]
    if views.bound is not None:
        where = layout.extent, layout.stride3, layout.head
        load_differences_kernel(views.source, views.sink, views.mask, scale, *where, excess)
        clamp_kernel(excess, residual, layout.step, layout.head)
    return Grid(layout, excess, residual, unit), seen


def load_bands(views: Reader, scale, bands, excess: np.ndarray, residual: np.ndarray) -> list[int]:
    """Load the lines of some bands; the bitwise or of all values read from each array, as in `fill`."""
    layout = views.layout
    where = scale, layout.extent, layout.stride3, layout.head
    alike: dict = {}
    for k, capacity in enumerate(views.arcs):
        alike.setdefault((capacity.stride, capacity.data.dtype), []).append(k)
    groups = [
        (numbers, tuple(views.arcs[k] for k in numbers), tuple(layout.offset3(k) for k in numbers))
        for numbers in map(tuple, alike.values())
    ]
    if len(groups) == 1:  # threads call a kernel once, as each call holds the GIL
        bands = [(bands[0][0], bands[-1][1])]
    seen = [0] * (2 + layout.arcs)
    for lines in bands:
        source, sink = load_terminals_kernel(views.source, views.sink, views.mask, *where, *lines, excess)
        seen[0] |= source
        seen[1] |= sink
        for numbers, arcs, offsets in groups:
            found = load_arcs_kernel(arcs, numbers, offsets, layout.step, views.mask, *where, *lines, residual)
            for k in numbers:
                seen[2 + k] |= found
    return seen


def largest_capacities(problem: Problem, layout: Layout) -> list:
    """Largest capacity in use of source, sink and each arc; raises ValueError for a negative capacity or NaN."""
    jobs = [("source", problem.source, None), ("sink", problem.sink, None)]
    jobs += [(offset, problem.edges[offset], offset) for offset in layout.offsets if offset in problem.edges]
    found = {}
    for key, array, offset in jobs:
        inside = ends(problem.shape, () if offset is None else (offset,))
        values = np.broadcast_to(array, problem.shape)[inside[0]]
        if problem.mask is not None:
            values = values[problem.mask[inside[0]] & problem.mask[inside[-1]]]
        elif array.ndim == 0:
            values = values[(slice(1),) * values.ndim]
        if not values.min(initial=0) >= 0:
            name = key if offset is None else f"edges[{offset}]"
            raise first_bad(name, array, problem.shape, used_pixels(problem, offset))
        found[key] = values.max(initial=0).item()
    arcs = [found.get(offset, found.get(layout.offsets[k ^ 1], 0)) for k, offset in enumerate(layout.offsets)]
    return [found["source"], found["sink"], *arcs]


def used_pixels(problem: Problem, offset: Offset | None) -> np.ndarray:
    """Where an entry of edges[offset] is used: both ends inside the grid and the mask; None: of a terminal."""
    used = np.ones(problem.shape, bool) if problem.mask is None else problem.mask.copy()
    if offset is not None:
        far = np.zeros(problem.shape, bool)
        near, other = ends(problem.shape, (offset,))
        far[near] = used[other]
        used &= far
    return used


def integer_type(largest: list) -> type:
    """The type that holds all sums of capacities incident to a pixel; largest: of source, sink and each arc."""
    total = sum(largest)
    if total > INT64_MAX:
        raise ValueError(
            f"source, sink and edges are too large: the capacities incident to a pixel can sum to {total}, "
            f"the limit is {INT64_MAX}; scale them down"
        )
    return np.int32 if total <= INT32_MAX else np.int64
