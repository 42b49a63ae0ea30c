"""roof_duality: partial labelling and lower bound of a binary energy that a cut cannot represent.

Every pixel gets a second node, the complement x' = 1 - x.  A term that is not submodular in (x_p, x_q) is submodular in
(x_p, x'_q).  One cut therefore minimises the energy of both nodes, E(x) + E(1 - x'), and its value is a lower bound of
2 E [1].  A pixel whose nodes contradict each other in every such minimum stays open.  The other pixels have the label
that they have in all minima of E (strong persistency [2]).

[1] Boros, Hammer. "Pseudo-Boolean optimization." Discrete Applied Mathematics 123, 2002.
[2] Kolmogorov, Rother. "Minimizing nonsubmodular functions with graph cuts - a review." PAMI 29(7), 2007."""

from dataclasses import dataclass, field

import numpy as np

from gridcut.core.certificate import check_array, check_number
from gridcut.core.cut import Cut
from gridcut.core.cut_capacity import cut_capacity, total
from gridcut.core.grid import make_layout
from gridcut.core.load import reader
from gridcut.core.problem import Offset, check_problem, ends
from gridcut.device import CertificateError, DeviceName
from gridcut.device.result import GridResult
from gridcut.energy import BinaryEnergy, differ
from gridcut.maximum_flow import max_flow
from gridcut.multilabel.convex import Folded, fold_layers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RoofDual(GridResult):
    """Persistent labels and a lower bound of a binary energy.

    Attributes
    ----------
    labels : ndarray of int8, the grid's shape
        0 or 1 where every labelling of minimum energy has that label, -1 where this bound leaves it open.  For
        floats: every labelling of minimum energy after rounding.
    bound : int or float
        Lower bound of the energy, rounded up for integer energies.  Attained if no label is -1.
    cut : Cut
        The minimum cut of the doubled energy.
    constant : int or float
        For integers, ``bound == ceil((cut.value + constant) / 2)``.
    """

    labels: np.ndarray
    bound: int | float
    cut: Cut
    constant: int | float
    _energy: BinaryEnergy = field(repr=False)

    def check(self) -> None:
        """Certify the bound and the labels; raises CertificateError.

        The doubled energy is recomputed from the caller's energy, and compared with it for the labels found.  The cut
        is certified as the minimum of the doubled energy, which is the bound.  The labels must be those that its
        residual graph shows to be the same in all minima.  If every pixel has a label, their energy is the bound.
        """
        energy = self._energy
        is_float = energy.unary.dtype.kind == "f"
        layers, constant = _doubled(energy)
        self.cut._check_for(*layers.capacities)
        check_number("constant", self.constant, is_float)
        check_number("bound", self.bound, is_float)
        check_array("labels", self.labels, np.int8, energy.shape)
        scale = abs(constant) + self.cut.value
        if differ(self.constant, constant, scale):
            raise CertificateError(f"constant {self.constant}, recomputed {constant}")
        bound = _bound(self.cut.value + constant, is_float)
        if differ(self.bound, bound, scale):
            raise CertificateError(f"bound {self.bound}, but cut and constant give {bound}")
        if not np.array_equal(self.labels, _labels(layers, self.cut)):
            raise CertificateError("labels differ from those of the cut")
        for rest in (0, 1):
            labels = np.where(self.labels < 0, rest, self.labels)
            value, twice = energy.value(labels), _doubled_value(layers, labels) + constant
            if differ(2 * value, twice, scale + abs(value)):
                raise CertificateError(f"energy {value}, but the doubled energy of the same labels is {twice}")
        if (self.labels >= 0).all() and differ(value, self.bound, scale + abs(value)):
            raise CertificateError(f"all pixels have labels, with energy {value}, but the bound is {self.bound}")


def roof_duality(energy: BinaryEnergy, *, device: DeviceName = "auto", method: str = "auto") -> RoofDual:
    """Compute the labels common to all minima of a binary energy, and a lower bound (QPBO).

    Pairwise terms may be submodular or not.

    Parameters
    ----------
    energy : BinaryEnergy
        Unary and any pairwise terms; no triple terms.
    device, method : str
        As in `max_flow`.

    Returns
    -------
    RoofDual
        ``labels`` (-1: open), ``bound``, ``cut`` and ``check()``.

    Raises
    ------
    TypeError
        If `energy` is not a BinaryEnergy.
    ValueError
        If `energy` has triple terms.

    Notes
    -----
    One minimum cut with two nodes per pixel.  Submodular energies are labelled where their minimum is unique.

    References
    ----------
    .. [1] Kolmogorov, Rother. "Minimizing nonsubmodular functions with graph cuts - a review." PAMI 29(7), 2007.

    Examples
    --------
    Two pixels that prefer to differ, one of which prefers 1:

    >>> import numpy as np
    >>> roof = roof_duality(BinaryEnergy(np.array([[2, 0], [0, 0]]), {(1,): [[5, 0], [0, 5]]}))
    >>> roof.labels, roof.bound
    (array([1, 0], dtype=int8), 0)
    """
    if not isinstance(energy, BinaryEnergy):
        raise TypeError(f"energy must be a BinaryEnergy, got {type(energy).__name__}")
    if energy.triple:
        raise ValueError("energy has triple terms; roof_duality accepts unary and pairwise terms only")
    layers, constant = _doubled(energy)
    cut = max_flow(*layers.capacities, device=device, method=method)
    bound = _bound(cut.value + constant, energy.unary.dtype.kind == "f")
    return RoofDual(_labels(layers, cut), bound, cut, constant, energy)


def _labels(layers: Folded, cut: Cut) -> np.ndarray:
    """0 or 1 where one node of a pixel reaches the sink, -1 where neither does."""
    # No minimum cut has both nodes of a pixel on the sink side, because the graph is its own mirror image.
    sides = layers.sides(cut.labels)
    labels = np.full(layers.shape[1:], -1, np.int8)
    labels[~sides[0]] = 0
    labels[~sides[1]] = 1
    return labels


def _bound(twice: int | float, is_float: bool) -> int | float:
    """Half of `twice`, rounded up for integers."""
    return twice / 2 if is_float else -(-twice // 2)


def _doubled_value(layers: Folded, labels: np.ndarray) -> int | float:
    """Capacity of the cut of these labels and their complements."""
    if labels.size == 0:
        return 0
    problem = check_problem(*layers.capacities, None)
    sides = layers.labels(np.stack([labels == 1, labels == 0]))
    return cut_capacity(reader(problem, make_layout(problem.shape, problem.edges)), sides, problem.is_float)


def _doubled(energy: BinaryEnergy) -> tuple[Folded, int | float]:
    """Capacities in the layers x and x', and twice the energy minus the value of the cut."""
    shape = energy.shape
    number = energy.unary.dtype
    zero, one = energy.unary
    slope = one - zero  # of x
    base = zero.sum().item()
    edges: dict[Offset, np.ndarray] = {}

    def add(d, offset, layer, region, amount):
        key = (d, *offset)
        array = edges.setdefault(key, np.zeros((2, *shape), number))
        edges.setdefault(tuple(-i for i in key), np.zeros((2, *shape), number))
        array[(layer, *region)] += amount

    for offset, table in energy.pairwise.items():
        p, q = ends(shape, (offset,))
        opposite = tuple(-i for i in offset)
        a, b, c, d = (np.broadcast_to(table[i, j], shape)[p] for i, j in np.ndindex(2, 2))
        base += a.sum().item()
        gain = b + c - a - d
        # a + (c - a) x_p + (d - c) x_q + gain (1 - x_p) x_q, half of the last term in each direction ...
        submodular = np.maximum(gain, 0)
        half = submodular // 2
        slope[p] += np.where(gain >= 0, c - a - half, c - a)
        slope[q] += np.where(gain >= 0, d - c + half, b - a)
        # An arc u -> v is paid if u = 1 and v = 0; each has its mirror image v' -> u'.
        add(0, offset, 0, p, half)
        add(0, opposite, 0, q, submodular - half)
        add(0, opposite, 1, q, half)
        add(0, offset, 1, p, submodular - half)
        # ... or a + (c - a) x_p + (b - a) x_q - gain x_p (1 - x'_q).
        other = np.maximum(-gain, 0)
        add(1, offset, 0, p, other)
        add(1, opposite, 0, q, other)
    less, more = np.maximum(-slope, 0), np.maximum(slope, 0)
    layers = fold_layers(np.stack([less, more]), np.stack([more, less]), edges)
    return layers, 2 * base - 2 * total(less)
