"""What a Solver keeps on the host between solves: its own capacities, the grid's state, a method's memory."""

import time
from typing import NamedTuple

import numpy as np

from gridcut import methods
from gridcut.core.changes import change_arc_kernel, change_terminal_kernel, find_changes_kernel, sink_excess_kernel
from gridcut.core.cut import Cut, LazySolved, Solved
from gridcut.core.cut_capacity import capacity_to_sink
from gridcut.core.load import INT32_MAX, INT64_MAX, largest_capacities, load, plane, reader, used_pixels
from gridcut.core.problem import Problem, bad_capacity
from gridcut.core.units import scale_of
from gridcut.maximum_flow import labels_of, value_of

COARSEST_BITS = 50  # floats keep a resolution of 2^-50 of the largest sum round a pixel, or better
_NO_CELLS = np.empty(0, np.int32)


class Change(NamedTuple):
    """New values for one array: "source", "sink" or an offset; places are raster numbers."""

    key: str | tuple[int, ...]
    values: np.ndarray
    places: np.ndarray


class HostState:
    """A problem that is not empty, copied, and the state of its last solve."""

    def __init__(self, problem: Problem):
        self._problem = problem.changed(lambda array: _own(array, problem.shape))
        self.epoch = 0  # one more after every update, so that older cuts know they are old
        self._memory = None  # what the method keeps from one solve to the next, and which method that was
        self._touched = []  # cells changed since the last solve; None: all of them
        self._to_sink = None
        self._load()

    def _load(self):
        """Start cold from the capacities as they are now."""
        self._grid, self._views = load(self._problem)
        self._problem = self._problem._replace(bound=self._views.bound)
        self._bounds = largest_capacities(self._problem, self._views)
        self._forget()

    def _forget(self):
        self._touched = None
        self._memory = None
        self._to_sink = None

    def update(self, given: dict, index: np.ndarray | None) -> None:
        """Take new capacities, checked but for their values; `index`: the pixels they are for, None: all."""
        self._widen(given)
        changes = [self._find(key, array, index) for key, array in given.items()]
        changes = [change for change in changes if change.places.size]
        if self._make_room(changes):
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
        """A solve that is interrupted leaves a sound state, but nothing is known about what it touched."""
        self._memory = None
        self._touched = None

    def _value(self, labels, sink_side):
        """Capacity of the cut and the bound, as `value_of`.  For integers from the excesses: one look at two arrays.

        The capacity to the sink in all, less what of it is left: condition (4) of certificate.py.
        """
        if self._problem.is_float:
            return value_of(self._problem, self._views, labels, self._grid.unit)
        if self._to_sink is None:
            self._to_sink = capacity_to_sink(self._views, 1)
        low, high = sink_excess_kernel(self._grid.excess, sink_side)
        return self._to_sink + int(low) + (int(high) << 32), None

    def _widen(self, given: dict) -> None:
        """Let our copies hold the kinds of numbers that are given."""
        for key, array in given.items():
            own = array_of(self._problem, key)
            dtype = np.promote_types(own.dtype, array.dtype)
            if dtype != own.dtype:
                self._problem = with_array(self._problem, key, own.astype(dtype))
                self._views = reader(self._problem, self._grid.layout)

    def _find(self, key, array, index) -> Change:
        """Where an array differs from our copy; raises ValueError for values no capacity may have."""
        problem = self._problem
        own = array_of(problem, key)
        array = array.astype(own.dtype, copy=False)
        if index is None:
            places = np.empty(own.size, np.int64)
            view = plane(array, problem.shape)
            count = find_changes_kernel(view, own.reshape(-1), self._grid.layout.extent, places)
            places = places[:count].copy()
            values = np.broadcast_to(array, problem.shape)[np.unravel_index(places, problem.shape)]
        else:
            places = index
            values = np.broadcast_to(array, index.shape).copy()
        bad = ~(values >= 0)
        if bad.any():
            offset = key if isinstance(key, tuple) else None
            bad_and_used = bad & used_pixels(problem, offset).reshape(-1)[places]
            if bad_and_used.any():
                at = int(np.argmax(bad_and_used))
                where = tuple(int(i) for i in np.unravel_index(places[at], problem.shape))
                raise bad_capacity(key if offset is None else f"edges[{key}]", values[at], where)
            values[bad] = 0  # ignored where it is, but it must not spoil the bounds
        return Change(key, values, places)

    def _make_room(self, changes: list[Change]) -> bool:
        """See to it that the new capacities fit the grid's integers; False if that took a cold start."""
        bounds = list(self._bounds)
        shrinks = False
        for change in changes:
            gone = array_of(self._problem, change.key).reshape(-1)[change.places].max().item()
            for i in self._bounded_by(change.key):
                shrinks |= self._problem.is_float and gone > bounds[i] / 2
                bounds[i] = max(bounds[i], change.values.max().item())
        clamped = self._problem.bound is not None  # what a pixel's terminals count as depends on its arcs
        if sum(bounds) <= self._limit() and not shrinks and not (clamped and changes):
            self._bounds = bounds
            return True
        # These bounds never went down; before anything is done about it, look how things really are.
        trial = self._problem._replace(bound=None)
        for change in changes:
            array = array_of(trial, change.key).copy()
            array.reshape(-1)[change.places] = change.values
            trial = with_array(trial, change.key, array)
        views = reader(trial, self._grid.layout)
        bounds = largest_capacities(trial, views)
        if clamped or sum(bounds) > self._limit() or 0 < sum(bounds) < self._floor():
            # Rare enough for a cold start: wider integers, or another unit for floats.
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
        """What the bounds may add up to."""
        if self._problem.is_float:
            return self._grid.unit * 2.0**62
        return INT32_MAX if self._grid.excess.dtype == np.int32 else INT64_MAX

    def _floor(self):
        """Float bounds below this leave the unit too coarse."""
        return self._grid.unit * 2.0**COARSEST_BITS if self._problem.is_float else 0

    def _bounded_by(self, key) -> list[int]:
        """Which of the bounds an array counts in: 0 source, 1 sink, 2 + k arc k."""
        if not isinstance(key, tuple):
            return [("source", "sink").index(key)]
        layout = self._grid.layout
        if key not in layout.offsets:
            return []
        k = layout.arc(key)
        return [2 + k] if layout.offsets[k ^ 1] in self._problem.edges else [2 + k, 2 + (k ^ 1)]

    def _apply(self, change: Change) -> None:
        """Put new values into our copy, the excesses and the residuals."""
        key, values, places = change
        grid, layout = self._grid, self._grid.layout
        old = array_of(self._problem, key).reshape(-1)
        mask = self._views.mask
        scale = scale_of(grid.unit, None)
        number = np.int32 if layout.size < 2**31 else np.int64
        where = (scale, layout.extent)
        rows = (layout.stride3, layout.head)
        if not isinstance(key, tuple):
            cells = np.empty(places.size, number)
            sign = 1 if key == "source" else -1
            count = change_terminal_kernel(values, places, old, mask, sign, *where, *rows, grid.excess, cells)
            if key == "sink":
                self._to_sink = None
        elif key not in layout.offsets:  # longer than the grid
            old[places] = values
            return
        else:
            cells = np.empty(2 * places.size, number)
            k = layout.arc(key)
            both = layout.offsets[k ^ 1] not in self._problem.edges
            offset = layout.offset3(k)
            far_mask = self._views.far_mask(offset)
            state = (layout.step, k, grid.excess, grid.residual, cells)
            count = change_arc_kernel(values, places, old, mask, far_mask, both, *where, offset, *rows, *state)
        if self._touched is not None:
            self._touched.append(cells[:count])


def array_of(problem: Problem, key) -> np.ndarray:
    """The capacities of a terminal by name, or of an offset."""
    return problem.edges[key] if isinstance(key, tuple) else getattr(problem, key)


def with_array(problem: Problem, key, array: np.ndarray) -> Problem:
    """The problem with another array for a terminal or an offset."""
    if isinstance(key, tuple):
        return problem._replace(edges={**problem.edges, key: array})
    return problem._replace(**{key: array})


def _own(array: np.ndarray, shape) -> np.ndarray:
    """A contiguous copy of the grid's shape."""
    return np.array(np.broadcast_to(array, shape), order="C", copy=True)
