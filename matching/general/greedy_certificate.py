"""Certificate of a greedy matching: pairs are edges, no edge joins two unmatched vertices, heavier edges came first.

A matching takes the heaviest edges first (algorithm 2 of Fagginger Auer and Bisseling [1]) if and only if every edge
outside the matching shares an end with a heavier edge in it. An edge is heavier by weight, or for equal edges at one
vertex by the lower index of the other end.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
"""

import numpy as np

from gridcut.device import CertificateError, inner_kernel, plain_kernel
from matching.core.certificate import indices_field
from matching.core.sparse import pointers_ascend
from matching.general.general_graph import GeneralGraph

VALID, NOT_MUTUAL, NO_EDGE, NOT_MAXIMAL, NOT_HEAVIEST, OUTSIDE = range(6)
MESSAGES = {
    NOT_MUTUAL: "vertex {0} is matched to {1}, which is not matched to it",
    NO_EDGE: "vertices {0} and {1} are matched, but no edge joins them",
    NOT_MAXIMAL: "edge ({0}, {1}) joins two unmatched vertices",
    OUTSIDE: "the graph has changed since the solve: vertex {0} has the neighbour {1}, which does not exist",
    NOT_HEAVIEST: "edge ({0}, {1}) is heavier than the matched edges of its ends",
}


@plain_kernel
def weigh_kernel(ptr, adj, weight, partner, matched):
    """The weight of each vertex's matched edge, 0 if unmatched.

    Returns the first violation of a matching, or VALID, and the weight of the matching.
    """
    total = weight.dtype.type(0)
    for v in range(partner.size):
        w = partner[v]
        if w == -1:
            matched[v] = 0
            continue
        if w < 0 or w >= partner.size or w == v or partner[w] != v:
            return NOT_MUTUAL, v, w, total
        if w < v:
            continue
        low = ptr[v]
        high = ptr[v + 1]
        while low < high:
            middle = (low + high) // 2
            if adj[middle] < w:
                low = middle + 1
            else:
                high = middle
        if low == ptr[v + 1] or adj[low] != w:
            return NO_EDGE, v, w, total
        matched[v] = weight[low]
        matched[w] = weight[low]
        total += weight[low]
    return VALID, -1, -1, total


@inner_kernel
def is_dominated(matched, partner, v, w, weight):
    """Whether v is matched along an edge heavier than that to w."""
    return partner[v] >= 0 and (matched[v] > weight or (matched[v] == weight and partner[v] < w))


@plain_kernel
def find_violation_kernel(ptr, adj, weight, partner, matched, heaviest_first):
    """An edge that should be in the matching."""
    for v in range(partner.size):
        for k in range(ptr[v], ptr[v + 1]):
            w = adj[k]
            if not 0 <= w < partner.size:
                return OUTSIDE, v, w
            if partner[v] < 0 and partner[w] < 0:
                return NOT_MAXIMAL, v, w
            if heaviest_first and partner[v] != w:
                if not (
                    is_dominated(matched, partner, v, w, weight[k]) or is_dominated(matched, partner, w, v, weight[k])
                ):
                    return NOT_HEAVIEST, v, w
    return VALID, -1, -1


def weigh(graph: GeneralGraph, partner) -> tuple[np.ndarray, int | float]:
    """The weight of each vertex's matched edge, 0 if unmatched, and their sum over the pairs, in vertex order.

    Without weights, edges weigh 1.  Raises CertificateError unless it is a matching.
    """
    weight = graph.weights()
    matched = np.empty(graph.n, weight.dtype)
    *violation, total = weigh_kernel(graph.ptr, graph.adj, weight, partner, matched)
    raise_unless_valid(*violation)
    return matched, total


def weight_of(graph: GeneralGraph, partner) -> int | float:
    """The weight of a matching; the number of its pairs for a graph without weights."""
    return int(np.count_nonzero(partner >= 0)) // 2 if graph.weight is None else weigh(graph, partner)[1]


def certify(graph: GeneralGraph, partner, cardinality, weight, heaviest_first: bool) -> None:
    """Certify all fields; raises CertificateError."""
    if not pointers_ascend(graph.ptr, len(graph.adj)):
        raise CertificateError("the graph has changed since the solve: its pointers do not ascend")
    partner = indices_field("partner", partner, graph.n)
    matched, total = weigh(graph, partner)
    for name, given, right in (
        ("cardinality", cardinality, int(np.count_nonzero(partner >= 0)) // 2),
        ("weight", weight, total),
    ):
        kind = int | np.integer if isinstance(right, int) else float | np.floating
        if not isinstance(given, kind) or isinstance(given, bool) or given != right:
            raise CertificateError(f"{name} is {given!r}, but the pairs give {right!r}")
    raise_unless_valid(*find_violation_kernel(graph.ptr, graph.adj, graph.weights(), partner, matched, heaviest_first))


def raise_unless_valid(what, v, w) -> None:
    if what != VALID:
        raise CertificateError(MESSAGES[what].format(v, w))
