"""Start prices: passes over the matrix that read it row by row.

column_minima      v[j] = minimum cost of column j
prices_from_rows   v[j] = the highest price that is feasible with the prices u of some rows
raise_to_zero      start prices from an earlier solve, if unmatched columns must end at price 0
"""

import numpy as np

from assign.dense.cheap_columns import group_count, group_minima
from gridcut.device import kernel


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
    return prices_from_rows(cost, np.arange(len(cost)), np.zeros(len(cost), kind))


def prices_from_rows(cost, rows, u):
    """The highest prices of all columns that are feasible with the prices u of some rows."""
    v = np.empty(cost.shape[1], u.dtype)
    min_slack_of_columns(cost, rows, u, v)
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
