"""Binary energies as minimum cuts: the capacities of a submodular energy.

Label 1 is the source side.  `sink` of a pixel is therefore the cost of label 1, `source` the cost of label 0, and an
arc p -> q of capacity f costs f if x_p = 1 and x_q = 0.

A pairwise table (A B / C D), with rows x_p, is, for every f + b = B + C - A - D,
    A + (C - A - f) x_p + (B - A - b) x_q + f x_p (1 - x_q) + b (1 - x_p) x_q.
f is chosen as close to C - A as 0 <= f <= B + C - A - D allows: a Potts table then becomes two equal arcs and nothing
else.  A cut represents the table if and only if B + C - A - D >= 0 [1, theorem 4.1].

A triple table is its multilinear polynomial.  Quadratic terms c_ij x_i x_j become arcs as above, and the cubic term
needs one auxiliary pixel w [1, section 4.3]:
    c <= 0:   c x y z  =  min over w of  c w + |c| (w (1 - x) + w (1 - y) + w (1 - z)):    arcs w -> x, y, z
    c > 0:    c x y z  =  c (1 - x - y - z + xy + yz + zx) - c (1 - x)(1 - y)(1 - z),  the last product being
              min over w of  -c (1 - w) + c ((1 - w) x + (1 - w) y + (1 - w) z):           arcs x, y, z -> w
A cut represents this if and only if c_ij + max(c, 0) <= 0 for all three pairs, i.e. every projection is submodular.

The auxiliary pixels are placed between the lines of the grid, so that it keeps its number of axes and offsets stay
short.  With T families of triple terms, line y of axis 0 becomes line (1 + T) y, and the auxiliary pixel of
family t at p = (y, ...) is (y (1 + T) + 1 + t, ...):

    pixels   p ──(o0, o1)──► q                pixels   p ──((1+T) o0, o1)──► q
                                       =>     family 0 w
                                              family 1 w

[1] Kolmogorov, Zabih. "What energy functions can be minimized via graph cuts?" IEEE Transactions on Pattern
    Analysis and Machine Intelligence 26(2), 2004."""

from itertools import combinations

import numpy as np

from gridcut.core.cut_capacity import total
from gridcut.core.problem import Offset, ends, pixel_at

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
