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

from heapq import heappop, heappush

import numpy as np
from numba import prange

from gridcut.device import kernel, parallel_kernel, thread_count


def exact_margins(indptr, col, cost, row_price, col_price, chosen) -> np.ndarray:
    """Return the margins (k,) of the pairs `chosen` (indices of candidates, rows ascending) of an optimal assignment.

    Candidates are in CSR form: those of row r are col[indptr[r]:indptr[r + 1]].  Staying unmatched costs 0, so optimal
    dual prices are at most 0, and 0 for unmatched rows and columns.
    """
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
    to_outside = outside_kernel(*by_column_kernel(indptr, col, slack, m), row_exit, row_of_col, col_of_row)
    from_outside = outside_kernel(indptr, col, slack, col_exit, col_of_row, row_of_col)
    margin = to_outside[rows] + from_outside[cols]
    inner_paths_kernel(indptr, col, slack, row_of_col, rows, cols, margin, 4 * thread_count())
    return margin


@kernel
def by_column_kernel(indptr, col, slack, columns):
    """Transpose the candidates to CSC form; return column starts, rows and slacks."""
    start = np.zeros(columns + 1, np.int64)
    for k in col:
        start[k + 1] += 1
    for k in range(columns):
        start[k + 1] += start[k]
    next_slot = start[:-1].copy()
    row, other = np.empty(len(col), np.int64), np.empty(len(col))
    for r in range(len(indptr) - 1):
        for a in range(indptr[r], indptr[r + 1]):
            slot = next_slot[col[a]]
            row[slot], other[slot] = r, slack[a]
            next_slot[col[a]] += 1
    return start, row, other


@kernel
def outside_kernel(ptr, end, slack, exit_cost, partner, partner_of_end):
    """Return the distance from outside to each column: it becomes unmatched, or takes a row from another column.

    With the CSC form, and rows and columns exchanged: the distance from each row to outside, without its own pair.

    ptr, end, slack   candidates in CSR form: `end` is a column
    exit_cost         cost of leaving each column unmatched
    partner           column of each row, -1 for none;  partner_of_end: row of each column
    """
    distance = exit_cost.copy()
    heap = [(0.0, -1)]
    heap.pop()
    for k in range(len(distance)):
        heappush(heap, (distance[k], k))
    for r in range(len(partner)):
        if partner[r] < 0:
            for a in range(ptr[r], ptr[r + 1]):
                if slack[a] < distance[end[a]]:
                    distance[end[a]] = slack[a]
                    heappush(heap, (slack[a], end[a]))
    while len(heap):
        length, k = heappop(heap)
        if length > distance[k] or partner_of_end[k] < 0:
            continue
        r = partner_of_end[k]  # a column that takes r displaces k
        for a in range(ptr[r], ptr[r + 1]):
            other = end[a]
            if other != k and length + slack[a] < distance[other]:
                distance[other] = length + slack[a]
                heappush(heap, (distance[other], other))
    return distance


@parallel_kernel
def inner_paths_kernel(indptr, col, slack, row_of_col, rows, cols, margin, chunks):
    """Lower the margins of pairs that have a shorter path from row to column that avoids outside."""
    for chunk in prange(chunks):
        distance = np.full(len(row_of_col), np.inf)
        for p in range(chunk * len(rows) // chunks, (chunk + 1) * len(rows) // chunks):
            margin[p] = shorter_path(indptr, col, slack, row_of_col, rows[p], cols[p], margin[p], distance)


@kernel
def shorter_path(indptr, col, slack, row_of_col, row, goal, bound, distance):
    """Return the length of the shortest path from a row to its column `goal` without their pair, at most `bound`.

    All entries of `distance` (columns,) are inf before and after the call.
    """
    heap = [(0.0, goal)]
    heap.pop()
    visited = [goal]
    visited.pop()
    from_col, length = goal, 0.0
    while True:
        for a in range(indptr[row], indptr[row + 1]):
            k = col[a]
            path = length + slack[a]
            if k != from_col and path < bound and path < distance[k]:
                if distance[k] == np.inf:
                    visited.append(k)
                distance[k] = path
                if k == goal:
                    bound = path
                elif row_of_col[k] >= 0:
                    heappush(heap, (path, k))
        found = False
        while len(heap):
            length, from_col = heappop(heap)
            if length == distance[from_col] and length < bound:
                found = True
                break
        if not found:
            break
        row = row_of_col[from_col]
    for k in visited:
        distance[k] = np.inf
    return bound
