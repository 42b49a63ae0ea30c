"""The certificate that a matching is maximum: a vertex cover with as many vertices as the matching has pairs.

Every cover contains an end of each matched edge, so no cover is smaller than any matching.  If a cover and a matching
have equal size, the cover is minimum and the matching is maximum.  König's construction: search along alternating paths
from all free rows.  The rows not visited and the columns visited cover every edge.  If the matching is maximum, no free
column is visited, and the cover contains exactly one vertex of each pair and no other.

The visited rows are also a Hall violator: all their neighbours are visited columns, of which there are fewer, by the
number of free rows.

König. "Graphok és matrixok." Matematikai és Fizikai Lapok 38, 1931.

koenig_cover: O(n + m + edges).
"""

import numpy as np

from gridcut.device import CertificateError, kernel, plain_kernel
from matching.core.graph import BipartiteGraph, columns_are_valid
from matching.core.sparse import INT32, plain, pointers_ascend

# Result of `inspect_pairs` and `uncovered` if nothing is wrong.
FINE = -1


@plain_kernel
def inspect_pairs(row_ptr, row_adj, row_match, col_match):
    """The first row, or n + column, with an invalid partner: out of range, not a neighbour, or not mutual; or FINE."""
    n, m = row_match.size, col_match.size
    for r in range(n):
        c = row_match[r]
        if c == -1:
            continue
        if c < -1 or c >= m or col_match[c] != r:
            return r
        low, high = row_ptr[r], row_ptr[r + 1]
        while low < high:
            middle = (low + high) // 2
            if row_adj[middle] < c:
                low = middle + 1
            else:
                high = middle
        if low == row_ptr[r + 1] or row_adj[low] != c:
            return r
    for c in range(m):
        r = col_match[c]
        if r != -1 and (r < -1 or r >= n or row_match[r] != c):
            return n + c
    return FINE


@kernel
def koenig_cover(row_ptr, row_adj, row_match, col_match):
    """(rows, columns) of König's cover as boolean arrays.  `uncovered` detects columns that do not exist."""
    in_rows = np.ones(row_match.size, np.bool_)
    in_cols = np.zeros(col_match.size, np.bool_)
    queue = np.empty(row_match.size, np.int32)
    tail = 0
    for r in range(row_match.size):
        if row_match[r] < 0:
            in_rows[r] = False
            queue[tail] = r
            tail += 1
    head = 0
    while head < tail:
        r = queue[head]
        head += 1
        for k in range(row_ptr[r], row_ptr[r + 1]):
            c = row_adj[k]
            if 0 <= c < in_cols.size and not in_cols[c]:
                in_cols[c] = True
                mate = col_match[c]
                if mate >= 0:
                    in_rows[mate] = False
                    queue[tail] = mate
                    tail += 1
    return in_rows, in_cols


@plain_kernel
def uncovered(row_ptr, row_adj, in_rows, in_cols):
    """A row with an edge that is not covered, or to a column that does not exist; or FINE."""
    for r in range(in_rows.size):
        if not in_rows[r]:
            for k in range(row_ptr[r], row_ptr[r + 1]):
                c = row_adj[k]
                if not 0 <= c < in_cols.size or not in_cols[c]:
                    return r
    return FINE


def indices_field(name: str, array, size: int) -> np.ndarray:
    """A field of a result that holds vertices, in the form for kernels; raises CertificateError for other objects."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise CertificateError(f"{name} must be an array of int32, got {type(array).__name__}")
    if array.dtype != INT32 or array.shape != (size,):
        raise CertificateError(f"{name} must have dtype int32 and shape {(size,)}, got {array.dtype}, {array.shape}")
    return plain(array, INT32)


def certify_pairs(graph: BipartiteGraph, row_match, col_match) -> None:
    """Raise CertificateError unless pairs are edges and no vertex has two partners."""
    row_match = indices_field("row_match", row_match, graph.rows)
    col_match = indices_field("col_match", col_match, graph.cols)
    wrong = inspect_pairs(graph.row_ptr, graph.row_adj, row_match, col_match)
    if wrong != FINE:
        where = f"row {wrong}" if wrong < graph.rows else f"column {wrong - graph.rows}"
        raise CertificateError(f"{where} is matched along no edge, or to a vertex matched otherwise")


def certify(graph: BipartiteGraph, row_match, col_match) -> int:
    """The cardinality of a maximum matching; raises CertificateError if it is not a matching, or not maximum."""
    if not graph.has_rows and not columns_are_valid(graph):
        raise CertificateError("the graph has changed since the solve: its indices do not ascend within its shape")
    if len(graph.row_ptr) != graph.rows + 1 or not pointers_ascend(graph.row_ptr, len(graph.row_adj)):
        raise CertificateError("the graph has changed since the solve: its pointers do not ascend")
    certify_pairs(graph, row_match, col_match)
    row_match, col_match = plain(row_match, INT32), plain(col_match, INT32)
    in_rows, in_cols = koenig_cover(graph.row_ptr, graph.row_adj, row_match, col_match)
    missed = uncovered(graph.row_ptr, graph.row_adj, in_rows, in_cols)
    if missed != FINE:
        raise CertificateError(f"an edge of row {missed} is not covered")
    cover, pairs = int(in_rows.sum()) + int(in_cols.sum()), int((row_match >= 0).sum())
    if cover != pairs:
        raise CertificateError(f"{pairs} pairs, but the cover has {cover} vertices: the matching is not maximum")
    return pairs
