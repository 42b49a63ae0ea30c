"""Moves in cycles until none of them lowers the energy: what expansions and swaps share.

A label that has been expanded is expanded again only where labels have changed since, and not at all where none has;
see moves.py.  Two labels are not swapped again as long as their pixels and the neighbours of these stay as they are.
The first expansion of a label is a minimum cut of the whole grid by the default method
(gridcut/cpu/trees), and so is a swap of many pixels.

Memory: a number an edge and label for the flows of expansions, and the grid of one cut.
"""

import time

import numpy as np

from gridcut.cpu.heights import index_type
from gridcut.cpu.trees.forest import MOST_ARCS, NONE, Forest, make_work
from gridcut.cpu.trees.search import SINK
from gridcut.cpu.trees.solve import Run
from gridcut.energy import energy_of
from gridcut.grid import make_layout
from gridcut.labels.border import LabelProblem
from gridcut.labels.fusion import fused
from gridcut.labels.labelling import JUMP, History, Labelling, Move
from gridcut.labels.moves import Field, apply, drain, energy_kernel, gain_of, list_all, list_near, load, settle
from gridcut.terms import ends

FEW = 8  # a swap that concerns less than one pixel in so many is solved from its deficits


class State:
    """A labelling and the arrays that moves work on."""

    def __init__(self, problem: LabelProblem, start: np.ndarray):
        self.layout = layout = make_layout(problem.shape, problem.weights)
        number = problem.unary.dtype
        size, arcs = layout.size, layout.arcs
        if arcs > MOST_ARCS:
            raise ValueError(f"weights has {arcs // 2} kinds of edges; moves take at most {MOST_ARCS // 2}")
        self.index_type = index_type(size)
        self.problem = problem
        self.field = Field(
            unary=problem.unary.reshape(problem.count, -1),
            cost=problem.cost,
            weight=np.zeros(size * arcs, number),
            pixel=np.full(size, -1, self.index_type),
            label=np.zeros(size, np.int32),
            paid=np.zeros(size, number),
            taken=np.zeros(size, np.uint8),
            excess=np.zeros(size, number),
            residual=np.zeros(size * arcs, number),
            listed=np.empty(size, self.index_type),
        )
        pixels = start.size
        layout.interior(self.field.pixel)[...] = np.arange(pixels, dtype=self.index_type).reshape(problem.shape)
        layout.interior(self.field.label)[...] = start
        layout.interior(self.field.paid)[...] = np.take_along_axis(problem.unary, start[None].astype(np.intp), 0)[0]
        weight = layout.interior(self.field.weight.reshape(size, arcs))
        for offset, array in problem.weights.items():
            if offset in layout.offsets:  # else longer than the grid
                k = layout.arc(offset)
                p, q = ends(problem.shape, (offset,))
                weight[(*p, k)] = array[p]
                weight[(*q, k ^ 1)] = array[p]
        self.steps = tuple(np.array(layout.step, np.int64).view(np.uint64))
        self.forest = Forest(
            np.zeros(size, self.index_type),
            np.full(size, NONE, np.uint8),
            np.empty(size, self.index_type),
            np.zeros(size, np.uint8),
        )
        self.work = make_work(size, self.index_type)
        self.flows = {}
        self.no_flow = np.empty(0, number)

    def energy(self) -> int:
        return int(energy_kernel(self.steps, self.field))

    def labels_round(self, cells) -> np.ndarray:
        """Labels of the neighbours of some cells."""
        near = (cells[:, None] + np.array(self.layout.step, cells.dtype)).ravel()
        return np.unique(self.field.label[near[self.field.pixel[near] >= 0]])

    def expand(self, second: int, changed: list[np.ndarray]):
        """The best expansion of a label; `changed`: cells whose labels changed since its last one."""
        if second in self.flows:
            cells = np.concatenate(changed)
            count = list_near(cells, 0, cells.size, -1, second, self.steps, self.field, 0)
            return self._solve(count, -1, second, self.flows[second], True)
        field, head = self.field, self.layout.head
        self.flows[second] = np.zeros(field.residual.size // 2, field.residual.dtype)
        count = list_all(-1, second, head, self.layout.size - head, field)
        return self._solve(count, -1, second, self.flows[second], False)

    def swap(self, first: int, second: int):
        """The best swap of two labels."""
        head = self.layout.head
        count = list_all(first, second, head, self.layout.size - head, self.field)
        return self._solve(count, first, second, self.no_flow, count * FEW < self.layout.size)

    def _solve(self, count, first, second, flow, is_local):
        """Make the best move of the listed pixels; the cells that changed and the change of the energy, or None."""
        field, forest, steps = self.field, self.forest, self.steps
        if load(0, count, first, second, steps, flow, field) > 0:
            if is_local:
                count = drain(count, first, second, steps, flow, field, forest, self.work)
            else:
                Run(field.excess, field.residual, self.layout, None, forest).solve(SINK)
        changed = settle(count, first, second, steps, flow, field, forest)
        gain = int(gain_of(changed, first, second, steps, field)) if changed else 0
        apply(changed, gain < 0, first, second, field)
        return (field.listed[:changed].copy(), gain) if gain < 0 else None


class Descent:
    """A labelling on its way down, and the record of all that was done to it."""

    def __init__(self, problem: LabelProblem, start: np.ndarray):
        self.problem = problem
        self.start = np.asarray(start)
        self.state = State(problem, start)
        self.energy = self.first_energy = self.state.energy()
        self.record = []
        self.cycles = 0
        self._changes = []  # cells of each change
        self._seen = {}  # how many of these a move knew
        self._touched = np.zeros(problem.count, np.int64)  # the last of these at or next to a pixel of each label

    @property
    def labels(self) -> np.ndarray:
        return np.ascontiguousarray(self.state.layout.interior(self.state.field.label))

    def done(self, moves) -> bool:
        """Whether none of the moves lowers the energy."""
        return self.problem.unary.size == 0 or all(self._seen.get(move) == len(self._changes) for move in moves)

    def run(self, moves, max_cycles, callback) -> None:
        """Make the moves, pairs (first, second), in order, again and again until none helps."""
        last = None if max_cycles is None else self.cycles + max_cycles
        while not self.done(moves) and self.cycles != last:
            self.cycles += 1
            for first, second in moves:
                known = self._seen.get((first, second), 0)
                if (first, second) in self._seen and self._is_settled(first, second, known):
                    self._seen[first, second] = len(self._changes)
                    continue
                state = self.state
                best = state.expand(second, self._changes[known:]) if first < 0 else state.swap(first, second)
                cells, gain = best or (np.empty(0, state.index_type), 0)
                self._note(first, second, cells, gain)
                self._seen[first, second] = len(self._changes)
                if callback is not None:
                    told = {"cycle": self.cycles, "moves": len(self.record), "labels": (first, second)}
                    callback({**told, "energy": self.energy * self.problem.unit})

    def _is_settled(self, first, second, known) -> bool:
        """Whether a move would find the same pixels and neighbours as the last time."""
        if first < 0:
            return known == len(self._changes)
        return max(self._touched[first], self._touched[second]) <= known

    def jump(self, labels: np.ndarray) -> None:
        """Go on from another labelling, one that costs no more."""
        field, layout = self.state.field, self.state.layout
        cells = layout.interior(np.arange(layout.size, dtype=self.state.index_type))[labels != self.labels]
        layout.interior(field.label)[...] = labels
        field.paid[cells] = self.problem.unary.reshape(self.problem.count, -1)[field.label[cells], field.pixel[cells]]
        self._note(JUMP, -1, cells, self.state.energy() - self.energy)

    def _note(self, first, second, cells, gain) -> None:
        if cells.size:
            self._changes.append(cells)
            self.energy += gain
            if first >= 0:
                self._touched[[first, second, *self.state.labels_round(cells)]] = len(self._changes)
        field = self.state.field
        self.record.append(Move(first, second, field.pixel[cells], field.label[cells], self.energy))

    def result(self, arguments, moves, seconds) -> Labelling:
        """What the caller gets."""
        if self.energy != self.state.energy():
            raise AssertionError(f"the gains lead to {self.energy}, the labels cost {self.state.energy()}")
        problem, labels = self.problem, self.labels
        energies = [self.first_energy, *(move.energy for move in self.record)]
        stats = {
            "energies": [energy * problem.unit for energy in energies],
            "moves": len(self.record),
            "cycles": self.cycles,
            "changed": sum(cells.size for cells in self._changes),
            "converged": self.done(moves),
            "seconds": seconds,
            "dtype": problem.unary.dtype.name,
            "unit": problem.unit,
        }
        energy = self.energy if isinstance(problem.unit, int) else energy_of(labels, *arguments)
        return Labelling(labels, energy, "cpu", stats, History(problem, arguments, self.start, self.record))


def descend(problem, arguments, start, orders, max_cycles, callback, begun: float) -> Labelling:
    """The result of a descent by the moves in the first order; those by the other orders are fused into it."""
    loading = time.perf_counter()
    descent = Descent(problem, start)
    solving = time.perf_counter()
    moves = orders[0]
    descent.run(moves, max_cycles, callback)
    for order in orders[1:]:
        other = Descent(problem, start)
        other.run(order, max_cycles, callback)
        descent.jump(fused(descent.labels, other.labels, problem))
        descent.run(moves, max_cycles, callback)
    seconds = {"check": loading - begun, "load": solving - loading, "solve": time.perf_counter() - solving}
    return descent.result(arguments, moves, seconds)
