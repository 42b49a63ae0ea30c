"""Shortest augmenting paths over short lists of arcs, on the CPU: the exact last step of the GPU's solver.

Finds the pairs and prices from any column prices v, with u = min(c - v) in each row.  A search is Dijkstra's algorithm
over the reduced costs c - u - v, as in Jonker and Volgenant [1], but only a list of the cheapest arcs of each row is
available [2].  Column prices never rise, so unlisted arcs stay at or above the bound of their row.  A row scanned at
distance d is scanned again when the search reaches d + bound - u.  By then the caller must have rebuilt its list, or
must supply the whole row if a list built during this search is exhausted: `augment` returns NEED_LISTS or NEED_ROW, and
resumes when it is called again.

Arrays, i of n rows, j of m columns, t a position in a list
  col[i, t]         the listed arcs, by ascending key; -1: end of the list
  cost[i, t]        their costs
  key[i, t]         lower bound of cost - v
  bound[i]          lower bound of c - v of every unlisted arc; infinity: all arcs are listed
  u, v              prices: c - u - v >= 0, and == 0 for matched pairs
  col_of, row_of    the matching, -1: unmatched
  distance[j]       infinity: column j is not reached;  pred[j]: row from which it was reached, ROOT: a zero row
  scan_distance[i]  distance at which row i was reached
  rebuilt_in[i]     search in which the list was last rebuilt;  is_fresh[i]: not scanned since then
  frontier          nodes reached but not scanned: column j, or -1 - i: row i must be scanned again (frontier.py)
  state             positions STAGE ... below;  best[0]: length of the shortest path found, best[1]: infinity

With fewer rows than columns, the problem has m - n additional, identical zero rows, which take the columns that the
others leave.  They are only implicit.  If all free columns have the highest price, nothing remains to be done; for each
other free column, one more path is searched.  Then the highest price is shifted to 0.  A row with a limit may end a
path: it stays unmatched at that cost.

dense_augment.py is the same method with costs on the CPU.  It is kept apart: it reads a row itself where this file
returns to its caller, and selects columns of that row; no unmatched column has a price below 0 there; and ready columns
bypass its heap.

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems."
    Computing 38, 1987.  [2] Volgenant. "Linear and semi-assignment problems: a core oriented approach." 1996.

O(n) searches of O(arcs scanned * log n).
"""

from typing import NamedTuple

import numpy as np

from assign.core.frontier import HEAP, Frontier, clear, make_frontier, push, take_nearest
from gridcut.device import inner_kernel, kernel

DONE, NEED_LISTS, NEED_ROW, INFEASIBLE = 0, 1, 2, 3
MAX_REQUESTS = 256  # maximum number of lists requested at a time
ROOT = -1
# positions in `state`
STAGE, NEXT, TOUCHED, SCANNED, END_COLUMN, END_ROW, REQUESTED = range(7)
AUGMENTED, SCANS, LISTS_REBUILT, FULL_ROWS, HOST_REQUESTS = range(7, 12)  # counts
IDLE, SEARCHING, LISTS_REQUESTED, ROW_REQUESTED = range(4)  # stages


class Lists(NamedTuple):
    """The listed arcs of each row."""

    col: np.ndarray
    cost: np.ndarray
    key: np.ndarray
    bound: np.ndarray


class Search(NamedTuple):
    """Prices, the matching, and the state of the search."""

    u: np.ndarray
    v: np.ndarray
    col_of: np.ndarray
    row_of: np.ndarray
    limit: np.ndarray
    distance: np.ndarray
    pred: np.ndarray
    scan_distance: np.ndarray
    frontier: Frontier
    touched: np.ndarray
    rows: np.ndarray
    has_zero_row: np.ndarray
    requested: np.ndarray
    rebuilt_in: np.ndarray
    is_fresh: np.ndarray
    full_row: np.ndarray
    state: np.ndarray
    best: np.ndarray


def make_search(u, v, limit=None) -> Search:
    """A Search with an empty matching."""
    n, m = len(u), len(v)
    kind = v.dtype
    infinity = infinity_of(kind)
    state = np.zeros(16, np.int64)
    return Search(
        u, v, np.full(n, -1, np.int32), np.full(m, -1, np.int32),
        np.empty(0, kind) if limit is None else np.ascontiguousarray(limit, kind),
        np.full(m, infinity, kind), np.empty(m, np.int32), np.empty(n, kind), make_frontier(m, n, kind),
        np.empty(m, np.int32), np.empty(n, np.int32), np.zeros(m, np.bool_), np.empty(MAX_REQUESTS, np.int32),
        np.full(n, -1, np.int64), np.zeros(n, np.bool_), np.empty(m, kind), state, np.empty(2, kind),
    )  # fmt: skip


def infinity_of(kind):
    """Larger than any distance."""
    return kind.type(np.inf) if kind.kind == "f" else kind.type(np.iinfo(kind).max // 2)


@kernel
def row_prices(lists, s):
    """Set u to the highest prices that the lists and limits allow."""
    infinity = s.distance[0]
    for i in range(s.u.size):
        minimum = lists.bound[i]
        for t in range(lists.col.shape[1]):
            j = lists.col[i, t]
            if j < 0 or lists.key[i, t] >= minimum:
                break
            minimum = min(minimum, lists.cost[i, t] - s.v[j])
        if s.limit.size > 0:
            minimum = min(minimum, s.limit[i])
        s.u[i] = minimum if minimum != infinity else s.v[0] - s.v[0]


@kernel
def match_tight(lists, s, owner):
    """Match along arcs with reduced cost 0, preferring the previous owner (row) of a column."""
    n = s.u.size
    infinity = s.distance[0]
    limited = s.limit.size > 0
    for i in range(n):
        if limited and s.u[i] >= s.limit[i]:
            continue
        chosen = -1
        for t in range(lists.col.shape[1]):
            j = lists.col[i, t]
            if j < 0 or lists.key[i, t] > s.u[i]:
                break
            if s.row_of[j] < 0 and lists.cost[i, t] - s.v[j] <= s.u[i]:
                if chosen < 0 or owner[j] == i:
                    chosen = j
                if owner[j] == i:
                    break
        if chosen >= 0:
            s.row_of[chosen] = i
            s.col_of[i] = chosen
    s.best[0] = infinity
    s.best[1] = infinity


@kernel
def augment(lists, s):
    """Match all rows; returns DONE, INFEASIBLE, or what the caller must supply."""
    n, m = s.u.size, s.v.size
    state = s.state
    infinity = s.best[1]
    limited = s.limit.size > 0
    while True:
        if state[STAGE] == IDLE:
            while state[NEXT] < n and s.col_of[state[NEXT]] >= 0:
                state[NEXT] += 1
            if state[NEXT] >= n and (limited or n == m):
                return DONE
            s.best[0] = infinity
            clear(s.frontier)
            state[TOUCHED] = state[SCANNED] = 0
            state[END_COLUMN] = state[END_ROW] = -1
            if state[NEXT] < n:
                state[AUGMENTED] += 1
                reach_row(lists, s, state[NEXT], s.v[0] - s.v[0])
            elif not search_from_zeros(s):
                top = s.v.max()
                s.v[:] -= top
                s.u[:] += top
                return DONE
            state[STAGE] = SEARCHING
        elif state[STAGE] == LISTS_REQUESTED:
            for k in range(state[REQUESTED]):
                s.rebuilt_in[s.requested[k]] = state[AUGMENTED]
                s.is_fresh[s.requested[k]] = True
            state[STAGE] = SEARCHING
        elif state[STAGE] == ROW_REQUESTED:
            scan_full_row(s, s.requested[0])
            state[STAGE] = SEARCHING

        # Continue the search until its path is found or a list is exhausted.
        while True:
            node, d = take_nearest(s.frontier, s.distance, infinity, s.best[0])
            if d >= s.best[0]:
                break
            if node >= 0:
                reach_row(lists, s, s.row_of[node], d)
                continue
            i = -1 - node
            if s.is_fresh[i]:
                scan_list(lists, s, i)
                continue
            if s.rebuilt_in[i] == state[AUGMENTED]:
                state[REQUESTED] = 1
                s.requested[0] = i
                state[STAGE] = ROW_REQUESTED
                state[FULL_ROWS] += 1
                return NEED_ROW
            push(s.frontier, s.distance, d, node)
            collect_requests(s)
            state[STAGE] = LISTS_REQUESTED
            state[HOST_REQUESTS] += 1
            state[LISTS_REBUILT] += state[REQUESTED]
            return NEED_LISTS
        if s.best[0] == infinity:
            return INFEASIBLE
        apply_path(s)
        state[STAGE] = IDLE


@inner_kernel
def reach_row(lists, s, i, d):
    """Reach row i at distance d, and scan its list."""
    s.scan_distance[i] = d
    s.rows[s.state[SCANNED]] = i
    s.state[SCANNED] += 1
    if s.limit.size > 0:
        x = d + max(s.limit[i] - s.u[i], 0)
        if x < s.best[0]:
            s.best[0] = x
            s.state[END_ROW] = i
            s.state[END_COLUMN] = -1
    scan_list(lists, s, i)


@inner_kernel
def scan_list(lists, s, i):
    """Relax the listed arcs of a reached row."""
    s.state[SCANS] += 1
    s.is_fresh[i] = False
    base = s.scan_distance[i] - s.u[i]
    for t in range(lists.col.shape[1]):
        j = lists.col[i, t]
        if j < 0 or base + lists.key[i, t] >= s.best[0]:
            break
        relax(s, i, j, base + lists.cost[i, t] - s.v[j])
    x = max(base + lists.bound[i], s.scan_distance[i])
    if lists.bound[i] != s.best[1] and x < s.best[0]:
        push(s.frontier, s.distance, x, -1 - i)


@inner_kernel
def scan_full_row(s, i):
    """Relax all arcs of a row, whose costs are in `full_row`."""
    base = s.scan_distance[i] - s.u[i]
    for j in range(s.v.size):
        if s.full_row[j] != s.best[1]:
            relax(s, i, j, base + s.full_row[j] - s.v[j])


@inner_kernel
def relax(s, i, j, x):
    """Update column j, which row i reaches at distance x."""
    x = max(x, s.scan_distance[i])
    if x >= s.best[0] or x >= s.distance[j] or s.has_zero_row[j]:
        return
    if s.distance[j] == s.best[1]:
        s.touched[s.state[TOUCHED]] = j
        s.state[TOUCHED] += 1
    s.distance[j] = x
    s.pred[j] = i
    if s.row_of[j] < 0:
        s.best[0] = x
        s.state[END_COLUMN] = j
        s.state[END_ROW] = -1
    else:
        push(s.frontier, s.distance, x, j)


@kernel
def search_from_zeros(s):
    """Start a search from another zero row; its distance to each column is the highest price minus the column's."""
    m = s.v.size
    top = s.v.max()
    end = -1
    for j in range(m):
        if s.row_of[j] < 0 and not s.has_zero_row[j]:
            if s.v[j] == top:
                s.has_zero_row[j] = True
            elif end < 0 or s.v[j] > s.v[end]:
                end = j
    if end < 0:
        return False
    s.best[0] = top - s.v[end]
    s.state[END_COLUMN] = end
    s.state[AUGMENTED] += 1
    for j in range(m):
        x = top - s.v[j]
        if x < s.best[0] or j == end:
            s.touched[s.state[TOUCHED]] = j
            s.state[TOUCHED] += 1
            s.distance[j] = x
            s.pred[j] = ROOT
            if j != end and s.row_of[j] >= 0:
                push(s.frontier, s.distance, x, j)
    return True


@inner_kernel
def apply_path(s):
    """Update prices, augment the matching along the path, and reset the search."""
    state = s.state
    length = s.best[0]
    for k in range(state[SCANNED]):
        i = s.rows[k]
        s.u[i] += length - s.scan_distance[i]
    for k in range(state[TOUCHED]):
        j = s.touched[k]
        if s.distance[j] < length:
            s.v[j] -= length - s.distance[j]
        s.distance[j] = s.best[1]
    j = state[END_COLUMN]
    if j < 0:
        i = state[END_ROW]
        j = s.col_of[i]
        s.col_of[i] = -1
    root = state[NEXT]
    while j >= 0:
        i = s.pred[j]
        if i == ROOT:
            s.row_of[j] = -1
            s.has_zero_row[j] = True
            return
        s.row_of[j] = i
        j, s.col_of[i] = s.col_of[i], j
    state[NEXT] = root + 1


@inner_kernel
def collect_requests(s):
    """Collect the rows whose lists are exhausted next: the nearest first, the others in heap order."""
    frontier = s.frontier
    count = 0
    for k in range(frontier.size[HEAP]):
        i = -1 - frontier.node[k]
        if i >= 0 and frontier.key[k] < s.best[0] and s.rebuilt_in[i] != s.state[AUGMENTED]:
            s.requested[count] = i
            count += 1
            if count == MAX_REQUESTS:
                break
    s.state[REQUESTED] = count
