"""Moves in cycles on a GPU, as gridcut/multilabel/descent.py on the CPU; the host only monitors them.

Cuts and the kernel between two cuts (next_move_cuda.py) are enqueued alternately, many in advance, before it is known
which move they will belong to.  A launch that is not needed yet has no effect.  Then the host reads the records of the
finished moves.  Moves, their order and their results are those of the CPU, because the tie rule makes minimum cuts
unique.

If memory suffices, the flow of each label is kept from one expansion to the next, which starts from it."""

import time
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gridcut.device.arrays import allocate, clear, download, overwrite, refusing, return_as, upload
from gridcut.device.cuda import SIMULATED, multiprocessors
from gridcut.device.launch import launch, most_blocks, prepare
from gridcut.multilabel import next_move_cuda as next_move
from gridcut.multilabel.fusion import fused
from gridcut.multilabel.label_kernels_cuda import copy_kernel
from gridcut.multilabel.labelling import JUMP, History, Labelling, Move
from gridcut.multilabel.moves_cuda import KEEP_FLOW
from gridcut.multilabel.problem_cuda import DeviceProblem
from gridcut.multilabel.validation import LabelProblem
from gridcut.tiles.tile_state import COUNTS, DONE, make_state
from gridcut.tiles.tiles import FALLBACK_ROUND, Rounds, shape_of

LAUNCHES_AHEAD = 1 if SIMULATED else 16  # launches of the kernel between cuts before the host reads the records
ROUNDS_PER_MOVE = 2  # rounds of a cut between two launches of that kernel
BLOCKS_PER_MULTIPROCESSOR = 4  # of that kernel
MAX_RECORDS = 512  # moves that can be recorded until the host reads them


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
        self._sets, self._report = allocate(
            (LAUNCHES_AHEAD * tiles.count * 32, np.uint32),
            (next_move.CONTROL_SIZE + next_move.RECORD_SIZE * MAX_RECORDS, np.int64),
        )
        self._flow = None
        self._prepared = {}
        self._seen = {}
        self._changes = 0
        self._on_host: LabelProblem | None = None  # the problem as fusion reads it
        self.energy = self.first_energy = problem.energy(self._label, self._paid)
        self.steps = []
        self.cycles = 0
        self.rounds = 0
        self.kernel_seconds = np.zeros(3)

    @property
    def labels(self) -> np.ndarray:
        return download(self.problem.raster(self._label)).reshape(self.problem.shape)

    def is_converged(self, moves) -> bool:
        """Whether none of the moves can lower the energy."""
        return all(self._seen.get(move) == self._changes for move in moves)

    def run(self, moves, max_cycles, callback) -> None:
        """Repeat the moves, pairs (first, second), in order until none of them lowers the energy."""
        if self.is_converged(moves):
            return
        control = np.zeros(self._report.size, np.int64)
        control[[next_move.MOVES, next_move.NEXT]] = len(moves)
        control[next_move.CYCLE] = self.cycles
        control[next_move.CYCLE_LIMIT] = -1 if max_cycles is None else self.cycles + max_cycles
        control[next_move.ACTIVE] = -1
        control[next_move.CHANGES] = self._changes
        control[next_move.RECORD_CAPACITY] = MAX_RECORDS
        overwrite(self._report, control)
        counts = np.zeros(COUNTS, np.int32)
        counts[DONE] = 1
        overwrite(self._solver.counts, counts)
        rounds, launches, pairs, seen = self._launches(len(moves), keep_flow=moves[0][0] < 0)
        overwrite(pairs, np.array(moves, np.int32).reshape(-1))
        overwrite(seen, np.array([self._seen.get(move, -1) for move in moves], np.int32))
        cut = rounds.prepare_rounds(ROUNDS_PER_MOVE)
        finished = False
        while not finished:
            for launch_next_move in launches:
                launch_next_move()
                cut()
            report = download(self._report)
            self._read_records(moves, report, callback)
            finished = report[next_move.FINISHED] != 0
            may_relabel = report[next_move.CURRENT_ROUND] < FALLBACK_ROUND
            cut = rounds.prepare_rounds(ROUNDS_PER_MOVE, may_relabel=may_relabel)
        self.cycles, self._changes = int(report[next_move.CYCLE]), int(report[next_move.CHANGES])
        self.rounds += int(report[next_move.CUT_ROUNDS])
        self.kernel_seconds += report[next_move.NANOSECONDS :][:3] / 1e9
        self._seen.update(zip(moves, download(seen).tolist(), strict=True))

    def _launches(self, count: int, keep_flow: bool):
        """For `count` moves: rounds of a cut, launches of the kernel between cuts, its arrays `moves` and `seen`."""
        if count in self._prepared:
            return self._prepared[count]
        problem, solver, tiles = self.problem, self._solver, self._layout
        if self._flow is None:
            keep_flow = keep_flow and problem.has_memory_for_flows()
            size = problem.count * tiles.cells * (tiles.arcs // 2) if keep_flow else 1
            (self._flow,) = allocate((size, problem.number), zero=True)
            view = problem.view_on_host.copy()
            view[KEEP_FLOW] = keep_flow
            self._view = upload(view)
        pairs, seen = allocate((2 * count, np.int32), (count, np.int32))
        with refusing():
            rounds = Rounds(self._excess, self._residual, tiles, solver)
        kernel = next_move.make_next_move_kernel(shape_of(tiles, problem.number))
        own = (self._label, self._paid, self._flow, self._excess, self._residual, solver.bits, solver.counts)
        control, records = self._report[: next_move.CONTROL_SIZE], self._report[next_move.CONTROL_SIZE :]
        arguments = (problem.unary, self._view, problem.scale, problem.cost, problem.weight, *own, solver.times)
        arguments += (pairs, seen, self._touched, control, records, self._sets)
        tile_counts = problem.tiling[0]
        max_blocks = most_blocks(kernel, (*arguments, np.int32(0), tile_counts), next_move.THREADS)
        pixel_blocks = -(-tiles.count * 32 * 32 // next_move.THREADS)
        blocks = min(max_blocks, pixel_blocks, BLOCKS_PER_MULTIPROCESSOR * multiprocessors())
        slots = range(LAUNCHES_AHEAD)
        launches = [prepare(kernel, blocks, next_move.THREADS, *arguments, np.int32(i), tile_counts) for i in slots]
        self._prepared[count] = rounds, launches, pairs, seen
        return self._prepared[count]

    def _read_records(self, moves, report, callback) -> None:
        """Append the records of the moves since the last call to `steps`."""
        count = int(report[next_move.RECORDS])
        size = next_move.RECORD_SIZE
        records = report[next_move.CONTROL_SIZE :][: size * count].reshape(count, size).tolist()
        kept = None
        words = self._layout.count * 32
        for i, cycle, gain, changed, slot in records:
            if changed and kept is None:
                (kept,) = allocate((self._sets.size, np.uint32))
                _copy(self._sets, kept)
            self.energy += gain
            bits = kept[slot * words : (slot + 1) * words] if changed else None
            self.steps.append(Step(*moves[i], self.energy, changed, bits))
            if callback is not None:
                event = {"cycle": cycle, "moves": len(self.steps), "labels": moves[i]}
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
        self._changes += bool((labels != self.labels).any())
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
        kernel_seconds = dict(zip(("relabel", "discharge", "next_move"), self.kernel_seconds.tolist(), strict=True))
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
