"""Prices and a matching that are nearly optimal, by an auction: a row bids for its cheapest column, all at a scale eps.

`bid` lets unmatched rows bid until there are none, or for so many bids; `release` takes their columns from rows that
could save more than eps elsewhere, which is how a phase starts whose eps is less than that of the phase before.

A row i takes the column j of the least cost[i, j] - v[j] from whoever has it, and lowers v[j] until its second choice
would be better by eps; the row driven away bids next.  So no row could save more than eps, and of a price only what
the bidder offers is known: u[i] is the least cost[i, j] - v[j] of its columns.  This is the double push of [2]; its
prices are these with the other sign.

Arrays (n rows, m columns; CSR: row i may have columns[start[i] : start[i + 1]] of unsigned type, at these costs)
  v[j]         price of column j, never rising;  0 as long as nobody wanted it
  row_of[j]    row of column j, or -1
  limit[i]     cost at which row i stays unmatched;  no entries: it must not
  waiting      rows that are to bid, last in, first out; never a row without columns

The search for the two best columns has no branches, for which arc is best cannot be predicted.

[1] Bertsekas. "The auction algorithm: a distributed relaxation method for the assignment problem." Annals of Operations
Research 14, 1988.
[2] Goldberg, Kennedy. "An efficient cost scaling algorithm for the assignment problem." Mathematical Programming 71,
1995.

A phase takes O(n a) time for a arcs; memory is the caller's.
"""

import numpy as np

from gridcut.device import kernel


@kernel
def bid(start, columns, cost, limit, eps, spread, budget, min_price, v, row_of, waiting, top):
    """Bid with the rows waiting[:top], `budget` times at most; rows still waiting, and bids.

    -1 bids: a price fell below `floor`, and the prices are to be given up.
    """
    bids = 0
    while top > 0 and bids < budget:
        top -= 1
        i = np.int64(waiting[top])
        while i >= 0:
            if bids >= budget:
                waiting[top] = i
                top += 1
                break
            bids += 1
            first = np.uint64(start[i])
            best = columns[first]
            low = cost[first] - v[best]
            second = low + spread
            for a in range(first + np.uint64(1), np.uint64(start[i + 1])):
                j = columns[a]
                w = cost[a] - v[j]
                is_less = w < low
                other = low if is_less else w
                low = w if is_less else low
                best = j if is_less else best
                second = other if other < second else second
            if limit.size:
                if limit[i] <= low:
                    break
                second = min(second, limit[i])
            v[best] -= second - low + eps
            if v[best] < min_price:
                return top, -1
            displaced = row_of[best]
            row_of[best] = i
            i = np.int64(displaced)
    return top, bids


@kernel
def release(start, columns, cost, limit, eps, v, col_of, row_of, waiting):
    """Take columns from rows that could save more than eps; the number of rows without a column, in waiting[:number].

    col_of is made from row_of.
    """
    col_of[:] = -1
    for j in range(row_of.size):
        if row_of[j] >= 0:
            col_of[row_of[j]] = j
    top = 0
    for i in range(col_of.size):
        first, end = np.uint64(start[i]), np.uint64(start[i + 1])
        if first == end:
            continue
        if col_of[i] >= 0:
            held_column = np.uint32(col_of[i])
            low = cost[first] - v[columns[first]]
            held = low
            for a in range(first, end):
                j = columns[a]
                w = cost[a] - v[j]
                low = w if w < low else low
                held = w if j == held_column else held
            if limit.size:
                low = min(low, limit[i])
            if held - low <= eps:
                continue
            row_of[held_column] = -1
            col_of[i] = -1
        waiting[top] = i
        top += 1
    return top


@kernel
def mean_gap(start, columns, cost, v):
    """Mean difference of a row's second best column and its best, of the rows that have two; 0 if there are none."""
    total, rows = 0.0, 0
    for i in range(start.size - 1):
        first, end = np.uint64(start[i]), np.uint64(start[i + 1])
        if end - first < 2:
            continue
        low = cost[first] - v[columns[first]]
        second = cost[first + np.uint64(1)] - v[columns[first + np.uint64(1)]]
        if second < low:
            low, second = second, low
        for a in range(first + np.uint64(2), end):
            w = cost[a] - v[columns[a]]
            other = low if w < low else w
            low = w if w < low else low
            second = other if other < second else second
        total += second - low
        rows += 1
    return total / max(rows, 1)
