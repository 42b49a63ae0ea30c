"""Expansions or swaps in cycles until none of them lowers the energy.

plain_moves.py is a short version, to read first.

A label is expanded again only near the pixels that have changed since its last expansion, and not at all if none has;
see moves.py.  The first expansion of a label visits the whole grid.  A swap lists all pixels with its two labels.  It
is skipped if nothing at or next to them has changed since it was made last.

The moves are those of Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.

Memory: one number per edge and label for the flows of the expansions, and the grid of one cut."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gridcut.core.grid import index_type, make_layout
from gridcut.core.problem import ends
from gridcut.device.arguments import unmarked
from gridcut.energy import energy_of
from gridcut.ibfs.forest import FREE, MAX_ARCS, Forest, make_work
from gridcut.ibfs.ibfs import unsigned_steps
from gridcut.multilabel.labelling import JUMP, History, Labelling, Move
from gridcut.multilabel.moves import Field, energy_kernel, make_move
from gridcut.multilabel.restarts import fused
from gridcut.multilabel.validation import LabelProblem, kept_if_allowed

MIN_CELLS_PER_CHANGE = 4  # with fewer cells per change, an expansion loads the whole grid in memory order


class State:
    """A labelling and the arrays that moves work on."""

    def __init__(self, problem: LabelProblem, start: np.ndarray):
        self.layout = layout = make_layout(problem.shape, problem.weights)
        number = problem.unary.dtype
        size, arcs = layout.size, layout.arcs
        if arcs > MAX_ARCS:
            raise ValueError(
                f"weights has {arcs // 2} kinds of edges; expansions and swaps accept at most {MAX_ARCS // 2}"
            )
        self.index_type = index_type(size)
        self.problem = problem
        allowed = np.empty((0, 0), np.bool_) if problem.allowed is None else problem.allowed.reshape(problem.count, -1)
        self.field = Field(
            unary=unmarked(problem.unary.reshape(problem.count, -1)),
            cost=unmarked(problem.cost),
            weight=np.zeros(size * arcs, number),
            pixel=np.full(size, -1, self.index_type),
            label=np.zeros(size, np.int32),
            paid=np.zeros(size, number),
            is_listed=np.zeros(size, np.uint8),
            excess=np.zeros(size, number),
            residual=np.zeros(size * arcs, number),
            listed=np.empty(size, self.index_type),
            allowed=unmarked(allowed),
        )
        self.candidates = np.full(problem.count, size)
        if problem.allowed is not None:
            self.candidates = np.count_nonzero(self.field.allowed, axis=1)
        pixels = start.size
        layout.interior(self.field.pixel)[...] = np.arange(pixels, dtype=self.index_type).reshape(problem.shape)
        layout.interior(self.field.label)[...] = start
        self._load_weights()
        self.update_paid()
        self.jump, self.steps = unsigned_steps(layout.step)
        self.forest = Forest(
            np.zeros(size, self.index_type),
            np.full(size, FREE, np.uint8),
            np.empty(size, self.index_type),
            np.zeros(size, np.uint8),
        )
        self.work = make_work(size, self.index_type)
        self.flows = {}
        # The number of changes so far, of those until the last one at or next to each label, and until each swap.
        self.changes = 0
        self.touched = np.zeros(problem.count, np.int64)
        self.swapped = {}
        self.no_flow, self.no_cells = np.empty(0, number), np.empty(0, self.index_type)

    def _load_weights(self) -> None:
        layout, problem = self.layout, self.problem
        weight = layout.interior(self.field.weight.reshape(layout.size, layout.arcs))
        for offset, array in problem.weights.items():
            if offset in layout.offsets:  # an offset longer than the grid has no edges
                k = layout.arc(offset)
                p, q = ends(problem.shape, (offset,))
                weight[(*p, k)] = array[p]
                weight[(*q, k ^ 1)] = array[p]

    @property
    def labels(self) -> np.ndarray:
        return self.layout.interior(self.field.label)

    def replace_labels(self, labels: np.ndarray) -> None:
        cells = self.cells(labels != self.labels)
        self.labels[...] = labels
        self.update_paid()
        self._touch(cells)

    def update_paid(self) -> None:
        """Store the unary cost of every pixel's label in `paid`."""
        labels = self.layout.interior(self.field.label)[None].astype(np.intp)
        self.layout.interior(self.field.paid)[...] = np.take_along_axis(self.problem.unary, labels, 0)[0]

    def replace_problem(self, problem: LabelProblem) -> np.ndarray:
        """Replace the problem by one of the same layout and units; returns the cells whose costs differ."""
        old, self.problem = self.problem, problem
        if problem is old:
            return np.empty(0, self.index_type)
        differs = np.zeros(problem.shape, bool)
        for before, after in zip(old.unary, problem.unary, strict=True):
            differs |= before != after
        for offset, weight in problem.weights.items():
            p, q = ends(problem.shape, (offset,))
            other = weight[p] != old.weights[offset][p]
            differs[p] |= other
            differs[q] |= other
        self.field = self.field._replace(unary=unmarked(problem.unary.reshape(problem.count, -1)))
        self._load_weights()
        self.update_paid()
        cells = self.cells(differs)
        self._touch(cells)
        return cells

    def cells(self, where: np.ndarray) -> np.ndarray:
        """Cell indices of the pixels in a boolean mask."""
        return self.layout.interior(np.arange(self.layout.size, dtype=self.index_type))[where]

    def pixels(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pixels of cells, as indices into the raveled grid, and their labels."""
        return self.field.pixel[cells], self.field.label[cells]

    def energy(self) -> int:
        return int(energy_kernel(self.steps, self.field))

    def move(self, first: int, second: int, changed: list[np.ndarray]):
        """Make the best expansion of `second` (first = -1) or swap; returns changed cells and the change of the energy.

        changed   arrays of the cells whose labels changed since the move was made last
        """
        return self._swap(first, second) if first >= 0 else self._expand(second, changed)

    def _swap(self, first: int, second: int):
        """As `move`, of two labels; None if nothing at or next to their pixels has changed since the last time.

        No flow is kept, so all pixels with one of the labels are loaded.
        """
        known = self.swapped.get((first, second), -1)
        if max(self.touched[first], self.touched[second]) <= known:
            return None
        found = self._made(first, second, self.no_cells, True, self.no_flow)
        self.swapped[first, second] = self.changes
        return found

    def _expand(self, second: int, changed: list[np.ndarray]):
        is_first = second not in self.flows
        if is_first:
            self.flows[second] = np.zeros(self.field.residual.size // 2, self.field.residual.dtype)
        whole = is_first or MIN_CELLS_PER_CHANGE * sum(cells.size for cells in changed) > self.candidates[second]
        cells = self.no_cells if whole else np.concatenate(changed)
        return self._made(-1, second, cells, whole, self.flows[second])

    def _made(self, first: int, second: int, cells: np.ndarray, whole: bool, flow: np.ndarray):
        """As `move`, by `make_move`."""
        head, end = self.layout.head, self.layout.size - self.layout.head
        changed, delta = make_move(
            cells, whole, first, second, head, end, self.steps, self.jump, flow, self.field, self.forest, self.work
        )
        cells = self.field.listed[:changed].copy()
        if changed:
            self._touch(cells)
            if first >= 0:
                self.touched[[first, second]] = self.changes  # whatever is left of them, as on a GPU
        return cells, delta

    def _touch(self, cells: np.ndarray) -> None:
        """Note a change at some cells, which concerns the labels at them, and those next to them along edges."""
        if not self.swapped:
            return  # only swaps that have been made ask whether something has changed since
        self.changes += 1
        label, arcs = self.field.label, self.layout.arcs
        self.touched[label[cells]] = self.changes
        for k, step in enumerate(self.layout.step):
            near = cells[self.field.weight[cells.astype(np.intp) * arcs + k] > 0]
            self.touched[label[near + step]] = self.changes


def _state(problem: LabelProblem, start: np.ndarray):
    if not problem.is_graph:
        return State(problem, start)
    from gridcut.multilabel.graph_moves import GraphState  # scipy.sparse and the cuts of graphs, on first use

    return GraphState(problem, start)


class Descent:
    """A labelling during the descent, and the record of its moves."""

    make_state: Callable = staticmethod(_state)

    def __init__(self, problem, start):
        self.state: Any = self.make_state(problem, start)
        self._seen = {}  # per move: number of changes when it was made last
        self._start_record([])

    def _start_record(self, changes: list[np.ndarray]) -> None:
        self.problem = self.state.problem
        self.start = self._start()
        self.energy = self.first_energy = self.state.energy()
        self.record = []
        self.cycles = 0
        self._changes = changes  # the cells of each change
        self._changes_before = len(changes)

    def replace_problem(self, problem: LabelProblem) -> None:
        """Restart with another problem of the same shape from the current labels, keeping the flows if units match."""
        old, behind = self.problem, min(self._seen.values(), default=0)
        same = problem.unit == old.unit and problem.unary.dtype == old.unary.dtype
        if not (same and problem.weights.keys() == old.weights.keys() and np.array_equal(problem.cost, old.cost)):
            self.__init__(problem, self.labels)
            return
        cells = self.state.replace_problem(problem)
        left = [*self._changes[behind:], *([cells] if cells.size else [])]
        self._seen = {move: known - behind for move, known in self._seen.items()}
        self._start_record(left)

    @property
    def labels(self) -> np.ndarray:
        return self.state.labels.copy()

    def is_converged(self, moves) -> bool:
        """Whether none of the moves can lower the energy."""
        return self.problem.unary.size == 0 or all(self._seen.get(move) == len(self._changes) for move in moves)

    def run(self, moves, max_cycles, callback) -> None:
        """Repeat the moves, pairs (first, second), in order until none of them lowers the energy."""
        last = None if max_cycles is None else self.cycles + max_cycles
        while not self.is_converged(moves) and self.cycles != last:
            self.cycles += 1
            for move in moves:
                known = self._seen.get(move)
                if known != len(self._changes):
                    found = self.state.move(*move, self._changes[known or 0 :])
                    if found is not None:
                        self._finish_move(*move, *found, callback)
                    self._seen[move] = len(self._changes)

    def _finish_move(self, first, second, cells, delta, callback) -> None:
        """Record a move: the cells that it changed and the change of the energy."""
        if cells.size:
            self._changes.append(cells)
            self.energy += delta
        self._record(first, second, cells)
        if callback is not None:
            event = {"cycle": self.cycles, "moves": len(self.record), "labels": (first, second)}
            callback({**event, "energy": self.energy * self.problem.unit})

    def restart(self, perturb, moves, max_cycles, callback) -> None:
        """Descend from perturbed labels, then fuse the result with the present labelling (restarts.py).

        The descent reuses the flows of earlier expansions.  Only the fused result is recorded, not its moves.

        perturb   function from labels to labels
        """
        before, energy, known = self.labels, self.energy, len(self.record)
        self._jump(kept_if_allowed(perturb(before), before, self.problem.allowed))
        self.run(moves, max_cycles, callback)
        labels = fused(before, self.labels, self._host_problem)
        self._jump(labels)
        del self.record[known:]
        self._record(JUMP, -1, self.state.cells(labels != before))
        if self.energy > energy:
            raise AssertionError(f"fusion raised the energy from {energy} to {self.energy}")

    def _jump(self, labels: np.ndarray) -> None:
        """Continue from another labelling."""
        cells = self.state.cells(labels != self.labels)
        if cells.size:
            self.state.replace_labels(labels)
            self._changes.append(cells)
            self.energy = self.state.energy()

    def _record(self, first, second, cells) -> None:
        self.record.append(Move(first, second, *self.state.pixels(cells), self.energy))

    def result(self, arguments, moves, seconds) -> Labelling:
        """The labelling, its statistics, and the record from which `check` certifies it."""
        if self.energy != self.state.energy():
            raise AssertionError(f"accumulated energy {self.energy}, recomputed {self.state.energy()}")
        problem = self.problem
        energies = [self.first_energy, *(move.energy for move in self.record)]
        stats = {
            "energies": [energy * problem.unit for energy in energies],
            "moves": len(self.record),
            "cycles": self.cycles,
            "changed": sum(cells.size for cells in self._changes[self._changes_before :]),
            "converged": self.is_converged(moves),
            "seconds": seconds,
            "unit": problem.unit,
        }
        return self._finished(stats, arguments, metric=all(first < 0 for first, _ in moves))

    # What differs on a GPU

    def _start(self) -> Any:
        """The present labels, for the record."""
        return self.labels

    @property
    def _host_problem(self) -> LabelProblem:
        return self.problem

    def _finished(self, stats: dict, arguments, metric: bool) -> Labelling:
        problem, labels = self.problem, self.labels
        energy = self.energy if isinstance(problem.unit, int) else energy_of(labels, *arguments)
        history = History(problem, arguments, self.start, self.record, metric)
        return Labelling(labels, energy, "cpu", stats | {"dtype": problem.unary.dtype.name}, history)


def run_all(descent, moves, restarts, max_cycles, callback) -> None:
    """Descend until convergence, run the restarts, and descend again from their result."""
    descent.run(moves, max_cycles, callback)
    for perturb, others in restarts:
        descent.restart(perturb, others, max_cycles, callback)
    if restarts:
        descent.run(moves, max_cycles, callback)
