"""Augmenting row reduction on the lists: every free row bids for its cheapest column.

A row takes its cheapest column and lowers the price of that column until its second cheapest is equally good.  The row
that held the column becomes free and bids next.  Prices only decrease, so the lists stay valid.  The second cheapest
value is the minimum of the list *and its bound*: a bid that is too low is still valid.  So a row is read again only if
its cheapest column may be missing from its list.

The result is a matching of tight pairs and the remaining free rows, after at most `max_bids` bids: with fine costs, two
rows can outbid each other in tiny steps for very long, which the searches that follow resolve immediately.

Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems."
Computing 1987 (augmenting row reduction).
"""

from assign.dense.cheap_columns import refresh
from assign.dense.work import Work
from gridcut.device import kernel


@kernel
def bid(fields, waiting, max_bids):
    """Bid for the rows free[:waiting]; returns the number of rows left in `free`, of bids and of rows read.

    `fields` are those of Work.
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
            # If ties may extend past the end of an old list, a rebuilt one may contain a free column.
            if attempt == 1 or first < bound[i] or bound[i] >= infinity:
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
        gain = second - first
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
