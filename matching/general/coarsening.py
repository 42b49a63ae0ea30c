"""coarsen and hierarchy: reduce a graph by merging the pairs of a matching, once or repeatedly.

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

Coarse vertices are numbered in the order of their lowest fine vertices.

Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012,
section 1: coarsening is the purpose of greedy matchings.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gridcut.device import CertificateError
from gridcut.device.arguments import check_count, check_real, check_switch, plain_array
from gridcut.device.arrays import to_host
from matching.core.parameters import check_seed
from matching.general.coarse_certificate import Level
from matching.general.coarse_graph import CoarseGraph, Hierarchy, check_vertex_weight
from matching.general.contraction import cluster, contract, expansion_kernel, heaviest_merges, list_merges
from matching.general.general_graph import GeneralGraph, GraphLike, check_graph
from matching.general.greedy_certificate import weigh
from matching.general.greedy_matching import GreedyMatching, greedy


def coarsen(
    graph: GraphLike,
    matching: GreedyMatching | ArrayLike | None = None,
    *,
    weight: ArrayLike | None = None,
    vertex_weight: ArrayLike | None = None,
    **parameters,
) -> CoarseGraph:
    """Merge the pairs of a matching; the weights of parallel edges and of merged vertices are added.

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, n), or a tuple (indptr, indices, shape)
        As in `matching.greedy`.
    matching : GreedyMatching or array_like (n,), optional
        The matching, or the partner of each vertex, -1 if unmatched. Need not be maximal. By default it is computed by
        `matching.greedy`.
    weight : array_like, optional
        Weights of the entries of `graph`, as in `matching.greedy`.
    vertex_weight : array_like (n,), optional
        Nonnegative weights of the vertices, integers or floats; ones by default.
    **parameters
        Of `matching.greedy`, if `matching` is None: ``method``, ``seed``, ...

    Returns
    -------
    CoarseGraph
        ``graph``, ``labels``, ``vertex_weight``.

    Raises
    ------
    TypeError
        If an argument has the wrong type, or if both a matching and parameters of `matching.greedy` are given.
    ValueError
        If the graph is not symmetric, shapes do not match, `matching` is not a matching of `graph`, or weights are
        negative, not finite, or have a sum that is not finite or exceeds int64.

    See Also
    --------
    hierarchy : Coarsen repeatedly.

    Notes
    -----
    The edge weights of the coarse graph sum to those of the fine graph minus those of the pairs. O(n + m).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 5, 0, 0], [5, 0, 6, 0], [0, 6, 0, 5], [0, 0, 5, 0]])
    >>> coarse = coarsen(path)
    >>> coarse.labels.tolist(), coarse.graph.toarray().tolist()
    ([0, 1, 1, 2], [[0, 5, 0], [5, 0, 5], [0, 5, 0]])
    """
    fine = check_graph(graph, weight)
    vertex_weight = check_vertex_weight(vertex_weight, fine.n)
    if matching is None:
        partner = greedy(fine, **parameters).partner
    elif parameters:
        raise TypeError(f"{next(iter(parameters))!r} is a parameter of matching.greedy, but a matching was passed")
    else:
        partner = _check_partner(matching, fine)
    lower = np.flatnonzero(partner > np.arange(fine.n))
    label, following, n = cluster(fine.n, partner[lower], lower)
    coarse, total = contract(fine, label, following, n).to_csr(), _sum_by(label, vertex_weight, n)
    return CoarseGraph(coarse, label, total, Level(fine, vertex_weight), (partner[lower], lower))


def hierarchy(
    graph: GraphLike,
    vertices: int = 1,
    *,
    weight: ArrayLike | None = None,
    vertex_weight: ArrayLike | None = None,
    levels: int | None = None,
    rating: Literal["expansion", "weight"] | Callable[[CoarseGraph], ArrayLike] = "expansion",
    dominance: float = 0.0,
    join: bool = False,
    graphs: bool = True,
    seed: int = 0,
    **parameters,
) -> Hierarchy:
    """Coarsen a graph repeatedly, down to a given number of vertices.

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, n), or a tuple (indptr, indices, shape)
        As in `matching.greedy`.
    vertices : int
        Stop at exactly this number: only the heaviest pairs of the last matching are merged. More vertices remain if
        the graph has more connected components.
    weight, vertex_weight : array_like, optional
        As in `coarsen`.
    levels : int, optional
        Maximum number of levels.
    rating : {"expansion", "weight"} or callable
        Edge weights of the matchings. "expansion": the weight of an edge divided by the geometric mean of the weights
        of its ends, which favours light vertices [1]_. "weight": the weight alone. A vertex that has grown then
        attracts others, and often a star remains, which loses one vertex per level. A callable receives each
        CoarseGraph, first one for the caller's graph, and returns a value for each stored entry of its ``graph``, the
        same for (v, w) and (w, v).
    dominance : float
        Merge a pair only if its edge weighs at least this factor, 0 to 1, times the heaviest edge at either end; other
        pairs may find better partners on the next level. 1: only edges that are the heaviest at both ends.
    join : bool
        Also merge each unmatched vertex into the neighbour along its heaviest edge; a star vanishes in one level.
    graphs : bool
        Keep the graph of every level; False: only of the last one, which needs far less memory.
    seed : int
        Seed of the first matching; each further level uses the next integer.
    **parameters
        Of `matching.greedy`: ``method``, ``threads``, ...

    Returns
    -------
    Hierarchy
        ``levels``, ``vertex_counts``, ``labels(level)``, ``labels_at(vertices)``.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If the graph is not symmetric, shapes do not match, or an argument is out of range.

    See Also
    --------
    coarsen : One level, by a given matching.

    Notes
    -----
    A level has slightly more than half of the vertices of the previous one unless the graph is like a star;
    with `join` at most half. All levels are kept: without `join`, those of a star of n vertices fill memory for n^2 / 2
    labels, so limit `levels` where stars may occur.

    References
    ----------
    .. [1] Holtgrewe, Sanders, Schulz. "Engineering a scalable high quality graph partitioner." IPDPS 2010: expansion*2.

    Examples
    --------
    >>> from scipy.sparse import diags_array
    >>> path = diags_array([[1.0] * 7, [1.0] * 7], offsets=[-1, 1], format="csr")
    >>> found = hierarchy(path, 3)
    >>> found.vertex_counts, found.labels().tolist()
    ((8, 4, 3), [0, 0, 0, 0, 1, 1, 2, 2])
    """
    called = time.perf_counter()
    fine = check_graph(graph, weight)
    vertex_weight = check_vertex_weight(vertex_weight, fine.n)
    vertices = check_count("vertices", vertices)
    levels = None if levels is None else check_count("levels", levels, 0)
    dominance, seed = check_real("dominance", dominance), check_seed(seed)
    join, graphs = check_switch("join", join), check_switch("graphs", graphs)
    if not 0 <= dominance <= 1:
        raise ValueError(f"dominance must be 0 to 1, got {dominance!r}")
    given = Level(fine, vertex_weight) if graphs else None
    found: list[CoarseGraph] = []
    counts, merges = [fine.n], []
    seconds = {"rate": 0.0, "match": 0.0, "merge": 0.0}
    if not callable(rating) and rating not in ("expansion", "weight"):
        kind = ValueError if isinstance(rating, str) else TypeError
        raise kind(f"rating must be 'expansion', 'weight' or callable, got {rating!r}")
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
        candidates = list_merges(rated, partner, join, dominance)
        if not len(candidates[0]):  # as methods that do not take the heaviest edges first may yield no such pair
            candidates = list_merges(rated, partner, join, 0.0)
        chosen = heaviest_merges(candidates, fine.n - vertices)
        matched = time.perf_counter()
        if not len(chosen[0]):
            break
        label, following, n = cluster(fine.n, *chosen[:2])
        before = Level(fine, vertex_weight) if graphs else None
        fine = contract(fine, label, following, n)
        vertex_weight = _sum_by(label, vertex_weight, n)
        if found and not graphs:
            found[-1] = replace(found[-1], graph=None)
        found.append(CoarseGraph(fine.to_csr(), label, vertex_weight, before, chosen[:2]))
        merges.append(chosen)
        counts.append(n)
        for phase, elapsed in (("rate", middle - start), ("match", matched - middle)):
            seconds[phase] += elapsed
        seconds["merge"] += time.perf_counter() - matched
    seconds["total"] = time.perf_counter() - called
    return Hierarchy(tuple(found), tuple(counts), {"seconds": seconds}, tuple(merges), given)


def _rate(graph: GeneralGraph, vertex_weight, rating: str) -> GeneralGraph:
    """The same edges, with the weights by which they are matched."""
    if rating == "weight":
        return graph
    rated, root = np.empty(len(graph.adj), np.float64), np.sqrt(vertex_weight)
    # Vertices lighter than 1 increase the ratings, possibly beyond floats; a common factor does not change their order.
    if root.min(initial=1) < 1:
        with np.errstate(over="ignore"):
            root *= 2.0 ** -np.floor(np.log2(root.min()))
    expansion_kernel(graph.ptr, graph.adj, graph.weights(), root, rated)
    return GeneralGraph(graph.ptr, graph.adj, rated)


def _sum_by(label, value, count: int) -> np.ndarray:
    """The sum of the values with each label; exact for integers."""
    total = np.zeros(count, value.dtype)
    np.add.at(total, label, value)
    return total


def _check_partner(matching: GreedyMatching | ArrayLike, graph: GeneralGraph) -> np.ndarray:
    """The partners as int32; raises ValueError for an array that is not a matching of the graph."""
    partner = plain_array("matching", to_host(matching.partner) if isinstance(matching, GreedyMatching) else matching)
    if partner.size and partner.dtype.kind not in "iu":
        raise TypeError(f"matching must be a GreedyMatching or integers, got {partner.dtype}")
    if partner.shape != (graph.n,):
        raise ValueError(
            f"matching must have a partner, or -1, for each of {graph.n} vertices; got shape {partner.shape}"
        )
    if partner.size and not (partner.min() >= -1 and partner.max() < graph.n):
        raise ValueError(f"matching holds a vertex outside -1 to {graph.n - 1}")
    partner = np.ascontiguousarray(partner, np.int32)
    try:
        weigh(graph, partner)
    except CertificateError as error:
        raise ValueError(f"`matching` is not a valid matching of `graph`: {error}") from None
    return partner
