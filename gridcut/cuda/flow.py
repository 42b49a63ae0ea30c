"""The device path of max_flow: load, solve, labels and value, all on the GPU; proofs come back to the host."""

import time
from typing import NamedTuple

import numpy as np

from gridcut import methods
from gridcut.cuda.load import Sheet, State, choose_numbers, make_place
from gridcut.cuda.pixels import ARC, SINK, SOURCE, cut_kernel, grid_for, labels_kernel
from gridcut.cuda.tiles.layout import to_flat
from gridcut.cut import Cut, Later, Solved
from gridcut.device.arrays import Moment, allocate, download, hand_back, refusing, synchronize
from gridcut.device.launch import launch
from gridcut.grid import Grid
from gridcut.load import reader
from gridcut.problem import Problem

SUM_BLOCKS = 264  # blocks that leave partial sums for the host to add


class Clock:
    """Seconds by phase."""

    def __init__(self):
        synchronize()  # the caller's library may still be writing its arrays
        self._last = time.perf_counter()
        self._ahead = None
        self.seconds = {}

    def phase(self, name: str, ahead: bool = False) -> None:
        """The end of a phase: the GPU has done what belongs to it.

        ahead: it may still be at work, and is not waited for; at the end of the next phase its clock tells which of
        the two the time belongs to.
        """
        late = 0.0
        if self._ahead is not None:
            before, moment = self._ahead
            on_gpu = moment.until_now()
            late = max(0.0, time.perf_counter() - self._last - on_gpu)
            self.seconds[before] += late
        now = time.perf_counter()
        self.seconds[name] = now - self._last - late
        self._ahead = (name, Moment()) if ahead else None
        self._last = now


def solve_on_device(problem: Problem, name: str, solve, parameters: dict, callback):
    """All images of a problem that is not empty: the state, labels as bytes on the GPU, values, stats."""
    clock = Clock()
    tiled = methods.works_on_tiles(name)
    sheet = Sheet(problem, make_place(problem, tiled))
    sheet.upload()
    clock.phase("upload")
    state = sheet.fill(choose_numbers(problem, sheet.bounds(), tiled))
    if not problem.is_float:
        sheet = None  # frees the copies of arrays on the host; floats are summed again below
    clock.phase("load", ahead=True)
    side, _, stats = run(solve, state, parameters, callback)
    clock.phase("solve")
    labels, values = labels_and_values(state, side, sheet)
    clock.phase("value")
    stats = {
        **stats,
        "seconds": clock.seconds,
        "dtype": np.dtype(state.numbers.excess).name,
        "unit": state.numbers.unit,
    }
    return state, labels, values, stats, clock


def max_flow_on_device(problem: Problem, name: str, solve, parameters: dict, callback) -> Cut:
    """The cut of one problem that is not empty."""
    state, labels, values, stats, clock = solve_on_device(problem, name, solve, parameters, callback)
    labels = hand_back(labels.view(np.bool_).reshape(problem.shape), problem.library)
    clock.phase("download")
    later = Later(Fetched(problem, state), library=problem.library)
    return Cut(values[0], labels, "cuda", name, stats, later)


def batch_on_device(problem: Problem, name: str, solve, parameters: dict, callback):
    """The cuts of all images of a batch that is not empty: labels of all, values, stats, a `Later` for each."""
    state, labels, values, stats, clock = solve_on_device(problem, name, solve, parameters, callback)
    labels = hand_back(labels.view(np.bool_).reshape((problem.items, *problem.shape)), problem.library)
    clock.phase("download")
    fetched = Fetched(problem, state)
    return labels, values, stats, [Later(Item(fetched, i), library=problem.library) for i in range(problem.items)]


def run(solve, state: State, parameters: dict, callback, warm=None):
    """Call a solver on its state: the sink side as `labels_kernel` reads it, what it wants back, and stats."""
    place = state.place
    with refusing():
        if place.tiles is not None:
            given = {"warm": warm, "callback": callback, **parameters}
            after, stats = solve(state.excess, state.residual, place.tiles, **given)
            return after.reach_bits, after, stats
        grid = Grid(place.flat, state.excess, state.residual, state.numbers.unit)
        sink_side, stats = methods.run(solve, grid, parameters, callback)
        return sink_side, None, stats


def labels_and_values(state: State, side, sheet: Sheet | None):
    """Labels of all pixels as bytes on the GPU, and the value of every image.

    Integers: the capacity to the sink in all, and the excess on the sink side, which is less what of it is left:
    condition (4) of gridcut/certificate.py.  Floats: the capacities across the cut, from the arrays of `sheet`.
    """
    place = state.place
    (labels,) = allocate((place.pixels, np.uint8))
    grid = grid_for(place.runs, place.items, 1)
    launch(labels_kernel, *grid, side, state.mask, state.form, state.excess, labels, state.left)
    if sheet is not None:
        return labels, cut_capacities(sheet, labels)
    low, high = download(state.sums).reshape(2, place.items, 2).transpose(2, 0, 1)
    return labels, [
        sum(map(int, lows)) + (sum(map(int, highs)) << 32) for lows, highs in zip(low.T, high.T, strict=True)
    ]


def cut_capacities(sheet: Sheet, labels) -> list[float]:
    """Capacity of the cut of every image, summed as float64 in the same order at every call."""
    place = sheet.place
    rows = [SOURCE, SINK, *range(ARC, ARC + place.flat.arcs)]
    (blocks, _, _), threads = grid_for(place.runs, place.items, 1, SUM_BLOCKS)
    warps = blocks * threads // 32
    (partial,) = allocate((place.items * len(rows) * warps, np.float64))
    first = 0
    for part, data in sheet.groups(rows):
        numbers = (np.int32(first), np.int32(len(rows)))
        sheet.launch_group(cut_kernel, part, data, labels, partial, *numbers, most=SUM_BLOCKS)
        first += len(part)
    sums = download(partial).reshape(place.items, -1)
    return [float(s) for s in sums.sum(axis=1)]


class Fetched:
    """A state on the GPU that is copied to the host when a certificate or a flow first asks for it."""

    def __init__(self, problem: Problem, state: State):
        self._problem = problem
        self._state = state
        self._place, self._unit = state.place, state.numbers.unit
        self._arrays = None

    def solved(self, item: int = 0) -> Solved:
        """What certificates and flows are made from, for one image."""
        if self._arrays is None:
            self._arrays = self._state.excess.copy_to_host(), self._state.residual.copy_to_host()
            self._state = None  # lets go of the memory on the GPU
        problem = self.given(item)
        excess, residual = self._arrays
        if self._problem.items is None:
            self._arrays = None  # asked for once
        place = self._place
        if place.tiles is not None:
            excess, residual = to_flat(place.tiles, excess, residual, place.flat, item)
        return Solved(problem, reader(problem, place.flat), Grid(place.flat, excess, residual, self._unit), [])

    def given(self, item: int = 0) -> Problem:
        """The capacities of one image, on the host, as they are now."""
        return self._problem.item(item).on_host()


class Item(NamedTuple):
    """One image of a batch."""

    fetched: Fetched
    number: int

    def solved(self) -> Solved:
        return self.fetched.solved(self.number)

    def given(self) -> Problem:
        return self.fetched.given(self.number)
