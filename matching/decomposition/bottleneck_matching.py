"""bottleneck: the least gate on weights that still lets a matching of the size wanted through.

Returns a maximum matching of the edges that pass the gate, and the proof that no lower gate would do.

Weights are replaced by their ranks, and gates tried by bisection between two bounds:

    most     the wanted-th smallest rank among the pairs of the best matching yet: that gate is enough
    least    no gate below it is: a cover of fewer vertices than pairs are wanted, say `missing` fewer, holds all edges
             up to the gate that failed, so that pairs in `missing` rows, and as many columns, must be found among the
             others; `least` is the gate that opens so many of them

With the empty cover, `least` is the wanted-th smallest of the rows' cheapest edges, and of the columns': on random
weights it is the answer more often than not, so it is the first gate tried.  Each search starts from the larger of two
matchings: that of the last gate that failed, and the best one, less its pairs beyond the gate.

Deviations from [1]: its threshold algorithm bisects between the extreme weights and starts each matching anew.

[1] Burkard, Dell'Amico, Martello. "Assignment Problems." SIAM 2009, section 6.2 (linear bottleneck assignment).

O(edges log edges) and a maximum matching for each of at most log2(edges) gates.
"""

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.sparse

from gridcut.device.arguments import check_count
from matching.core.matching import Matching
from matching.core.sparse import not_a_graph, stored_entries
from matching.decomposition.bottleneck_certificate import certify
from matching.solving import maximum

__all__ = ["Bottleneck", "bottleneck"]


class Edges(NamedTuple):
    """Edges by rows and then columns, each once: edge k is (row[k], col[k]) at weight levels[rank[k]], and
    place[k] = row[k] * columns + col[k] ascends.
    """

    shape: tuple[int, int]
    place: np.ndarray
    row: np.ndarray
    col: np.ndarray
    rank: np.ndarray
    levels: np.ndarray

    def up_to(self, threshold: int):
        """The graph of the edges of rank `gate` and less, in compressed rows."""
        kept = self.rank <= threshold
        ptr = np.zeros(self.shape[0] + 1, np.int64)
        np.cumsum(np.bincount(self.row[kept], minlength=self.shape[0]), out=ptr[1:])
        return ptr, self.col[kept], self.shape

    def ranks_of(self, row_match) -> np.ndarray:
        """The rank of each row's pair; as many as there are levels where it has none."""
        rows = np.flatnonzero(row_match >= 0)
        keys = rows * self.shape[1] + row_match[rows]
        ranks = np.full(self.shape[0], len(self.levels), np.int64)
        ranks[rows] = self.rank[np.searchsorted(self.place, keys)]
        return ranks


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bottleneck:
    """A largest matching under the least gate that suffices.

    Attributes
    ----------
    threshold : int or float
        The gate: weights up to it, itself included, pass.  -inf if there is nothing to match.
    matching : Matching
        A maximum matching of the edges that pass.  The largest weight among its pairs is `threshold`.
    required : int
        Pairs that the gate had to let through.
    stats : dict
        "thresholds" tried and "seconds".
    """

    threshold: int | float
    matching: Matching
    required: int
    stats: dict
    _graph: scipy.sparse.sparray = field(repr=False)
    _cover: tuple = field(repr=False)
    _largest: tuple | None = field(repr=False)

    @property
    def cardinality(self) -> int:
        """Number of pairs, at least as many as were wanted."""
        return self.matching.cardinality

    def check(self) -> None:
        """Prove that the gate is the least; raises CertificateError.

        The pairs are a maximum matching of the entries that pass the gate and are enough; fewer vertices than pairs
        wanted cover all entries below the gate; and where the largest matching was wanted, as many vertices cover the
        whole graph.  The graph is kept by reference: it answers for the graph solved only as long as that is left
        unchanged.  O(n + m + edges).
        """
        certify(self._graph, self.threshold, self.matching, self.required, self._cover, self._largest)

    def __repr__(self) -> str:
        shape = tuple(self._graph.shape)
        return f"Bottleneck(threshold={self.threshold!r}, cardinality={self.cardinality}, shape={shape})"


def bottleneck(graph, *, cardinality: int | None = None, **how) -> Bottleneck:
    """Match as many rows and columns as possible so that the largest weight among the pairs is as small as it can be.

    ::

           columns
           0  1  2
      rows 0 4 (2) 9        3 pairs; none of them weighs more than 5, and without the 5 there are no 3 pairs,
           1 (5) .  .       since row 1 has no other
           2 .  3 (1)

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, m) of int, uint, bool or float
        Stored entries are edges and their values weights, of any unit and sign, zeros included.  Of entries stored
        twice the smaller one counts.
    cardinality : int, optional
        Pairs wanted; by default as many as the graph has.
    **how
        Further keywords of `maximum`, but `start`.

    Returns
    -------
    Bottleneck
        ``threshold``, ``matching``, ``check()``.

    Raises
    ------
    TypeError
        The graph is not sparse or its values are not real; keywords as for `maximum`.
    ValueError
        NaN among the weights; more pairs wanted than the graph has, or less than one.

    Notes
    -----
    For the largest smallest weight, as pivots of a linear system want it, pass the weights negated.  At most
    log2(edges) maximum matchings, each but the first starting from one before.

    Examples
    --------
    >>> found = bottleneck(scipy.sparse.csr_array([[4, 2, 9], [5, 0, 0], [0, 3, 1]]))
    >>> found.threshold, found.cardinality
    (5, 3)
    """
    if "start" in how:
        raise TypeError("bottleneck has no parameter 'start'; each of its matchings starts from one before")
    called = time.perf_counter()
    edges = _edges(graph)
    top = len(edges.levels)
    best = maximum(edges.up_to(top), **how)
    required = _checked_cardinality(cardinality, best.cardinality)
    if not required:
        stats = {"thresholds": 0, "seconds": {"total": time.perf_counter() - called}}
        return Bottleneck(-np.inf, best, 0, stats, graph, _no_cover(edges), _no_cover(edges))
    largest = _cover_flags(edges, best) if cardinality is None else None
    cover, failed, thresholds = _no_cover(edges), np.full(edges.shape[0], -1, np.int32), 0
    match, ranks = best.row_match, edges.ranks_of(best.row_match)
    upper = _kth_smallest(ranks, required)
    lower, cover = _lower_bound(edges, cover, required)
    threshold = lower
    while lower < upper:
        kept = np.where(ranks <= threshold, match, -1).astype(np.int32)
        start = max(kept, failed, key=lambda pairs: np.count_nonzero(pairs >= 0))
        found = maximum(edges.up_to(threshold), start=start, **how)
        thresholds += 1
        if found.cardinality >= required:
            match, ranks = found.row_match, edges.ranks_of(found.row_match)
            upper = _kth_smallest(ranks, required)
        else:
            failed = found.row_match
            lower, cover = _lower_bound(edges, _cover_flags(edges, found), required)
        threshold = (lower + upper) // 2
    start = np.where(ranks <= upper, match, -1).astype(np.int32)
    found = maximum(edges.up_to(upper), start=start, **how)
    stats = {"thresholds": thresholds, "seconds": {"total": time.perf_counter() - called}}
    return Bottleneck(edges.levels[upper].item(), found, required, stats, graph, cover, largest)


def _edges(graph) -> Edges:
    if not scipy.sparse.issparse(graph):
        raise not_a_graph(graph, "a SciPy sparse matrix or array")
    if graph.dtype.kind not in "biuf":
        raise TypeError(f"the values of graph must be integers or floats, got {graph.dtype}")
    row, col, value = stored_entries(graph)
    if np.isnan(value).any():
        raise ValueError("graph holds NaN; every weight must be a number, and pairs that are not allowed left out")
    levels, rank = np.unique(value, return_inverse=True)
    place = row.astype(np.int64) * graph.shape[1] + col
    if (np.diff(place) > 0).all():
        return Edges(tuple(graph.shape), place, row, col, rank, levels)
    order = np.lexsort((rank, place))
    order = order[np.diff(place[order], prepend=-1) != 0]
    return Edges(tuple(graph.shape), place[order], row[order], col[order], rank[order], levels)


def _checked_cardinality(cardinality, largest: int) -> int:
    if cardinality is None:
        return largest
    required = check_count("cardinality", cardinality)
    if required > largest:
        raise ValueError(f"cardinality must be 1 ... {largest}, what the graph has, got {required}")
    return required


def _kth_smallest(values, k: int) -> int:
    """The number-th smallest of some values."""
    return int(np.partition(values, k - 1)[k - 1])


def _no_cover(edges: Edges):
    return tuple(np.zeros(size, bool) for size in edges.shape)


def _cover_flags(edges: Edges, found: Matching):
    """König's cover of a maximum matching, as flags of rows and of columns."""
    cover = _no_cover(edges)
    for flags, vertices in zip(cover, found.vertex_cover(), strict=True):
        flags[vertices] = True
    return cover


def _size(cover) -> int:
    return sum(int(np.count_nonzero(side)) for side in cover)


def _uncovered(edges: Edges, cover) -> np.ndarray:
    return ~(cover[0][edges.row] | cover[1][edges.col])


def _lower_bound(edges: Edges, cover, required: int):
    """The least gate that may let the wanted pairs through, from a cover of all edges up to a gate that does not; and
    a cover of all edges below that gate.
    """
    open_edges = _uncovered(edges, cover)
    missing = required - _size(cover)
    bound, side, best_ranks = -1, 0, None
    for axis, vertex in enumerate((edges.row, edges.col)):
        cheapest_rank = np.full(edges.shape[axis], len(edges.levels), np.int64)
        np.minimum.at(cheapest_rank, vertex[open_edges], edges.rank[open_edges])
        candidate = _kth_smallest(cheapest_rank, missing)
        if candidate > bound:
            bound, side, best_ranks = candidate, axis, cheapest_rank
    extended = list(cover)
    extended[side] = cover[side] | (best_ranks < bound)
    return bound, tuple(extended)
