"""Shortest augmenting paths on short lists: one search from each row that is still unmatched.

This is the augmentation of Jonker and Volgenant [1], in the form of Crouse [2], with one difference: a row is scanned
by its list of cheap columns (cheap_columns.py) instead of its whole row of costs.

Lists       The list of row i holds k columns with their costs.  For every column j that is not listed,
            cost[i, j] - v[j] >= bound[i].  Prices v only decrease, so a bound stays valid after any price update.
Invariant   Before and after each search: cost[i, j] - u[i] - v[j] >= 0 for all pairs, and == 0 for matched pairs.
            With a limit, u[i] <= limit[i].
Search      Dijkstra's algorithm with the reduced costs as arc lengths.  dist[j] is the length of the shortest known
            alternating path from the start row to column j.  The heap holds two kinds of entries:
                (dist[j], j)                              column j: scan the list of its row row_of[j]
                (dist(row) + bound[i] - u[i], -1 - i)     row i: read its whole row of costs
            The second key is a lower bound of the distance to all unlisted columns of row i, because no reduced cost
            of these is below bound[i] - u[i].  So row i is read only if the search reaches that distance.  The first
            read in a search rebuilds the list for the current prices.  Later reads in the same search select the
            next k columns that row i would bring closer (group_minima_nearer).
End         The search stops at the first distance `best` at which a free column, or a row that may stay unmatched, is
            the nearest node.  A row i may end the path at dist(row) + limit[i] - u[i].
Prices      Final columns are those whose rows were scanned; they have dist[j] <= best.  Each final column j and its row
            change by v[j] -= best - dist[j] and u[row_of[j]] += best - dist[j], and u[start] += best.  This is the
            usual dual update: it keeps the invariant and makes all pairs on the path tight.  Then the matching is
            exchanged along `pred`.

Arrays of one search
  dist[j]        `infinity`: column j not reached (also between searches)
  pred[j]        the row from which column j was reached
  touched        columns with a finite distance, to be reset
  order          final columns, in the order of their distance
  ready          columns at the current distance; they bypass the heap
  rows_reached   lists scanned;  rows_read: rows read in full
  rebuilt_in[i]  the search in which the list of row i was last rebuilt

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
38, 1987.
[2] Crouse. "On implementing 2D rectangular assignment algorithms." IEEE TAES 52, 2016.

Time O(n m + (n k + reached rows) log n) per search, usually far less.
"""

import numpy as np

from assign.dense.cheap_columns import group_count, group_minima_nearer, refresh, select
from gridcut.device import kernel

SCANS_PER_ROW_READ = 8  # lists scanned in the time that one row is read in full


@kernel
def push(key, item, size, new_key, new_item):
    """Insert an entry into the heap; returns the new size."""
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
    """Remove the first entry; returns the new size."""
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
    """Match the rows free[:waiting]; no search starts after `budget` list scans.

    Returns rows reached, rows read, the number of rows still unmatched (in `free`), and -1.  If a search finds no path,
    the last value is the number of rows it reached instead (in `free`).  They have fewer allowed columns than rows.
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
            # Scan row i, reached at distance i_dist.
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
                d = base + (next_price[e] - v[j])  # the same rounding as in group_minima_nearer
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
    """A copy with the given size."""
    longer = np.empty(size, array.dtype)
    longer[: array.size] = array
    return longer
