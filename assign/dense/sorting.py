"""Costs that sorting solves: products, convex functions of a difference, and similar ones.

If rows and columns can be ordered such that

    cost[i, j] + cost[i + 1, j + 1] <= cost[i, j + 1] + cost[i + 1, j]    (Monge)

then matching them in that order is optimal, and the prices follow from adjacent pairs: v[j + 1] - v[j] must be at
least cost[j + 1, j + 1] - cost[j + 1, j] and at most cost[j, j + 1] - cost[j, j].  In such an order, the difference of
two rows is monotonic along the columns, and that of two columns along the rows.  So the only order tried is that of the
differences of two rows and of two columns that lie far apart.  A sample decides whether it is worth computing, and
whether one of the two orders must be reversed.  Costs that nearly have this structure get nearly optimal prices.

Searches on short lists make little progress on such costs, because one misplaced row shifts all others by one.

Burkard, Klinz, Rudolf. "Perspectives of Monge properties in optimization." Discrete Applied Mathematics 1996.
"""

import numpy as np

SAMPLE_SIZE = 48  # rows and columns in the sample
MIN_AGREEMENT = 0.9  # minimum share of 2 x 2 blocks with the same sign; costs without this order have half
ROUNDS = 8  # of finding two rows, then two columns that lie farther apart; maxima tie at the ends, and halve them
NOISE = 1e-12  # differences of floats below this share of their range are rounding


def seems_sortable(cost) -> bool:
    """Whether a sample of the costs has this structure."""
    at = sample_of(len(cost))
    sample = cost[np.ix_(at, at)].astype(np.float64)
    return bool(np.isfinite(sample).all()) and turn_of(sample, *orders_of(sample)) != 0


def sample_of(n: int) -> np.ndarray:
    """Positions of the rows and columns in the sample."""
    return np.unique(np.linspace(0, n - 1, min(n, SAMPLE_SIZE)).astype(int))


def orders_of(cost):
    """The orders of rows and columns by the differences of two columns and of two rows."""
    first, last = 0, len(cost) - 1
    for _ in range(ROUNDS):
        before = first, last
        along_columns = difference(cost[first], cost[last])
        low, high = ends_of(along_columns, cost[first], cost[last])
        along_rows = difference(cost[:, low], cost[:, high])
        first, last = ends_of(along_rows, cost[:, low], cost[:, high])
        if (first, last) == before:
            break
    along_columns = difference(cost[first], cost[last])
    return np.argsort(along_rows, kind="stable"), np.argsort(along_columns, kind="stable")


def difference(a, b):
    return a.astype(np.float64) - b


def ends_of(along, a, b) -> tuple[int, int]:
    """The first and the last in the order of `along`; among equal ones, the farthest from both of a and b."""
    low, high = along.min(), along.max()
    noise = NOISE * (high - low)
    far = a.astype(np.float64) + b
    first = np.where(along <= low + noise, far, -np.inf).argmax()
    last = np.where(along >= high - noise, far, -np.inf).argmax()
    return int(first), int(last)


def turn_of(cost, rows, cols) -> int:
    """-1: a sample of the costs in these orders is nearly Monge; 1: with reversed columns; 0: neither."""
    at = sample_of(len(cost))
    sample = cost[np.ix_(rows[at], cols[at])].astype(np.float64)
    if not np.isfinite(sample).all():
        return 0
    square = np.diff(np.diff(sample, axis=0), axis=1)
    noise = NOISE * np.abs(sample).max()
    falling, rising = np.count_nonzero(square < -noise), np.count_nonzero(square > noise)
    if max(falling, rising) < MIN_AGREEMENT * (falling + rising):
        return 0
    return 1 if rising > falling else -1


def sorted_prices(cost, kind):
    """Column prices, and the row of each column in sorted order; None if the costs do not have this structure."""
    n = len(cost)
    if not seems_sortable(cost):
        return None
    with np.errstate(invalid="ignore"):  # infinities outside the sample
        rows, cols = orders_of(cost)
    turn = turn_of(cost, rows, cols)
    if turn > 0:
        cols = cols[::-1]
    if turn == 0 or not np.isfinite(cost[rows, cols]).all():
        return None
    upper, lower = rows[:-1], rows[1:]
    upper_step = cost[upper, cols[1:]].astype(kind) - cost[upper, cols[:-1]]
    lower_step = cost[lower, cols[1:]].astype(kind) - cost[lower, cols[:-1]]
    step = lower_step + (upper_step - lower_step) // 2 if kind is np.int64 else (lower_step + upper_step) / 2
    v, holder = np.empty(n, kind), np.empty(n, np.int32)
    v[cols] = np.concatenate([[0], np.cumsum(step)])
    holder[cols] = rows
    return (v, holder) if np.isfinite(v).all() else None
