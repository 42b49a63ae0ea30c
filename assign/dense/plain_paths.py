"""The CPU default without its tricks: shortest augmenting paths on a dense matrix, in plain NumPy.

Read this first.  `dense.py` computes the same costs with prices of the same kind, and tests compare both.

Prices u of rows and v of columns are kept such that no reduced cost  cost[i, j] - u[i] - v[j]  is negative and those of
matched pairs are 0.  Such a matching is optimal for the rows it matches.  Each search adds one row:

    1. Dijkstra's algorithm over reduced costs, from the new row: a column is reached from a row over any pair, a row
    from its column over the matched pair.  It ends at the nearest column without a partner.
    2. Every column that was final before the end, at distance d, falls by (length - d), and its row rises by it.  This
       keeps all reduced costs at 0 or above and makes those along the path 0.
    3. The pairs along the path change sides.

What `dense.py` adds: start prices and bids that match most rows without a search; short lists of a row's cheapest
columns with a bound on the others, so that a search reads few costs; an auction where searches grow long; n < m and
`max_cost`.

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
    38, 1987.

O(n^2 m) time, O(m) memory beyond the costs.
"""

import numpy as np


def solve(cost):
    """Columns of the rows and prices u, v of a matrix (n, m) with n <= m; every row is matched, and v <= 0.

    Unmatched columns keep the price 0, which certifies that none of them would have been cheaper.
    """
    cost = np.asarray(cost)
    n, m = cost.shape
    kind = cost.dtype.type(0).item().__class__
    u, v = np.zeros(n, kind), np.zeros(m, kind)
    row_of, col_of = np.full(m, -1), np.full(n, -1)
    for row in range(n):
        distance, reached_from, final, length, end = search(row, cost, u, v, row_of)
        for j in final:
            u[row_of[j]] += length - distance[j]
            v[j] -= length - distance[j]
        u[row] += length
        while end >= 0:  # from the end of the path back to the row it began at
            i = reached_from[end]
            row_of[end] = i
            col_of[i], end = end, col_of[i]
    return col_of, u, v


def search(row, cost, u, v, row_of):
    """Dijkstra's algorithm from a row to the nearest unmatched column.

    Returns distances, the row each column was reached from, the columns that became final before the end, the length
    of the path, and the column at its end.
    """
    m = cost.shape[1]
    distance = cost[row] - u[row] - v
    reached_from = np.full(m, row)
    final: list = []
    is_open = np.ones(m, bool)
    while True:
        open_columns = np.flatnonzero(is_open)
        j = open_columns[np.argmin(distance[open_columns])]
        if row_of[j] < 0:
            return distance, reached_from, final, distance[j], j
        is_open[j] = False
        final.append(j)
        i = row_of[j]
        through = distance[j] + cost[i] - u[i] - v
        shorter = is_open & (through < distance)
        distance[shorter] = through[shorter]
        reached_from[shorter] = i
