"""Matrices of which most pairs cost the same, and none more: 1 - IoU, gated, clipped or blocked pairs.

A pair of that cost is as good as no pair.  So only the cheaper ones are solved, as sparse costs with that cost as the
price of staying unmatched, and any pairing of the rest is optimal: a row that stays unmatched has the price `common`,
a column 0, and no prices of another row or column are higher.
"""

import numpy as np

from gridcut.device import kernel

MIN_ROWS = 128  # smaller matrices are solved before the sparse problem is built
MIN_SHARE = 0.75  # of pairs with the common cost
SAMPLED_ROWS = 8


@kernel
def common_cost(cost, sign):
    """(common cost times sign, number of pairs below it), or (0, -1) if too few cost the same, or some cost more."""
    n, m = cost.shape
    high = sign * cost[0, 0]
    nothing = high - high
    step = max(n // SAMPLED_ROWS, 1)
    seen, same = 0, 0
    for i in range(0, n, step):
        for j in range(m):
            number = sign * cost[i, j]
            if number > high:
                high, same = number, 0
            same += number == high
        seen += m
        if same < MIN_SHARE * seen:
            return nothing, -1
    if not high < np.inf:
        return nothing, -1
    below = 0
    for i in range(n):
        row = cost[i]
        above, lower = 0, 0
        for j in range(m):
            number = sign * row[j]
            above += not number <= high
            lower += number < high
        if above > 0:
            return nothing, -1
        below += lower
    return high, below if below <= (1 - MIN_SHARE) * n * m else -1


@kernel
def cheaper_pairs(cost, sign, common, indptr, indices, paid):
    """The pairs below the common cost, as compressed rows."""
    at = 0
    for i in range(cost.shape[0]):
        indptr[i] = at
        for j in range(cost.shape[1]):
            number = sign * cost[i, j]
            if number < common:
                indices[at] = j
                paid[at] = number
                at += 1
    indptr[cost.shape[0]] = at


def pairs_and_prices(cost, sign=1):
    """Column of each row, prices u and v of sign * cost, and counters; None for other matrices.  n <= m."""
    n, m = cost.shape
    if n < MIN_ROWS:
        return None
    common, below = common_cost(cost, sign)
    if below < 0:
        return None
    from assign.sparse.sparse import solve as solve_sparse

    kind = np.int64 if cost.dtype.kind == "i" else np.float64
    indptr, indices, paid = np.empty(n + 1, np.int64), np.empty(below, np.int32), np.empty(below, kind)
    cheaper_pairs(cost, sign, common, indptr, indices, paid)
    col, u, v, stats = solve_sparse(indptr, indices, paid, m, limit=np.full(n, common, kind))
    rows = np.flatnonzero(col < 0)
    taken = np.zeros(m, bool)
    taken[col[col >= 0]] = True
    col[rows] = np.flatnonzero(~taken)[: len(rows)]
    return col, u, v, stats
