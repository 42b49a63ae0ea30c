"""What an assignment would cost more without one of its pairs, exactly, for every pair.

Without pair (i, j), row i must go elsewhere and column j be filled or left.  The cheapest way is a shortest path from i
to j among the changes that the optimal prices allow, all of length >= 0:

    row r -> column k         r takes k instead of its own column:  cost[r, k] - row_price[r] - col_price[k]
    column k -> its row       the row that had k must go elsewhere:  0
    row r -> outside          r stays unmatched:  -row_price[r];  unmatched columns -> outside:  0
    outside -> column k       k stays unmatched:  -col_price[k];  outside -> unmatched rows:  0

Two searches give every distance to and from outside.  A path that avoids it matters only where it is shorter, so a
search from each row is bounded by that and stays small.  This is sensitivity analysis of the assignment problem [1];
for matching points it is the ratio test made global: the rival of a pair is all that could replace it.

[1] Burkard, Dell'Amico, Martello. "Assignment Problems." SIAM 2009, chapter 4.
"""

from heapq import heappop, heappush

import numpy as np
from numba import prange

from gridcut.device import kernel, parallel_kernel, thread_count


def exact_margins(indptr, col, cost, row_price, col_price, chosen) -> np.ndarray:
    """Margins (k,) of the pairs `chosen` (indices of candidates, rows ascending) of an optimal assignment.

    Candidates are sorted by row: those of row r are col[indptr[r]:indptr[r + 1]], at cost.  Staying unmatched costs 0,
    so prices that prove the assignment optimal are at most 0, and 0 for what is unmatched.
    """
    n, m = len(row_price), len(col_price)
    indptr, col = np.asarray(indptr, np.int64), np.asarray(col, np.int64)
    row = np.repeat(np.arange(n), np.diff(indptr))
    slack = np.maximum(cost - row_price[row] - col_price[col], 0.0)
    leave = np.maximum(-row_price, 0.0)
    free = np.maximum(-col_price, 0.0)
    rows, cols = row[chosen], col[chosen]
    row_of_col = np.full(m, -1, np.int64)
    row_of_col[cols] = rows
    col_of_row = np.full(n, -1, np.int64)
    col_of_row[rows] = cols
    out = to_outside_kernel(*by_column_kernel(indptr, col, slack, m), leave, row_of_col, col_of_row)
    enter = from_outside_kernel(indptr, col, slack, free, row_of_col, col_of_row)
    margin = out[rows] + enter[cols]
    shorten_kernel(indptr, col, slack, row_of_col, rows, cols, margin, 4 * thread_count())
    return margin


@kernel
def by_column_kernel(indptr, col, slack, columns):
    """The same candidates sorted by column: where each column's begin, their rows and slacks."""
    begin = np.zeros(columns + 1, np.int64)
    for k in col:
        begin[k + 1] += 1
    for k in range(columns):
        begin[k + 1] += begin[k]
    at = begin[:-1].copy()
    row, other = np.empty(len(col), np.int64), np.empty(len(col))
    for r in range(len(indptr) - 1):
        for a in range(indptr[r], indptr[r + 1]):
            place = at[col[a]]
            row[place], other[place] = r, slack[a]
            at[col[a]] += 1
    return begin, row, other


@kernel
def to_outside_kernel(back_ptr, back_row, back_slack, leave, row_of_col, col_of_row):
    """Distance of each row to outside, its own pair removed: by searching backwards from outside."""
    n, m = len(leave), len(row_of_col)
    far = np.full(n, np.inf)
    heap = [(0.0, -1)]
    heap.pop()
    for r in range(n):
        far[r] = leave[r]
        heappush(heap, (leave[r], r))
    for k in range(m):
        if row_of_col[k] < 0:
            for a in range(back_ptr[k], back_ptr[k + 1]):
                r = back_row[a]
                if back_slack[a] < far[r]:
                    far[r] = back_slack[a]
                    heappush(heap, (far[r], r))
    while len(heap):
        length, r = heappop(heap)
        if length > far[r] or col_of_row[r] < 0:
            continue
        k = col_of_row[r]  # who takes k sends r on
        for a in range(back_ptr[k], back_ptr[k + 1]):
            other = back_row[a]
            if other != r and length + back_slack[a] < far[other]:
                far[other] = length + back_slack[a]
                heappush(heap, (far[other], other))
    return far


@kernel
def from_outside_kernel(indptr, col, slack, free, row_of_col, col_of_row):
    """Distance of outside to each column: left unmatched, or filled by a row that leaves its own."""
    n, m = len(col_of_row), len(free)
    far = np.full(m, np.inf)
    heap = [(0.0, -1)]
    heap.pop()
    for k in range(m):
        far[k] = free[k]
        heappush(heap, (free[k], k))
    for r in range(n):
        if col_of_row[r] < 0:
            for a in range(indptr[r], indptr[r + 1]):
                if slack[a] < far[col[a]]:
                    far[col[a]] = slack[a]
                    heappush(heap, (slack[a], col[a]))
    while len(heap):
        length, k = heappop(heap)
        if length > far[k] or row_of_col[k] < 0:
            continue
        r = row_of_col[k]
        for a in range(indptr[r], indptr[r + 1]):
            other = col[a]
            if other != k and length + slack[a] < far[other]:
                far[other] = length + slack[a]
                heappush(heap, (far[other], other))
    return far


@parallel_kernel
def shorten_kernel(indptr, col, slack, row_of_col, rows, cols, margin, parts):
    """Lower margins where a path from the row to its column is shorter that does not go outside."""
    for part in prange(parts):
        far = np.full(len(row_of_col), np.inf)
        for p in range(part * len(rows) // parts, (part + 1) * len(rows) // parts):
            margin[p] = shorter_path(indptr, col, slack, row_of_col, rows[p], cols[p], margin[p], far)


@kernel
def shorter_path(indptr, col, slack, row_of_col, row, goal, bound, far):
    """Length of the shortest path from a row to its column `goal` without their pair, or `bound` if none is shorter.
    far (columns,) is inf throughout, before and after.
    """
    heap = [(0.0, goal)]
    heap.pop()
    seen = [goal]
    seen.pop()
    came, length = goal, 0.0
    while True:
        for a in range(indptr[row], indptr[row + 1]):
            k = col[a]
            reach = length + slack[a]
            if k != came and reach < bound and reach < far[k]:
                if far[k] == np.inf:
                    seen.append(k)
                far[k] = reach
                if k == goal:
                    bound = reach
                elif row_of_col[k] >= 0:
                    heappush(heap, (reach, k))
        found = False
        while len(heap):
            length, came = heappop(heap)
            if length == far[came] and length < bound:
                found = True
                break
        if not found:
            break
        row = row_of_col[came]
    for k in seen:
        far[k] = np.inf
    return bound
