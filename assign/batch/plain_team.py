"""The batch kernel for GPUs without its tricks: paths from several rows per step, in plain NumPy, for one problem.

Read this first, after assign/dense/plain_paths.py.  `batch_team_cuda.py` takes the same steps, and tests compare both:

    columns   price = minimum cost of a column; a row with the minimum of several columns takes one    (square only)
    paths     a search from each row that is still free

A step of a search scans several rows: that of the nearest column of each group of columns, among the columns whose row
has not been scanned since they came closer.  So a column may come closer again after its row was scanned, and the row
is scanned again.  The search ends when the nearest of these columns is free: none can come closer than that, because no
reduced cost is negative.  Prices then change as in the file named above, by the distance to the end.

What `batch_team_cuda.py` adds: one problem per block of threads; a key that holds length, column and whether it is
matched; costs that become integers of few bits; rows with a cost of staying unmatched; n > m.

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems."
    Computing 38, 1987.
"""

import numpy as np

INFINITY = np.iinfo(np.int64).max


def solve(cost, groups=4):
    """Columns of the rows, prices u, v of a matrix of integers (n, m) with n <= m; free columns have the highest v."""
    cost = np.asarray(cost, np.int64)
    n, m = cost.shape
    u, v = np.zeros(n, np.int64), np.full(m, cost.min())
    col_of, row_of = np.full(n, -1), np.full(m, -1)
    if n == m:
        v = cost.min(0)
        for j, i in enumerate(cost.argmin(0)):
            col_of[i] = j
        row_of[col_of[col_of >= 0]] = np.flatnonzero(col_of >= 0)
    for source in np.flatnonzero(col_of < 0):
        distance, via, end = search(source, cost, u, v, row_of, groups)
        rise = np.maximum(distance[end] - distance, 0)
        rise[row_of < 0] = 0
        v -= rise
        u[row_of[rise > 0]] += rise[rise > 0]
        u[source] = distance[end]
        j = end
        while j >= 0:  # from the end of the path back to the source
            i = via[j]
            row_of[j] = i
            col_of[i], j = j, col_of[i]
    return col_of, u, v


def search(source, cost, u, v, row_of, groups):
    """Lengths of paths to the columns, the row before each, and the nearest free column."""
    m = cost.shape[1]
    distance, via = np.full(m, INFINITY), np.full(m, -1)
    is_open = np.zeros(m, bool)
    rows = [(source, 0)]  # with their distances
    while True:
        for i, length in rows:
            through = length + cost[i] - u[i] - v
            closer = through < distance
            distance[closer], via[closer] = through[closer], i
            is_open |= closer
        # Of equally near columns, free ones are first.
        order = sorted(np.flatnonzero(is_open), key=lambda j: (distance[j], row_of[j] >= 0))
        if row_of[order[0]] < 0:
            return distance, via, order[0]
        nearest: dict = {}
        for j in order:
            nearest.setdefault(j % groups, j)
        scanned = [j for j in nearest.values() if row_of[j] >= 0]
        is_open[scanned] = False
        rows = [(row_of[j], distance[j]) for j in scanned]
