"""Start prices: passes over the matrix that read it row by row.

column_minima      v[j] = minimum cost of column j
prices_from_rows   v[j] = the highest price that is feasible with the prices u of some rows
raise_to_zero      start prices from an earlier solve, if unmatched columns must end at price 0
"""

import numpy as np

from assign.dense.cheap_columns import PARALLEL_MIN_COSTS, group_count, group_minima
from gridcut.device import atomic_add, kernel, run_threads, thread_count

BANDS = 32  # of rows, for the threads


@kernel
def min_of_columns(cost, v):
    """v[j] = minimum of column j."""
    n, m = cost.shape
    for j in range(m):  # assigning a slice compiles numba's checks of shapes, for a second
        v[j] = cost[0, j]
    for i in range(1, n):
        row = cost[i]
        for j in range(m):
            v[j] = row[j] if row[j] < v[j] else v[j]


@kernel
def min_of_bands(cost, minimum, next_band):
    """minimum[b, j] = minimum of column j in band b of the rows; the atomic counter next_band[0] distributes bands."""
    n = cost.shape[0]
    bands = minimum.shape[0]
    while True:
        b = atomic_add(next_band, 0, 1)
        if b >= bands:
            break
        min_of_columns(cost[n * b // bands : n * (b + 1) // bands], minimum[b])


@kernel
def min_slack_of_columns(cost, rows, u, v):
    """v[j] = minimum of cost[rows[e], j] - u[e] over e."""
    m = cost.shape[1]
    for e in range(rows.size):
        row = cost[rows[e]]
        shift = u[e]
        if e == 0:
            for j in range(m):
                v[j] = row[j] - shift
        else:
            for j in range(m):
                w = row[j] - shift
                v[j] = w if w < v[j] else v[j]


def column_minima(cost, kind):
    """Minimum cost of each column; 0 for a column without allowed pairs."""
    v = np.empty(cost.shape[1], cost.dtype)
    if cost.size < PARALLEL_MIN_COSTS or thread_count() == 1:
        min_of_columns(cost, v)
    else:
        minimum = np.empty((BANDS, len(v)), cost.dtype)
        next_band = np.zeros(1, np.int64)
        run_threads(lambda _: min_of_bands(cost, minimum, next_band), thread_count())
        min_of_columns(minimum, v)
    return _finite(v.astype(kind))


def prices_from_rows(cost, rows, u):
    """The highest prices of all columns that are feasible with the prices u of some rows."""
    v = np.empty(cost.shape[1], u.dtype)
    min_slack_of_columns(cost, rows, u, v)
    return _finite(v)


def _finite(v):
    if v.dtype.kind == "f":
        v[np.isinf(v)] = 0
    return v


@kernel
def raised_rows(cost, v, limit, low, match):
    """low[i] = minimum of row i at prices v, and a greedy matching of tight pairs: match[j] = row or -1."""
    match[:] = -1
    minima = np.empty(group_count(v.size), v.dtype)
    groups = minima.size
    for i in range(low.size):
        row = cost[i]
        group_minima(row, v, minima)
        minimum, group = minima[0], 0
        for g in range(1, groups):
            if minima[g] < minimum:
                minimum, group = minima[g], g
        low[i] = minimum
        if minimum < np.inf and not (limit.size > 0 and limit[i] < minimum):  # inf: no column is allowed
            for j in range(group, row.size, groups):
                if match[j] < 0 and row[j] - v[j] <= minimum:
                    match[j] = i
                    break


def raise_to_zero(cost, v, limit):
    """Raise prices v <= 0 until each column with a price below 0 has a tight row (`holder`, or -1 for none).

    A matched column stays matched until the end, so only columns with price 0 can stay unmatched.

    The price of a column that no row takes is reset to 0, after which a row may prefer it to its own column.  This is
    repeated until nothing changes.  It terminates because prices only rise.  Prices of a similar problem hardly change.

    Returns v, the minimum of each row, and `holder`.
    """
    n, m = cost.shape
    v = np.ascontiguousarray(v)
    low, holder = np.empty(n, v.dtype), np.empty(m, np.int32)
    while True:
        raised_rows(cost, v, limit, low, holder)
        idle = (holder < 0) & (v < 0)
        if not idle.any():
            return v, low, holder
        v[idle] = 0
