"""The state of a Solver on the host between solves: copies of the capacities, the grid, and the method's memory."""

import time
from typing import NamedTuple

import numpy as np

from gridcut import methods
from gridcut.core.changes import change_arc_kernel, change_terminal_kernel, find_changes_kernel, sink_excess_kernel
from gridcut.core.cut import Cut, LazySolved, Solved
from gridcut.core.cut_capacity import capacity_to_sink
from gridcut.core.load import INT32_MAX, INT64_MAX, largest_capacities, load, plane, reader, used_pixels
from gridcut.core.outcome import labels_of, value_of
from gridcut.core.problem import Problem, bad_capacity
from gridcut.core.units import scale_of

MIN_RESOLUTION_BITS = 50  # minimum resolution of floats: 2^-50 of the largest sum at a pixel
_NO_CELLS = np.empty(0, np.int32)


class Change(NamedTuple):
    """New values of one array, "source", "sink" or an offset, at pixels given by raster indices."""

    key: str | tuple[int, ...]
    values: np.ndarray
    pixels: np.ndarray


class HostState:
    """A copy of a problem that is not empty, and the state of its last solve."""

    def __init__(self, problem: Problem):
        self._problem = problem.changed(lambda array: _own(array, problem.shape))
        self.epoch = 0  # incremented by every update and solve, which makes older cuts stale
        self._memory = None  # the name of the last method, and its memory for the next solve; or None
        self._touched = []  # cells changed since the last solve; None: unknown
        self._to_sink = None
        self._load()

    def _load(self):
        """Load the grid again from the current capacities, without the flow."""
        self._grid, self._views = load(self._problem)
        self._problem = self._problem._replace(bound=self._views.bound)
        self._bounds = largest_capacities(self._problem, self._views)
        self._forget()

    def _forget(self):
        self._touched = None
        self._memory = None
        self._to_sink = None

    def update(self, given: dict, index: np.ndarray | None) -> None:
        """Apply new capacities of checked types and shapes; `index`: raster indices of their pixels, None: all."""
        self._widen_types(given)
        changes = [self._find(key, array, index) for key, array in given.items()]
        changes = [change for change in changes if change.pixels.size]
        if self._fits_after(changes):
            for change in changes:
                self._apply(change)
            self.epoch += bool(changes)

    def solve(self, name: str, parameters: dict, callback) -> Cut:
        start = time.perf_counter()
        warm = self._touched is not None
        self.epoch += 1
        seconds = {"load": 0.0, "solve": 0.0, "value": 0.0}
        while True:
            sink_side, stats = self._run(name, parameters, callback)
            solved = time.perf_counter()
            labels = labels_of(self._problem, self._grid, sink_side)
            value, bound = self._value(labels, sink_side)
            done = time.perf_counter()
            seconds["solve"] += solved - start
            seconds["value"] += done - solved
            if bound is None:
                break
            self._problem, warm = self._problem._replace(bound=bound), False
            self._load()
            start = time.perf_counter()
            seconds["load"] += start - done
        problem, grid = self._problem, self._grid
        stats = {
            **stats,
            "warm": warm,
            "seconds": seconds,
            "dtype": grid.excess.dtype.name,
            "unit": grid.unit,
        }
        lazy = LazySolved(Solved(problem, self._views, grid, []), self)
        return Cut(value, labels, "cpu", name, stats, lazy)

    def _run(self, name: str, parameters: dict, callback):
        memory = self._memory[1] if self._memory is not None and self._memory[0] == name else None
        touched = None if self._touched is None else np.concatenate([_NO_CELLS, *self._touched])
        self._forget_memory()
        entry = methods.METHODS[name]
        if entry.warm is None:
            sink_side, stats = entry.cpu(self._grid, callback, **parameters)
            memory = None
        else:
            sink_side, stats, memory = entry.warm(self._grid, memory, touched, callback, **parameters)
        self._memory = (name, memory)
        self._touched = []
        return sink_side, stats

    def _forget_memory(self):
        """Before a solve: if it is interrupted, the state is valid, but the cells that it changed are unknown."""
        self._memory = None
        self._touched = None

    def _value(self, labels, sink_side):
        """Capacity of the cut and the bound, as `value_of`.  For integers, one pass over the excesses suffices.

        The value is the total capacity to the sink minus its unused part: condition (4) of certificate.py.
        """
        if self._problem.is_float:
            return value_of(self._problem, self._views, labels, self._grid.unit)
        if self._to_sink is None:
            self._to_sink = capacity_to_sink(self._views, 1)
        low, high = sink_excess_kernel(self._grid.excess, sink_side)
        return self._to_sink + int(low) + (int(high) << 32), None

    def _widen_types(self, given: dict) -> None:
        """Convert our copies to types that hold the new capacities."""
        for key, array in given.items():
            own = array_of(self._problem, key)
            dtype = np.promote_types(own.dtype, array.dtype)
            if dtype != own.dtype:
                self._problem = with_array(self._problem, key, own.astype(dtype))
                self._views = reader(self._problem, self._grid.layout)

    def _find(self, key, array, index) -> Change:
        """The pixels at which an array differs from our copy; raises ValueError for invalid capacities in use."""
        problem = self._problem
        own = array_of(problem, key)
        array = array.astype(own.dtype, copy=False)
        if index is None:
            pixels = np.empty(own.size, np.int64)
            view = plane(array, problem.shape)
            count = find_changes_kernel(view, own.reshape(-1), self._grid.layout.extent, pixels)
            pixels = pixels[:count].copy()
            values = np.broadcast_to(array, problem.shape)[np.unravel_index(pixels, problem.shape)]
        else:
            pixels = index
            values = np.broadcast_to(array, index.shape).copy()
        bad = ~(values >= 0)
        if bad.any():
            offset = key if isinstance(key, tuple) else None
            bad_and_used = bad & used_pixels(problem, offset).reshape(-1)[pixels]
            if bad_and_used.any():
                at = int(np.argmax(bad_and_used))
                where = tuple(int(i) for i in np.unravel_index(pixels[at], problem.shape))
                raise bad_capacity(key if offset is None else f"edges[{key}]", values[at], where)
            values[bad] = 0  # unused capacities, which must not affect the bounds
        return Change(key, values, pixels)

    def _fits_after(self, changes: list[Change]) -> bool:
        """Whether the new capacities fit the grid's integers; if not, they have been loaded into a new grid."""
        bounds = list(self._bounds)
        shrinks = False
        for change in changes:
            gone = array_of(self._problem, change.key).reshape(-1)[change.pixels].max().item()
            for i in self._bounded_by(change.key):
                shrinks |= self._problem.is_float and gone > bounds[i] / 2
                bounds[i] = max(bounds[i], change.values.max().item())
        clamped = self._problem.bound is not None  # the clamped terminals of a pixel depend on its arcs
        if sum(bounds) <= self._limit() and not shrinks and not (clamped and changes):
            self._bounds = bounds
            return True
        # These bounds never decrease, so compute the true ones before loading a new grid.
        trial = self._problem._replace(bound=None)
        for change in changes:
            array = array_of(trial, change.key).copy()
            array.reshape(-1)[change.pixels] = change.values
            trial = with_array(trial, change.key, array)
        views = reader(trial, self._grid.layout)
        bounds = largest_capacities(trial, views)
        if clamped or sum(bounds) > self._limit() or 0 < sum(bounds) < self._floor():
            # A cold start, which is rare: wider integers, or another unit for floats.
            self._grid, views = load(trial)
            trial = trial._replace(bound=views.bound)
            self._forget()
        else:
            self._bounds = bounds
            return True
        self._problem, self._views, self._bounds = trial, views, bounds
        self.epoch += 1
        return False

    def _limit(self):
        """The maximum sum of the bounds."""
        if self._problem.is_float:
            return self._grid.unit * 2.0**62
        return INT32_MAX if self._grid.excess.dtype == np.int32 else INT64_MAX

    def _floor(self):
        """The sum of float bounds below which the unit is too coarse."""
        return self._grid.unit * 2.0**MIN_RESOLUTION_BITS if self._problem.is_float else 0

    def _bounded_by(self, key) -> list[int]:
        """Indices of the bounds that depend on an array: 0 source, 1 sink, 2 + k arc k."""
        if not isinstance(key, tuple):
            return [("source", "sink").index(key)]
        layout = self._grid.layout
        if key not in layout.offsets:
            return []
        k = layout.arc(key)
        return [2 + k] if layout.offsets[k ^ 1] in self._problem.edges else [2 + k, 2 + (k ^ 1)]

    def _apply(self, change: Change) -> None:
        """Write new values to our copy, and adjust the excesses and residuals."""
        key, values, pixels = change
        grid, layout = self._grid, self._grid.layout
        old = array_of(self._problem, key).reshape(-1)
        mask = self._views.mask
        scale = scale_of(grid.unit, None)
        number = np.int32 if layout.size < 2**31 else np.int64
        where = (scale, layout.extent)
        rows = (layout.stride3, layout.head)
        if not isinstance(key, tuple):
            cells = np.empty(pixels.size, number)
            sign = 1 if key == "source" else -1
            count = change_terminal_kernel(values, pixels, old, mask, sign, *where, *rows, grid.excess, cells)
            if key == "sink":
                self._to_sink = None
        elif key not in layout.offsets:  # longer than the grid
            old[pixels] = values
            return
        else:
            cells = np.empty(2 * pixels.size, number)
            k = layout.arc(key)
            both = layout.offsets[k ^ 1] not in self._problem.edges
            offset = layout.offset3(k)
            far_mask = self._views.far_mask(offset)
            state = (layout.step, k, grid.excess, grid.residual, cells)
            count = change_arc_kernel(values, pixels, old, mask, far_mask, both, *where, offset, *rows, *state)
        if self._touched is not None:
            self._touched.append(cells[:count])


def array_of(problem: Problem, key) -> np.ndarray:
    """The capacities of a terminal, given by its name, or of an offset."""
    return problem.edges[key] if isinstance(key, tuple) else getattr(problem, key)


def with_array(problem: Problem, key, array: np.ndarray) -> Problem:
    """The problem with the array of a terminal or an offset replaced."""
    if isinstance(key, tuple):
        return problem._replace(edges={**problem.edges, key: array})
    return problem._replace(**{key: array})


def _own(array: np.ndarray, shape) -> np.ndarray:
    """A contiguous copy of the grid's shape."""
    return np.array(np.broadcast_to(array, shape), order="C", copy=True)
