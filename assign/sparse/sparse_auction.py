"""Nearly optimal prices and matching by an auction in which rows bid for their cheapest columns, with step eps.

`bid` lets unmatched rows bid until none is left, or for a given number of bids.  `release` unmatches rows that could
save more than eps with another column, which starts a phase with a smaller eps.

Row i takes the column j with the minimum cost[i, j] - v[j] from the row that has it, and lowers v[j] until its second
choice would be better by eps.  The displaced row bids next.  So no row can save more than eps, and u[i], the minimum of
cost[i, j] - v[j] over its columns, need not be stored.  This is the double push of [2], whose prices have the opposite
sign.

Arrays (n rows, m columns; CSR: row i is allowed columns[start[i] : start[i + 1]], of unsigned type, at these costs)
  v[j]         price of column j, never rising;  0 until the first bid
  row_of[j]    row of column j, or -1
  limit[i]     cost at which row i stays unmatched;  no entries: it must not
  waiting      rows that must bid, last in, first out; never a row without columns

The search for the two cheapest columns is branch-free, because the cheapest arc cannot be predicted.

A bid must lower its price.  Floats round a small eps away, and then two rows that tie displace each other without end.
Therefore a float price falls by at least `unit` times |w| + |v[j]|, where w = cost[i, j] - v[j] is the minimum and
unit = 2^-50.  As |cost| <= |w| + |v[j]|, up to rounding, that is at least about four units in the last place of cost,
price and difference.  Rounding changes the new price and the new w by at most an eighth of the fall each.  So the fall
is representable, and w rises: no bid is repeated.  For integers, eps >= 1, and unit is None.

[1] Bertsekas. "The auction algorithm: a distributed relaxation method for the assignment problem." Annals of Operations
Research 14, 1988.
[2] Goldberg, Kennedy. "An efficient cost scaling algorithm for the assignment problem." Mathematical Programming 71,
1995.

A phase takes O(n a) time for a arcs; the caller allocates all memory.
"""

import numpy as np

from gridcut.device import kernel, plain_kernel


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@kernel
def bid(start, columns, cost, limit, eps, unit, spread, budget, min_price, v, row_of, waiting, top):
    """Bid with the rows waiting[:top], at most `budget` times; returns the number of rows still waiting, and of bids.

    -1 bids: a price fell below `min_price` or is not a number, and the prices must be discarded.
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
            fall = second - low + eps
            if unit is not None:
                smallest = unit * (abs(low) + abs(v[best]))
                fall = smallest if smallest > fall else fall
            v[best] -= fall
            if not v[best] >= min_price:
                return top, -1
            displaced = row_of[best]
            row_of[best] = i
            i = np.int64(displaced)
    return top, bids


@plain_kernel
def release(start, columns, cost, limit, eps, v, col_of, row_of, waiting):
    """Unmatch rows that could save more than eps; returns the number of unmatched rows, which are in `waiting`.

    col_of is computed from row_of.
    """
    for i in range(col_of.size):
        col_of[i] = -1
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


@plain_kernel
def mean_gap(start, columns, cost, v):
    """Mean gap between a row's two cheapest columns, over the rows that have two; 0 if there are none."""
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
