"""Moves in cycles on a GPU, as gridcut/multilabel/descent.py on the CPU; the host chooses them.

A move is a kernel that builds its cut, rounds of the default method, and a kernel that changes the labels
(moves_cuda.py), which are enqueued together.  Then the host reads the outcome.  Moves, their order and their results
are those of the CPU, because the tie rule makes minimum cuts unique.

If memory suffices, the flow of each label is kept from one expansion to the next, which starts from it."""

import time
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gridcut.device.arrays import allocate, clear, download, refusing, return_as, upload
from gridcut.device.cuda import SIMULATED, multiprocessors
from gridcut.device.launch import launch, most_blocks
from gridcut.multilabel import moves_cuda as kernels
from gridcut.multilabel.descent import Descent
from gridcut.multilabel.labelling import History, Labelling, Move
from gridcut.multilabel.problem_cuda import DeviceProblem, copy_kernel
from gridcut.tiles.tile_state import make_state
from gridcut.tiles.tiles import FALLBACK_ROUND, Rounds, shape_of

ROUNDS_PER_CHECK = 2  # rounds of a cut before the host reads whether it is solved
BLOCKS_PER_MULTIPROCESSOR = 4  # of the kernels before and after the cut


class Changed(NamedTuple):
    """The pixels that a move has changed: their number, and their bits on the GPU."""

    size: int
    words: object


class DeviceState:
    """A labelling on the GPU, and the arrays that moves work on: `State` of gridcut/multilabel/descent.py."""

    def __init__(self, problem: DeviceProblem, start):
        self.problem = problem
        tiles = problem.tiles
        cells, arcs, number = tiles.cells, tiles.arcs, problem.number
        shape = shape_of(tiles, number)
        self._layout = tiles
        self._solver = make_state(tiles.count, arcs, shape.lists)
        self.label, self._paid, self._excess, self._residual, self._touched = allocate(
            (cells, np.int32), (cells, number), (cells, number), (cells * arcs, number), (problem.count, np.int32)
        )
        for array in (self._paid, self._touched):
            clear(array)
        self._set_labels(start)
        self._control, self._sets = allocate((kernels.CONTROL_SIZE, np.int64), (tiles.count * 32, np.uint32))
        self._kernels = kernels.move_kernels(shape)
        self._flow = None
        # The number of changes so far, of those until the last one at or next to each label, and until each swap.
        self._changes = 0
        self._last_touched = np.zeros(problem.count, np.int32)
        self._swapped = {}
        self.rounds = 0
        self.kernel_seconds = np.zeros(2)

    @property
    def labels(self) -> np.ndarray:
        return download(self.problem.raster(self.label)).reshape(self.problem.shape)

    def replace_labels(self, labels: np.ndarray) -> None:
        self._changes += 1
        self._last_touched[:] = self._changes
        self._set_labels(self.problem.check_start(labels))

    def _set_labels(self, labels) -> None:
        """Copy labels in tiles, and store the unary cost of each."""
        blocks, threads = (1, 32) if SIMULATED else (264, 256)
        launch(copy_kernel, blocks, threads, labels.view(np.uint32), self.label.view(np.uint32))
        self.problem.update_paid(self.label, self._paid)

    def cells(self, where: np.ndarray) -> np.ndarray:
        return np.flatnonzero(where)

    def pixels(self, cells) -> tuple:
        """As of `State`; of a move, what `DeviceHistory` finds them by."""
        return (cells, None) if isinstance(cells, Changed) else (cells, self.labels.ravel()[cells])

    def energy(self) -> int:
        return self.problem.energy(self.label, self._paid)

    def move(self, first: int, second: int, changed):
        """Make the best expansion of `second`, or swap; returns the pixels that changed and the change of the energy.

        None if nothing at or next to the pixels of a swap has changed since it was made last.
        """
        if first >= 0:
            if self._last_touched[[first, second]].max() <= self._swapped.get((first, second), -1):
                return None
        if self._flow is None:
            self._allocate_flows(keep=first < 0)
        problem, solver = self.problem, self._solver
        energy = (problem.unary, self._view, problem.scale, problem.cost, problem.weight)
        arrays = (*energy, self.label, self._paid, self._flow, self._excess, self._residual, solver.bits)
        move = np.int32(first), np.int32(second)
        sizes = problem.tiling[0]
        finish = (*arrays, solver.counts, solver.times, self._touched, self._control, self._sets)
        finish += (*move, np.int32(self._changes + 1), sizes)
        build_kernel, finish_kernel = self._kernels
        blocks = -(-self._layout.count * 32 * 32 // kernels.THREADS)
        blocks = min(blocks, BLOCKS_PER_MULTIPROCESSOR * multiprocessors())
        clear(solver.tally)
        clear(self._control)
        launch(build_kernel, blocks, kernels.THREADS, *arrays, self._control, *move, sizes)
        blocks = min(blocks, most_blocks(finish_kernel, finish, kernels.THREADS))
        cut, report = self._cut, None
        while report is None or not report[kernels.SOLVED]:
            if report is not None and report[kernels.CUT_ROUNDS] >= FALLBACK_ROUND:
                cut = self._cuts.prepare_rounds(ROUNDS_PER_CHECK, may_relabel=False)
            cut()
            launch(finish_kernel, blocks, kernels.THREADS, *finish)
            report = download(self._control)
        self.rounds += int(report[kernels.CUT_ROUNDS])
        self.kernel_seconds += report[[kernels.RELABELING, kernels.DISCHARGING]] / 1e9
        found, delta = Changed(int(report[kernels.CHANGED]), None), 0
        if found.size:
            self._changes += 1
            delta = -int(report[kernels.UNROUTED] + report[kernels.CURRENT_COST])
            found = Changed(found.size, self._sets)
            (self._sets,) = allocate((self._sets.size, np.uint32))
        if first >= 0:
            if found.size:
                self._last_touched = np.maximum(self._last_touched, download(self._touched))
                self._last_touched[[first, second]] = self._changes
            self._swapped[first, second] = self._changes
        return found, delta

    def _allocate_flows(self, keep: bool) -> None:
        """Allocate the flows of all labels, if they are kept and fit, and prepare the rounds of the cuts."""
        problem, tiles = self.problem, self._layout
        keep = keep and problem.has_memory_for_flows()
        size = problem.count * tiles.cells * (tiles.arcs // 2) if keep else 1
        (self._flow,) = allocate((size, problem.number), zero=True)
        view = problem.view_on_host.copy()
        view[kernels.KEEP_FLOW] = keep
        self._view = upload(view)
        with refusing():
            self._cuts = Rounds(self._excess, self._residual, tiles, self._solver)
        self._cut = self._cuts.prepare_rounds(ROUNDS_PER_CHECK)


class DeviceDescent(Descent):
    """`Descent` on a GPU, where the start and the changes of its record stay until a certificate reads them."""

    make_state = DeviceState

    def __init__(self, problem: DeviceProblem, start):
        self._given_start = start
        super().__init__(problem, start)

    def _start(self):
        return self._given_start

    @cached_property
    def _host_problem(self):
        return self.problem.on_host()

    def _finished(self, stats: dict, arguments, metric: bool) -> Labelling:
        problem, state = self.problem, self.state
        started = time.perf_counter()
        labels = return_as(problem.raster(state.label).reshape(problem.shape), problem.library)
        stats["seconds"] = {**stats["seconds"], "download": time.perf_counter() - started}
        kernel_seconds = dict(zip(("relabel", "discharge"), state.kernel_seconds.tolist(), strict=True))
        stats |= {"rounds": state.rounds, "kernel_seconds": kernel_seconds, "dtype": np.dtype(problem.number).name}
        energy = self.energy if isinstance(problem.unit, int) else problem.float_energy(state.label)
        return Labelling(labels, energy, "cuda", stats, DeviceHistory(problem, self.start, self.record, metric))


class DeviceHistory:
    """`History`, copied to the host when it is read; the caller's arguments have their present content then."""

    def __init__(self, *parts):
        self._parts = parts

    def __iter__(self):
        problem, start, record, metric = self._parts
        start = download(problem.raster(start)).reshape(problem.shape)
        labels, moves = start.ravel().copy(), []
        for first, second, pixels, new, energy in record:
            if new is None:
                pixels = problem.pixels_of(download(pixels.words)) if pixels.size else np.empty(0, np.int64)
                new = np.full(pixels.size, second) if first < 0 else first + second - labels[pixels]
            labels[pixels] = new
            moves.append(Move(first, second, pixels, new, energy))
        return iter(History(problem.on_host(), problem.host_arguments(), start, moves, metric))

    def __reduce__(self):
        return History, tuple(self)
