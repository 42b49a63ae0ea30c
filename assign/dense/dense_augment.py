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

SCANS_PER_ROW_READ = 8  # rows looked at on their list in the time that one is read in full


@kernel
def push(key, item, size, new_key, new_item):
    """Add one entry to the heap; returns its size."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if key[up] <= new_key:
            break
        key[at] = key[up]
        item[at] = item[up]
        at = up
    key[at] = new_key
    item[at] = new_item
    return size + 1


@kernel
def pop(key, item, size):
    """Remove the first entry; returns the size."""
    size -= 1
    moved = key[size]
    moved_item = item[size]
    at = 0
    down = 1
    while down < size:
        if down + 1 < size and key[down + 1] < key[down]:
            down += 1
        if key[down] >= moved:
            break
        key[at] = key[down]
        item[at] = item[down]
        at = down
        down = 2 * at + 1
    key[at] = moved
    item[at] = moved_item
    return size


@kernel
def augment(cost, v, u, limit, col_of, row_of, infinity, column, price, low, bound, width, free, waiting, budget):
    """Match the rows of free[:waiting]; after `most` rows looked at no further search is begun.

    Returns rows reached, rows read, the number of rows left (in `free`), and -1; or, where a search finds no way out,
    instead of -1 the number of rows it reached (in `free`), which have fewer allowed columns than they are.
    """
    n, m = cost.shape
    k = column.shape[1]
    limited = limit.size > 0
    minima = np.empty(group_count(m), v.dtype)
    no_dist = np.empty(0, v.dtype)
    dist = np.full(m, infinity, v.dtype)
    pred = np.empty(m, np.int32)
    touched = np.empty(m, np.int32)
    order = np.empty(m, np.int32)
    ready = np.empty(m, np.int32)
    reached_at = np.empty(n, v.dtype)
    rebuilt_in = np.full(n, -1, np.int32)
    capacity = 4 * (n + m) + 64
    key = np.empty(capacity, v.dtype)
    item = np.empty(capacity, np.int32)
    extra_column = np.empty(k, np.int32)
    extra_price = np.empty(k, v.dtype)
    extra_low = np.empty(k, v.dtype)
    rows_reached = 0
    rows_read = 0
    for search in range(waiting):
        if rows_reached + SCANS_PER_ROW_READ * rows_read > budget:
            for e in range(search, waiting):
                free[e - search] = free[e]
            return rows_reached, rows_read, waiting - search, -1
        start = free[search]
        heap_size = 0
        n_ready = 0
        n_final = 0
        n_touched = 0
        best = infinity
        end = -1  # a free column, or -2 - row: that row stays unmatched
        i = start
        current = u[start] - u[start]
        i_dist = current
        in_full = False  # read row i in full
        while True:
            # Look at row i, reached at distance i_dist.
            base = i_dist - u[i]
            if not in_full:
                rows_reached += 1
                reached_at[i] = i_dist
                if limited and base + limit[i] < best:
                    best = base + limit[i]
                    end = -2 - i
            rest = bound[i]
            next_column = column[i]
            next_price = price[i]
            next_low = low[i]
            if in_full:
                rows_read += 1
                if rebuilt_in[i] != search:
                    rebuilt_in[i] = search
                    refresh(cost, i, v, search, infinity, minima, no_dist, column, price, low, bound, width)
                    rest = bound[i]
                else:
                    group_minima_nearer(cost[i], v, base, current, dist, infinity, minima)
                    rest, _ = select(
                        cost[i], v, minima, i * 7, width[i], infinity, base, current, dist, extra_column, extra_price,
                        extra_low,
                    )  # fmt: skip
                    next_column = extra_column
                    next_price = extra_price
                    next_low = extra_low
            for e in range(k):
                if next_low[e] >= infinity:
                    break
                if base + next_low[e] >= best:
                    rest = infinity
                    break
                j = next_column[e]
                d = base + (next_price[e] - v[j])  # as in group_minima_nearer, to the last bit
                if d < current:
                    d = current  # rounding
                if d < dist[j] and d < best:
                    if dist[j] >= infinity:
                        touched[n_touched] = j
                        n_touched += 1
                    dist[j] = d
                    pred[j] = i
                    if row_of[j] < 0:
                        best = d
                        end = j
                    elif d == current:
                        ready[n_ready] = j
                        n_ready += 1
                    else:
                        if heap_size == capacity:
                            capacity *= 2
                            key = grown(key, capacity)
                            item = grown(item, capacity)
                        heap_size = push(key, item, heap_size, d, j)
            if rest < infinity and base + rest < best:
                if heap_size == capacity:
                    capacity *= 2
                    key = grown(key, capacity)
                    item = grown(item, capacity)
                heap_size = push(key, item, heap_size, max(base + rest, current), -1 - i)
            # The next row.
            if best <= current:
                break
            found = False
            while not found:
                if n_ready > 0:
                    n_ready -= 1
                    j = ready[n_ready]
                    in_full = False
                    found = True
                elif heap_size > 0:
                    d = key[0]
                    j = item[0]
                    if d >= best:
                        break
                    heap_size = pop(key, item, heap_size)
                    if j >= 0:
                        if d > dist[j]:
                            continue
                        in_full = False
                    else:
                        in_full = True
                    current = d
                    found = True
                else:
                    break
            if not found:
                break
            if in_full:
                i = -1 - j
                i_dist = reached_at[i]
            else:
                order[n_final] = j
                n_final += 1
                i = row_of[j]
                i_dist = current
        if best >= infinity:
            free[0] = start
            for e in range(n_final):
                free[1 + e] = row_of[order[e]]
            return rows_reached, rows_read, 0, n_final + 1
        for e in range(n_final):
            j = order[e]
            shift = best - dist[j]
            v[j] -= shift
            u[row_of[j]] += shift
        u[start] += best
        for e in range(n_touched):
            dist[touched[e]] = infinity
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
    return rows_reached, rows_read, 0, -1


@kernel
def grown(array, size):
    """A longer copy."""
    longer = np.empty(size, array.dtype)
    longer[: array.size] = array
    return longer
