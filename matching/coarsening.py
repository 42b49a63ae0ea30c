"""coarsen and hierarchy: graphs made smaller by merging the pairs of a matching, once and again and again.

    fine            0 --4-- 1 --1-- 2         pairs (0, 1) and (3, 4)
                            |       |
                            2       3
                            |       |
                            3 --9-- 4

    coarse       {0, 1} --1-- {2}             edges between the same two coarse vertices become one, their weights
                     \\         |              are added; the edge of a pair vanishes
                      2       3
                       \\      |
                        {3, 4}

Coarse vertices are numbered in the order of the lowest of their fine ones.

Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012,
section 1: this is what greedy matchings are for.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral

import numpy as np
import scipy.sparse

from gridcut.device import CertificateError
from matching.contraction import cluster, contract, expansion_kernel, heaviest, list_merges
from matching.general_graph import GeneralGraph, check_graph
from matching.greedy_certificate import weigh
from matching.greedy_matching import GreedyMatching, greedy


@dataclass(frozen=True, slots=True, eq=False)
class CoarseGraph:
    """A graph whose vertices are those of a finer one, some of them merged.

    Attributes
    ----------
    graph : scipy.sparse.csr_array, shape (k, k)
        Symmetric; the values are sums of the weights of the finer edges (their number if there were no weights).  None
        where `hierarchy` was told not to keep it.
    label : ndarray of int32, shape (n,)
        The coarse vertex of each vertex of the finer graph.
    vertex_weight : ndarray, shape (k,)
        Sum of the weights of the finer vertices (their number if there were no weights).
    """

    graph: scipy.sparse.csr_array | None
    label: np.ndarray
    vertex_weight: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """Coarser and coarser graphs; ``levels[0]`` is made from the graph passed in, each other one from that before it.

    Attributes
    ----------
    levels : tuple of CoarseGraph
        Empty if nothing was to be merged.
    vertices : tuple of int
        Number of vertices of the graph passed in, and of each level.
    stats : dict
        "seconds" by phase.
    """

    levels: tuple[CoarseGraph, ...]
    vertices: tuple[int, ...]
    stats: dict
    _merges: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...] = field(repr=False)

    def labels(self, level: int = -1) -> np.ndarray:
        """The vertex of a level that each vertex of the graph passed in belongs to; int32, shape (n,)."""
        label = np.arange(self.vertices[0], dtype=np.int32)
        for coarse in self.levels[: range(len(self.levels))[level] + 1] if self.levels else ():
            label = coarse.label[label]
        return label

    def at(self, vertices: int) -> np.ndarray:
        """The labels of any number of vertices: of the next level's merges only the heaviest are done.

        int32, shape (n,); O(n) time a level.  Labels of fewer vertices never divide what those of more have merged.
        """
        if not isinstance(vertices, Integral) or not self.vertices[-1] <= vertices <= self.vertices[0]:
            raise ValueError(
                f"vertices must be an integer from {self.vertices[-1]} to {self.vertices[0]} here, got {vertices!r}"
            )
        whole = sum(count >= vertices for count in self.vertices) - 1
        label = self.labels(whole - 1) if whole else np.arange(self.vertices[0], dtype=np.int32)
        more = self.vertices[whole] - int(vertices)
        if not more:
            return label
        child, into, _ = heaviest(self._merges[whole], more)
        return cluster(self.vertices[whole], child, into)[0][label]


def coarsen(graph, matching=None, *, weight=None, vertex_weight=None, **parameters) -> CoarseGraph:
    """Merge the pairs of a matching; weights of edges that fall together, and of merged vertices, are added.

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, n), or a tuple (indptr, indices, shape)
        As `matching.greedy` takes it.
    matching : GreedyMatching or array_like (n,), optional
        The matching, or the partner of each vertex, -1: free.  Need not be maximal.  By default `matching.greedy` finds
        one.
    weight : array_like, optional
        Weights of the entries of `graph`, as in `matching.greedy`.
    vertex_weight : array_like (n,), optional
        Weights of the vertices, integers or floats; ones by default.
    **parameters
        Of `matching.greedy`, if it is to find the matching: ``method``, ``seed``, ...

    Returns
    -------
    CoarseGraph
        ``graph``, ``label``, ``vertex_weight``.

    Raises
    ------
    TypeError
        An argument of the wrong kind, or parameters for `matching.greedy` beside a matching.
    ValueError
        A graph that is not symmetric, wrong shapes, a matching that is none.

    Notes
    -----
    The weights of the edges of the coarse graph add up to those of the fine one less those of the pairs.  O(n + m).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 5, 0, 0], [5, 0, 6, 0], [0, 6, 0, 5], [0, 0, 5, 0]])
    >>> coarse = coarsen(path)
    >>> coarse.label.tolist(), coarse.graph.toarray().tolist()
    ([0, 1, 1, 2], [[0, 5, 0], [5, 0, 5], [0, 5, 0]])
    """
    fine = check_graph(graph, weight)
    vertex_weight = _check_vertex_weight(vertex_weight, fine.n)
    if matching is None:
        partner = greedy(fine, **parameters).partner
    elif parameters:
        raise TypeError(f"{next(iter(parameters))!r} is for matching.greedy, but a matching was passed in")
    else:
        partner = _check_partner(matching, fine)
    lower = np.flatnonzero(partner > np.arange(fine.n))
    label, following, n = cluster(fine.n, partner[lower], lower)
    return CoarseGraph(contract(fine, label, following, n).to_csr(), label, _sum_by(label, vertex_weight, n))


def hierarchy(
    graph,
    vertices: int = 1,
    *,
    weight=None,
    vertex_weight=None,
    levels: int | None = None,
    rating="expansion",
    dominance: float = 0.0,
    join: bool = False,
    graphs: bool = True,
    seed: int = 0,
    **parameters,
) -> Hierarchy:
    """Coarsen again and again, down to a number of vertices.

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, n), or a tuple (indptr, indices, shape)
        As `matching.greedy` takes it.
    vertices : int
        Stop at this number, exactly: of the last matching only the heaviest pairs are merged.  There are more if
        the graph has more connected components.
    weight, vertex_weight : array_like, optional
        As in `coarsen`.
    levels : int, optional
        At most so many.
    rating : {"expansion", "weight"} or callable
        What each matching is made by.  "expansion": the weight of an edge over the geometric mean of the weights of
        its ends, which lets small vertices go first [1].  "weight": the weight alone; a vertex that has grown attracts
        others, and what is left is often a star, which loses one vertex a level.  A callable gets each CoarseGraph and
        returns a value for each stored entry of its ``graph``, the same for (v, w) and (w, v); it is asked about the
        graph passed in first.
    dominance : float
        Pairs are merged only if their edge weighs at least this times the heaviest edge at either end, 0 to 1; others
        may find better partners on the next level.  1: only edges that are the heaviest at both ends.
    join : bool
        Vertices that stay free are merged as well, into the neighbour along their heaviest edge: so stars vanish in one
        level.
    graphs : bool
        Keep the graph of every level; False: of the last one only, which takes far less memory.
    seed : int
        Of the first matching; each level has the next one.
    **parameters
        Of `matching.greedy`: ``method``, ``threads``, ...

    Returns
    -------
    Hierarchy
        ``levels``, ``vertices``, ``labels(level)``.

    Raises
    ------
    TypeError
        An argument of the wrong kind.
    ValueError
        A graph that is not symmetric, wrong shapes or ranges.

    Notes
    -----
    Levels have a little more than half of the vertices of the one before, where the graph is no star; with `join` at
    most half.  All of them are kept: without `join` a star of n vertices would fill memory for n^2 / 2, so bound
    `levels` where there may be one.

    References
    ----------
    [1] Holtgrewe, Sanders, Schulz. "Engineering a scalable high quality graph partitioner." IPDPS 2010: expansion*2.

    Examples
    --------
    >>> from scipy.sparse import diags_array
    >>> path = diags_array([[1.0] * 7, [1.0] * 7], offsets=[-1, 1], format="csr")
    >>> found = hierarchy(path, 3)
    >>> found.vertices, found.labels().tolist()
    ((8, 4, 3), [0, 0, 0, 0, 1, 1, 2, 2])
    """
    begin = time.perf_counter()
    fine = check_graph(graph, weight)
    vertex_weight = _check_vertex_weight(vertex_weight, fine.n)
    for name, value, least in (("vertices", vertices, 1), ("levels", levels, 0)):
        if value is not None and (not isinstance(value, Integral) or value < least):
            raise ValueError(f"{name} must be an integer, {least} or more; got {value!r}")
    if not 0 <= dominance <= 1:
        raise ValueError(f"dominance must lie between 0 and 1, got {dominance!r}")
    found, counts, merges = [], [fine.n], []
    seconds = {"rate": 0.0, "match": 0.0, "merge": 0.0}
    if rating not in ("expansion", "weight") and not callable(rating):
        raise ValueError(f"rating must be 'expansion', 'weight' or callable, got {rating!r}")
    if rating == "expansion" and not (vertex_weight > 0).all():
        raise ValueError("vertex_weight must be positive for rating='expansion'")
    label = np.arange(fine.n, dtype=np.int32)
    while fine.n > vertices and (levels is None or len(found) < levels):
        start = time.perf_counter()
        if callable(rating):
            rated = check_graph(fine, rating(CoarseGraph(fine.to_csr(), label, vertex_weight)))
        else:
            rated = _rate(fine, vertex_weight, rating)
        middle = time.perf_counter()
        partner = greedy(rated, seed=(seed + len(found)) % 2**64, **parameters).partner
        possible = list_merges(rated, partner, join, dominance)
        if not len(possible[0]):  # a method that does not take the heaviest edges first
            possible = list_merges(rated, partner, join, 0.0)
        chosen = heaviest(possible, fine.n - vertices)
        matched = time.perf_counter()
        if not len(chosen[0]):
            break
        label, following, n = cluster(fine.n, *chosen[:2])
        fine = contract(fine, label, following, n)
        vertex_weight = _sum_by(label, vertex_weight, n)
        if found and not graphs:
            found[-1] = replace(found[-1], graph=None)
        found.append(CoarseGraph(fine.to_csr(), label, vertex_weight))
        merges.append(chosen)
        counts.append(n)
        for phase, taken in (("rate", middle - start), ("match", matched - middle)):
            seconds[phase] += taken
        seconds["merge"] += time.perf_counter() - matched
    seconds["total"] = time.perf_counter() - begin
    return Hierarchy(tuple(found), tuple(counts), {"seconds": seconds}, tuple(merges))


def _rate(graph: GeneralGraph, vertex_weight, rating: str) -> GeneralGraph:
    """The same edges, with the weights that the matching is made by."""
    if rating == "weight":
        return graph
    rated = np.empty(len(graph.adj), np.float64)
    expansion_kernel(graph.ptr, graph.adj, graph.weights(), np.sqrt(vertex_weight), rated)
    return GeneralGraph(graph.ptr, graph.adj, rated)


def _sum_by(label, value, count: int) -> np.ndarray:
    """The sum of the values with each label, integers exactly."""
    total = np.zeros(count, value.dtype)
    np.add.at(total, label, value)
    return total


def _check_vertex_weight(vertex_weight, n: int) -> np.ndarray:
    """Weights of vertices as int64 or float64."""
    if vertex_weight is None:
        return np.ones(n, np.int64)
    value = np.asarray(vertex_weight)
    if value.dtype.kind not in "biuf":
        raise TypeError(f"vertex_weight must hold real numbers, got {value.dtype}")
    if value.shape != (n,):
        raise ValueError(f"vertex_weight must have shape {(n,)}, one for each vertex; got {value.shape}")
    return value.astype(np.float64 if value.dtype.kind == "f" else np.int64)


def _check_partner(matching: GreedyMatching | Sequence[int] | np.ndarray, graph: GeneralGraph) -> np.ndarray:
    """The partners as int32; refuses what is no matching of the graph."""
    partner = np.asarray(matching.partner if isinstance(matching, GreedyMatching) else matching)
    if partner.size and partner.dtype.kind not in "iu":
        raise TypeError(f"matching must be a GreedyMatching or integers, got {partner.dtype}")
    if partner.shape != (graph.n,):
        raise ValueError(f"matching must have a partner, or -1, for each of {graph.n} vertices; got {partner.shape}")
    if partner.size and not (partner.min() >= -1 and partner.max() < graph.n):
        raise ValueError(f"matching holds a vertex outside -1 ... {graph.n - 1}")
    partner = np.ascontiguousarray(partner, np.int32)
    try:
        weigh(graph, partner)
    except CertificateError as error:
        raise ValueError(f"matching is none of this graph: {error}") from None
    return partner
