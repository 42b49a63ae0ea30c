"""The state of a `Solver` on the CPU between solves: copies of the capacities, the grid, and the last solve."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gridcut import methods
from gridcut.core.certificate import is_flow
from gridcut.core.cut import Cut, LazySolved, Solved, labels_and_value
from gridcut.core.cut_capacity import capacity_to_sink
from gridcut.core.grid import Grid
from gridcut.core.load import INT32_MAX, INT64_MAX, largest_capacities, load, plane, reader, used_pixels
from gridcut.core.problem import Problem, bad_capacity
from gridcut.core.solve_exactly import Clock, solve_exactly
from gridcut.core.units import scale_of, still_fits, units
from gridcut.device import inner_kernel, plain_kernel

# Changes of capacities under a flow, after which a solver that keeps its state can continue.
#
# A new terminal capacity changes the excess of a pixel by the difference.  A new edge capacity changes the residual
# by the difference.  If the residual would become negative, the flow exceeds the new capacity, and the excess flow is
# pushed back:
#
#       before                     after                     r(p, q) = -2:   r(p, q) = 0,  r(q, p) -= 2
#   p ── r = 3 ──► q    - 5    p ── r = -2 ──► q    becomes                  e(p) += 2,    e(q) -= 2
#
# This is the reparametrisation of Kohli and Torr, "Dynamic graph cuts for efficient inference in Markov random
# fields", PAMI 2007.  The flow remains a pseudoflow of the new problem, and every solver can start from a pseudoflow.


@plain_kernel
def find_changes_kernel(new, old, extent, pixels, values):
    """Write the raster indices of the pixels where a plane differs from a flat array, and the plane's values there.

    Returns their number.
    """
    count = 0
    n2 = new.stride[2]
    for z in range(extent[0]):
        for y in range(extent[1]):
            n = new.start + z * new.stride[0] + y * new.stride[1]
            line = (z * extent[1] + y) * extent[2]
            for x in range(extent[2]):
                value = new.data[np.uint64(n + x * n2)]
                if value != old[np.uint64(line + x)]:
                    pixels[count] = line + x
                    values[count] = value
                    count += 1
    return count


@plain_kernel
def change_terminal_kernel(values, pixels, old, mask, sign, scale, extent, stride, head, excess, cells):
    """Set old = values at some pixels and excess += sign * change; writes the changed cells, returns their number."""
    touched = 0
    for i in range(pixels.size):
        line, x = divmod(pixels[i], extent[2])
        z, y = divmod(line, extent[1])
        change = units(values[i], scale) - units(old[pixels[i]], scale)
        old[pixels[i]] = values[i]
        if mask is not None:
            m = z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2]
            if mask.data[mask.start + m] == 0:
                continue
        p = head + z * stride[0] + y * stride[1] + x
        excess[p] += sign * change
        cells[touched] = p
        touched += 1
    return touched


@inner_kernel
def push_back(excess, residual, step, p, k):
    """Set a negative residual to 0 by pushing the excess flow back along its arc."""
    arcs = len(step)
    over = -residual[p * arcs + k]
    if over > 0:
        q = p + step[k]
        residual[p * arcs + k] = 0
        residual[q * arcs + (k ^ 1)] -= over
        excess[p] += over
        excess[q] -= over


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@plain_kernel
def change_arc_kernel(
    values,
    pixels,
    old,
    mask,
    far_mask,
    both,
    scale,
    extent,
    offset,
    stride,
    head,
    step,
    k,
    excess,
    residual,
    cells,
):
    """Set old = values at some pixels, and adjust residuals and excesses; both: the opposite arc changes equally.

    Writes the cells at both ends of the changed arcs, returns their number.
    """
    arcs = len(step)
    touched = 0
    for i in range(pixels.size):
        line, x = divmod(pixels[i], extent[2])
        z, y = divmod(line, extent[1])
        change = units(values[i], scale) - units(old[pixels[i]], scale)
        old[pixels[i]] = values[i]
        if not (0 <= z + offset[0] < extent[0] and 0 <= y + offset[1] < extent[1] and 0 <= x + offset[2] < extent[2]):
            continue
        if mask is not None:
            m = z * mask.stride[0] + y * mask.stride[1] + x * mask.stride[2]
            if mask.data[mask.start + m] == 0 or far_mask.data[far_mask.start + m] == 0:
                continue
        p = head + z * stride[0] + y * stride[1] + x
        q = p + step[k]
        residual[p * arcs + k] += change
        if both:
            residual[q * arcs + (k ^ 1)] += change
        push_back(excess, residual, step, p, k)
        push_back(excess, residual, step, q, k ^ 1)
        cells[touched] = p
        cells[touched + 1] = q
        touched += 2
    return touched


MAX_WARM_SHARE = 0.2  # changed edges per edge above which the grid is loaded again, which is then faster
_NO_CELLS = np.empty(0, np.int32)


class Change(NamedTuple):
    """New values of one array, "source", "sink" or an offset, at pixels given by their raster indices.

    largest, gone   of the new values, and of those that are replaced
    """

    key: str | tuple[int, ...]
    values: np.ndarray
    pixels: np.ndarray
    largest: int | float
    gone: int | float


@dataclass(slots=True)
class LastSolve:
    """What the next solve can start from, beside the flow in the grid.

    memory   what the method keeps for the next solve
    cells    lists of the cells that have changed since
    """

    memory: Any
    cells: list[np.ndarray] = field(default_factory=list)

    def touched(self) -> np.ndarray:
        """All listed cells, with repetitions."""
        return self.cells[0] if len(self.cells) == 1 else np.concatenate([_NO_CELLS, *self.cells])


class HostState:
    """A copy of a problem that is not empty, and the state of its last solve.

    problem    the current capacities;  views, grid: loaded from them, with the flow found so far
    last       the last solve; None: no solve since the grid was loaded, or an error has ended the last solve or update
    largest    largest capacities of source, sink and each arc, or more; None: to be found when they are needed
    to_sink    total capacity to the sink, of integers; None: to be found when it is needed
    is_whole   whether the flow fits the capacities: not during a solve, nor after an error has ended one
    epoch      incremented by every update and solve, which makes older cuts stale
    """

    def __init__(self, problem: Problem):
        self.epoch = 0
        self._load(problem.changed(lambda array: _own(array, problem.shape)))

    def _load(self, problem: Problem, largest: list | None = None) -> None:
        """Replace the capacities, and load the grid from them, without a flow; largest: as the attribute."""
        grid, views = load(problem)
        problem = problem._replace(bound=views.bound)
        self.epoch += 1
        self.last = self.to_sink = None
        # In one statement: an interrupt must not separate them.
        self.problem, self.views, self.grid, self.largest, self.is_whole = problem, views, grid, largest, True

    def capacities(self) -> Problem:
        """A copy of the current capacities, from which another state can be created."""
        return self.problem.changed(np.copy)._replace(bound=None)

    def update(self, given: dict, index: np.ndarray | None) -> None:
        """Apply new capacities of checked types and shapes; `index`: raster indices of their pixels, None: all."""
        self._widen_types(given)
        given = {key: array.astype(self.problem.array_of(key).dtype, copy=False) for key, array in given.items()}
        if index is None:
            found = {key: self._compare(key, array) for key, array in given.items()}
        else:
            found = {key: (index, np.broadcast_to(array, index.shape).copy()) for key, array in given.items()}
        found = {key: change for key, change in found.items() if change[0].size}
        changed = sum(pixels.size for key, (pixels, _) in found.items() if isinstance(key, tuple))
        if changed > MAX_WARM_SHARE * sum(array.size for array in self.problem.edges.values()):
            self._load(self._changed({key: given[key] for key in found}))
            return
        changes = [self._checked(key, *change) for key, change in found.items()]
        bounds = self._bounds_after(changes)
        if not changes or bounds is None:
            return
        self.epoch += 1
        # Unknown until the change is complete: if it is interrupted, the next solve starts from the flow alone.
        last, self.last, self.largest = self.last, None, None
        if "sink" in given:
            self.to_sink = None
        try:
            cells = [self._apply(change) for change in changes]
        except BaseException:
            # All or nothing.  A kernel changes copy and excesses together, so a second time it changes nothing.
            for change in changes:
                self._apply(change)
            raise
        if last is not None:
            last.cells += cells
        self.last, self.largest = last, bounds

    def solve(self, name: str, parameters: dict, callback) -> Cut:
        clock = Clock()
        self.epoch += 1
        last = self.last
        if not self.is_whole and not is_flow(self.problem, self.views, self.grid):
            self._load(self.problem)

        def load_grid(bound):
            nonlocal last
            self._load(self.problem._replace(bound=bound))
            last = None
            return self.grid

        def run(grid: Grid):
            sink_side, stats = self._run(last, name, parameters, callback)
            return sink_side, {**stats, "warm": last is not None}

        def value(grid: Grid, sink_side):
            if self.to_sink is None and not self.problem.is_float:
                self.to_sink = capacity_to_sink(self.views, 1)
            return labels_and_value(self.problem, self.views, grid, sink_side, self.to_sink)

        found = solve_exactly(load_grid, run, value, clock, self.grid)
        lazy = LazySolved(Solved(self.problem, self.views, self.grid, []), self)
        return Cut(found.value, found.labels, "cpu", name, found.stats, lazy)

    def _run(self, last: LastSolve | None, name: str, parameters: dict, callback):
        """Solve the grid by a method, from the state of the last solve; the mask of the sink side, and stats."""
        # If it is interrupted, the flow is valid, but the cells that it changed are unknown.
        self.last, self.is_whole = None, False
        warm = methods.WARM.get(name)
        if warm is None:
            solve = methods.METHODS[name].on("cpu").function
            sink_side, stats = solve(self.grid, callback=callback, **parameters)
            memory = None
        else:
            touched = None if last is None else last.touched()
            memory = None if last is None else last.memory
            sink_side, stats, memory = warm.function(self.grid, memory, touched, callback=callback, **parameters)
        self.last, self.is_whole = LastSolve(memory), True
        return sink_side, stats

    def _widen_types(self, given: dict) -> None:
        """Convert our copies to types that hold the new capacities."""
        for key, array in given.items():
            own = self.problem.array_of(key)
            dtype = np.promote_types(own.dtype, array.dtype)
            if dtype != own.dtype:
                problem = self.problem.with_array(key, own.astype(dtype))
                self.problem, self.views = problem, reader(problem, self.grid.layout)

    def _compare(self, key, array) -> tuple[np.ndarray, np.ndarray]:
        """Raster indices of the pixels where an array differs from our copy, and its values there."""
        own = self.problem.array_of(key).reshape(-1)
        pixels, values = np.empty(own.size, np.int64), np.empty(own.size, own.dtype)
        view = plane(array, self.problem.shape)
        count = find_changes_kernel(view, own, self.grid.layout.extent, pixels, values)
        return pixels[:count], values[:count]

    def _checked(self, key, pixels, values) -> Change:
        """A change of one or more pixels; raises ValueError for invalid capacities in use."""
        problem = self.problem
        if not np.minimum.reduce(values) >= 0:  # of NaN, too
            bad = ~(values >= 0)
            offset = key if isinstance(key, tuple) else None
            bad_and_used = bad & used_pixels(problem, offset).reshape(-1)[pixels]
            if bad_and_used.any():
                at = int(np.argmax(bad_and_used))
                where = tuple(int(i) for i in np.unravel_index(pixels[at], problem.shape))
                raise bad_capacity(key if offset is None else f"edges[{key}]", values[at], where)
            values[bad] = 0  # unused capacities, which must not affect the bounds
        gone = np.maximum.reduce(problem.array_of(key).reshape(-1)[pixels]).item()
        return Change(key, values, pixels, np.maximum.reduce(values).item(), gone)

    def _changed(self, arrays: dict) -> Problem:
        """The problem with copies of other arrays, and no bound."""
        trial = self.problem._replace(bound=None)
        for key, array in arrays.items():
            trial = trial.with_array(key, _own(array, trial.shape))
        return trial

    def _bounds_after(self, changes: list[Change]) -> list | None:
        """The largest capacities, or more, after changes; None if the grid had to be loaded again to hold them."""
        bounds = list(self.largest or largest_capacities(self.problem, self.grid.layout))
        shrinks = False
        for change in changes:
            for i in self._bounded_by(change.key):
                shrinks |= self.problem.is_float and change.gone > bounds[i] / 2
                bounds[i] = max(bounds[i], change.largest)
        clamped = self.problem.bound is not None  # the clamped terminals of a pixel depend on its arcs
        if self._holds(sum(bounds)) and not shrinks and not (clamped and changes):
            return bounds
        # These bounds never decrease, so compute the true ones before loading a new grid.
        trial = self._changed({change.key: self.problem.array_of(change.key) for change in changes})
        for change in changes:
            trial.array_of(change.key).reshape(-1)[change.pixels] = change.values
        bounds = largest_capacities(trial, self.grid.layout)
        if not clamped and self._holds(sum(bounds)):
            return bounds
        # A cold start, which is rare: wider integers, or another unit for floats.
        self._load(trial, bounds)
        return None

    def _holds(self, total) -> bool:
        """Whether the grid holds capacities with this sum of the largest ones, and its unit is fine enough for them."""
        if self.problem.is_float:
            return still_fits(self.grid.unit, total)
        return total <= (INT32_MAX if self.grid.excess.dtype == np.int32 else INT64_MAX)

    def _bounded_by(self, key) -> list[int]:
        """Indices of the bounds that depend on an array: 0 source, 1 sink, 2 + k arc k."""
        if not isinstance(key, tuple):
            return [("source", "sink").index(key)]
        layout = self.grid.layout
        if key not in layout.offsets:
            return []
        k = layout.arc(key)
        return [2 + k] if layout.offsets[k ^ 1] in self.problem.edges else [2 + k, 2 + (k ^ 1)]

    def _apply(self, change: Change) -> np.ndarray:
        """Write new values to our copy, and adjust the excesses and residuals; the changed cells."""
        key, values, pixels = change.key, change.values, change.pixels
        grid, layout = self.grid, self.grid.layout
        old = self.problem.array_of(key).reshape(-1)
        mask = self.views.mask
        scale = scale_of(grid.unit, None)
        number = np.int32 if layout.size < 2**31 else np.int64
        where = (scale, layout.extent)
        rows = (layout.stride3, layout.head)
        if not isinstance(key, tuple):
            sign = 1 if key == "source" else -1
            cells = np.empty(pixels.size, number)
            count = change_terminal_kernel(values, pixels, old, mask, sign, *where, *rows, grid.excess, cells)
        elif key not in layout.offsets:  # longer than the grid
            old[pixels] = values
            return _NO_CELLS
        else:
            cells = np.empty(2 * pixels.size, number)
            k = layout.arc(key)
            both = layout.offsets[k ^ 1] not in self.problem.edges
            offset = layout.offset3(k)
            far_mask = self.views.far_mask(offset)
            state = (layout.step, k, grid.excess, grid.residual, cells)
            count = change_arc_kernel(values, pixels, old, mask, far_mask, both, *where, offset, *rows, *state)
        return cells[:count]


def _own(array: np.ndarray, shape) -> np.ndarray:
    """A contiguous copy of the grid's shape."""
    return np.array(np.broadcast_to(array, shape), order="C", copy=True)
