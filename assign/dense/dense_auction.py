"""Auction with a price step: every row takes its cheapest column and overbids by one step.

Augmenting row reduction (bidding.py) is slow if two rows outbid each other in tiny steps.  A bid that exceeds the
necessary amount by `step` avoids this, and leaves each matched pair within `step` of tight.  The steps decrease by a
constant factor, from the mean width of the lists to nearly 0.  Pairs that are not tight in the end are released and
left to the bids and searches, which make the result exact.  So the last step need not be below 1/n, and no cost is
multiplied.

Prices only decrease, within a phase and between phases, so the lists stay valid.  A row whose second cheapest column is
unknown bids up to its bound, which is a lower and equally valid bid.

Rows are processed last in, first out: the row just outbid bids next, while its list is still in the cache.

Bertsekas. "The auction algorithm: a distributed relaxation method for the assignment problem." Annals of Operations
Research 1988.  Goldberg, Kennedy. "An efficient cost scaling algorithm for the assignment problem." Mathematical
Programming 1995 (phases).
"""

from assign.dense.cheap_columns import refresh
from assign.dense.work import Work
from gridcut.device import kernel


@kernel
def run_phase(fields, waiting, step, max_bids, max_reads):
    """Bid until no row is free, after `max_bids` or `max_reads`, or if a row has a single column, thus no highest bid.

    Returns how many rows are left in `free`, the number of bids and of rows read.  `fields` are those of Work.
    """
    _, v, _, _, col_of, row_of, infinity, column, price, low, bound, _, free, _ = fields
    work = Work(*fields)
    k = column.shape[1]
    rows_read = 0
    bids = 0
    while waiting > 0 and bids < max_bids and rows_read < max_reads:
        i = free[waiting - 1]
        bids += 1
        first = infinity
        second = infinity
        j1 = -1
        for attempt in range(2):
            first = infinity
            second = infinity
            j1 = -1
            for e in range(k):
                if low[i, e] >= second:
                    break
                j = column[i, e]
                w = price[i, e] - v[j]
                if w < second:
                    if w < first:
                        second = first
                        first = w
                        j1 = j
                    else:
                        second = w
            if attempt == 1 or first <= bound[i]:
                break
            refresh(work, i, bids)
            rows_read += 1
        if bound[i] < second:
            second = bound[i]
        if second >= infinity:
            break
        v[j1] -= second - first + step
        holder = row_of[j1]
        col_of[i] = j1
        row_of[j1] = i
        if holder >= 0:
            col_of[holder] = -1
            free[waiting - 1] = holder
        else:
            waiting -= 1
    return waiting, bids, rows_read


@kernel
def release(fields, step):
    """Set u to the minimum of each row, and unmatch pairs that exceed it by more than `step`.

    Returns the number of free rows (in `free`) and of rows read.
    """
    cost, v, u, _, col_of, row_of, infinity, column, price, low, bound, _, free, _ = fields
    work = Work(*fields)
    k = column.shape[1]
    rows_read = 0
    waiting = 0
    for i in range(cost.shape[0]):
        first = infinity
        for attempt in range(2):
            first = infinity
            for e in range(k):
                if low[i, e] >= first:
                    break
                w = price[i, e] - v[column[i, e]]
                first = min(first, w)
            if attempt == 1 or first <= bound[i]:
                break
            refresh(work, i, 0)
            rows_read += 1
        u[i] = first if first < infinity else u[i]
        j = col_of[i]
        if j >= 0 and cost[i, j] - v[j] > first + step:
            col_of[i] = -1
            row_of[j] = -1
            j = -1
        if j < 0:
            free[waiting] = i
            waiting += 1
    return waiting, rows_read
