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
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import scipy.sparse

from gridcut.device import kernel
from matching.general_graph import GeneralGraph, check_graph
from matching.greedy_certificate import weigh
from matching.greedy_matching import GreedyMatching, greedy


@dataclass(frozen=True, slots=True, eq=False)
class CoarseGraph:
    """A graph whose vertices are those of a finer one, some of them merged.

    Attributes
    ----------
    graph : scipy.sparse.csr_array, shape (k, k)
        Symmetric; the values are sums of the weights of the finer edges (their number if there were no weights).
    label : ndarray of int32, shape (n,)
        The coarse vertex of each vertex of the finer graph.
    vertex_weight : ndarray, shape (k,)
        Sum of the weights of the finer vertices (their number if there were no weights).
    """

    graph: scipy.sparse.csr_array
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

    def labels(self, level: int = -1) -> np.ndarray:
        """The vertex of a level that each vertex of the graph passed in belongs to; int32, shape (n,)."""
        label = np.arange(self.vertices[0], dtype=np.int32)
        for coarse in self.levels[: range(len(self.levels))[level] + 1] if self.levels else ():
            label = coarse.label[label]
        return label


@kernel
def label_kernel(partner, label):
    """Number the coarse vertices by the lowest of their fine ones; returns how many there are."""
    count = 0
    for v in range(partner.size):
        w = partner[v]
        if w < 0 or w > v:
            label[v] = count
            count += 1
        else:
            label[v] = label[w]
    return count


@kernel
def merge_kernel(ptr, adj, weight, partner, label, place, upper_ptr, upper_adj, upper_weight, degree):
    """Edges from each coarse vertex to those of higher number, in any order, and the degrees of all.

    place[d]   where d stands in upper_adj, if that is within what belongs to the present vertex
    """
    count = 0
    c = 0
    place[:] = -1
    degree[:] = 0
    for v in range(partner.size):
        if label[v] != c:  # the upper one of a pair, done with the lower one
            continue
        begin = count
        member = v
        while member >= 0:
            for k in range(ptr[member], ptr[member + 1]):
                d = label[adj[k]]
                if d <= c:
                    continue
                if place[d] >= begin:
                    upper_weight[place[d]] += weight[k]
                else:
                    place[d] = count
                    upper_adj[count] = d
                    upper_weight[count] = weight[k]
                    count += 1
                    degree[d] += 1
            member = partner[v] if member == v else -1
        degree[c] += count - begin
        c += 1
        upper_ptr[c] = count


@kernel
def mirror_kernel(upper_ptr, upper_adj, upper_weight, ptr, free, adj, weight):
    """Edges stored at both ends, ascending in each row; `free` holds a copy of the starts of the rows.

    Lower neighbours come first in a row, and ascend because c does; then a walk over them in the order of d puts the
    higher ones after them, which ascend because d does.
    """
    n = upper_ptr.size - 1
    for c in range(n):
        for k in range(upper_ptr[c], upper_ptr[c + 1]):
            d = upper_adj[k]
            adj[free[d]] = c
            weight[free[d]] = upper_weight[k]
            free[d] += 1
    for d in range(n):
        k = ptr[d]
        # What the second walk has put into this row itself is higher than d.
        while k < ptr[d + 1] and k < free[d] and adj[k] < d:
            c = adj[k]
            adj[free[c]] = d
            weight[free[c]] = weight[k]
            free[c] += 1
            k += 1


def contract(graph: GeneralGraph, partner) -> tuple[GeneralGraph, np.ndarray]:
    """The coarse graph and the labels of the fine vertices."""
    label = np.empty(graph.n, np.int32)
    n = label_kernel(partner, label)
    fine_weight = graph.weights()
    upper_ptr = np.zeros(n + 1, np.int64)
    upper_adj = np.empty(graph.edges, np.int32)
    upper_weight = np.empty(graph.edges, fine_weight.dtype)
    place, degree = np.empty(n, np.int64), np.empty(n, np.int64)
    merge_kernel(graph.ptr, graph.adj, fine_weight, partner, label, place, upper_ptr, upper_adj, upper_weight, degree)
    ptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree)])
    adj, weight = np.empty(ptr[-1], np.int32), np.empty(ptr[-1], fine_weight.dtype)
    mirror_kernel(upper_ptr, upper_adj, upper_weight, ptr, ptr[:-1].copy(), adj, weight)
    return GeneralGraph(ptr, adj, weight), label


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
    coarse, label = contract(fine, partner)
    return CoarseGraph(coarse.to_csr(), label, _sum_by(label, vertex_weight, coarse.n))


def hierarchy(
    graph,
    vertices: int = 1,
    *,
    weight=None,
    vertex_weight=None,
    levels: int | None = None,
    rating="expansion",
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
        returns a value for each stored entry of its ``graph``; it is not asked about the first matching, which is then
        made by the weights.
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
    Levels have a little more than half of the vertices of the one before, where the graph is no star.  All of them are
    kept: a star of n vertices would fill memory for n^2 / 2, so bound `levels` where there may be one.

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
    found, counts = [], [fine.n]
    seconds = {"match": 0.0, "merge": 0.0}
    if rating not in ("expansion", "weight") and not callable(rating):
        raise ValueError(f"rating must be 'expansion', 'weight' or callable, got {rating!r}")
    if rating == "expansion" and not (vertex_weight > 0).all():
        raise ValueError("vertex_weight must be positive for rating='expansion'")
    rated = fine if callable(rating) else _rate(fine, vertex_weight, rating)
    while fine.n > vertices and (levels is None or len(found) < levels):
        start = time.perf_counter()
        matched = greedy(rated, seed=(seed + len(found)) % 2**64, **parameters)
        partner = _heaviest_pairs(rated, matched, fine.n - vertices)
        middle = time.perf_counter()
        if not (partner >= 0).any():
            break
        fine, label = contract(fine, partner)
        vertex_weight = _sum_by(label, vertex_weight, fine.n)
        found.append(CoarseGraph(fine.to_csr(), label, vertex_weight))
        counts.append(fine.n)
        seconds["match"] += middle - start
        seconds["merge"] += time.perf_counter() - middle
        rated = check_graph(fine, rating(found[-1])) if callable(rating) else _rate(fine, vertex_weight, rating)
    seconds["total"] = time.perf_counter() - begin
    return Hierarchy(tuple(found), tuple(counts), {"seconds": seconds})


@kernel
def expansion_kernel(ptr, adj, weight, vertex_weight, rated):
    """weight / sqrt(product of the weights of the ends), which is the same at both ends to the last bit."""
    for v in range(ptr.size - 1):
        for k in range(ptr[v], ptr[v + 1]):
            rated[k] = weight[k] / (np.sqrt(vertex_weight[v]) * np.sqrt(vertex_weight[adj[k]]))


def _rate(graph: GeneralGraph, vertex_weight, rating: str) -> GeneralGraph:
    """The same edges, with the weights that the matching is made by."""
    if rating == "weight":
        return graph
    rated = np.empty(len(graph.adj), np.float64)
    expansion_kernel(graph.ptr, graph.adj, graph.weights(), vertex_weight, rated)
    return GeneralGraph(graph.ptr, graph.adj, rated)


def _heaviest_pairs(graph, matched: GreedyMatching, most: int) -> np.ndarray:
    """The partners of the matching's heaviest pairs, `most` of them at most."""
    if matched.size <= most:
        return matched.partner
    pairs = matched.pairs
    order = np.argsort(-weigh(graph, matched.partner)[pairs[:, 0]], kind="stable")
    lower, upper = pairs[order[:most]].T
    partner = np.full(graph.n, -1, np.int32)
    partner[lower], partner[upper] = upper, lower
    return partner


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
    except AssertionError as error:
        raise ValueError(f"matching is none of this graph: {error}") from None
    return partner
