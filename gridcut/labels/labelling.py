"""The result of a descent, and the proof that each of its moves was the best of its kind."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gridcut.certificate import CertificateError
from gridcut.energy import BinaryEnergy, binary_minimum, energy_of
from gridcut.labels.border import LabelProblem
from gridcut.terms import ends

JUMP = -2


class Move(NamedTuple):
    """An expansion of `second` (first = -1), a swap, or a jump to what was found elsewhere (first = JUMP).

    The pixels it changed, their labels and the energy after it.
    """

    first: int
    second: int
    pixels: np.ndarray
    labels: np.ndarray
    energy: int


class History(NamedTuple):
    """All that led from the start to the result, in integer units."""

    problem: LabelProblem
    arguments: tuple  # unary, weights, label_cost as the caller gave them
    start: np.ndarray
    moves: list[Move]


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """A labelling no move improves (or as far as `max_cycles` went), and how it was found.

    Attributes
    ----------
    labels : ndarray of int32, the grid's shape
    energy : int or float
        ``energy_of(labels, ...)``: exact for integers.
    device : str
        What ran.
    stats : dict
        "energies": that of the start and after every move (for floats within the rounding to "unit"); "moves",
        "cycles", "changed" (labels, with repetitions), "converged", "seconds" by phase, "dtype", "unit".
    """

    labels: np.ndarray
    energy: int | float
    device: str
    stats: dict
    _history: History = field(repr=False)

    def check(self) -> None:
        """Prove the energy and every move; raises CertificateError.

        The energy is computed anew from the arrays passed in.  From the start on, the binary energy of each move is
        minimised again by `binary_minimum`, which shares nothing with the descent, its cut is certified, and the
        move must have reached that minimum.  What came from another descent must only not be worse.  Takes longer than
        the descent.
        """
        problem, arguments, start, moves = self._history
        again = energy_of(self.labels, *arguments)
        if not (self.energy == again or math.isclose(self.energy, again, rel_tol=1e-9)):
            raise CertificateError(f"energy {self.energy}, computed anew {again}")
        labels = start.astype(np.int64)
        energy = energy_of(labels, problem.unary, problem.weights, problem.cost)
        for i, move in enumerate(moves):
            best = energy
            if move.first != JUMP:
                minimum = binary_minimum(move_energy(labels, move.first, move.second, problem), device="cpu")
                minimum.check()
                best = minimum.value
            labels.flat[move.pixels] = move.labels
            energy = energy_of(labels, problem.unary, problem.weights, problem.cost)
            if not energy == move.energy <= best:
                raise CertificateError(f"move {i} reached {energy}, said {move.energy}, the best is {best}")
        if not np.array_equal(labels, self.labels):
            raise CertificateError("the moves do not lead to the labels")


def move_energy(labels, first, second, problem: LabelProblem) -> BinaryEnergy:
    """The energy of one move: 0 keeps the label in an expansion and takes `first` in a swap, 1 takes `second`."""
    if first < 0:
        zero, one = labels, np.full_like(labels, second)
    else:
        chosen = (labels == first) | (labels == second)
        zero, one = np.where(chosen, first, labels), np.where(chosen, second, labels)
    unary = [np.take_along_axis(problem.unary, x[None], 0)[0] for x in (zero, one)]
    pairwise = {}
    for offset, weight in problem.weights.items():
        p, q = ends(problem.shape, (offset,))
        table = np.zeros((2, 2, *problem.shape), np.int64)
        for i, at_p in enumerate((zero, one)):
            for j, at_q in enumerate((zero, one)):
                table[(i, j, *p)] = weight[p].astype(np.int64) * problem.cost[at_p[p], at_q[q]]
        pairwise[offset] = table
    return BinaryEnergy(np.stack(unary), pairwise)
