"""Augmenting row reduction: every free row bids for its cheapest column, on the lists.

A row takes its cheapest column and lowers that column's price by as much as its second cheapest allows; the row
that held the column is free again and bids next.  Prices only fall, so the lists stay true.  The second cheapest
is the least of the list *and of its bound*: a bid that is too low is still a valid one, so a row is read again only
when its cheapest column itself is not known to be on its list.

Ends with a matching of tight pairs and the rows that are left, after at most `most` bids: with fine costs two
rows can outbid each other in minute steps for very long, which the searches that follow settle at once.

Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems."
Computing 1987 (augmenting row reduction).
"""

import numpy as np

from assign.dense.cheap_columns import group_count, is_thin, refresh
from gridcut.device import kernel


@kernel
def bid(cost, v, u, limit, col_of, row_of, infinity, column, price, low, bound, width, free, waiting, max_bids):
    """Bid for the `waiting` rows in `free`; returns how many are left in it, bids made and rows read."""
    n, m = cost.shape
    k = column.shape[1]
    limited = limit.size > 0
    minima = np.empty(group_count(m), v.dtype)
    no_dist = np.empty(0, v.dtype)
    rows_read = 0
    bids = 0
    left = 0
    at = 0
    while at < waiting:
        i = free[at]
        if bids >= max_bids:
            free[left] = i
            left += 1
            at += 1
            continue
        bids += 1
        for attempt in range(2):
            first = infinity
            second = infinity
            j1 = -1
            j2 = -1
            for e in range(k):
                if low[i, e] >= second:
                    break
                j = column[i, e]
                w = price[i, e] - v[j]
                if w < first or (w == first and j1 >= 0 and row_of[j1] >= 0 and row_of[j] < 0):
                    second = first
                    j2 = j1
                    first = w
                    j1 = j
                elif w < second:
                    second = w
                    j2 = j
            # Where ties reach beyond a list that has aged, a fresh one may show a free column.
            if attempt == 1 or first < bound[i] or bound[i] >= infinity:
                break
            if first == low[i, 0] and not (is_thin(i, low, bound, infinity) and j1 >= 0 and row_of[j1] >= 0):
                break
            refresh(cost, i, v, bids, infinity, minima, no_dist, column, price, low, bound, width)
            rows_read += 1
        if bound[i] < second:
            second = bound[i]
            j2 = -1
        if limited and limit[i] <= first:
            u[i] = limit[i]
            at += 1
            continue
        if j1 < 0:  # nothing is allowed: the search says so
            free[left] = i
            left += 1
            at += 1
            continue
        if limited and limit[i] < second:
            second = limit[i]
            j2 = -1
        gain = second - first
        if second >= infinity:  # the only column: there is no price it is not worth, so the search decides
            gain = first - first
            second = first
        u[i] = second
        holder = row_of[j1]
        if gain > 0:
            v[j1] -= gain
        elif holder >= 0 and j2 >= 0 and row_of[j2] < 0:
            j1 = j2
            holder = -1
        elif holder >= 0:
            # A tie with no free column in sight: taking it would only pass the question on.
            free[left] = i
            left += 1
            at += 1
            continue
        col_of[i] = j1
        row_of[j1] = i
        if holder >= 0:
            col_of[holder] = -1
            free[at] = holder
        else:
            at += 1
    return left, bids, rows_read
