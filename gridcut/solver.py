"""Solver: many cuts of almost the same problem, each starting from the flow of the one before."""

import time
from typing import NamedTuple

import numpy as np

from gridcut import methods
from gridcut.capacity import capacity_to_sink, cut_capacity
from gridcut.changes import (
    change_arc_kernel,
    change_terminal_kernel,
    find_changes_kernel,
    sink_excess_kernel,
)
from gridcut.cut import Cut, Solved
from gridcut.device import DeviceName
from gridcut.flow import empty_cut, labels_of
from gridcut.load import (
    INT32_MAX,
    INT64_MAX,
    largest_capacities,
    load,
    plane,
    reader,
    used_pixels,
)
from gridcut.problem import (
    Problem,
    as_capacity,
    bad_capacity,
    check_edges,
    check_problem,
    check_shape,
)

COARSEST_BITS = 50  # floats keep a resolution of 2^-50 of the largest sum round a pixel, or better
_NO_CELLS = np.empty(0, np.int32)


class Change(NamedTuple):
    """New values for one array: "source", "sink" or an offset; places are raster numbers."""

    key: str | tuple[int, ...]
    values: np.ndarray
    places: np.ndarray


class Solver:
    """Solve, change some capacities, solve again: warm starts from the last flow, exact each time.

    Parameters
    ----------
    source, sink, edges, mask, device, method, **parameters
        As in `max_flow`.  The arrays are copied: later changes to the caller's own do not matter.

    Notes
    -----
    A cut returned by `solve` can be asked for residuals, flows and its certificate until the next `update`;
    its value and labels are its own.  Memory: that of the method and one copy of all capacities.  Not for use
    by two threads at once; different solvers are independent.

    References
    ----------
    Kohli, Torr. "Dynamic graph cuts for efficient inference in Markov random fields." PAMI 29(12), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> solver = Solver(np.array([9, 4, 0]), np.array([0, 3, 9]), {(1,): 2})
    >>> solver.solve().value
    5
    >>> solver.update(edges={(1,): 0})
    >>> solver.solve().value
    3
    """

    def __init__(
        self,
        source,
        sink,
        edges,
        *,
        mask=None,
        device: DeviceName = "auto",
        method: str = "auto",
        **parameters,
    ):
        problem = check_problem(source, sink, edges, mask)
        self._device = device
        self._method = method
        self._parameters = parameters
        methods.choose(device, method, problem, parameters)
        shape = problem.shape
        self._problem = Problem(
            shape,
            _own(problem.source, shape),
            _own(problem.sink, shape),
            {offset: _own(array, shape) for offset, array in problem.edges.items()},
            None if problem.mask is None else problem.mask.copy(),
            problem.is_float,
        )
        self._epoch = [0]  # one more after every update, so that older cuts know they are old
        self._memory = None  # what the method keeps from one solve to the next, and which method that was
        self._touched = []  # cells changed since the last solve; None: all of them
        self._to_sink = None
        if not problem.empty:
            self._load()

    def _load(self):
        """Start cold from the capacities as they are now."""
        self._grid, self._views = load(self._problem)
        self._bounds = largest_capacities(self._problem, self._views)
        self._forget()

    def _forget(self):
        self._touched = None
        self._memory = None
        self._to_sink = None

    def update(self, *, source=None, sink=None, edges=None, where=None) -> None:
        """Change capacities; what is not named stays.  All or nothing: on an error no capacity has changed.

        Parameters
        ----------
        source, sink : array_like, the grid's shape or a scalar, optional
            New capacities; only pixels that differ from the last ones cost more than a comparison.
        edges : mapping from offset to array_like, optional
            New capacities of some of the offsets the solver was made with.
        where : tuple of index arrays or ndarray of bool, optional
            The pixels that `source` and `sink` hold values for, in the form numpy takes as an index; then
            those are one-dimensional, or scalars.  Spares the comparison of whole arrays.

        Raises
        ------
        TypeError, ValueError
            As `max_flow`; also for an offset without edges so far, for float capacities where all were
            integers, and for `where` together with `edges`.
        """
        problem = self._problem
        if where is not None and edges is not None:
            raise ValueError("where chooses pixels of source and sink; pass edges in an update of their own")
        given = {}
        for name, values in (("source", source), ("sink", sink)):
            if values is not None:
                given[name] = as_capacity(name, values)
        for offset, array in check_edges({} if edges is None else edges, problem.shape).items():
            if offset not in problem.edges:
                known = ", ".join(map(str, problem.edges)) or "none"
                raise ValueError(f"edges: offset {offset} had no edges when the solver was made; it has {known}")
            given[offset] = array
        index = None if where is None else _raster_index(where, problem.shape)
        for key, array in given.items():
            name = key if isinstance(key, str) else f"edges[{key}]"
            if array.dtype.kind == "f" and not problem.is_float:
                raise TypeError(f"{name} must hold integers like the capacities so far, got {array.dtype}")
            check_shape(name, array, problem.shape if index is None else index.shape)
        if problem.empty:
            return
        self._widen(given)
        changes = [self._find(key, array, index) for key, array in given.items()]
        changes = [change for change in changes if change.places.size]
        if self._make_room(changes):
            for change in changes:
                self._apply(change)
            self._epoch[0] += bool(changes)

    def solve(self, *, method: str | None = None, callback=None, **parameters) -> Cut:
        """The minimum cut for the capacities as they are now.

        method, parameters: for this solve only, instead of those the solver was made with.
        """
        start = time.perf_counter()
        name = self._method if method is None else method
        if method is None:
            parameters = {**self._parameters, **parameters}
        problem = self._problem
        ran_on, name, run = methods.choose(self._device, name, problem, parameters)
        if problem.empty:
            return empty_cut(problem, ran_on, name)
        grid = self._grid
        warm = self._touched is not None
        self._epoch[0] += 1
        memory = self._memory[1] if self._memory is not None and self._memory[0] == (ran_on, name) else None
        touched = None if self._touched is None else np.concatenate([_NO_CELLS, *self._touched])
        self._forget_memory()
        sink_side, stats, memory = methods.run_warm(run, grid, memory, touched, parameters, callback)
        solved = time.perf_counter()
        self._memory = ((ran_on, name), memory)
        self._touched = []
        labels = labels_of(problem, grid, sink_side)
        value = self._value(labels, sink_side)
        seconds = {"load": 0.0, "solve": solved - start, "value": time.perf_counter() - solved}
        stats = {
            **stats,
            "warm": warm,
            "seconds": seconds,
            "dtype": grid.excess.dtype.name,
            "unit": grid.unit,
        }
        epoch = self._epoch[0]
        state = Solved(problem, self._views, grid, [], lambda: self._epoch[0] == epoch)
        return Cut(value, labels, ran_on, name, stats, state)

    def _forget_memory(self):
        """A solve that is interrupted leaves a sound state, but nothing is known about what it touched."""
        self._memory = None
        self._touched = None

    def _value(self, labels, sink_side):
        """Capacity of the cut.  For integers from the excesses, which takes one look at two arrays.

        The capacity to the sink in all, less what of it is left: condition (4) of certificate.py.
        """
        if self._problem.is_float:
            return cut_capacity(self._views, labels, True)
        if self._to_sink is None:
            self._to_sink = capacity_to_sink(self._views, False)
        low, high = sink_excess_kernel(self._grid.excess, sink_side)
        return self._to_sink + int(low) + (int(high) << 32)

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
        bad = ~(values >= 0) | (values == np.inf)
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
        if sum(bounds) <= self._limit() and not shrinks:
            self._bounds = bounds
            return True
        # These bounds never went down; before anything is done about it, look how things really are.
        trial = self._problem
        for change in changes:
            array = array_of(trial, change.key).copy()
            array.reshape(-1)[change.places] = change.values
            trial = with_array(trial, change.key, array)
        views = reader(trial, self._grid.layout)
        bounds = largest_capacities(trial, views)
        if sum(bounds) > self._limit() or 0 < sum(bounds) < self._floor():
            # Rare enough for a cold start: wider integers, or another unit for floats.
            self._grid, views = load(trial)
            self._forget()
        else:
            self._bounds = bounds
            return True
        self._problem, self._views, self._bounds = trial, views, bounds
        self._epoch[0] += 1
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
        scale = 1.0 / grid.unit if self._problem.is_float else None
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


def _raster_index(where, shape) -> np.ndarray:
    """Numbers of the pixels that `where` chooses, in its order."""
    if isinstance(where, np.ndarray) and where.dtype == np.bool_:
        if where.shape != shape:
            raise ValueError(f"where must have the grid's shape {shape}, got shape {where.shape}")
        return np.flatnonzero(where)
    if not isinstance(where, tuple) or len(where) != len(shape):
        raise TypeError(f"where must be a bool array or a tuple of {len(shape)} index arrays, got {where!r:.60}")
    for axis, (index, length) in enumerate(zip(where, shape, strict=True)):
        index = np.asarray(index)
        if index.dtype.kind not in "iu":
            raise TypeError(f"where must hold integers, got {index.dtype} for axis {axis}")
        if index.size and not (index.min() >= 0 and index.max() < length):
            raise ValueError(f"where must lie between 0 and {length - 1} on axis {axis}")
    try:
        return np.ravel_multi_index(where, shape).reshape(-1)
    except ValueError as error:
        raise ValueError("where: its index arrays must have one shape") from error
