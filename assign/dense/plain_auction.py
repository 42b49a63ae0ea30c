"""The auction of the GPU default without its tricks: prices by bids with a decreasing eps, in plain NumPy.

Read this first.  `auction_cuda.py` does the same steps, all rows in parallel, and tests compare both:

    bid      an unmatched row i takes its cheapest column j, at cost[i, j] - v[j], and lowers v[j] until the column is
             eps worse than the second best of the row; the row that owned j before is displaced and bids again
    phase    bids until at most `stop_rows` rows have no column
    scale    the next phase starts from the prices of the last one, with no row matched and eps divided by alpha

Invariant (eps-complementary slackness): cost[i, j] - v[j] <= min over k of (cost[i, k] - v[k]) + eps for each row i
with a column j.  A bid makes it hold for its row.  Later bids only lower prices, and that of j only if i is displaced.
So a matching of all rows costs at most n * eps more than an optimal one, if the columns without a row have the highest
price (or there are none).  With integer costs and n * eps < 1 it is optimal.

Termination: a bid lowers a price by at least eps, and a column with an owner never loses it without a new one.  While a
row has no column, some column has no owner.  Its price has not changed in this phase, so the others become too dear.

What `auction_cuda.py` adds: lists of the cheapest arcs of a row, with a bound on the others, so that a bid reads 64
costs; many blocks that bid without locks, by one compare-and-swap on a word with price and owner of a column; eps in
terms of the width of the lists; limits of time and of prices.  Its prices need not be exact: shortest augmenting paths
(plain_paths.py) start from them and find the optimum.

[1] Bertsekas, Castanon. "Parallel synchronous and asynchronous implementations of the auction algorithm."
    Parallel Computing 17, 1991.

O(m) time per bid; O(n + m) memory.
"""

import numpy as np

NEXT_ROW = -1  # no row was displaced: another one is taken


def solve(cost, *, first_eps, last_eps=1, alpha=5, stop_rows=0):
    """Columns of the rows (-1: none) and prices v, at most 0, of a matrix of integers (n, m) with n <= m.

    The last phase ends when at most `stop_rows` rows have no column.
    """
    cost = np.asarray(cost, np.int64)
    v = np.zeros(cost.shape[1], np.int64)
    eps = max(first_eps, last_eps)
    while True:
        col_of = phase(cost, v, eps, stop_rows)
        if eps <= last_eps:
            return col_of, v
        eps = max(int(eps / alpha), last_eps)


def phase(cost, v, eps, stop_rows):
    """Bids from an empty matching on, with one eps; lowers v in place."""
    n, m = cost.shape
    col_of, row_of = np.full(n, -1), np.full(m, -1)
    rows = iter(range(n))
    row: int | None = NEXT_ROW
    while True:
        if row == NEXT_ROW:
            row = next(rows, None)
            if row is None:
                return col_of
        elif (col_of < 0).sum() <= stop_rows:
            return col_of  # the displaced row is dropped
        row = bid(row, cost, v, eps, col_of, row_of)


def bid(i, cost, v, eps, col_of, row_of):
    """One bid of row i; returns the displaced row, or NEXT_ROW if the column was free."""
    keys = cost[i] - v
    j = int(np.argmin(keys))
    best = keys[j]
    keys[j] = np.iinfo(np.int64).max
    second = keys.min() if len(keys) > 1 else best
    v[j] -= second - best + eps
    displaced = int(row_of[j])
    if displaced >= 0:
        col_of[displaced] = -1
    row_of[j], col_of[i] = i, j
    return displaced
