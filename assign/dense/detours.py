"""Cheapest assignments that differ from a given one, by one search per row from its prices.

The assignments that differ from an optimum of a subproblem are divided by the first row t whose column differs: rows
before t keep their columns, and row t must not take its own.  From the optimum's prices, the cheapest assignment of
part t is one search away: a shortest path from row t to the column c that it had, over reduced costs.

    row t -> column j -> row of j -> ... -> c         cost of the part = cost of the optimum + length of the path

If there are more columns than rows, each unmatched column is matched with a dummy row of cost 0.  All dummy rows are
alike, so the first one that the search reaches stands for all.

    cost[i, j]       the matrix, n <= m; infinity forbids a pair
    col, row_of      the optimum; -1: the column is unmatched
    u, v             its prices in the subproblem; v is 0 for unmatched columns
    first, banned    rows before `first` are fixed; columns that row `first` must not take

[1] Murty. "An algorithm for ranking all the assignments in order of increasing cost." Operations Research 16, 1968.
[2] Miller, Stone, Cox. "Optimizing Murty's ranked assignment method." IEEE Transactions on Aerospace and Electronic
Systems 33, 1997.

O(n m) per search in the worst case.
"""

import numpy as np

from gridcut.device import inner_kernel, kernel

SOURCE = -1  # predecessor of a column that the search reached from its first row


@inner_kernel
def search(cost, col, row_of, u, v, t, banned, bound, dist, previous, done):
    """Length of the shortest path from row t to its own column, or `bound` if it is not shorter."""
    m = len(v)
    for j in range(m):
        done[j] = 0 <= row_of[j] < t
        dist[j] = bound
    dummy_reached = False
    at, base = SOURCE, u[t] - u[t]
    row = t
    while True:
        for j in range(m):
            if done[j] or (at == SOURCE and (j == col[t] or banned[j])):
                continue
            reduced = max(cost[row, j] - u[row] - v[j], 0) if row >= 0 else -v[j]
            if base + reduced < dist[j]:
                dist[j] = base + reduced
                previous[j] = at
        while True:
            at = SOURCE
            for j in range(m):
                if not done[j] and dist[j] < bound and (at == SOURCE or dist[j] < dist[at]):
                    at = j
            if at == SOURCE:
                return bound
            done[at] = True
            if at == col[t]:
                return dist[at]
            row, base = row_of[at], dist[at]
            if row >= 0 or not dummy_reached:
                break
        dummy_reached = dummy_reached or row < 0


@kernel
def path_lengths(cost, col, row_of, u, v, first, banned, bound, dist, lengths):
    """lengths[t] of each part t >= first, or `bound` for those not below it."""
    none = np.zeros(len(v), np.bool_)
    previous, done = np.empty(len(v), np.int64), np.empty(len(v), np.bool_)
    for t in range(first, len(u)):
        kept = banned if t == first else none
        lengths[t] = search(cost, col, row_of, u, v, t, kept, bound, dist, previous, done)


@kernel
def follow(cost, col, row_of, u, v, t, banned, bound, dist):
    """Change the optimum and its prices to those of part t, which is feasible."""
    m = len(v)
    previous, done = np.empty(m, np.int64), np.empty(m, np.bool_)
    end = col[t]
    length = search(cost, col, row_of, u, v, t, banned, bound, dist, previous, done)
    dummy = length  # distance of the dummy rows
    u[t] += length
    for j in range(m):
        if dist[j] < length and not 0 <= row_of[j] < t:
            v[j] -= length - dist[j]
            if row_of[j] >= 0:
                u[row_of[j]] += length - dist[j]
            else:
                dummy = min(dummy, dist[j])
    u -= length - dummy  # so that dummy rows and unmatched columns have the price 0
    v += length - dummy
    j = end
    while previous[j] != SOURCE:
        row = row_of[previous[j]]
        row_of[j] = row
        if row >= 0:
            col[row] = j
        j = previous[j]
    row_of[j] = t
    col[t] = j
