"""Exact margins: the cost increase of an optimal assignment if one of its pairs is forbidden, for every pair.

Without pair (i, j), row i is reassigned or unmatched, and so is column j.  The cheapest change is a shortest path from
i to j in the residual graph, whose arcs have nonnegative reduced costs:

    row r -> column k         r is matched to k instead:          cost[r, k] - row_price[r] - col_price[k]
    column k -> its row       the row of k must be reassigned:    0
    row r -> outside          r becomes unmatched:                -row_price[r];  unmatched columns -> outside:  0
    outside -> column k       k becomes unmatched:                -col_price[k];  outside -> unmatched rows:  0

Two Dijkstra searches compute all distances to and from the node "outside".  A path that avoids it matters only if it is
shorter than their sum, which bounds one small search per pair.  This is sensitivity analysis of the assignment problem
[1].  For point matching it is a global ratio test: a pair competes with every set of pairs that could replace it.

[1] Burkard, Dell'Amico, Martello. "Assignment Problems." SIAM 2009, chapter 4.
"""

import numpy as np

from assign.core.frontier import clear, make_frontier, push, take_nearest
from gridcut.device import inner_kernel, plain_kernel, run_threads, thread_count

MIN_PAIRS_PER_THREAD = 64


def exact_margins(indptr, col, cost, row_price, col_price, chosen) -> np.ndarray:
    """Return the margins (k,) of the pairs `chosen` (indices of candidates, rows ascending) of an optimal assignment.

    Candidates are in CSR form: those of row r are col[indptr[r]:indptr[r + 1]].  Staying unmatched costs 0, so optimal
    dual prices are at most 0, and 0 for unmatched rows and columns.
    """
    from scipy.sparse import csr_array

    n, m = len(row_price), len(col_price)
    indptr, col = np.asarray(indptr, np.int64), np.asarray(col, np.int64)
    row = np.repeat(np.arange(n), np.diff(indptr))
    slack = np.maximum(cost - row_price[row] - col_price[col], 0.0)
    row_exit = np.maximum(-row_price, 0.0)
    col_exit = np.maximum(-col_price, 0.0)
    rows, cols = row[chosen], col[chosen]
    row_of_col = np.full(m, -1, np.int64)
    row_of_col[cols] = rows
    col_of_row = np.full(n, -1, np.int64)
    col_of_row[rows] = cols
    columns = csr_array((slack, col, indptr), shape=(n, m)).tocsc()
    by_column = columns.indptr.astype(np.int64), columns.indices.astype(np.int64), columns.data
    to_outside = _outside(*by_column, row_exit, row_of_col, col_of_row)
    from_outside = _outside(indptr, col, slack, col_exit, col_of_row, row_of_col)
    margin = to_outside[rows] + from_outside[cols]
    threads = min(thread_count(), 1 + len(rows) // MIN_PAIRS_PER_THREAD)

    def lower(thread):
        distance, visited = np.full(m, np.inf), np.empty(m, np.int64)
        memory = distance, visited, make_frontier(m, 0, distance.dtype)
        inner_paths_kernel(indptr, col, slack, row_of_col, rows, cols, margin, thread, threads, *memory)

    run_threads(lower, threads)
    return margin


def _outside(ptr, end, slack, exit_cost, partner, partner_of_end) -> np.ndarray:
    """Return the distances of `outside_kernel`."""
    distance = exit_cost.copy()
    frontier = make_frontier(len(distance), 0, distance.dtype)
    outside_kernel(ptr, end, slack, distance, partner, partner_of_end, frontier)
    return distance


@plain_kernel
def outside_kernel(ptr, end, slack, distance, partner, partner_of_end, frontier):
    """Compute the distance from outside to each column: it becomes unmatched, or takes a row from another column.

    With the CSC form, and rows and columns exchanged: the distance from each row to outside, without its own pair.

    ptr, end, slack   candidates in CSR form: `end` is a column
    distance          before the call, the cost of leaving each column unmatched
    partner           column of each row, -1 for none;  partner_of_end: row of each column
    """
    for r in range(len(partner)):
        if partner[r] < 0:
            for a in range(ptr[r], ptr[r + 1]):
                if slack[a] < distance[end[a]]:
                    distance[end[a]] = slack[a]
    clear(frontier)
    for k in range(len(distance)):
        push(frontier, distance, distance[k], np.uint32(k))
    length = 0.0
    while True:
        k, length = take_nearest(frontier, distance, length, np.inf)
        if length == np.inf:
            break
        r = partner_of_end[k]  # a column that takes r displaces k
        if r < 0:
            continue
        for a in range(ptr[r], ptr[r + 1]):
            other = end[a]
            if other != k and length + slack[a] < distance[other]:
                distance[other] = length + slack[a]
                push(frontier, distance, distance[other], np.uint32(other))


@plain_kernel
def inner_paths_kernel(
    indptr, col, slack, row_of_col, rows, cols, margin, first, stride, distance, visited, frontier
):  # fmt: skip
    """Lower the margins of the pairs first, first + stride, ... that have a shorter path that avoids outside."""
    for p in range(first, len(rows), stride):
        margin[p] = shorter_path(
            indptr, col, slack, row_of_col, rows[p], cols[p], margin[p], distance, visited, frontier
        )  # fmt: skip


@inner_kernel
def shorter_path(indptr, col, slack, row_of_col, row, goal, bound, distance, visited, frontier):
    """Return the length of the shortest path from a row to its column `goal` without their pair, at most `bound`.

    All entries of `distance` (columns,) are inf before and after the call; `visited` (columns,) and `frontier` are
    its memory.
    """
    clear(frontier)
    n_visited = 0
    from_col, length = goal, 0.0
    while True:
        for a in range(indptr[row], indptr[row + 1]):
            k = col[a]
            path = length + slack[a]
            if k != from_col and path < bound and path < distance[k]:
                if distance[k] == np.inf:
                    visited[n_visited] = k
                    n_visited += 1
                distance[k] = path
                if k == goal:
                    bound = path
                elif row_of_col[k] >= 0:
                    push(frontier, distance, path, np.uint32(k))
        from_col, length = take_nearest(frontier, distance, length, bound)
        if length >= bound:
            break
        row = row_of_col[from_col]
    for i in range(n_visited):
        distance[visited[i]] = np.inf
    return bound
