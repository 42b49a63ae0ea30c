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
            read in a search rebuilds the list for the current prices.  The second read in the same search relaxes all
            columns.
End         The search stops at the first distance `best` at which a free column, or a row that may stay unmatched, is
            the nearest node.  A row i may end the path at dist(row) + limit[i] - u[i].
Prices      Final columns are those whose rows were scanned; they have dist[j] <= best.  Each final column j and its row
            change by v[j] -= best - dist[j] and u[row_of[j]] += best - dist[j], and u[start] += best.  This is the
            usual dual update: it keeps the invariant and makes all pairs on the path tight.  Then the matching is
            exchanged along `pred`.

plain_paths.py is the same search in 40 lines of NumPy, without lists; read it first.  The steps here:

    augment      one search per free row
    find_path    Dijkstra's loop: scan a row, take the nearest node from the frontier (assign/core/frontier.py)
    relax        the columns of a list that a row brings nearer
    relax_row    the same after reading the row in full: those of its new list, or all columns
    change_prices, exchange_pairs

State of a search (Search); `work` is the state of the solve (work.py)
  dist[j]        `infinity`: column j not reached (also between searches)
  pred[j]        the row from which column j was reached
  touched        columns with a finite distance, to be reset
  order          final columns, in the order of their distance
  frontier       nodes reached but not scanned: column j, or -1 - i to read row i in full
  reached_at[i]  distance at which row i was reached
  rebuilt_in[i]  the search in which the list of row i was last rebuilt
  every          all columns
  count          REACHED: lists scanned;  READ: rows read in full;  TOUCHED, FINAL: entries of `touched` and `order`
Scalars: row i, reached at distance i_dist;  current: distance of the node scanned last;  best, end: length and end of
the shortest path found;  base: i_dist - u[i], so that base + cost - v is the distance of a column

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
38, 1987.
[2] Crouse. "On implementing 2D rectangular assignment algorithms." IEEE TAES 52, 2016.

Time O(n m + (n k + reached rows) log n) per search, usually far less.
"""

from typing import NamedTuple

import numpy as np

from assign.batch.batch_paths import augment as augment_row
from assign.core.frontier import Frontier, clear, make_frontier, push, push_ready, take_nearest
from assign.dense.cheap_columns import refresh
from assign.dense.work import Work
from gridcut.device import inner_kernel, kernel

SCANS_PER_ROW_READ = 8  # lists scanned in the time that one row is read in full
REACHED, READ, TOUCHED, FINAL = range(4)  # positions in `count`


class Search(NamedTuple):
    """Memory of the searches; see above."""

    dist: np.ndarray
    pred: np.ndarray
    touched: np.ndarray
    order: np.ndarray
    frontier: Frontier
    reached_at: np.ndarray
    rebuilt_in: np.ndarray
    every: np.ndarray
    count: np.ndarray


@kernel
def augment(fields, waiting, budget):
    """Match the rows free[:waiting]; no search starts after `budget` list scans.  `fields` are those of Work.

    Returns rows reached, rows read, the number of rows still unmatched (in `free`), and -1.  If a search finds no path,
    the last value is the number of rows it reached instead (in `free`).  They have fewer allowed columns than rows.
    """
    work = Work(*fields)
    s = make_search(work)
    count = s.count
    for number in range(waiting):
        if count[REACHED] + SCANS_PER_ROW_READ * count[READ] > budget:
            for e in range(number, waiting):
                work.free[e - number] = work.free[e]
            return count[REACHED], count[READ], waiting - number, -1
        root = work.free[number]
        best, end = find_path(work, s, root, number)
        if best >= work.infinity:
            work.free[0] = root
            for e in range(count[FINAL]):
                work.free[1 + e] = work.row_of[s.order[e]]
            return count[REACHED], count[READ], 0, count[FINAL] + 1
        change_prices(work, s, root, best)
        exchange_pairs(work, s.pred, root, end)
    return count[REACHED], count[READ], 0, -1


@kernel
def augment_by_rows(fields, waiting):
    """The same by passes over whole rows (assign/batch/batch_paths.py), without a budget; returns feasibility."""
    work = Work(*fields)
    cost, v, infinity = work.cost, work.v, work.infinity
    n, m = cost.shape
    dist, at, old = np.empty(m, v.dtype), np.empty(m, v.dtype), np.empty(m, v.dtype)
    pred, final_pred, order = np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m, np.int32)
    rank = np.empty(m, np.int32)
    for j in range(m):
        rank[j] = j + (m if work.row_of[j] >= 0 else 0)
    for number in range(waiting):
        root = work.free[number]
        if not augment_row(
            cost, root, 0, v.dtype.type(0), infinity, v, dist, pred, final_pred, order, at, old, work.row_of,
            work.col_of, rank, work.limit,
        ):  # fmt: skip
            return False
    for i in range(n):
        j = work.col_of[i]
        work.u[i] = cost[i, j] - v[j] if j >= 0 else work.limit[i]
    return True


@kernel
def make_search(work):
    """Memory for the searches in a matrix."""
    n, m = work.cost.shape
    number = work.v.dtype
    return Search(
        np.full(m, work.infinity, number), np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m, np.int32),
        make_frontier(m, n, number), np.empty(n, number), np.full(n, -1, np.int32),
        np.arange(m).astype(np.int32), np.zeros(4, np.int64),
    )  # fmt: skip


@inner_kernel
def find_path(work, s, root, number):
    """Search number `number`, from row `root`; returns the length of the shortest path, and its end.

    The end is a free column, or -2 - i if row i stays unmatched.  The length is `infinity` if there is no path.
    """
    u, limit, row_of, infinity = work.u, work.limit, work.row_of, work.infinity
    column, price, low, bound = work.column, work.price, work.low, work.bound
    dist, order, frontier, reached_at, count = s.dist, s.order, s.frontier, s.reached_at, s.count
    count[TOUCHED] = count[FINAL] = 0
    clear(frontier)
    limited = limit.size > 0
    best = infinity
    end = np.int64(-1)
    current = u.dtype.type(0)
    i, i_dist = np.int64(root), current
    in_full = False
    while True:
        base = i_dist - u[i]
        if in_full:
            best, end, rest = relax_row(work, s, i, base, current, best, end, number)
        else:
            count[REACHED] += 1
            reached_at[i] = i_dist
            if limited and base + limit[i] < best:
                best = base + limit[i]
                end = -2 - i
            best, end = relax(work, s, i, base, current, best, end, column[i], price[i], low[i])
            rest = bound[i]
        if rest < infinity and base + rest < best:
            push(frontier, dist, max(base + rest, current), -1 - i)
        if best <= current:
            break
        node, distance = take_nearest(frontier, dist, current, best)
        if distance >= best:
            break
        current = distance
        in_full = node < 0
        if in_full:
            i = -1 - node
            i_dist = reached_at[i]
        else:
            order[count[FINAL]] = node
            count[FINAL] += 1
            i = np.int64(row_of[node])
            i_dist = current
    return best, end


@inner_kernel
def relax_row(work, s, i, base, current, best, end, number):
    """Read row i, which is reached already, in full, and relax it; returns as `relax`, and a bound of the others.

    Its list is rebuilt first and relaxed, or if this search has done so, all columns are.
    """
    s.count[READ] += 1
    if s.rebuilt_in[i] == number:
        best, end = relax(work, s, i, base, current, best, end, s.every, work.cost[i], work.low[i, :0])
        return best, end, work.infinity
    s.rebuilt_in[i] = number
    refresh(work, i, number)
    best, end = relax(work, s, i, base, current, best, end, work.column[i], work.price[i], work.low[i])
    return best, end, work.bound[i]


@inner_kernel
def relax(work, s, i, base, current, best, end, columns, prices, lows):
    """Reach columns from row i, by ascending `lows` if there are any; returns length and end of the shortest path."""
    infinity, v, row_of = work.infinity, work.v, work.row_of
    dist, pred, touched, count, frontier = s.dist, s.pred, s.touched, s.count, s.frontier
    for e in range(columns.size):
        if lows.size > 0 and (lows[e] >= infinity or base + lows[e] >= best):
            break
        j = columns[e]
        d = base + (prices[e] - v[j])
        if d < current:
            d = current  # rounding
        if d < dist[j] and d < best:
            if dist[j] >= infinity:
                touched[count[TOUCHED]] = j
                count[TOUCHED] += 1
            dist[j] = d
            pred[j] = i
            if row_of[j] < 0:
                best = d
                end = np.int64(j)
            elif d == current:
                push_ready(frontier, j)
            else:
                push(frontier, dist, d, j)
    return best, end


@inner_kernel
def change_prices(work, s, root, best):
    """Change the prices of the final columns and their rows, and reset the distances."""
    for e in range(s.count[FINAL]):
        j = s.order[e]
        shift = best - s.dist[j]
        work.v[j] -= shift
        work.u[work.row_of[j]] += shift
    work.u[root] += best
    for e in range(s.count[TOUCHED]):
        s.dist[s.touched[e]] = work.infinity


@inner_kernel
def exchange_pairs(work, pred, root, end):
    """Exchange the pairs along the path from row `root` to its end."""
    i, j = np.int64(-1), end
    if end < 0:
        i = -2 - end
        j = np.int64(work.col_of[i])
        work.col_of[i] = -1
    while i != root:
        i = np.int64(pred[j])
        work.row_of[j] = i
        following = np.int64(work.col_of[i])
        work.col_of[i] = j
        j = following
