"""The result of a descent, and the certificate that each of its moves was the best of its kind."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gridcut.core.certificate import RELATIVE, check_array, check_number, made_again
from gridcut.core.problem import Offset
from gridcut.device import CertificateError
from gridcut.device.arrays import to_host
from gridcut.device.result import GridResult
from gridcut.energy import energy_of
from gridcut.maximum_flow import max_flow
from gridcut.multilabel.validation import LabelProblem, check_graph_labels, check_labels

JUMP = -2  # in place of the first label: the labelling came from a restart, not from one move


class Move(NamedTuple):
    """An expansion of `second` (first = -1), a swap, or the result of a restart (first = JUMP).

    pixels, labels   the pixels that it changed, and their new labels
    energy           the energy after the move
    """

    first: int
    second: int
    pixels: np.ndarray
    labels: np.ndarray
    energy: int


class History(NamedTuple):
    """The moves from the start to the result, in integer units."""

    problem: LabelProblem
    arguments: tuple  # unary, weights, label_cost as the caller passed them
    start: np.ndarray
    moves: list[Move]
    metric: bool  # label_cost was checked to be a metric


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Labelling(GridResult):
    """A labelling that no move improves (unless `max_cycles` ended the descent), and the record of its moves.

    Attributes
    ----------
    labels : ndarray of int32, the grid's shape
        If `unary` was on a GPU, an array of the same library on that GPU.
    energy : int or float
        ``energy_of(labels, ...)``: exact for integers.
    device : str
        The device that was used, "cpu" or "cuda".
    stats : dict
        "energies": the energy of the start and after every move (for floats up to the rounding to "unit"); "moves",
        "cycles", "changed" (number of label changes), "converged", "seconds" by phase, "dtype", "unit".
    """

    labels: np.ndarray
    energy: int | float
    device: str
    stats: dict
    _history: History = field(repr=False)

    def check(self) -> None:
        """Certify the energy and every move; raises CertificateError.

        The energy and the integers of the moves are recomputed from the caller's arrays.  From the start on, the
        binary energy of each move is minimised again by one cut of the whole grid, which is certified.  This cut
        shares only the max-flow method with the descent.  The move must have reached the minimum.  The result of a
        restart must only not be worse than before.  Takes longer than the descent.
        """
        with made_again():
            given, arguments, start, moves, metric = self._history  # of a GPU: from the arguments as they are now
            check = check_graph_labels if given.is_graph else check_labels
            problem = check(*arguments, metric=metric)._replace(allowed=given.allowed)
        found = to_host(self.labels)
        check_array("labels", found, np.int32, problem.shape)
        check_energy_again(self.energy, found, arguments, problem)
        labels = start.astype(np.int64)
        energy = energy_of(labels, problem.unary, problem.weights, problem.cost)
        for i, move in enumerate(moves):
            lowest = energy
            if move.first != JUMP:
                lowest = move_minimum(labels, move.first, move.second, problem)
            labels.flat[move.pixels] = move.labels
            if len(move.pixels):
                energy = energy_of(labels, problem.unary, problem.weights, problem.cost)
            if not energy == move.energy <= lowest:
                raise CertificateError(
                    f"move {i}: recorded energy {move.energy}, recomputed {energy}, certified minimum {lowest}"
                )
        if problem.allowed is not None and not np.take_along_axis(problem.allowed, labels[None], 0).all():
            raise CertificateError("labels hold a label that `allowed` forbids at its pixel")
        if not np.array_equal(labels, found):
            raise CertificateError("labels are not the result of the recorded moves")


def check_energy_again(energy, labels, arguments, problem: LabelProblem) -> int | float:
    """Recompute the energy of the labels and return it; raises CertificateError if `energy` differs."""
    exact = isinstance(problem.unit, int)
    check_number("energy", energy, not exact)
    if labels.size and not 0 <= labels.min() <= labels.max() < problem.count:
        raise CertificateError(f"labels must lie between 0 and {problem.count - 1}")
    with made_again():
        again = energy_of(labels, *arguments)
    if not (energy == again or (not exact and math.isclose(energy, again, rel_tol=RELATIVE))):
        raise CertificateError(f"energy {energy}, recomputed {again}")
    return again


def move_minimum(labels, first, second, problem: LabelProblem) -> int:
    """The minimum energy that a move can reach, certified by a cut.

    With x the choice of a pixel and t the four costs of an edge (p, q), as in moves.py,

        t[x_p, x_q] = t00 + (t10 - t00) x_p + (t11 - t10) x_q + (t01 + t10 - t00 - t11) (1 - x_p) x_q

    so the last coefficient is the capacity from q to p, with x = 1 the source side (Kolmogorov, Zabih. "What energy
    functions can be minimized via graph cuts?" PAMI 26(2), 2004).
    """
    zero, one = choices(labels, first, second, problem.allowed)
    paid = [np.take_along_axis(problem.unary, x[None], 0)[0].astype(np.int64) for x in (zero, one)]
    constant, slope = paid[0].sum(), paid[1] - paid[0]
    backs = []
    for p, q, weight in problem.edges():
        w = weight.astype(np.int64)
        t00, t01, t10, t11 = (w * problem.cost[x[p], y[q]] for x in (zero, one) for y in (zero, one))
        constant += t00.sum()
        if problem.is_graph:  # where p and q repeat nodes
            np.add.at(slope, p, t10 - t00)
            np.add.at(slope, q, t11 - t10)
        else:
            slope[p] += t10 - t00
            slope[q] += t11 - t10
        backs.append((p, q, t01 + t10 - t00 - t11))
    terminals = np.maximum(-slope, 0), np.maximum(slope, 0)
    cut = _graph_cut(backs, *terminals) if problem.is_graph else _grid_cut(problem.weights, backs, *terminals)
    cut.check()
    return int(constant + np.minimum(slope, 0).sum() + cut.value)


def _grid_cut(offsets, backs, source, sink):
    edges: dict[Offset, ArrayLike] = {}
    for offset, (_, q, capacity) in zip(offsets, backs, strict=True):
        back = np.zeros(source.shape, np.int64)
        back[q] = capacity
        edges[offset], edges[tuple(-i for i in offset)] = 0, back
    return max_flow(source, sink, edges, device="cpu")


def _graph_cut(backs, source, sink):
    from scipy.sparse import csr_array  # on first use

    from gridcut.graph.graph_flow import graph_max_flow

    ((p, q, capacity),) = backs
    return graph_max_flow(csr_array((capacity, (q, p)), shape=(source.size,) * 2), source, sink, device="cpu")


def choices(labels, first, second, allowed=None):
    """The two labels of each pixel's choice: its own and `second` in an expansion, `first` and `second` in a swap.

    In an expansion, a pixel that is not `allowed` the second label has its own twice.
    """
    if first < 0:
        return labels, np.full_like(labels, second) if allowed is None else np.where(allowed[second], second, labels)
    chosen = (labels == first) | (labels == second)
    return np.where(chosen, first, labels), np.where(chosen, second, labels)
