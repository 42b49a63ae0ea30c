"""convex_labels: the minimum energy if the cost of two labels is convex in their difference.

With x_i(p) = [l_p > i], i = 0 ... L - 2, a function of two labels is

    F(a, b) = F(a, 0) + F(0, b) - F(0, 0) - sum m(i, j) x_i(p) x_j(q),
    m(i, j) = F(i, j + 1) + F(i + 1, j) - F(i, j) - F(i + 1, j + 1)

m >= 0 makes every product submodular [2]; for F = g(|i - j|) this means that g is convex [1].  The whole energy is then
one minimum cut in L - 1 layers.  It has arcs between layers i and j wherever m(i, j) > 0, and an arc that cannot be cut
from x_i+1 to x_i.

Deviates from [1]: the costs of a pixel are at the terminals, as differences, not along its column.  The cut therefore
starts with the flow that a column alone would carry.

[1] Ishikawa. "Exact optimization for Markov random fields with convex priors." PAMI 25(10), 2003.
[2] Schlesinger, Flach. "Transforming an arbitrary minsum problem into a binary one." TU Dresden, 2006."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gridcut.core.certificate import check_array, check_number, made_again
from gridcut.core.cut import Cut
from gridcut.core.problem import Offset, ends
from gridcut.device import CertificateError, DeviceName
from gridcut.device.result import GridResult
from gridcut.energy import energy_of
from gridcut.maximum_flow import max_flow
from gridcut.multilabel.labelling import check_energy_again
from gridcut.multilabel.validation import LabelProblem, check_cost, check_labels

# Several nodes per pixel as layers of one grid, for convex label costs and roof duality.


class Folded(NamedTuple):
    """Layers over a grid as the capacities of one grid with at most three axes.

    shape     of the layers: (layers, *grid)
    spacing   lines of the first axis per line of the grid; 0: the layers are a separate axis
    """

    source: np.ndarray
    sink: np.ndarray
    edges: dict[Offset, np.ndarray]
    shape: tuple[int, ...]
    spacing: int

    @property
    def capacities(self) -> tuple[np.ndarray, np.ndarray, dict[Offset, np.ndarray]]:
        """The arguments of `max_flow`."""
        return self.source, self.sink, self.edges

    def sides(self, labels) -> np.ndarray:
        """Labels of that cut, in the shape of the layers."""
        if self.spacing == 0:
            return labels
        layers, length = self.shape[:2]
        rows = labels.reshape(length, self.spacing, *self.shape[2:])
        return np.moveaxis(rows[:, :layers], 1, 0)

    def labels(self, sides: np.ndarray) -> np.ndarray:
        """Labels of the layers as labels of the one grid; False where it has no layer."""
        return fold(sides, self.spacing)


def fold_layers(source, sink, edges) -> Folded:
    """The capacities of the layers as those of one grid.

    source, sink   (layers, *grid);  edges[(d, *offset)] of that shape, 0 where it leaves the layers or the grid

    The layers of a grid with three axes are interleaved along the first axis, spaced so that all offsets stay distinct.
    """
    if source.ndim <= 3:
        return Folded(source, sink, edges, source.shape, 0)
    spacing = max(source.shape[0], 2 * max((abs(offset[0]) for offset in edges), default=0) + 1)
    arcs = {(o[1] * spacing + o[0], *o[2:]): fold(array, spacing) for o, array in edges.items()}
    return Folded(fold(source, spacing), fold(sink, spacing), arcs, source.shape, spacing)


def fold(array: np.ndarray, spacing: int) -> np.ndarray:
    """An array of the layers with those of each line stored consecutively along the first axis of the grid."""
    if spacing == 0:
        return array
    layers, length = array.shape[:2]
    rows = np.zeros((length, spacing, *array.shape[2:]), array.dtype)
    rows[:, :layers] = np.moveaxis(array, 0, 1)
    return rows.reshape(length * spacing, *array.shape[2:])


ROUNDING_TOLERANCE = 1e-6  # for floats rounded to units, relative to the energy


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConvexMinimum(GridResult):
    """A labelling of minimum energy, with its certificate.

    Attributes
    ----------
    labels : ndarray of int32, the grid's shape
        At every pixel the largest label of all minima.
    energy : int or float
        ``energy_of(labels, ...)``.
    cut : Cut
        The minimum cut in layers.
    constant : int
        For integers, ``energy == cut.value + constant``.
    """

    labels: np.ndarray
    energy: int | float
    cut: Cut
    constant: int
    _arguments: tuple = field(repr=False)

    def check(self) -> None:
        """Certify that no labelling has less energy (for floats: up to rounding); raises CertificateError.

        The capacities are recomputed from the caller's arrays, and the cut is certified for them.
        """
        with made_again():
            problem = check_labels(*self._arguments, metric=False)
            layers, constant = _layers(problem, _mixed_differences(problem, self._arguments[2]))
        self.cut._check_for(*layers.capacities)
        check_number("constant", self.constant, False)
        if self.constant != constant:
            raise CertificateError(f"constant {self.constant}, recomputed {constant}")
        check_array("labels", self.labels, np.int32, problem.shape)
        again = check_energy_again(self.energy, self.labels, self._arguments, problem)
        reached = (self.cut.value + constant) * problem.unit
        scale = abs(again) + self.cut.value * problem.unit
        slack = 0 if isinstance(problem.unit, int) else ROUNDING_TOLERANCE * scale
        if abs(again - reached) > slack:
            raise CertificateError(f"energy {again}, but cut.value + constant is {reached}")
        if not np.array_equal(self.labels, _labels(layers, self.cut)):
            raise CertificateError("labels differ from those of the cut")


def convex_labels(
    unary: ArrayLike,
    weights: Mapping[Offset, ArrayLike],
    label_cost: ArrayLike,
    *,
    device: DeviceName = "auto",
    method: str = "auto",
) -> ConvexMinimum:
    """Minimise a multi-label energy with convex label costs exactly, by one minimum cut.

    The labels are ordered, and the cost of two labels is convex in their difference.

    Parameters
    ----------
    unary, weights
        As in `alpha_expansion`; at least two labels.
    label_cost : array_like, shape (L, L)
        Cost of a pair of labels on an edge of weight 1, such as ``abs(i - j)`` or ``(i - j) ** 2``: symmetric, 0 on
        the diagonal, and ``c[i, j + 1] + c[i + 1, j] >= c[i, j] + c[i + 1, j + 1]`` everywhere.
    device, method : str
        As in `max_flow`.

    Returns
    -------
    ConvexMinimum
        ``labels``, ``energy``, ``cut`` and ``check()``, which certifies them.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As `alpha_expansion` and `max_flow`; also if `label_cost` is not convex (the message names the labels).

    See Also
    --------
    alpha_expansion : For costs that are a metric but not convex, such as truncated differences.

    Notes
    -----
    The minimum cut has L - 1 nodes per pixel.  Linear costs need one kind of arc per kind of edge.  Other costs need
    one per difference at which the cost bends, up to 2 L - 3, and are therefore practical for few labels only.

    References
    ----------
    .. [1] Ishikawa. "Exact optimization for Markov random fields with convex priors." PAMI 25(10), 2003.

    Examples
    --------
    >>> import numpy as np
    >>> unary = np.array([[0, 0, 5, 9], [5, 4, 0, 4], [9, 9, 5, 0]])
    >>> convex_labels(unary, {(1,): 2}, [[0, 1, 2], [1, 0, 1], [2, 1, 0]]).labels
    array([0, 0, 1, 2], dtype=int32)
    """
    problem = check_labels(unary, weights, label_cost, metric=False)
    if problem.count < 2:
        raise ValueError("unary must have two labels or more, got 1")
    mixed = _mixed_differences(problem, label_cost)
    layers, constant = _layers(problem, mixed)
    cut = max_flow(*layers.capacities, device=device, method=method)
    labels = _labels(layers, cut)
    exact = isinstance(problem.unit, int)
    energy = int(cut.value + constant) if exact else energy_of(labels, unary, weights, label_cost)
    return ConvexMinimum(labels, energy, cut, constant, (unary, weights, label_cost))


def _labels(layers: Folded, cut: Cut) -> np.ndarray:
    return layers.sides(cut.labels).sum(0, dtype=np.int32)


def _mixed_differences(problem: LabelProblem, label_cost) -> np.ndarray:
    """m(i, j).  Rounding of floats can make it negative by one or two units where it is 0; such values become 0."""
    given = check_cost(label_cost, problem.count)
    cost = problem.cost.astype(np.int64)
    mixed = cost[:-1, 1:] + cost[1:, :-1] - cost[:-1, :-1] - cost[1:, 1:]
    slack = 0 if isinstance(problem.unit, int) else 2
    if (mixed < -slack).any():
        i, j = (int(n) for n in np.argwhere(mixed < -slack)[0])
        raise ValueError(
            f"label_cost is not convex: [{i}, {j + 1}] + [{i + 1}, {j}] = {given[i, j + 1] + given[i + 1, j]} is less "
            f"than [{i}, {j}] + [{i + 1}, {j + 1}] = {given[i, j] + given[i + 1, j + 1]}; use alpha_expansion"
        )
    return np.maximum(mixed, 0)


def _layers(problem: LabelProblem, mixed) -> tuple[Folded, int]:
    """Capacities of the layers, and the energy minus the value of the cut."""
    shape, count = problem.shape, problem.count
    unary = problem.unary.astype(np.int64)
    edge = problem.cost[:, 0].astype(np.int64).reshape(-1, *(1 for _ in shape))
    edges: dict[Offset, np.ndarray] = {}
    incident = np.zeros(shape, np.int64)  # total capacity of the arcs at a pixel
    slope = np.diff(unary, axis=0)
    for offset, weight in problem.weights.items():
        weight = weight.astype(np.int64)
        p, q = ends(shape, (offset,))
        inner = weight[p]
        slope[(slice(None), *p)] += np.diff(edge, axis=0) * inner
        slope[(slice(None), *q)] += np.diff(edge, axis=0) * inner
        for d in range(2 - count, count - 1):
            m = np.diagonal(mixed, d)  # m(i, i + d)
            if not m.any():
                continue
            i = np.arange(max(0, -d), max(0, -d) + m.size)
            # -m x y = m1 x (1 - y) + m2 (1 - x) y - m1 x - m2 y  with m1 + m2 = m: half in each direction
            total = m.reshape(-1, *(1 for _ in shape)) * inner
            half = total // 2
            out = edges.setdefault((d, *offset), np.zeros((count - 1, *shape), np.int64))
            back = edges.setdefault((-d, *(-o for o in offset)), np.zeros((count - 1, *shape), np.int64))
            tail: tuple = (i, *p)
            head: tuple = (i + d, *q)
            out[tail] = total - half
            back[head] = half
            slope[tail] -= total - half
            slope[head] -= half
            incident[p] += total.sum(0)
            incident[q] += total.sum(0)
    # More than all other terms at a pixel could save.
    uncuttable = 1 + int((np.abs(slope).sum(0) + incident).max(initial=0))
    down = np.full((count - 1, *shape), uncuttable, np.int64)
    down[0] = 0
    zero = (0,) * len(shape)
    edges[(-1, *zero)] = down
    edges[(1, *zero)] = np.zeros_like(down)
    source, sink = np.maximum(-slope, 0), np.maximum(slope, 0)
    # F(0, 0) is 0: only the unary costs remain when all labels are 0.
    constant = int(unary[0].sum()) - int(source.sum())
    return fold_layers(source, sink, edges), constant
