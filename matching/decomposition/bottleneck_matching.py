"""bottleneck: the smallest threshold on edge weights that admits a matching of the required cardinality.

Returns a maximum matching of the edges up to the threshold, and the certificate that no smaller threshold suffices.

Weights are replaced by their ranks, and thresholds are tried by bisection between two bounds on the rank:

    upper    the required-th smallest rank among the pairs of the best matching so far: that threshold suffices
    lower    no smaller threshold suffices. A cover with `missing` vertices fewer than the required pairs covers all
             edges up to the threshold that failed. So at least `missing` pairs are uncovered edges, in different rows
             and columns; `lower` is the smallest rank at which that many rows, and columns, have an uncovered edge

With the empty cover, `lower` is the required-th smallest of the rows' cheapest edges, and of the columns'. On random
weights it is the answer in most cases, so it is the first threshold tried. Each search starts from the larger of two
matchings: that of the last threshold that failed, and the best one without its pairs above the threshold.

Deviates from [1]: its threshold algorithm bisects between the extreme weights and starts each matching from scratch.

[1] Burkard, Dell'Amico, Martello. "Assignment Problems." SIAM 2009, section 6.2 (linear bottleneck assignment).

O(edges log edges), plus a maximum matching for each of at most log2(edges) thresholds.
"""

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.sparse

from gridcut.device.arguments import check_count
from gridcut.device.result import Result
from matching.core.matching import Matching
from matching.core.sparse import not_a_graph, stored_entries
from matching.decomposition.bottleneck_certificate import certify
from matching.solving import maximum

__all__ = ["Bottleneck", "bottleneck"]


class Edges(NamedTuple):
    """Distinct edges by rows and then columns: edge k is (row[k], col[k]) with weight levels[rank[k]]; the keys
    key[k] = row[k] * columns + col[k] ascend.
    """

    shape: tuple[int, int]
    key: np.ndarray
    row: np.ndarray
    col: np.ndarray
    rank: np.ndarray
    levels: np.ndarray

    def up_to(self, max_rank: int):
        """The graph of the edges of rank at most `max_rank`, in compressed rows."""
        kept = self.rank <= max_rank
        ptr = np.zeros(self.shape[0] + 1, np.int64)
        np.cumsum(np.bincount(self.row[kept], minlength=self.shape[0]), out=ptr[1:])
        return ptr, self.col[kept], self.shape

    def ranks_of(self, row_match) -> np.ndarray:
        """The rank of each row's pair; the number of levels for an unmatched row."""
        rows = np.flatnonzero(row_match >= 0)
        keys = rows * self.shape[1] + row_match[rows]
        ranks = np.full(self.shape[0], len(self.levels), np.int64)
        ranks[rows] = self.rank[np.searchsorted(self.key, keys)]
        return ranks


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bottleneck(Result):
    """A maximum matching among the edges up to the smallest threshold that admits the required cardinality.

    Attributes
    ----------
    threshold : int or float
        The largest weight among the matched edges; -inf if there is nothing to match.
    matching : Matching
        A maximum matching of the edges with weights up to `threshold`.
    required : int
        Number of pairs that the threshold had to admit.
    stats : dict
        Number of "thresholds" tried, and "seconds".
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
        """Number of pairs, at least `required`."""
        return self.matching.cardinality

    def check(self) -> None:
        """Certify that the threshold is the smallest one.

        The pairs are a maximum matching of the entries up to the threshold, and at least `required`. Fewer vertices
        than `required` cover all entries below the threshold. If the maximum cardinality was required, that many
        vertices cover the whole graph. The graph is kept by reference and must not be modified. O(n + m + edges).

        Raises
        ------
        CertificateError
            If a field is inconsistent with the graph, or the graph has been modified since.
        """
        certify(self._graph, self.threshold, self.matching, self.required, self._cover, self._largest)

    def __repr__(self) -> str:
        shape = tuple(self._graph.shape)
        return f"Bottleneck(threshold={self.threshold!r}, cardinality={self.cardinality}, shape={shape})"


def bottleneck(
    graph: scipy.sparse.sparray | scipy.sparse.spmatrix, *, cardinality: int | None = None, **how
) -> Bottleneck:
    """Match as many rows and columns as possible such that the largest weight among the pairs is minimum.

    ::

           columns
           0  1  2
      rows 0 4 (2) 9        3 pairs with weights of at most 5; without the 5 there are no 3 pairs, since row 1 has no
           1 (5) .  .       other entry
           2 .  3 (1)

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, m) of int, uint, bool or float
        Stored entries are edges and their values weights, in any unit and of any sign, including explicit zeros. Of
        duplicate entries the smallest counts.
    cardinality : int, optional
        Required number of pairs; by default the maximum cardinality.
    **how
        Further keywords of `maximum`, except `start`, which bottleneck sets itself.

    Returns
    -------
    Bottleneck
        ``threshold``, ``matching``, ``required``, ``check()``.

    Raises
    ------
    TypeError
        If the graph is not sparse, its values are not real, or a keyword is not accepted by `maximum`.
    ValueError
        If a weight is NaN, or `cardinality` is not 1 to the maximum cardinality.

    See Also
    --------
    maximum : Maximum-cardinality matching.

    Notes
    -----
    To maximise the smallest weight, as for pivots of a linear system, negate the weights. At most log2(edges) maximum
    matchings; within the call, each continues from a previous one.

    References
    ----------
    .. [1] Burkard, Dell'Amico, Martello. "Assignment Problems." SIAM 2009, section 6.2.

    Examples
    --------
    >>> found = bottleneck(scipy.sparse.csr_array([[4, 2, 9], [5, 0, 0], [0, 3, 1]]))
    >>> found.threshold, found.cardinality
    (5, 3)
    """
    if "start" in how:
        raise TypeError(
            "bottleneck has no parameter 'start'; within a call, each search continues from the last; leave it out"
        )
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
    rank_limit = lower
    while lower < upper:
        kept = np.where(ranks <= rank_limit, match, -1).astype(np.int32)
        start = max(kept, failed, key=lambda pairs: np.count_nonzero(pairs >= 0))
        found = maximum(edges.up_to(rank_limit), start=start, **how)
        thresholds += 1
        if found.cardinality >= required:
            match, ranks = found.row_match, edges.ranks_of(found.row_match)
            upper = _kth_smallest(ranks, required)
        else:
            failed = found.row_match
            lower, cover = _lower_bound(edges, _cover_flags(edges, found), required)
        rank_limit = (lower + upper) // 2
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
        raise ValueError("graph holds NaN; every weight must be a number; do not store entries for forbidden pairs")
    levels, rank = np.unique(value, return_inverse=True)
    key = row.astype(np.int64) * graph.shape[1] + col
    if (np.diff(key) > 0).all():
        return Edges(tuple(graph.shape), key, row, col, rank, levels)
    order = np.lexsort((rank, key))
    order = order[np.diff(key[order], prepend=-1) != 0]
    return Edges(tuple(graph.shape), key[order], row[order], col[order], rank[order], levels)


def _checked_cardinality(cardinality, largest: int) -> int:
    if cardinality is None:
        return largest
    required = check_count("cardinality", cardinality)
    if required > largest:
        raise ValueError(f"cardinality must be 1 to {largest}, the maximum for this graph; got {required}")
    return required


def _kth_smallest(values, k: int) -> int:
    """The k-th smallest of some values, from 1."""
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
    """(lower bound on the rank that admits the required pairs, cover of all edges below it).

    cover   of all edges up to a rank that does not admit the required pairs
    """
    open_edges = _uncovered(edges, cover)
    missing = required - _size(cover)
    bound, side, best_ranks = -1, 0, np.zeros(0, np.int64)
    for axis, vertex in enumerate((edges.row, edges.col)):
        cheapest_rank = np.full(edges.shape[axis], len(edges.levels), np.int64)
        np.minimum.at(cheapest_rank, vertex[open_edges], edges.rank[open_edges])
        candidate = _kth_smallest(cheapest_rank, missing)
        if candidate > bound:
            bound, side, best_ranks = candidate, axis, cheapest_rank
    extended = list(cover)
    extended[side] = cover[side] | (best_ranks < bound)
    return bound, tuple(extended)
