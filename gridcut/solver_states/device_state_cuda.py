"""State of a `Solver` on the GPU between solves: copies of all capacities, excess and residuals, and solver memory."""

import math

import numpy as np

from gridcut.core.cut import Cut, LazySolved
from gridcut.core.load import INT32_MAX
from gridcut.core.problem import Problem
from gridcut.core.solve_exactly import solve_exactly
from gridcut.core.units import still_fits
from gridcut.cuda.device_flow import DeviceMethod, StateOnDevice, checked_value, gpu_clock, labels_and_values
from gridcut.cuda.device_load import (
    MAX_NARROW_SUM,
    CapacityArrays,
    NumberTypes,
    State,
    by_arc,
    choose_number_types,
    make_state_layout,
)
from gridcut.cuda.pixel_kernels import (
    ARC,
    HEIGHT,
    ROW_ENTRIES,
    ROWS_START,
    SINK,
    SOURCE,
    WIDTH,
    add_halves,
    capacity_units,
    data_index,
    first_run,
    grid_for,
    is_used,
    pixel_of,
    run_step,
    runs_of,
    state_index,
)
from gridcut.device.arrays import DeviceArray, allocate, clear, return_as, synchronize, upload
from gridcut.device.cuda import cuda, cuda_kernel
from gridcut.device.launch import launch
from gridcut.methods import METHODS, works_on_tiles

# Changing capacities under a flow on a GPU: gridcut/solver_states/host_state.py, in parallel over all pixels.
#
# The kernels compare new arrays with old ones.  If a residual would become negative, the missing amount is pushed
# back over its arc.  One thread changes both directions of an edge, so no residual is too large in the meantime.


@cuda_kernel
def copy_kernel(data, row, form, out):
    """Copy an array to a contiguous one, in raster order."""
    runs = runs_of(form)
    for run in range(first_run(), runs, run_step()):
        z, y, x = pixel_of(form, run)
        if x < form[WIDTH]:
            out[(z * form[HEIGHT] + y) * form[WIDTH] + x] = data[data_index(form, row, 0, z, y, x)]


@cuda_kernel
def scatter_kernel(places, values, out):
    """out[places] = values; `places` has no duplicates."""
    for i in range(np.int64(cuda.grid(1)), places.size, cuda.gridsize(1)):
        out[places[i]] = values[i]


@cuda_kernel
def change_terminal_kernel(new, old, row, mask, new_form, old_form, scale, excess, to_sink):
    """Change the excess by as much as a terminal capacity; to_sink: sum of the sink's capacities, in 32-bit halves."""
    low = np.int64(0)
    high = np.int64(0)
    runs = runs_of(old_form)
    for run in range(first_run(), runs, run_step()):
        z, y, x = pixel_of(old_form, run)
        if is_used(old_form, mask, row, 0, z, y, x):
            before = capacity_units(old[data_index(old_form, row, 0, z, y, x)], scale, old_form)
            change = capacity_units(new[data_index(new_form, row, 0, z, y, x)], scale, old_form) - before
            if change != 0:
                e, _, _ = state_index(old_form, 0, z, y, x)
                if row == SINK:
                    excess[e] -= change
                    low += change & 0xFFFFFFFF
                    high += change >> 32
                else:
                    excess[e] += change
    add_halves(low, high, to_sink, 0)


@cuda_kernel
def change_arcs_kernel(new, new_back, old, old_back, row, mask, new_form, old_form, scale, excess, residual):
    """Change the residuals of arc p -> q of `row` and of its opposite by as much as their capacities."""
    runs = runs_of(old_form)
    k = np.int64(row - ARC)
    back = (k ^ 1) + ARC
    r = ROWS_START + ROW_ENTRIES * row
    for run in range(first_run(), runs, run_step()):
        z, y, x = pixel_of(old_form, run)
        if is_used(old_form, mask, row, 0, z, y, x):
            far_z, far_y, far_x = z + old_form[r + 5], y + old_form[r + 6], x + old_form[r + 7]
            change = capacity_units(new[data_index(new_form, row, 0, z, y, x)], scale, old_form)
            change -= capacity_units(old[data_index(old_form, row, 0, z, y, x)], scale, old_form)
            change_back = capacity_units(new_back[data_index(new_form, back, 0, far_z, far_y, far_x)], scale, old_form)
            change_back -= capacity_units(old_back[data_index(old_form, back, 0, far_z, far_y, far_x)], scale, old_form)
            if change != 0 or change_back != 0:
                e, there, arc = state_index(old_form, 0, z, y, x)
                far_e, here, _ = state_index(old_form, 0, far_z, far_y, far_x)
                there += k * arc
                here += (k ^ 1) * arc
                left = np.int64(residual[there]) + change
                left_back = np.int64(residual[here]) + change_back
                over = np.int64(0)  # flow pushed back from q to p
                if left < 0:
                    over = -left
                elif left_back < 0:
                    over = left_back
                residual[there] = left + over
                residual[here] = left_back - over
                if over != 0:
                    cuda.atomic.add(excess, e, over)
                    cuda.atomic.add(excess, far_e, -over)


class DeviceState:
    """A copy of a nonempty problem, and the state of its last solve."""

    def __init__(self, problem: Problem, tiled: bool):
        synchronize()  # the caller's library may still be writing its arrays
        self._library = problem.library
        self.epoch = 0  # incremented by every update and solve; cuts with an earlier epoch are stale
        capacities = CapacityArrays(problem, make_state_layout(problem, tiled))
        capacities.bounds()  # raises ValueError for invalid capacities before anything is stored
        self._problem = self._copied(problem, capacities)
        self._capacities = CapacityArrays(self._problem, capacities.layout)
        self._largest = self._capacities.largest(self._capacities.given_rows())
        # The state changed to the current capacities, whether it holds a flow, and (method, memory that it is passed as
        # `warm` in the next solve).  Without a state, which errors leave too, the next solve starts cold.
        self._state, self._warm, self._memory = self._fill(), False, None

    def capacities(self) -> Problem:
        """The current capacities on the host, from which another state can be created."""
        return self._problem.on_host()._replace(bound=None, library=self._library)

    def _copied(self, problem: Problem, capacities: CapacityArrays) -> Problem:
        """The problem with copies of its arrays; offsets longer than the grid keep only their keys."""
        layout = capacities.layout.flat
        edges = {
            offset: _own(capacities, ARC + layout.arc(offset), array)
            if offset in layout.offsets
            else np.zeros((), np.int32)
            for offset, array in problem.edges.items()
        }
        return problem._replace(
            source=_own(capacities, SOURCE, problem.source),
            sink=_own(capacities, SINK, problem.sink),
            mask=None if problem.mask is None else _own_mask(capacities, problem),
            edges=edges,
            library="numba",
        )

    def _fill(self) -> State:
        """A state without a flow, from the present capacities."""
        bounds = by_arc(self._largest, self._capacities.layout.flat.arcs)
        number_types = choose_number_types(self._problem, bounds, self._capacities.layout.tiles is not None)
        state = self._capacities.fill(number_types)
        self._problem = self._problem._replace(bound=number_types.bound)
        return state

    def update(self, given: dict, index: np.ndarray | None) -> None:
        """Apply new capacities, validated except for their values; `index`: pixels that they are for, None: all."""
        synchronize()
        layout = self._capacities.layout.flat
        rows = {self._row(key): key for key in given if not isinstance(key, tuple) or key in layout.offsets}
        if index is not None:
            if index.size == 0:
                return
            given = {key: self._scattered(self._row(key), array, index) for key, array in given.items()}
        if not rows:
            return
        trial = self._problem._replace(bound=None)
        for key in rows.values():
            trial = trial.with_array(key, given[key])
        changed = CapacityArrays(trial, self._capacities.layout)
        largest = self._largest | changed.largest(list(rows))
        bounds = by_arc(largest, layout.arcs)
        number_types = choose_number_types(trial, bounds, self._capacities.layout.tiles is not None)
        clamped = self._problem.bound is not None  # clamped terminals depend on the arcs of their pixel
        arrays = {row: _own(changed, row, given[key]) for row, key in rows.items()}
        problem = trial
        for row, key in rows.items():
            problem = problem.with_array(key, arrays[row])
        capacities = self._capacities.changed(problem, arrays)
        self.epoch += 1
        state, self._state = self._state, None  # until the change is complete
        if state is not None and not clamped and _still_fits(state.number_types, number_types, bounds):
            self._apply(state, rows, changed)
        else:  # rare, so a cold start is acceptable: wider integers, or another unit for floats
            state = None
        # In one statement: an interrupt must not separate them.
        self._problem, self._capacities, self._largest = problem, capacities, largest
        if state is not None:
            capacities.set_number_types(state.number_types)
            self._state = state._replace(form=capacities.form, mask=capacities.mask)

    def _row(self, key) -> int:
        if isinstance(key, tuple):
            layout = self._capacities.layout.flat
            return ARC + layout.arc(key) if key in layout.offsets else -1
        return SOURCE if key == "source" else SINK

    def _scattered(self, row: int, array, index: np.ndarray) -> DeviceArray:
        """A copy of the array of a row with new values at `index`; for duplicates the last value is used."""
        own = self._capacities.data(row)
        array = array.host() if isinstance(array, DeviceArray) else array
        values = np.broadcast_to(array, index.shape)[::-1]
        places, first = np.unique(index[::-1], return_index=True)
        dtype = np.promote_types(own.dtype, array.dtype)
        copy = _copy(self._capacities, row, dtype)
        blocks, threads = _grid_1d(places.size)
        values = upload(values[first].astype(dtype))
        launch(scatter_kernel, blocks, threads, upload(places.astype(np.int64)), values, copy)
        return _as_own(copy, self._problem.shape)

    def _apply(self, state: State, rows: dict, capacities: CapacityArrays) -> None:
        """Change excess and residuals to the arrays of `capacities`."""
        old = self._capacities
        grid = grid_for(old.layout.runs, 1, 1)
        forms = (old.mask, capacities.form, old.form, np.float64(state.number_types.scale))
        for row in sorted(row for row in rows if row < ARC):
            arrays = (capacities.data(row), old.data(row))
            launch(change_terminal_kernel, *grid, *arrays, np.int32(row), *forms, state.excess, state.to_sink)
        for k in sorted({(row - ARC) & ~1 for row in rows if row >= ARC}):
            there, back = ARC + k, ARC + k + 1
            arrays = (capacities.data(there), capacities.data(back), old.data(there), old.data(back))
            launch(change_arcs_kernel, *grid, *arrays, np.int32(there), *forms, state.excess, state.residual)

    def solve(self, name: str, parameters: dict, callback) -> Cut:
        clock = gpu_clock()
        clock.phase("upload")
        self.epoch += 1
        method = DeviceMethod(name, works_on_tiles(name), METHODS[name].on("cuda").function, parameters)
        state, memory = self._state, self._memory
        self._state = self._memory = None  # until this solve is complete
        warm = state is not None and self._warm
        known = None if state is None else memory
        memory = after = None

        def load(bound):
            nonlocal state, known, after, warm
            state = known = after = None  # frees their memory for the next state
            warm = False
            self._problem = self._problem._replace(bound=bound)
            return self._fill()

        def run(state: State):
            nonlocal after
            sink_side, after, stats = method.solve(state, callback, warm=known)
            return sink_side, {**stats, "warm": warm}

        def value(state: State, sink_side):
            clear(state.left)
            problem = self._problem
            labels, found = labels_and_values(state, sink_side, self._capacities if problem.is_float else None)
            return labels, *checked_value(problem, found[0])

        found = solve_exactly(load, run, value, clock, state)
        self._state, self._warm, self._memory = found.state, True, after
        labels = return_as(found.labels.view(np.bool_).reshape(self._problem.shape), self._library)
        clock.phase("download")
        lazy = LazySolved(StateOnDevice(self._problem, found.state), self, self._library)
        return Cut(found.value, labels, "cuda", name, found.stats, lazy)


def _still_fits(now: NumberTypes, wanted: NumberTypes, bounds: list) -> bool:
    """Whether the dtypes and the unit of the state suffice for the new capacities."""
    if isinstance(now.unit, float):
        return wanted.bound is None and still_fits(now.unit, sum(bounds))
    arcs = bounds[ARC - 1 :]
    pairs = zip(arcs[::2], arcs[1::2], strict=True)
    return (now.excess == np.int64 or sum(bounds) <= INT32_MAX) and (
        now.residual != np.uint16 or all(a + b <= MAX_NARROW_SUM for a, b in pairs)
    )


def _own(capacities: CapacityArrays, row: int, array) -> DeviceArray:
    """A contiguous copy of the array of a row; an upload of a host array is a copy already."""
    shape = capacities.problem.shape
    if not isinstance(array, DeviceArray) and array.ndim:
        return _as_own(capacities.data(row), shape)
    return _as_own(_copy(capacities, row, capacities.data(row).dtype), shape)


def _own_mask(capacities: CapacityArrays, problem: Problem) -> DeviceArray:
    if isinstance(problem.mask, DeviceArray):
        return _as_own(_copy(capacities, 0, np.uint8).view(np.bool_), problem.shape)
    return _as_own(capacities.mask.view(np.bool_), problem.shape)


def _copy(capacities: CapacityArrays, row: int, dtype):
    (copy,) = allocate((capacities.layout.pixels, dtype))
    launch(
        copy_kernel, *grid_for(capacities.layout.runs, 1, 1), capacities.data(row), np.int32(row), capacities.form, copy
    )
    return copy


def _as_own(data, shape) -> DeviceArray:
    strides = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return DeviceArray(data, 0, strides, shape, np.dtype(data.dtype), "numba")


def _grid_1d(length: int) -> tuple[int, int]:
    (blocks, _, _), threads = grid_for(-(-length // 32), 1, 1)
    return blocks, threads
