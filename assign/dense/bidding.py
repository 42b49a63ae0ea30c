"""Bids on the lists: every free row takes its cheapest column.

A row takes its cheapest column and lowers the price of that column until its second cheapest is equally good.  The row
that held the column becomes free and bids next, while its list is still in the cache.  Prices only decrease, so the
lists stay valid.  The second cheapest value is the minimum of the list *and its bound*: a bid that is too low is still
valid.  So a row is read again only if its cheapest column may be missing from its list.

step 0    augmenting row reduction [1].  The result is a matching of tight pairs and the remaining free rows, after at
          most `max_bids` bids: with fine costs, two rows can outbid each other in tiny steps for very long, which the
          searches that follow resolve immediately.
step > 0  an auction [2]: a bid exceeds the necessary amount by `step`, which leaves each matched pair within `step` of
          tight.  The steps decrease by a constant factor [3], from the mean width of the lists to nearly 0.  Pairs that
          are not tight in the end are released and left to the bids and searches, which make the result exact.  So the
          last step need not be below 1/n, and no cost is multiplied.

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
    38, 1987.
[2] Bertsekas. "The auction algorithm: a distributed relaxation method for the assignment problem." Annals of Operations
    Research 14, 1988.
[3] Goldberg, Kennedy. "An efficient cost scaling algorithm for the assignment problem." Mathematical Programming 71,
    1995.
"""

from assign.dense.cheap_columns import refresh
from assign.dense.work import Work
from gridcut.device import kernel


@kernel
def bid(fields, waiting, step, max_bids, max_reads):
    """Bid for the rows free[:waiting]; returns the number of rows left in `free`, of bids and of rows read.

    `fields` are those of Work.  After `max_bids` bids or `max_reads` rows read, the other rows are left.
    """
    _, v, u, limit, col_of, row_of, infinity, column, price, low, bound, _, free, _ = fields
    work = Work(*fields)
    k = column.shape[1]
    limited = limit.size > 0
    rows_read = 0
    bids = 0
    left = 0
    at = 0
    while at < waiting:
        i = free[at]
        if bids >= max_bids or rows_read >= max_reads:
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
            # If ties may extend past the end of an old list, a rebuilt one may contain a free column.
            if attempt == 1 or first < bound[i] or bound[i] >= infinity or (step > 0 and first == bound[i]):
                break
            # Here bound[i] <= first.  No value in the row is below low[i, 0], so unlisted columns can only tie with j1.
            if first == low[i, 0] and j1 >= 0:
                break
            refresh(work, i, bids)
            rows_read += 1
        if bound[i] < second:
            second = bound[i]
            j2 = -1
        if limited and limit[i] <= first:
            u[i] = limit[i]
            at += 1
            continue
        if j1 < 0:  # no allowed column: the search reports it
            free[left] = i
            left += 1
            at += 1
            continue
        if limited and limit[i] < second:
            second = limit[i]
            j2 = -1
        gain = second - first + step
        if second >= infinity:  # the only allowed column: any price is acceptable, so leave it to the search
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
            # A tie without a free column: taking the column would only displace another row.
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
