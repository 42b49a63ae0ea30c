"""Method "ibfs" on one small grid in one compiled call, or two: the largest capacities, then everything else.

The grid is one strip (ibfs.py): loaded, pushed one and two hops, searched, and read.  Excess is not aggregated,
which takes longer than it saves.

Arrays
  planes     the capacities in raster order, int64 or float64: source, sink, and one plane per entry of `edges`
  geometry   [d0, d1, d2, s0, s1, s2, head] of the layout in gridcut/core/grid.py, then for each arc
             [o0, o1, o2, plane, shift]: pixel i of the arc is entry i + shift of its plane; plane -1: no capacity
  largest    of source, sink and each arc
  totals     capacity of the cut: of source, sink and each arc
Others as in gridcut/core/grid.py and forest.py.
"""

import threading
import time
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gridcut.core.cut import Cut, LazySolved, Solved
from gridcut.core.cut_capacity import add_up
from gridcut.core.grid import Grid, Layout, make_layout
from gridcut.core.load import INT32_MAX, INT64_MAX, inside, reader
from gridcut.core.problem import DTYPES, WIDER, check_problem
from gridcut.core.units import MAX_LOSS, choose_unit, scale_of, units
from gridcut.device import inner_kernel, plain_kernel
from gridcut.ibfs.forest import DEPTHS, FREE, Forest, Work
from gridcut.ibfs.ibfs import finish, unsigned_steps
from gridcut.ibfs.prepass import push_up_to_two_hops
from gridcut.ibfs.search import UNTIL_SINK, search

HEAD, ARCS = 6, 7  # positions in `geometry`, after the extent and the strides
PER_ARC = 5  # numbers per arc
LISTS, LONGER = 13, 8  # of `solve_planes`
PLANE, SHIFT = 3, 4  # positions in those of an arc


@plain_kernel
def largest_in_planes(planes, bits, geometry, largest, largest_of):
    """Write the largest capacities in use; returns whether all of them are finite and none is negative.

    bits, largest_of   `planes` and `largest` as int64: compiling a view takes longer than this function
    """
    for _ in range(2):
        largest_bits(bits, geometry, largest_of)
        bad = 0
        for t in range(largest.size):
            bad += 0 if largest_of[t] >= 0 and largest[t] < np.inf else 1
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
            value = np.uint64(bits[np.uint64(i)])
            top = value if value > top else top
        largest[t] = top
    for k in range(largest.size - 2):
        a = ARCS + PER_ARC * k
        o0, o1, o2 = geometry[a], geometry[a + 1], geometry[a + 2]
        top = np.uint64(0)
        if geometry[a + PLANE] >= 0:
            start = geometry[a + PLANE] * pixels + geometry[a + SHIFT]
            begin, end = inside(d2, o2)
            for z in range(*inside(d0, o0)):
                for y in range(*inside(d1, o1)):
                    line = start + (z * d1 + y) * d2
                    for i in range(line + begin, line + end):
                        value = np.uint64(bits[np.uint64(i)])
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
        begin, end = inside(d2, o2)
        for z in range(*inside(d0, o0)):
            for y in range(*inside(d1, o1)):
                i = start + (z * d1 + y) * d2
                r = (head + z * s0 + y * s1) * arcs + k
                # Indices that are never negative: as uint64, they need no test by numba.
                for x in range(begin, end):
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
            begin, end = inside(d2, o2)
            for z in range(*inside(d0, o0)):
                for y in range(*inside(d1, o1)):
                    line = (z * d1 + y) * d2
                    for i in range(line + begin, line + end):
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
def check_and_solve_planes(planes, bits, limit, geometry, steps, excess, residual, lists, marks, labels, totals, tops):
    """`solve_planes` of integers, if the largest ones are valid and their sum is at most `limit`; else TOO_LARGE."""
    if not largest_in_planes(planes, bits, geometry, totals, tops):
        return TOO_LARGE, TOO_LARGE
    rest = limit
    for largest in totals:
        if largest > rest:
            return TOO_LARGE, TOO_LARGE
        rest -= largest
    return solve_planes(planes, None, geometry, steps, excess, residual, lists, marks, labels, totals)


# The fast path from the arrays of one small grid to its cut: one compiled call, and the rest of a `Cut` on first use.
#
# The general path takes about 300 microseconds before the first kernel, more than the solution of a thousand pixels.
# Here Python looks at types and shapes only, and copies all capacities into one buffer; gridcut/ibfs/small_grid.py
# does the rest.  Floats and large integers take a call more, since their largest values decide on the unit or the
# type. Whatever is not valid or ordinary is left to the general path, which reports errors and knows all options:
# masks, infinite capacities, floats that need a finer unit, arrays of other libraries.

MAX_PIXELS = 1 << 14  # the general path sums the same lines together, and its preparations no longer matter
MAX_OFFSETS = 8  # arcs in `edges`
NAMES = {np.int32: "int32", np.int64: "int64"}
FLOATS = {t: t.kind == "f" for t in (*DTYPES, *map(np.dtype, WIDER), np.dtype(bool))}


class Plan(NamedTuple):
    """What depends on shape and offsets only; geometry as in gridcut/ibfs/small_grid.py."""

    layout: Layout
    geometry: np.ndarray
    steps: tuple
    pixels: int


class Buffer(threading.local):
    """Memory of a thread for the capacities of one grid; taken while in use, so that no other call writes to it."""

    spare: np.ndarray | None = None

    def take(self, size: int) -> np.ndarray:
        """`size` or more numbers of 8 bytes, not initialised."""
        spare, self.spare = self.spare, None
        return np.empty(size, np.int64) if spare is None or spare.size < size else spare

    def give(self, numbers: np.ndarray) -> None:
        """Keep memory for the next call."""
        self.spare = numbers


buffer = Buffer()


class SmallGrid:
    """The arguments of a solve and the solver's final state, from which `Solved` is made on first use."""

    __slots__ = ("arguments", "grid")

    def __init__(self, arguments: tuple[Any, Any, Any], grid: Grid):
        self.arguments = arguments
        self.grid = grid

    def solved(self) -> Solved:
        problem = check_problem(*self.arguments, None)
        return Solved(problem, reader(problem, self.grid.layout), self.grid, [])


def solve_small_grid(source, sink, edges, start: float) -> Cut | None:
    """The Cut of a small grid on the CPU, or None if it needs the general path.

    start   the perf_counter() from which time is measured
    """
    shape = source.shape if type(source) is np.ndarray else getattr(sink, "shape", None)
    if type(shape) is not tuple or not 1 <= len(shape) <= 3 or type(edges) is not dict or len(edges) > MAX_OFFSETS:
        return None
    arrays = (source, sink, *edges.values())
    is_float = is_scalar = False
    for array in arrays:
        if isinstance(array, np.generic) or type(array) is np.ndarray:
            kind = FLOATS.get(array.dtype)
            if kind is None or (array.shape != shape and array.shape):
                return None
            is_float |= kind
            is_scalar |= array.shape != shape
            continue
        is_scalar = True
        if type(array) is float:
            is_float = True
        elif type(array) is not int or not 0 <= array <= INT64_MAX:
            return None
    for offset in edges:
        if type(offset) is not tuple:
            return None
        for i in offset:
            if type(i) is not int:
                return None
    plan = plan_of(shape, tuple(edges))
    if plan is None:
        return None
    layout, geometry, steps, pixels = plan
    size = len(arrays) * pixels
    numbers = buffer.take(size)
    bits, tops = numbers[:size], np.empty(2 + layout.arcs, np.int64)
    flat, totals = (bits.view(np.float64), tops.view(np.float64)) if is_float else (bits, tops)
    if is_scalar:
        for plane, array in zip(flat.reshape(len(arrays), *shape), arrays, strict=True):
            plane[...] = array
    else:
        np.concatenate(arrays, out=flat.reshape(len(arrays) * shape[0], *shape[1:]))
    labels = np.empty(shape, bool)
    unit: float | int = 1
    dtype: Any = np.int32
    augmentations = TOO_LARGE
    loaded = time.perf_counter()
    lists = np.empty((LISTS, layout.size + LONGER), np.int32)
    memory = lists, np.empty((2, layout.size), np.uint8), labels.reshape(-1), totals
    if not is_float:
        excess, residual = np.zeros(layout.size, dtype), np.zeros(layout.size * layout.arcs, dtype)
        augmentations, repaired = check_and_solve_planes(
            flat, bits, INT32_MAX, geometry, steps, excess, residual, *memory, tops
        )
    if augmentations == TOO_LARGE:
        if not largest_in_planes(flat, bits, geometry, totals, tops):
            return None
        largest = totals.tolist()
        scale = None
        dtype = np.int64
        if is_float:
            unit, bound = choose_unit(largest, None)
            if bound is not None:
                return None
            scale = scale_of(unit, None)
        elif sum(largest) * layout.size > INT64_MAX:
            return None
        excess, residual = np.zeros(layout.size, dtype), np.zeros(layout.size * layout.arcs, dtype)
        loaded = time.perf_counter()
        augmentations, repaired = solve_planes(flat, scale, geometry, steps, excess, residual, *memory)
    if augmentations == GAVE_UP:
        label, found = finish(Grid(layout, excess, residual, unit))
        augmentations, repaired = found["augmentations"], found["repaired"]
        read_cut(flat, geometry, label, labels.reshape(-1), totals)
    solved = time.perf_counter()
    buffer.give(numbers)
    value = add_up(totals.tolist())
    if is_float and not pixels * (1 + layout.arcs) * unit <= MAX_LOSS * value < np.inf:
        return None
    seconds = {"load": loaded - start, "solve": solved - loaded, "value": time.perf_counter() - solved}
    stats = {"augmentations": augmentations, "repaired": repaired, "strips": 1, "searched": 0, "threads": 1}
    stats |= {"seconds": seconds, "dtype": NAMES[dtype], "unit": unit}
    state = SmallGrid((source, sink, dict(edges)), Grid(layout, excess, residual, unit))
    return Cut(value, labels, "cpu", "ibfs", stats, LazySolved(state))


@lru_cache(maxsize=64)
def plan_of(shape: tuple[int, ...], offsets: tuple[tuple[int, ...], ...]) -> Plan | None:
    """The plan of a grid, or None if it is empty, too large, or its offsets are invalid."""
    pixels = int(np.prod(shape))
    if not 0 < pixels <= MAX_PIXELS or any(len(o) != len(shape) or not any(o) for o in offsets):
        return None
    layout = make_layout(shape, offsets)
    geometry = [*layout.extent, *layout.stride3, layout.head]
    for k, offset in enumerate(layout.offsets):
        own, opposite = layout.offset3(k), layout.offsets[k ^ 1]
        ahead = (own[0] * layout.extent[1] + own[1]) * layout.extent[2] + own[2]
        if offset in offsets:
            plane, shift = 2 + offsets.index(offset), 0
        elif opposite in offsets:
            plane, shift = 2 + offsets.index(opposite), ahead
        else:
            plane, shift = -1, 0
        geometry += [*own, plane, shift]
    return Plan(layout, np.array(geometry, np.int64), unsigned_steps(layout.step), pixels)
