"""Certificate of a bottleneck matching, from the caller's graph and without the solver's ranks.

Let T be the threshold. A maximum matching of the entries up to T has at least the required number of pairs, and fewer
vertices than that cover every entry below T: no smaller threshold admits the required pairs. If the maximum cardinality
was required, a cover of the whole graph with as many vertices as there are pairs proves that no more pairs exist.

O(n + m + edges).
"""

import numpy as np

from gridcut.device import CertificateError
from matching.core import certificate
from matching.core.graph_input import bipartite_graph
from matching.core.matching import Matching
from matching.core.sparse import stored_entries


def certify(graph, threshold, matching, required, cover, largest) -> None:
    """Certify all fields; raises CertificateError."""
    try:
        row, col, value = stored_entries(graph)
    except (TypeError, ValueError) as error:
        raise CertificateError(f"the graph has changed since the solve: {error}") from None
    if not isinstance(matching, Matching):
        raise CertificateError(f"matching must be a Matching, got {type(matching).__name__}")
    if type(required) is not int or required < 0:
        raise CertificateError(f"required must be an integer, 0 or more; got {required!r}")
    _check_threshold(threshold, value, required)
    passes = value <= threshold
    if np.isnan(value).any():
        raise CertificateError("the graph has changed since the solve: it holds NaN")
    pairs = certificate.certify(_pattern(graph, row, col, passes), *matching._on_host()[1:])
    certificate.certify_cardinality(matching.cardinality, pairs)
    if pairs < required:
        raise CertificateError(f"the entries up to the threshold admit {pairs} pairs, but {required} are required")
    for sides in (cover, largest or cover):
        if tuple(map(len, sides)) != tuple(graph.shape):
            raise CertificateError(f"the graph has changed since the solve: its shape is {graph.shape}")
    is_below = value < threshold
    if required and _size(cover) >= required:
        raise CertificateError(
            "the entries below the threshold are not covered by fewer vertices than the required pairs"
        )
    if _uncovered(cover, row[is_below], col[is_below]):
        raise CertificateError("an entry below the threshold is not covered")
    if largest is not None and (_size(largest) != required or _uncovered(largest, row, col)):
        raise CertificateError("the graph may have more pairs than the required ones")


def _check_threshold(threshold, value, required: int) -> None:
    """A number of the weights' type; -inf if no pairs are required, as in a graph without entries."""
    kind = type(value.dtype.type(0).item()) if required else float
    if type(threshold) is not kind:
        raise CertificateError(f"threshold must be of type {kind.__name__}, got {type(threshold).__name__}")
    if not required and threshold != -np.inf:
        raise CertificateError(f"threshold is {threshold}, but must be -inf if no pairs are required")


def _pattern(graph, row, col, chosen):
    """The graph of the chosen entries."""
    row, col = row[chosen], col[chosen]
    ptr = np.zeros(graph.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=graph.shape[0]), out=ptr[1:])
    return bipartite_graph((ptr, col[np.argsort(row, kind="stable")], graph.shape))


def _size(cover) -> int:
    return sum(int(np.count_nonzero(side)) for side in cover)


def _uncovered(cover, row, col) -> bool:
    return bool((~(cover[0][row] | cover[1][col])).any())
