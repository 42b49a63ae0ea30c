"""The proof of a bottleneck matching, from the caller's graph and without the solver's ranks.

Let T be the threshold.  A maximum matching of the entries up to T has as many pairs as were wanted or more, and fewer
vertices than that cover every entry below T: so no lower gate lets the wanted pairs through.  Where the largest
matching was wanted, a cover of the whole graph by as many vertices as there are pairs proves that no more exist.

O(n + m + edges).
"""

import numpy as np

from gridcut.device import CertificateError
from matching.core import certificate
from matching.core.graph_input import bipartite_graph
from matching.core.matching import Matching
from matching.core.sparse import stored_entries


def certify(graph, threshold, matching, wanted, cover, largest) -> None:
    """All of it; raises CertificateError."""
    try:
        row, col, value = stored_entries(graph)
    except (TypeError, ValueError) as error:
        raise CertificateError(f"the graph has changed since the solve: {error}") from None
    if not isinstance(matching, Matching):
        raise CertificateError(f"matching must be a Matching, got {type(matching).__name__}")
    if type(wanted) is not int or wanted < 0:
        raise CertificateError(f"wanted must be an integer from 0, got {wanted!r}")
    _check_threshold(threshold, value, wanted)
    passing = value <= threshold
    if np.isnan(value).any():
        raise CertificateError("the graph has changed since the solve: it holds NaN")
    pairs = certificate.certify(_pattern(graph, row, col, passing), *matching._on_host()[1:])
    certificate.certify_cardinality(matching.cardinality, pairs)
    if pairs < wanted:
        raise CertificateError(f"{pairs} pairs pass the gate, and {wanted} were wanted")
    for sides in (cover, largest or cover):
        if tuple(map(len, sides)) != tuple(graph.shape):
            raise CertificateError(f"the graph has changed since the solve: its shape is {graph.shape}")
    below = value < threshold
    if wanted and _size(cover) >= wanted:
        raise CertificateError("the entries below the gate are not covered by fewer vertices than pairs are wanted")
    if _uncovered(cover, row[below], col[below]):
        raise CertificateError("an entry below the gate is not covered")
    if largest is not None and (_size(largest) != wanted or _uncovered(largest, row, col)):
        raise CertificateError("more pairs than were wanted may exist")


def _check_threshold(threshold, value, wanted: int) -> None:
    """A number as the weights are; -inf where nothing is wanted, as in a graph without entries."""
    kind = type(value.dtype.type(0).item()) if wanted else float
    if type(threshold) is not kind:
        raise CertificateError(f"threshold must be of type {kind.__name__}, got {type(threshold).__name__}")
    if not wanted and threshold != -np.inf:
        raise CertificateError(f"threshold is {threshold}, but without pairs wanted it is -inf")


def _pattern(graph, row, col, chosen):
    """The graph of some of the entries."""
    row, col = row[chosen], col[chosen]
    ptr = np.zeros(graph.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=graph.shape[0]), out=ptr[1:])
    return bipartite_graph((ptr, col[np.argsort(row, kind="stable")], graph.shape))


def _size(cover) -> int:
    return sum(int(np.count_nonzero(side)) for side in cover)


def _uncovered(cover, row, col) -> bool:
    return bool((~(cover[0][row] | cover[1][col])).any())
