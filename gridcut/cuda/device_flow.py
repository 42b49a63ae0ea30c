"""max_flow on one GPU: load, solve, labels and value on the GPU; certificates and flows on the host."""

import math
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from gridcut.core.cut import Cut, LazySolved, Solved
from gridcut.core.cut_capacity import Measured, finite
from gridcut.core.grid import Grid
from gridcut.core.load import reader
from gridcut.core.problem import Problem
from gridcut.core.solve_exactly import Clock, Solution, is_accurate, solve_exactly
from gridcut.cuda.device_load import (
    CapacityArrays,
    NumberTypes,
    State,
    StateLayout,
    by_arc,
    choose_number_types,
    make_state_layout,
)
from gridcut.cuda.pixel_kernels import ARC, SINK, SOURCE, cut_kernel, differences_kernel, grid_for, labels_kernel
from gridcut.cuda.tile_layout import to_flat
from gridcut.device.arrays import (
    DeviceArray,
    allocate,
    clear,
    download,
    kept_objects,
    overwrite,
    refusing,
    return_as,
    synchronize,
    to_host,
)
from gridcut.device.launch import launch, recording

SUM_BLOCKS = 264  # blocks that write partial sums, which the host adds


class DeviceMethod(NamedTuple):
    """A method that runs on a GPU: its name, its solver as in gridcut/methods.py, and the solver's parameters.

    works_on_tiles   whether its states are in tiles
    """

    name: str
    works_on_tiles: bool
    solver: Callable
    parameters: dict

    def solve(self, state: State, callback, warm=None):
        """Solve a state: the sink side as `labels_kernel` reads it, memory to pass as `warm` next time, and stats."""
        layout, options = state.layout, {"callback": callback, **self.parameters}
        with refusing():
            if layout.tiles is not None:
                after, stats = self.solver(state.excess, state.residual, layout.tiles, warm=warm, **options)
                return after.reach_bits, after, stats
            grid = Grid(layout.flat, state.excess, state.residual, state.unit)
            sink_side, stats = self.solver(grid, **options)
            return sink_side, None, stats


def gpu_clock() -> Clock:
    """A clock that starts when the GPU has no work left."""
    synchronize()  # the caller's library may still be writing its arrays
    return Clock()


def solve_on_device(problem: Problem, method: DeviceMethod, callback) -> tuple["StateOnDevice", Solution, Clock]:
    """Solve all images of a nonempty problem.

    Returns the problem as it was solved, the solution with its labels as bytes on the GPU, and the clock.  The value of
    a batch is a list with the value of each image, `Measured` for floats; images of which rounding lost too much must
    be solved again separately.
    """
    clock = gpu_clock()
    tiled = method.works_on_tiles
    held = begin(problem, make_state_layout(problem, tiled))
    clock.phase("upload")
    bounds = held.bounds()

    def load(bound):
        return held.load(choose_number_types(problem._replace(bound=bound), bounds, tiled))

    def solve(state: State):
        sink_side, held.warm, stats = method.solve(state, callback, held.warm)
        return sink_side, stats

    def value(state: State, sink_side):
        labels, found = labels_and_values(state, sink_side, held.capacities if problem.is_float else None)
        if problem.items is not None:
            return labels, found, None
        return labels, *checked_value(problem, found[0])

    solution = solve_exactly(load, solve, value, clock)
    on_device = StateOnDevice(problem._replace(bound=solution.state.number_types.bound), solution.state)
    held.keep(on_device)
    return on_device, solution, clock


def checked_value(problem: Problem, found) -> tuple[int | float, Measured | None]:
    """The value of a cut, and the loss of floats; ValueError for an infinite cut."""
    return finite(found, "edges") if problem.is_float else (found, None)


def max_flow_on_device(problem: Problem, method: DeviceMethod, callback) -> Cut:
    """Return the cut of a single nonempty problem."""
    on_device, solution, clock = solve_on_device(problem, method, callback)
    labels = return_as(solution.labels.view(np.bool_).reshape(problem.shape), problem.library)
    clock.phase("download")
    lazy = LazySolved(on_device, library=problem.library)
    return Cut(solution.value, labels, "cuda", method.name, solution.stats, lazy)


def batch_on_device(problem: Problem, method: DeviceMethod, callback):
    """Return the cuts of all images of a nonempty batch: labels, values, stats, and (stats, LazySolved) per image."""
    on_device, solution, clock = solve_on_device(problem, method, callback)
    values, labels, stats = solution.value, solution.labels, solution.stats
    alone = {}
    if problem.is_float:
        again = [i for i, cut in enumerate(values) if cut.value == math.inf or not is_accurate(cut)]
        values = [cut.value for cut in values]
        alone = {i: item_on_device(problem, i, method) for i in again}
    for i, found in alone.items():
        values[i] = found.value
        pixels = math.prod(problem.shape)
        overwrite(labels[i * pixels : (i + 1) * pixels], to_host(found.labels).view(np.uint8).reshape(-1))
    labels = return_as(labels.view(np.bool_).reshape((problem.items, *problem.shape)), problem.library)
    clock.phase("download")
    items = [(stats, LazySolved(Item(on_device, i), library=problem.library)) for i in range(problem.items)]
    for i, found in alone.items():
        items[i] = found.stats, found._solved
    return labels, values, stats, items


def item_on_device(problem: Problem, i: int, method: DeviceMethod) -> Cut:
    """Return the cut of one image of a batch, solved separately."""
    try:
        return max_flow_on_device(problem.item(i)._replace(bound=None), method, None)
    except ValueError as error:
        raise ValueError(f"item {i}: {error}") from error


def labels_and_values(state: State, sink_side, capacities: CapacityArrays | None):
    """Labels of all pixels as bytes on the GPU, and the value of every image, `Measured` for floats.

    The value of an integer problem is the total capacity to the sink plus the excess on the sink side (negative: unused
    capacity to the sink), by condition (4) of gridcut/core/certificate.py.  For floats the capacities across the cut
    are summed, from `capacities`.
    """
    layout = state.layout
    (labels,) = allocate((layout.pixels, np.uint8))
    grid = grid_for(layout.runs, layout.items, 1)
    launch(labels_kernel, *grid, sink_side, state.mask, state.form, state.excess, labels, state.left)
    if capacities is not None:
        return labels, measure_cuts(capacities, labels, state.number_types)
    low, high = download(state.sums).reshape(2, layout.items, 2).transpose(2, 0, 1)
    return labels, [
        sum(map(int, lows)) + (sum(map(int, highs)) << 32) for lows, highs in zip(low.T, high.T, strict=True)
    ]


def measure_cuts(capacities: CapacityArrays, labels, number_types: NumberTypes) -> list[Measured]:
    """Measure the cut of every image in float64; the order of summation is the same at every call."""
    layout = capacities.layout
    clamped = number_types.bound is not None
    rows = [] if clamped else [SOURCE, SINK]
    rows += range(ARC, ARC + layout.flat.arcs)
    jobs = len(rows) + clamped
    grid = grid_for(layout.runs, layout.items, 1, SUM_BLOCKS)
    warps = grid[0][0] * grid[1] // 32
    partial, losses, shared = allocate(
        *[(layout.items * jobs * warps, np.float64)] * 2, (layout.items * warps, np.float64), zero=True
    )
    real = (labels, np.float64(number_types.scale), np.float64(number_types.unit))
    first = 0
    for part, data in capacities.groups(rows):
        job = (np.int32(first), np.int32(jobs))
        capacities.launch_group(cut_kernel, part, data, *real, partial, losses, *job, most=SUM_BLOCKS)
        first += len(part)
    if clamped:
        terminals = (capacities.data(SOURCE), capacities.data(SINK), capacities.mask, capacities.form)
        launch(differences_kernel, *grid, *terminals, *real, partial, losses, shared, np.int32(first), np.int32(jobs))
    with np.errstate(over="ignore"):  # an infinite sum raises an error later
        sums = [download(array).reshape(layout.items, -1).sum(axis=1).tolist() for array in (partial, losses, shared)]
    return [Measured(reduced + common, reduced, loss) for reduced, loss, common in zip(*sums, strict=True)]


class StateOnDevice:
    """A state on the GPU that is copied to the host when a certificate or a flow first needs it."""

    def __init__(self, problem: Problem, state: State):
        self._problem = problem
        self._state = state
        self._layout, self._unit = state.layout, state.number_types.unit
        self._arrays = None

    def solved(self, item: int = 0) -> Solved:
        """The `Solved` of one image, from which certificates and flows are computed."""
        if self._arrays is None:
            self._arrays = download(self._state.excess), download(self._state.residual)
            self._state = None  # frees its memory on the GPU
        problem = self.given(item)
        excess, residual = self._arrays
        if self._problem.items is None:
            self._arrays = None  # a single image is fetched only once
        layout = self._layout
        if layout.tiles is not None:
            excess, residual = to_flat(layout.tiles, excess, residual, layout.flat, item)
        return Solved(problem, reader(problem, layout.flat), Grid(layout.flat, excess, residual, self._unit), [])

    def given(self, item: int = 0) -> Problem:
        """The problem of one image on the host, with the present capacities."""
        return self._problem.item(item).on_host()


class Item(NamedTuple):
    """One image of a batch."""

    on_device: StateOnDevice
    number: int

    def solved(self) -> Solved:
        return self.on_device.solved(self.number)

    def given(self) -> Problem:
        return self.on_device.given(self.number)


# Solves that are kept for the next problem of the same form: arrays on the GPU, and packed launches.
#
# To allocate memory, describe a problem to the kernels and pack their arguments takes longer on the host than many
# small grids on the GPU.  The next problem whose arrays have the same shapes and dtypes, and the same addresses if
# they are on the GPU, is loaded and solved by the same launches.  A solve is kept after its cut, which may read the
# state, is gone.

MOST_SOLVES = 4  # per GPU
BYTES_PER_NUMBER = 6  # of the excess, each arc and both terminals: about what the state and copies of host arrays take

_lock = threading.Lock()


class LoadedOnDevice:
    """A problem on the GPU: its bounds, its state, and what the solver may reuse."""

    def __init__(self, problem: Problem, layout: StateLayout, key: tuple | None):
        self._key, self._user = key, None
        self._state: State | None = None
        self._load = []
        self.warm = None
        self.capacities: CapacityArrays | None = CapacityArrays(problem, layout)
        self.capacities.upload()
        self._rows = self.capacities.given_rows()
        with recording() as self._find:
            self.capacities.find_largest(self._rows)

    def bounds(self) -> list:
        """Largest capacity of the source, of the sink and of each arc."""
        return by_arc(self.capacities.found_largest(self._rows), self.capacities.layout.flat.arcs)

    def again(self, problem: Problem) -> "LoadedOnDevice":
        """Start over with another problem."""
        self.capacities.replace(problem)
        self.capacities.clear_largest()
        for start in self._find:
            start()
        return self

    def load(self, number_types: NumberTypes) -> State:
        """The state of the problem, without a flow."""
        if self._state is None or self._state.number_types != number_types:
            self.warm = self._state = None  # frees their memory
            with recording() as self._load:
                self._state = self.capacities.fill(number_types)
            if self._key is None and type(number_types.unit) is int:
                self.capacities = None  # frees copies of host arrays; those of floats are needed again
        else:
            clear(self._state.sums)
            for start in self._load:
                start()
        return self._state

    def keep(self, user) -> None:
        """Keep the arrays for another problem, once `user` no longer exists."""
        if self._key is not None and self.capacities.keeps_copies:
            self.capacities.forget()
            self._user = weakref.ref(user)
            kept, _ = kept_objects()
            with _lock:
                kept.append(self)
                while len(kept) > MOST_SOLVES:
                    kept.popleft()


def begin(problem: Problem, layout: StateLayout) -> LoadedOnDevice:
    """A solve of this problem, a kept one if possible."""
    key = _key_of(problem, layout)
    if key is not None:
        kept, _ = kept_objects()
        with _lock:
            found = next((solve for solve in [*kept] if solve._key == key and solve._user() is None), None)
            with suppress(ValueError):  # dropped in the meantime
                kept.remove(found)
        if found is not None:
            return found.again(problem)
    return LoadedOnDevice(problem, layout, key)


def _key_of(problem: Problem, layout: StateLayout) -> tuple | None:
    """What problems that use the same launches have in common; None: the solve is not kept."""
    if layout.tiles is None or problem.is_float or problem.mask is not None:
        return None
    _, capacity = kept_objects()
    if layout.cells * BYTES_PER_NUMBER * (3 + layout.flat.arcs) * MOST_SOLVES > capacity:
        return None
    numbers: dict[int, int] = {}  # of arrays on the host: one that is passed twice is copied once
    arrays = tuple(_form_of(array, numbers) for _, array in problem.arrays())
    return problem.items, problem.shape, tuple(problem.edges), arrays


def _form_of(array, numbers: dict[int, int]) -> tuple:
    if isinstance(array, DeviceArray):
        return array.address, array.start, array.strides, array.dtype
    if array.ndim == 0:
        return array.dtype, array.item()
    return array.dtype, array.shape, numbers.setdefault(id(array), len(numbers))
