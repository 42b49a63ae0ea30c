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
from gridcut.multilabel.labelling import JUMP, History, Labelling, Move
from gridcut.multilabel.problem_cuda import DeviceProblem, copy_kernel
from gridcut.multilabel.restarts import fused
from gridcut.multilabel.validation import LabelProblem
from gridcut.tiles.tile_state import make_state
from gridcut.tiles.tiles import FALLBACK_ROUND, Rounds, shape_of

ROUNDS_PER_CHECK = 2  # rounds of a cut before the host reads whether it is solved
BLOCKS_PER_MULTIPROCESSOR = 4  # of the kernels before and after the cut


class Step(NamedTuple):
    """A move: the number of changed pixels and their bits in `words`; after a jump, all labels on the host instead."""

    first: int
    second: int
    energy: int
    changed: int
    words: object
    labels: object = None


class DeviceDescent:
    """A labelling during the descent, and the record of its moves: gridcut/multilabel/descent.py on a GPU."""

    def __init__(self, problem: DeviceProblem, start):
        self.problem = problem
        self.start = start
        tiles = problem.tiles
        cells, arcs, number = tiles.cells, tiles.arcs, problem.number
        shape = shape_of(tiles, number)
        self._layout = tiles
        self._solver = make_state(tiles.count, arcs, shape.lists)
        self._label, self._paid, self._excess, self._residual, self._touched = allocate(
            (cells, np.int32), (cells, number), (cells, number), (cells * arcs, number), (problem.count, np.int32)
        )
        for array in (self._paid, self._touched):
            clear(array)
        _copy(start, self._label)
        problem.update_paid(self._label, self._paid)
        self._control, self._sets = allocate((kernels.CONTROL_SIZE, np.int64), (tiles.count * 32, np.uint32))
        self._kernels = kernels.move_kernels(shape)
        self._flow = None
        self._seen = {}  # per move: number of changes when it was made last
        self._changes = 0
        self._last_touched = np.zeros(problem.count, np.int32)  # as `touched` of moves_cuda.py
        self._on_host: LabelProblem | None = None  # the problem as fusion reads it
        self.energy = self.first_energy = problem.energy(self._label, self._paid)
        self.steps = []
        self.cycles = 0
        self.rounds = 0
        self.kernel_seconds = np.zeros(2)

    @property
    def labels(self) -> np.ndarray:
        return download(self.problem.raster(self._label)).reshape(self.problem.shape)

    def is_converged(self, moves) -> bool:
        """Whether none of the moves can lower the energy."""
        return all(self._seen.get(move) == self._changes for move in moves)

    def run(self, moves, max_cycles, callback) -> None:
        """Repeat the moves, pairs (first, second), in order until none of them lowers the energy."""
        if self._flow is None and moves:
            self._allocate_flows(keep=moves[0][0] < 0)
        last = None if max_cycles is None else self.cycles + max_cycles
        while not self.is_converged(moves) and self.cycles != last:
            self.cycles += 1
            for move in moves:
                if not self._is_up_to_date(move):
                    self._make(*move, callback)
                self._seen[move] = self._changes

    def _is_up_to_date(self, move) -> bool:
        """Whether nothing that affects a move has changed since it was made last."""
        known = self._seen.get(move, -1)
        if known < 0 or move[0] < 0:
            return known == self._changes
        return max(self._last_touched[list(move)]) <= known

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

    def _make(self, first: int, second: int, callback) -> None:
        """Make a move and record it."""
        problem, solver = self.problem, self._solver
        energy = (problem.unary, self._view, problem.scale, problem.cost, problem.weight)
        arrays = (*energy, self._label, self._paid, self._flow, self._excess, self._residual, solver.bits)
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
        changed, words = int(report[kernels.CHANGED]), None
        if changed:
            self._changes += 1
            self.energy -= int(report[kernels.UNROUTED] + report[kernels.CURRENT_COST])
            words = self._sets
            (self._sets,) = allocate((words.size, np.uint32))
            if first >= 0:
                self._last_touched = np.maximum(self._last_touched, download(self._touched))
                self._last_touched[[first, second]] = self._changes
        self.steps.append(Step(first, second, self.energy, changed, words))
        if callback is not None:
            event = {"cycle": self.cycles, "moves": len(self.steps), "labels": (first, second)}
            callback({**event, "energy": self.energy * self.problem.unit})

    def restart(self, perturb, moves, max_cycles, callback) -> None:
        """Descend from perturbed labels, then fuse the result with the present labelling on the host (fusion.py).

        The descent reuses the flows of earlier expansions.  Only the fused result is recorded, not its moves.

        perturb   function from labels to labels
        """
        before, energy, known = self.labels, self.energy, len(self.steps)
        if self._on_host is None:
            self._on_host = self.problem.on_host(metric=_is_metric(moves))
        self._jump(perturb(before))
        self.run(moves, max_cycles, callback)
        labels = fused(before, self.labels, self._on_host)
        self._jump(labels)
        del self.steps[known:]
        self.steps.append(Step(JUMP, -1, self.energy, np.count_nonzero(labels != before), None, labels))
        if self.energy > energy:
            raise AssertionError(f"fusion raised the energy from {energy} to {self.energy}")

    def _jump(self, labels: np.ndarray) -> None:
        """Continue from another labelling."""
        if (labels != self.labels).any():
            self._changes += 1
            self._last_touched[:] = self._changes
        _copy(self.problem.check_start(labels), self._label)
        self.problem.update_paid(self._label, self._paid)
        self.energy = self.problem.energy(self._label, self._paid)

    def result(self, arguments, moves, seconds) -> Labelling:
        """The labelling, its statistics, and the record from which `check` certifies it."""
        problem = self.problem
        recomputed = problem.energy(self._label, self._paid)
        if self.energy != recomputed:
            raise AssertionError(f"accumulated energy {self.energy}, recomputed {recomputed}")
        started = time.perf_counter()
        raster = problem.raster(self._label)
        labels = return_as(raster.reshape(problem.shape), problem.library)
        energies = [self.first_energy, *(step.energy for step in self.steps)]
        kernel_seconds = dict(zip(("relabel", "discharge"), self.kernel_seconds.tolist(), strict=True))
        stats = {
            "energies": [energy * problem.unit for energy in energies],
            "moves": len(self.steps),
            "cycles": self.cycles,
            "changed": sum(step.changed for step in self.steps),
            "converged": self.is_converged(moves),
            "rounds": self.rounds,
            "kernel_seconds": kernel_seconds,
            "seconds": {**seconds, "download": time.perf_counter() - started},
            "dtype": np.dtype(problem.number).name,
            "unit": problem.unit,
        }
        exact = isinstance(problem.unit, int)
        energy = self.energy if exact else problem.float_energy(self._label)
        history = DeviceHistory(problem, self.start, self.steps, _is_metric(moves))
        return Labelling(labels, energy, "cuda", stats, history)


class DeviceHistory:
    """`History`, each part of which is copied to the host on first access."""

    def __init__(self, problem: DeviceProblem, start, steps: list[Step], metric: bool):
        self._problem, self._start, self._steps = problem, start, steps
        self.metric = metric

    @cached_property
    def problem(self):
        return self._problem.on_host(metric=self.metric)

    @property
    def arguments(self):
        """The caller's arguments with their present content."""
        return self._problem.host_arguments()

    @cached_property
    def start(self) -> np.ndarray:
        return download(self._problem.raster(self._start)).reshape(self._problem.shape)

    @cached_property
    def moves(self) -> list[Move]:
        labels = self.start.ravel().copy()
        found = []
        for step in self._steps:
            if step.first == JUMP:
                after = step.labels.ravel()
                pixels = np.flatnonzero(after != labels)
                new = after[pixels]
            else:
                pixels = self._problem.pixels_of(download(step.words)) if step.changed else np.empty(0, np.int64)
                new = np.full(pixels.size, step.second) if step.first < 0 else step.first + step.second - labels[pixels]
            labels[pixels] = new
            found.append(Move(step.first, step.second, pixels, new, step.energy))
        return found

    def __iter__(self):
        return iter(self._all)

    def __reduce__(self):
        return History, tuple(self._all)

    @property
    def _all(self) -> History:
        return History(self.problem, self.arguments, self.start, self.moves, self.metric)


def _is_metric(moves) -> bool:
    """Whether the moves are expansions, which require a metric."""
    return all(first < 0 for first, _ in moves)


def _copy(source, target) -> None:
    """Copy an array on the GPU."""
    blocks, threads = (1, 32) if SIMULATED else (264, 256)
    launch(copy_kernel, blocks, threads, source.view(np.uint32), target.view(np.uint32))
