"""Binary energies on a grid: unary, pairwise and triple terms, their values and their minimum.

    E(x) = sum U_p(x_p) + sum P_o,p(x_p, x_p+o) + sum T_ab,p(x_p, x_p+a, x_p+b),      x_p in {0, 1}

Kolmogorov and Zabih [1] call the class with the first two sums F2, with the third F3.  A cut can represent such an
energy if and only if every pairwise term and every projection of a triple term on two labels is submodular.  This
module holds the public functions; gridcut/energy.py converts an energy into capacities.

[1] Kolmogorov, Zabih. "What energy functions can be minimized via graph cuts?" IEEE Transactions on Pattern
    Analysis and Machine Intelligence 26(2), 2004."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gridcut.core.certificate import RELATIVE, check_array, check_number, made_again
from gridcut.core.cut import Cut
from gridcut.core.cut_capacity import total, total_of_products
from gridcut.core.problem import Offset, check_offset, ends, pixel_at
from gridcut.device import CertificateError, DeviceName
from gridcut.device.arguments import numbers_of, plain_array
from gridcut.device.result import GridResult
from gridcut.device.sparse import is_sparse
from gridcut.maximum_flow import max_flow

# Binary energies as minimum cuts: the capacities of a submodular energy.
#
# Label 1 is the source side.  `sink` of a pixel is therefore the cost of label 1, `source` the cost of label 0, and
# an arc p -> q of capacity f costs f if x_p = 1 and x_q = 0.
#
# A pairwise table (A B / C D), with rows x_p, is, for every f + b = B + C - A - D,
#     A + (C - A - f) x_p + (B - A - b) x_q + f x_p (1 - x_q) + b (1 - x_p) x_q.
# f is chosen as close to C - A as 0 <= f <= B + C - A - D allows: a Potts table then becomes two equal arcs and nothing
# else.  A cut represents the table if and only if B + C - A - D >= 0 [1, theorem 4.1].
#
# A triple table is its multilinear polynomial.  Quadratic terms c_ij x_i x_j become arcs as above, and the cubic term
# needs one auxiliary pixel w [1, section 4.3]:
#     c <= 0:   c x y z  =  min over w of  c w + |c| (w (1 - x) + w (1 - y) + w (1 - z)):    arcs w -> x, y, z
#     c > 0:    c x y z  =  c (1 - x - y - z + xy + yz + zx) - c (1 - x)(1 - y)(1 - z),  the last product being
#               min over w of  -c (1 - w) + c ((1 - w) x + (1 - w) y + (1 - w) z):           arcs x, y, z -> w
# A cut represents this if and only if c_ij + max(c, 0) <= 0 for all three pairs, i.e. every projection is submodular.
#
# The auxiliary pixels are placed between the lines of the grid, so that it keeps its number of axes and offsets stay
# short.  With T families of triple terms, line y of axis 0 becomes line (1 + T) y, and the auxiliary pixel of
# family t at p = (y, ...) is (y (1 + T) + 1 + t, ...):
#
#     pixels   p ──(o0, o1)──► q                pixels   p ──((1+T) o0, o1)──► q
#                                        =>     family 0 w
#                                               family 1 w
#
# [1] Kolmogorov, Zabih. "What energy functions can be minimized via graph cuts?" IEEE Transactions on Pattern
#     Analysis and Machine Intelligence 26(2), 2004.

# Rounding error of a sum of four or eight floats that is zero in exact arithmetic, relative to their magnitudes.
ROUNDING = 16 * np.finfo(np.float64).eps


class Capacities:
    """Cost differences of label 1 and label 0, and arcs, accumulated on the grid with auxiliary lines."""

    def __init__(self, shape, layers, dtype):
        self.layers = layers
        self.cost = np.zeros((shape[0] * layers, *shape[1:]), dtype)
        self.edges: dict[Offset, np.ndarray] = {}
        self.constant = 0

    def nodes_at(self, region, layer=0):
        """Index of the pixels of `region` (layer 0), or of their auxiliary pixels of family layer - 1."""
        rows = slice(region[0].start * self.layers + layer, region[0].stop * self.layers + layer, self.layers)
        return (rows, *region[1:])

    def add_arcs(self, tail, head, forth, back):
        """Add arcs tail -> head of capacity `forth`, and `back` in the opposite direction; both are from `nodes_at`."""
        offset = tuple(h.start - t.start for h, t in zip(head, tail, strict=True))
        opposite = tuple(-i for i in offset)
        for o, end, capacity in ((offset, tail, forth), (opposite, head, back)):
            if o not in self.edges:
                self.edges[o] = np.zeros_like(self.cost)
            self.edges[o][end] += capacity

    def terminals(self):
        """Capacities from the source and to the sink; the minimum of both goes to the constant."""
        self.constant += total(np.minimum(self.cost, 0))
        return np.maximum(-self.cost, 0), np.maximum(self.cost, 0)


def reduce_to_cut(energy):
    """`(source, sink, edges, constant)`: E(x) is the constant plus the cut with the best auxiliary labels.

    Raises ValueError for a term that is not submodular (regular, for triples).
    """
    capacities = Capacities(energy.shape, 1 + len(energy.triple), energy.unary.dtype)
    capacities.cost[:: capacities.layers] = energy.unary[1] - energy.unary[0]
    capacities.constant += energy.unary[0].sum().item()
    for offset, table in energy.pairwise.items():
        add_pairwise(capacities, table, energy.shape, offset)
    for family, (offsets, table) in enumerate(energy.triple.items()):
        add_triple(capacities, table, energy.shape, offsets, 1 + family)
    source, sink = capacities.terminals()
    return source, sink, capacities.edges, capacities.constant


def add_pairwise(capacities, table, shape, offset):
    """Add the pairwise terms of one offset."""
    p, q = ends(shape, (offset,))
    a, b, c, d = entries = _entries_inside(table, 2, shape, p)
    gain = b + c - a - d
    violated = _violations(-gain, entries)
    if violated.any():
        where = pixel_at(violated, p)
        first = [e[violated].flat[0].item() for e in entries]
        raise ValueError(
            f"pairwise[{offset}] at pixel {where}: E00 + E11 = {first[0] + first[3]} exceeds "
            f"E01 + E10 = {first[1] + first[2]} by {first[0] + first[3] - first[1] - first[2]}; "
            "a cut requires submodular terms, E00 + E11 <= E01 + E10"
        )
    gain = np.maximum(gain, 0)  # negative by rounding only
    forth = np.clip(c - a, 0, gain)
    back = gain - forth
    tail, head = capacities.nodes_at(p), capacities.nodes_at(q)
    capacities.cost[tail] += c - a - forth
    capacities.cost[head] += b - a - back
    capacities.constant += a.sum().item()
    capacities.add_arcs(tail, head, forth, back)


def add_triple(capacities, table, shape, offsets, layer):
    """Add one family of triple terms, with auxiliary pixels in `layer`."""
    regions = ends(shape, offsets)
    entries = _entries_inside(table, 3, shape, regions[0])
    e = dict(zip(np.ndindex(2, 2, 2), entries, strict=True))
    linear = [e[i] - e[0, 0, 0] for i in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    pairs = list(combinations(range(3), 2))
    quadratic = {}
    for i, j in pairs:
        both = tuple(int(k in (i, j)) for k in range(3))
        quadratic[i, j] = e[both] - e[0, 0, 0] - linear[i] - linear[j]
    cubic = e[1, 1, 1] - e[0, 0, 0] - sum(linear) - sum(quadratic.values())
    positive = np.maximum(cubic, 0)
    for pair in pairs:
        excess = quadratic[pair] + positive
        violated = _violations(excess, entries)
        if violated.any():
            _raise_not_regular(offsets, pair, regions[0], violated, cubic, excess)

    # c x y z with c > 0 is c (1 - x - y - z + xy + yz + zx) minus a product of complements
    linear = [line - positive for line in linear]
    nodes = [capacities.nodes_at(region) for region in regions]
    for node, line in zip(nodes, linear, strict=True):
        capacities.cost[node] += line
    for i, j in pairs:
        weight = np.maximum(-(quadratic[i, j] + positive), 0)
        # -weight x y = forth x (1 - y) + back (1 - x) y - forth x - back y,  forth + back = weight
        forth = weight // 2 if weight.dtype.kind == "i" else weight / 2
        back = weight - forth
        capacities.cost[nodes[i]] -= forth
        capacities.cost[nodes[j]] -= back
        capacities.add_arcs(nodes[i], nodes[j], forth, back)
    auxiliary = capacities.nodes_at(regions[0], layer)
    capacities.cost[auxiliary] += cubic
    for node in nodes:
        capacities.add_arcs(auxiliary, node, np.maximum(-cubic, 0), positive)
    # `positive` of the polynomial and `-positive` of -c (1 - w) cancel
    capacities.constant += e[0, 0, 0].sum().item()


def _raise_not_regular(offsets, pair, region, violated, cubic, excess):
    where = pixel_at(violated, region)
    third = ({0, 1, 2} - set(pair)).pop()
    names = ("p", f"p + {offsets[0]}", f"p + {offsets[1]}")
    label, amount = int(cubic[violated].flat[0] > 0), excess[violated].flat[0].item()
    raise ValueError(
        f"triple[{offsets}] at pixel p = {where}: with label {label} at {names[third]}, the pair "
        f"{names[pair[0]]} and {names[pair[1]]} has E00 + E11 above E01 + E10 by {amount}; "
        "a cut requires every projection to be submodular"
    )


def _entries_inside(table, order, shape, region):
    """The entries of a table over the pixels of `region`, in the order of np.ndindex."""
    full = np.broadcast_to(table, table.shape[:order] + shape)
    return [full[states][region] for states in np.ndindex((2,) * order)]


def _violations(excess, entries):
    """Mask of the pixels where `excess`, which must not be positive, is positive beyond rounding."""
    if excess.dtype.kind == "i":
        return excess > 0
    return excess > ROUNDING * sum(np.abs(entry) for entry in entries)


MAX_TOTAL = 2**62  # limit of all totals of an integer energy
MAX_FLOAT_TOTAL = 2.0**1020  # the same for floats; sums of several totals stay finite


@dataclass(frozen=True, slots=True, eq=False)
class BinaryEnergy:
    """A binary energy on a 1-D, 2-D or 3-D grid; validated and copied to int64 or float64.

    Parameters
    ----------
    unary : array_like, shape (2, *grid)
        ``unary[i][p]`` is the cost of label i at pixel p.
    pairwise : mapping, optional
        ``{offset: table}``, tables of shape (2, 2, *grid), or (2, 2) for the same table everywhere.
        ``table[i, j][p]`` is the cost of label i at p and j at ``p + offset``.
    triple : mapping, optional
        ``{(a, b): table}`` with two offsets, tables of shape (2, 2, 2, *grid) or (2, 2, 2).
        ``table[i, j, k][p]`` is the cost of i at p, j at ``p + a`` and k at ``p + b``.

    Raises
    ------
    TypeError
        If a term is not numeric, or terms are not passed as a mapping from offsets.
    ValueError
        If a shape does not match, an entry is NaN or infinite, the two offsets of a triple term are equal, a pair of
        pixels has two tables (an offset and its opposite), or totals could exceed 2**62 (2.0**1020 for floats).

    See Also
    --------
    binary_minimum : The exact minimum, if all terms are submodular.
    roof_duality : Partial labelling and lower bound for pairwise terms of any kind.

    Notes
    -----
    Terms that extend beyond the grid are ignored, whatever their entries.  All entries may be negative.  Integers are
    exact; if one array holds floats, all are converted to float64.

    Examples
    --------
    >>> import numpy as np
    >>> energy = BinaryEnergy(np.array([[0, 3, 9], [9, 2, 0]]), {(1,): [[0, 4], [4, 0]]})
    >>> energy.value([0, 1, 1])
    6
    """

    unary: np.ndarray
    pairwise: Mapping[Offset, np.ndarray] = field(default_factory=dict)
    triple: Mapping[tuple[Offset, Offset], np.ndarray] = field(default_factory=dict)

    def __post_init__(self):
        unary = numbers_of("unary", self.unary)
        if unary.ndim not in (2, 3, 4) or unary.shape[0] != 2:
            hint = "; pass numpy.moveaxis(unary, -1, 0)" if unary.ndim in (2, 3, 4) and unary.shape[-1] == 2 else ""
            raise ValueError(f"unary must have shape (2, *grid) with 1 to 3 grid axes, got {unary.shape}{hint}")
        shape = unary.shape[1:]
        pairwise = {}
        for key, table in _mapping_items("pairwise", self.pairwise):
            offset = check_offset(key, len(shape), "pairwise")
            if offset in pairwise or tuple(-i for i in offset) in pairwise:
                raise ValueError(f"pairwise contains {offset} twice, or its opposite; pass one table per pixel pair")
            pairwise[offset] = _table(f"pairwise[{offset}]", table, 2, shape)
        triple = {}
        for key, table in _mapping_items("triple", self.triple):
            if not isinstance(key, tuple) or len(key) != 2:
                raise TypeError(f"triple: each key must be a pair of offsets (a, b), got {key!r}")
            a, b = (check_offset(o, len(shape), "triple") for o in key)
            if a == b:
                raise ValueError(f"triple: the two offsets of a key must differ, got {a} twice")
            triple[a, b] = _table(f"triple[{(a, b)}]", table, 3, shape)

        arrays = [unary, *pairwise.values(), *triple.values()]
        kind = np.float64 if any(a.dtype.kind == "f" for a in arrays) else np.int64
        offsets = [(), *((o,) for o in pairwise), *triple]
        # A coefficient of the polynomial of a triple term can be several times its largest entry.
        parts = [_magnitude(a, shape, o) * (4 if len(o) == 2 else 1) for a, o in zip(arrays, offsets, strict=True)]
        bound = sum(parts) * max(1, unary.size)
        limit = MAX_TOTAL if kind is np.int64 else MAX_FLOAT_TOTAL
        if not bound < limit:
            raise ValueError(f"energy too large: totals may reach {bound}, the limit is {limit}; scale it down")
        object.__setattr__(self, "unary", unary.astype(kind))
        object.__setattr__(self, "pairwise", {o: t.astype(kind) for o, t in pairwise.items()})
        object.__setattr__(self, "triple", {o: t.astype(kind) for o, t in triple.items()})

    def __repr__(self) -> str:
        return f"BinaryEnergy(shape={self.shape}, pairwise={list(self.pairwise)}, triple={list(self.triple)})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The grid's shape."""
        return self.unary.shape[1:]

    def value(self, labels: ArrayLike) -> int | float:
        """Compute the energy of a labelling.

        Parameters
        ----------
        labels : array_like of int or bool, the grid's shape
            0 or 1 at every pixel.

        Returns
        -------
        int or float
        """
        labels = _labels(labels, self.shape, 2)
        value = _term_total(self.unary, (), labels)
        for offset, table in self.pairwise.items():
            value += _term_total(table, (offset,), labels)
        for offsets, table in self.triple.items():
            value += _term_total(table, offsets, labels)
        return value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BinaryMinimum(GridResult):
    """A labelling of minimum energy, with its certificate.

    Attributes
    ----------
    labels : ndarray of bool, the grid's shape
        True for label 1.
    value : int or float
        The energy of `labels`.
    cut : Cut
        The minimum cut of the reduced problem, including auxiliary nodes.
    constant : int or float
        For integers, ``value == cut.value + constant``.
    """

    labels: np.ndarray
    value: int | float
    cut: Cut
    constant: int | float
    _energy: BinaryEnergy = field(repr=False)

    def check(self) -> None:
        """Certify that no labelling has less energy; raises CertificateError.

        The reduction is recomputed from the caller's energy, and the cut is certified for it.  The reduction preserves
        energies, so the labelling is minimal if its energy equals that of the cut; for floats, within the resolution
        of the cut.
        """
        energy = self._energy
        is_float = energy.unary.dtype.kind == "f"
        with made_again():
            *capacities, constant = reduce_to_cut(energy)
        self.cut._check_for(*capacities)
        check_number("constant", self.constant, is_float)
        check_number("value", self.value, is_float)
        check_array("labels", self.labels, np.bool_, energy.shape)
        scale = abs(constant) + abs(self.cut.value)
        if differ(self.constant, constant, scale):
            raise CertificateError(f"constant {self.constant}, recomputed {constant}")
        again, reached = energy.value(self.labels), self.cut.value + constant
        scale += abs(again)
        if differ(self.value, again, scale) or differ(again, reached, scale):
            raise CertificateError(f"value {self.value}, energy of the labels {again}, cut.value + constant {reached}")
        if not np.array_equal(self.labels, _labels_of(energy, self.cut)):
            raise CertificateError("labels differ from those of the cut")


def differ(one: int | float, other: int | float, scale: int | float) -> bool:
    """Whether two totals differ: integers exactly, floats by more than the order of summation explains, or NaN."""
    if isinstance(one, int) and isinstance(other, int):
        return one != other
    return not abs(one - other) <= RELATIVE * scale


def binary_minimum(energy: BinaryEnergy, *, device: DeviceName = "auto", method: str = "auto") -> BinaryMinimum:
    """Minimise a binary energy exactly, by one minimum cut.

    Parameters
    ----------
    energy : BinaryEnergy
        Unary, submodular pairwise and regular triple terms.
    device, method : str
        As in `max_flow`.

    Returns
    -------
    BinaryMinimum
        Labels, value, and the cut that certifies them.  Among several minima, every pixel that has label 1 in any of
        them gets label 1 (the tie rule of `max_flow`, with 1 as the source side).

    Raises
    ------
    TypeError
        If `energy` is not a BinaryEnergy.
    ValueError
        If a cut cannot represent a term; the message contains the first pixel, the offset and the amount.

    Notes
    -----
    The reduction takes linear time and memory: one node per pixel and one per triple term.

    References
    ----------
    .. [1] Kolmogorov, Zabih. "What energy functions can be minimized via graph cuts?" PAMI 26(2), 2004.

    Examples
    --------
    >>> import numpy as np
    >>> result = binary_minimum(BinaryEnergy(np.array([[0, 3, 9], [9, 2, 0]]), {(1,): [[0, 4], [4, 0]]}))
    >>> result.labels, result.value
    (array([False,  True,  True]), 6)
    """
    if not isinstance(energy, BinaryEnergy):
        raise TypeError(f"energy must be a BinaryEnergy, got {type(energy).__name__}")
    source, sink, edges, constant = reduce_to_cut(energy)
    cut = max_flow(source, sink, edges, device=device, method=method)
    labels = _labels_of(energy, cut)
    return BinaryMinimum(labels, energy.value(labels), cut, constant, energy)


def _labels_of(energy: BinaryEnergy, cut: Cut) -> np.ndarray:
    """The labels of the pixels, without those of the auxiliary nodes of triple terms."""
    return np.ascontiguousarray(cut.labels[:: 1 + len(energy.triple)])


def binary_labels(energy: BinaryEnergy, *, device: DeviceName = "auto", method: str = "auto") -> np.ndarray:
    """Compute the labels of minimum energy; `binary_minimum` also returns the value and the certificate.

    Parameters
    ----------
    energy : BinaryEnergy
        Unary, submodular pairwise and regular triple terms.
    device, method : str
        As in `max_flow`.

    Returns
    -------
    labels : bool array of the grid's shape
        True where the label is 1.

    Examples
    --------
    >>> import numpy as np
    >>> unary = np.array([[0, 3, 9], [9, 2, 0]])
    >>> binary_labels(BinaryEnergy(unary, {(1,): [[0, 4], [4, 0]]}))
    array([False,  True,  True])
    """
    return binary_minimum(energy, device=device, method=method).labels


def energy_of(
    labels: ArrayLike,
    unary: ArrayLike,
    weights: Mapping[Offset, ArrayLike] | Any = None,
    label_cost: ArrayLike | None = None,
) -> int | float:
    """Compute the energy of a labelling with any number of labels.

    The energy is ``sum unary[l_p][p] + sum weights[o][p] * label_cost[l_p, l_p+o]``, over all pixels and all edges
    inside the grid.

    Parameters
    ----------
    labels : integer or bool array, the grid's shape
        Label of each pixel, from 0 to L - 1.
    unary : array_like, shape (L, *grid)
        Cost of each label at each pixel.
    weights : mapping, or scipy.sparse matrix, optional
        ``{offset: weight}``, weights of the grid's shape or scalars: one offset per undirected edge.  Of a graph, as in
        `alpha_expansion`.
    label_cost : array_like, shape (L, L), optional
        Cost of a pair of labels on an edge of weight 1.  Default: Potts (0 on the diagonal, else 1).

    Returns
    -------
    int or float
        Exact for integers of any size.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a shape does not match, a label is not between 0 and L - 1, a cost or weight that enters the energy is NaN
        or infinite, or the energy is too large for a float.

    Examples
    --------
    >>> energy_of([0, 0, 1], [[1, 2, 9], [5, 5, 3]], {(1,): 4})
    10
    """
    unary = numbers_of("unary", unary)
    if unary.ndim < 2:
        raise ValueError(f"unary must have shape (labels, *grid), got {unary.shape}")
    count, shape = unary.shape[0], unary.shape[1:]
    labels = _labels(labels, shape, count)
    cost = 1 - np.eye(count, dtype=np.int64) if label_cost is None else numbers_of("label_cost", label_cost)
    if cost.shape != (count, count):
        raise ValueError(f"label_cost must have shape {(count, count)}, got {cost.shape}")
    _check_finite("label_cost", cost, ())
    paid = np.take_along_axis(unary, labels[None], 0)[0]
    _check_finite("unary", paid, ends(shape, ())[0], labels)
    energy = total(paid)
    if is_sparse(weights):
        from gridcut.graph.graph_problem import undirected_edges  # scipy.sparse, on first use

        tail, head, weight = undirected_edges(weights, labels.size)
        energy += total_of_products(weight, cost[labels[tail], labels[head]])
        weights = None
    for key, weight in _mapping_items("weights", {} if weights is None else weights):
        offset = check_offset(key, len(shape), "weights")
        weight = numbers_of(f"weights[{offset}]", weight)
        if weight.ndim and weight.shape != shape:
            raise ValueError(f"weights[{offset}] must be a scalar or have shape {shape}, got {weight.shape}")
        p, q = ends(shape, (offset,))
        weight = np.broadcast_to(weight, shape)[p]
        _check_finite(f"weights[{offset}]", weight, p)
        energy += total_of_products(weight, cost[labels[p], labels[q]])
    if isinstance(energy, float) and not np.isfinite(energy):
        raise ValueError(
            "unary, weights and label_cost are too large: the energy is larger than the largest float; scale them down"
        )
    return energy


def _term_total(table, offsets, labels):
    """Sum of one term's entries at the labels, over all pixels where the term is inside the grid."""
    regions = ends(labels.shape, offsets)
    found = 0
    for states in np.ndindex(table.shape[: len(regions)]):
        chosen = np.ones(labels[regions[0]].shape, bool)
        for region, state in zip(regions, states, strict=True):
            chosen &= labels[region] == state
        entry = np.broadcast_to(table[states], labels.shape)[regions[0]]
        found += entry[chosen].sum().item()
    return found


def _check_finite(name, array, region, labels=None):
    """Raise ValueError for the first NaN or infinite entry; region: the slices of the grid that the array covers."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return
    at = np.unravel_index(int(np.argmin(np.isfinite(array))), array.shape)
    where = tuple(int(i) + s.start for i, s in zip(at, region, strict=True)) if region else tuple(map(int, at))
    if labels is not None:
        where = (int(labels[at]), *where)
    raise ValueError(f"{name} holds {array[at]} at {where}; every cost and weight in the energy must be finite")


def _mapping_items(name, terms):
    if not isinstance(terms, Mapping):
        raise TypeError(f"{name} must be a mapping from offsets, got {type(terms).__name__}")
    return terms.items()


def _table(name, table, order, shape):
    array = numbers_of(name, table)
    states = (2,) * order
    if array.shape not in (states, states + shape):
        raise ValueError(f"{name} must have shape {states + shape} or {states}, got {array.shape}")
    return array if array.ndim > order else array.reshape(states + (1,) * len(shape))


def _magnitude(array, shape, offsets):
    """Largest absolute entry inside the grid, as a Python number; ValueError if an entry is not finite."""
    order = array.ndim - len(shape)
    used = ends(shape, offsets)[0]
    part = np.broadcast_to(array, array.shape[:order] + shape)[(slice(None),) * order + used]
    if part.size == 0:
        return 0
    if array.dtype.kind == "f" and not np.isfinite(part).all():
        where = pixel_at(~np.isfinite(part).all(axis=tuple(range(order))), used)
        what = f"the term at offsets {offsets}" if offsets else "unary"
        raise ValueError(
            f"{what} is NaN or infinite at pixel {where}; every cost must be finite; use a large cost to forbid a label"
        )
    return max(abs(part.max().item()), abs(part.min().item()))


def _labels(labels, shape, count) -> np.ndarray:
    labels = plain_array("labels", labels)
    if labels.dtype.kind not in "biu":
        raise TypeError(f"labels must be integers or bool, got {labels.dtype}")
    if labels.shape != shape:
        raise ValueError(f"labels must have the grid's shape {shape}, got {labels.shape}")
    if labels.size and not (labels.min() >= 0 and labels.max() < count):
        raise ValueError(f"labels must lie between 0 and {count - 1}, got {labels.min()} to {labels.max()}")
    return labels.astype(np.int64)
