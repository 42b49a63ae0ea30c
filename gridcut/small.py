"""The fast path from the arrays of one small grid to its cut: one compiled call, and the rest of a `Cut` on first use.

The general path takes about 300 microseconds before the first kernel, more than the solution of a thousand pixels.
Here Python looks at types and shapes only, and copies all capacities into one buffer; gridcut/ibfs/small_grid.py does
the rest.  Floats and large integers take a call more, since their largest values decide on the unit or the type.
Whatever is not valid or ordinary is left to the general path, which reports errors and knows all options: masks,
infinite capacities, floats that need a finer unit, arrays of other libraries.
"""

import threading
import time
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gridcut.core.cut import Cut, LazySolved, Solved
from gridcut.core.cut_capacity import add_up
from gridcut.core.grid import Grid, Layout, make_layout
from gridcut.core.load import INT32_MAX, INT64_MAX, reader
from gridcut.core.problem import DTYPES, WIDER, check_problem
from gridcut.core.units import MAX_LOSS, choose_unit, scale_of
from gridcut.ibfs.ibfs import finish, unsigned_steps
from gridcut.ibfs.small_grid import (
    GAVE_UP,
    LISTS,
    LONGER,
    TOO_LARGE,
    check_and_solve_planes,
    largest_in_planes,
    read_cut,
    solve_planes,
)

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
    flat = numbers[:size].view(np.float64 if is_float else np.int64)
    if is_scalar:
        for plane, array in zip(flat.reshape(len(arrays), *shape), arrays, strict=True):
            plane[...] = array
    else:
        np.concatenate(arrays, out=flat.reshape(len(arrays) * shape[0], *shape[1:]))
    totals = np.empty(2 + layout.arcs, flat.dtype)
    labels = np.empty(shape, bool)
    unit: float | int = 1
    dtype: Any = np.int32
    augmentations = TOO_LARGE
    loaded = time.perf_counter()
    lists = np.empty((LISTS, layout.size + LONGER), np.int32)
    memory = lists, np.empty((2, layout.size), np.uint8), labels.reshape(-1), totals
    if not is_float:
        excess, residual = np.zeros(layout.size, dtype), np.zeros(layout.size * layout.arcs, dtype)
        augmentations, repaired = check_and_solve_planes(flat, INT32_MAX, geometry, steps, excess, residual, *memory)
    if augmentations == TOO_LARGE:
        if not largest_in_planes(flat, geometry, totals):
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
