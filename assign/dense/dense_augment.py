"""Shortest augmenting paths on the lists: one search from each row that is still free.

Dijkstra's algorithm over reduced costs.  A row that is reached looks at its list only; what is not on the list
costs at least `bound`, so the rest of the row stands in the heap as one more entry, at the distance

    dist(row) + bound[row] - u[row],

and the row is read in full only if the search gets that far.  The first such reading makes the list anew at the
prices of today; another one in the same search takes the next k columns that it would bring nearer.

Arrays, for one search
  dist[j]        `far`: column j not reached (also between searches)
  pred[j]        the row it was reached from
  touched        columns with a distance, to be reset
  order          columns in the order they became final; they have dist <= the length of the path found
  ready          columns at the distance being looked at, that need not pass through the heap

Prices: afterwards final columns fall by length - dist and their rows rise by it; nothing else changes.

Jonker, Volgenant. Computing 1987. Crouse. "On implementing 2D rectangular assignment algorithms." IEEE TAES 2016.
Time O(n m + (n k + reached rows) log n) for a search, usually far less.
"""

import numpy as np

from assign.dense.cheap_columns import group_count, group_minima_nearer, refresh, select
from gridcut.device import kernel

READING = 8  # rows looked at on their list in the time that one is read in full


@kernel
def push(key, what, size, new_key, new_what):
    """Add one entry to the heap; returns its size."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if key[up] <= new_key:
            break
        key[at] = key[up]
        what[at] = what[up]
        at = up
    key[at] = new_key
    what[at] = new_what
    return size + 1


@kernel
def pop(key, what, size):
    """Remove the first entry; returns the size."""
    size -= 1
    moved = key[size]
    moved_what = what[size]
    at = 0
    down = 1
    while down < size:
        if down + 1 < size and key[down + 1] < key[down]:
            down += 1
        if key[down] >= moved:
            break
        key[at] = key[down]
        what[at] = what[down]
        at = down
        down = 2 * at + 1
    key[at] = moved
    what[at] = moved_what
    return size


@kernel
def augment(cost, v, u, limit, col_of, row_of, far, column, price, low, bound, reach, free, waiting, most):
    """Match the rows of free[:waiting]; after `most` rows looked at no further search is begun.

    Returns rows reached, rows read, the number of rows left (in `free`), and -1; or, where a search finds no way out,
    instead of -1 the number of rows it reached (in `free`), which have fewer allowed columns than they are.
    """
    n, m = cost.shape
    k = column.shape[1]
    limited = limit.size > 0
    minima = np.empty(group_count(m), v.dtype)
    nobody = np.empty(0, v.dtype)
    dist = np.full(m, far, v.dtype)
    pred = np.empty(m, np.int32)
    touched = np.empty(m, np.int32)
    order = np.empty(m, np.int32)
    ready = np.empty(m, np.int32)
    reached_at = np.empty(n, v.dtype)
    made = np.full(n, -1, np.int32)
    capacity = 4 * (n + m) + 64
    key = np.empty(capacity, v.dtype)
    what = np.empty(capacity, np.int32)
    more_column = np.empty(k, np.int32)
    more_price = np.empty(k, v.dtype)
    more_low = np.empty(k, v.dtype)
    reached = 0
    scans = 0
    for search in range(waiting):
        if reached + READING * scans > most:
            for e in range(search, waiting):
                free[e - search] = free[e]
            return reached, scans, waiting - search, -1
        start = free[search]
        heap = 0
        at_hand = 0
        finals = 0
        touches = 0
        best = far
        end = -1  # a free column, or -2 - row: that row stays unmatched
        i = start
        here = u[start] - u[start]
        i_dist = here
        whole = False  # read row i in full
        while True:
            # Look at row i, reached at distance i_dist.
            base = i_dist - u[i]
            if not whole:
                reached += 1
                reached_at[i] = i_dist
                if limited and base + limit[i] < best:
                    best = base + limit[i]
                    end = -2 - i
            rest = bound[i]
            next_column = column[i]
            next_price = price[i]
            next_low = low[i]
            if whole:
                scans += 1
                if made[i] != search:
                    made[i] = search
                    refresh(cost, i, v, search, far, minima, nobody, column, price, low, bound, reach)
                    rest = bound[i]
                else:
                    group_minima_nearer(cost[i], v, base, here, dist, far, minima)
                    rest, _ = select(
                        cost[i], v, minima, i * 7, reach[i], far, base, here, dist, more_column, more_price, more_low
                    )
                    next_column = more_column
                    next_price = more_price
                    next_low = more_low
            for e in range(k):
                if next_low[e] >= far:
                    break
                if base + next_low[e] >= best:
                    rest = far
                    break
                j = next_column[e]
                d = base + (next_price[e] - v[j])  # as in group_minima_nearer, to the last bit
                if d < here:
                    d = here  # rounding
                if d < dist[j] and d < best:
                    if dist[j] >= far:
                        touched[touches] = j
                        touches += 1
                    dist[j] = d
                    pred[j] = i
                    if row_of[j] < 0:
                        best = d
                        end = j
                    elif d == here:
                        ready[at_hand] = j
                        at_hand += 1
                    else:
                        if heap == capacity:
                            capacity *= 2
                            key = grown(key, capacity)
                            what = grown(what, capacity)
                        heap = push(key, what, heap, d, j)
            if rest < far and base + rest < best:
                if heap == capacity:
                    capacity *= 2
                    key = grown(key, capacity)
                    what = grown(what, capacity)
                heap = push(key, what, heap, max(base + rest, here), -1 - i)
            # The next row.
            if best <= here:
                break
            found = False
            while not found:
                if at_hand > 0:
                    at_hand -= 1
                    j = ready[at_hand]
                    whole = False
                    found = True
                elif heap > 0:
                    d = key[0]
                    j = what[0]
                    if d >= best:
                        break
                    heap = pop(key, what, heap)
                    if j >= 0:
                        if d > dist[j]:
                            continue
                        whole = False
                    else:
                        whole = True
                    here = d
                    found = True
                else:
                    break
            if not found:
                break
            if whole:
                i = -1 - j
                i_dist = reached_at[i]
            else:
                order[finals] = j
                finals += 1
                i = row_of[j]
                i_dist = here
        if best >= far:
            free[0] = start
            for e in range(finals):
                free[1 + e] = row_of[order[e]]
            return reached, scans, 0, finals + 1
        for e in range(finals):
            j = order[e]
            shift = best - dist[j]
            v[j] -= shift
            u[row_of[j]] += shift
        u[start] += best
        for e in range(touches):
            dist[touched[e]] = far
        if end < 0:
            i = -2 - end
            j = col_of[i]
            col_of[i] = -1
        else:
            j = end
            i = -1
        while i != start:
            i = pred[j]
            row_of[j] = i
            next_j = col_of[i]
            col_of[i] = j
            j = next_j
    return reached, scans, 0, -1


@kernel
def grown(array, size):
    """A longer copy."""
    longer = np.empty(size, array.dtype)
    longer[: array.size] = array
    return longer
