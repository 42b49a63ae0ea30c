"""Start prices for costs that sorting solves: products, convex functions of a difference, and similar costs.

If rows and columns can be ordered such that

    cost[i, j] + cost[i + 1, j + 1] <= cost[i, j + 1] + cost[i + 1, j]    (Monge)

then matching them in that order is optimal, and the prices follow from adjacent pairs: v[j + 1] - v[j] must be at
least cost[j + 1, j + 1] - cost[j + 1, j] and at most cost[j, j + 1] - cost[j, j].  The only order tried is that of the
means.  It is correct for products of a row's and a column's own value (with one of the two orders reversed) and for
functions of their difference.  Costs that nearly have this structure get nearly optimal prices.  A sample decides
whether they have it.

Searches on short lists make little progress on such costs, because one misplaced row shifts all others by one.

Burkard, Klinz, Rudolf. "Perspectives of Monge properties in optimization." Discrete Applied Mathematics 1996.
"""

import numpy as np

from gridcut.device import kernel

SAMPLE_SIZE = 48  # rows and columns in the sample
MIN_AGREEMENT = 0.9  # minimum share of 2 x 2 blocks with the same sign; costs without this order have half


@kernel
def sums(cost, row_sum, col_sum):
    """Sums of all rows and columns, as floats."""
    n, m = cost.shape
    col_sum[:] = 0.0
    for i in range(n):
        row = cost[i]
        for j in range(m):
            col_sum[j] += row[j]
        parts = np.zeros(8)
        aligned = m // 8 * 8
        for start in range(0, aligned, 8):
            for lane in range(8):
                parts[lane] += row[start + lane]
        total = parts.sum()
        for j in range(aligned, m):
            total += row[j]
        row_sum[i] = total


def seems_sortable(cost) -> bool:
    """Whether a sample of the costs has this structure, in the order of its own means."""
    at = sample_of(len(cost))
    sample = cost[np.ix_(at, at)].astype(np.float64)
    rows, cols = sample.sum(axis=1).argsort(), sample.sum(axis=0).argsort()
    return turn_of(sample[np.ix_(rows, cols)]) != 0


def sample_of(n: int) -> np.ndarray:
    """Positions of the rows and columns in the sample."""
    return np.unique(np.linspace(0, n - 1, min(n, SAMPLE_SIZE)).astype(int))


def turn_of(sample) -> int:
    """-1: a sample in the order of its means is nearly Monge; 1: with reversed columns; 0: neither."""
    if not np.isfinite(sample).all():
        return 0
    square = np.diff(np.diff(sample, axis=0), axis=1)
    falling, rising = np.count_nonzero(square < 0), np.count_nonzero(square > 0)
    if max(falling, rising) < MIN_AGREEMENT * (falling + rising):
        return 0
    return 1 if rising > falling else -1


def sorted_prices(cost, kind):
    """Column prices, and the row of each column in sorted order; None if the costs do not have this structure."""
    n = len(cost)
    row_sum, col_sum = np.empty(n), np.empty(n)
    sums(cost, row_sum, col_sum)
    if not (np.isfinite(row_sum).all() and np.isfinite(col_sum).all()):
        return None
    rows, cols = np.argsort(row_sum, kind="stable"), np.argsort(col_sum, kind="stable")
    at = sample_of(n)
    turn = turn_of(cost[np.ix_(rows[at], cols[at])].astype(np.float64))
    if turn == 0:
        return None
    if turn > 0:
        cols = cols[::-1]
    upper, lower = rows[:-1], rows[1:]
    upper_step = cost[upper, cols[1:]].astype(kind) - cost[upper, cols[:-1]]
    lower_step = cost[lower, cols[1:]].astype(kind) - cost[lower, cols[:-1]]
    step = lower_step + (upper_step - lower_step) // 2 if kind is np.int64 else (lower_step + upper_step) / 2
    v, holder = np.empty(n, kind), np.empty(n, np.int32)
    v[cols] = np.concatenate([[0], np.cumsum(step)])
    holder[cols] = rows
    return v, holder
