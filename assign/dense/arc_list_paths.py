"""Shortest augmenting paths over short lists of arcs: the exact end of an assignment, on the CPU.

Finds the pairs and prices from any column prices v with u = min(c - v) in each row.  A search is Dijkstra's over
reduced costs c - u - v, as in Jonker and Volgenant [1], but a row is known by the list of its cheapest arcs
only [2].  Prices of columns never rise, so what was not listed stays at or above the bound of its row: a row scanned
at distance d is looked at again when the search comes to d + bound - u, and by then somebody has made it a new list, or
shows the whole row if a list made in this search is at its end.  That somebody is the caller: `augment` stops with
NEED_LISTS or NEED_ROW, and goes on where it was when it is called again.

Arrays, i of n rows, j of m columns, t a place in a list of `width`
  col[i, t]       the listed arcs, by ascending key; -1: there is no more
  cost[i, t]      their costs
  key[i, t]       at most cost - v, as it was or is
  bound[i]        at most c - v of every arc not listed; FAR: all are listed
  u, v            prices: c - u - v >= 0, and 0 where matched
  col_of, row_of  the matching, -1: unmatched
  distance[j]     FAR: not reached;  before[j]: the row it was reached from, ROOT: from a row of zeros
  start[i]        distance at which row i was scanned;  again[i]: at which its bound counts, FAR: never
  lists_rebuilt[i]      search in which the list was made anew;  fresh[i]: since then not looked at
  place[node]     in the heap, -1: not there; node j: column j;  node m + i: row i is to be looked at again

Fewer rows than columns: m - n more rows of zeros are thought of, which are alike and take what the others leave.  Where
all free columns have the greatest price they have nothing to do; for each other free column one more path is searched.
Then the greatest price is made 0.   Rows with a limit may end a path: unmatched, at that price.

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems."
    Computing 38, 1987.  [2] Volgenant. "Linear and semi-assignment problems: a core oriented approach." 1996.

O(n) searches of O(arcs seen log n).
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import kernel

DONE, NEED_LISTS, NEED_ROW, INFEASIBLE = 0, 1, 2, 3
REQUESTS = 256  # rows whose lists are asked for at once
ROOT = -1
# places in `at`
STAGE, NEXT, HEAP, TOUCHED, SCANNED, END_COLUMN, END_ROW, WANTED = range(8)
AUGMENTED, SCANS, RENEWED, WHOLE, STOPS = range(8, 13)  # counts
BETWEEN, SEARCHING, RENEWING, SHOWN = range(4)  # stages


class Lists(NamedTuple):
    """The arcs known of each row."""

    col: np.ndarray
    cost: np.ndarray
    key: np.ndarray
    bound: np.ndarray


class Search(NamedTuple):
    """Prices, the matching, and where a search is."""

    u: np.ndarray
    v: np.ndarray
    col_of: np.ndarray
    row_of: np.ndarray
    limit: np.ndarray
    distance: np.ndarray
    before: np.ndarray
    start: np.ndarray
    again: np.ndarray
    place: np.ndarray
    heap: np.ndarray
    heap_key: np.ndarray
    touched: np.ndarray
    rows: np.ndarray
    filled: np.ndarray
    wanted: np.ndarray
    lists_rebuilt: np.ndarray
    fresh: np.ndarray
    line: np.ndarray
    at: np.ndarray
    best: np.ndarray


def make_search(u, v, limit=None) -> Search:
    """Nothing matched, no search begun."""
    n, m = len(u), len(v)
    kind = v.dtype
    far = far_of(kind)
    at = np.zeros(16, np.int64)
    return Search(
        u, v, np.full(n, -1, np.int32), np.full(m, -1, np.int32),
        np.empty(0, kind) if limit is None else np.ascontiguousarray(limit, kind),
        np.full(m, far, kind), np.empty(m, np.int32), np.empty(n, kind), np.full(n, far, kind),
        np.full(n + m, -1, np.int32), np.empty(n + m, np.int32), np.empty(n + m, kind),
        np.empty(m, np.int32), np.empty(n, np.int32), np.zeros(m, np.bool_), np.empty(REQUESTS, np.int32),
        np.full(n, -1, np.int64), np.zeros(n, np.bool_), np.empty(m, kind), at, np.empty(2, kind),
    )  # fmt: skip


def far_of(kind):
    """Further than any distance."""
    return kind.type(np.inf) if kind.kind == "f" else kind.type(np.iinfo(kind).max // 2)


@kernel
def row_prices(lists, s):
    """u, as great as the lists and limits allow."""
    far = s.distance[0]
    for i in range(s.u.size):
        least = lists.bound[i]
        for t in range(lists.col.shape[1]):
            j = lists.col[i, t]
            if j < 0:
                break
            least = min(least, lists.cost[i, t] - s.v[j])
        if s.limit.size > 0:
            least = min(least, s.limit[i])
        s.u[i] = least if least != far else s.v[0] - s.v[0]


@kernel
def match_tight(lists, s, owner):
    """Match along arcs whose reduced cost is 0: those of `owner`, the row a column had last, first."""
    n = s.u.size
    far = s.distance[0]
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
    s.best[0] = far
    s.best[1] = far


@kernel
def augment(lists, s):
    """Match all rows; DONE, or what is needed to go on."""
    n, m = s.u.size, s.v.size
    at = s.at
    far = s.best[1]
    limited = s.limit.size > 0
    while True:
        if at[STAGE] == BETWEEN:
            while at[NEXT] < n and s.col_of[at[NEXT]] >= 0:
                at[NEXT] += 1
            if at[NEXT] >= n and (limited or n == m):
                return DONE
            s.best[0] = far
            at[HEAP] = at[TOUCHED] = at[SCANNED] = 0
            at[END_COLUMN] = at[END_ROW] = -1
            if at[NEXT] < n:
                at[AUGMENTED] += 1
                scan(lists, s, at[NEXT], s.v[0] - s.v[0])
            elif not scan_zeros(s):
                top = s.v.max()
                s.v[:] -= top
                s.u[:] += top
                return DONE
            at[STAGE] = SEARCHING
        elif at[STAGE] == RENEWING:
            for k in range(at[WANTED]):
                s.lists_rebuilt[s.wanted[k]] = at[AUGMENTED]
                s.fresh[s.wanted[k]] = True
            at[STAGE] = SEARCHING
        elif at[STAGE] == SHOWN:
            look_at_all(s, s.wanted[0])
            at[STAGE] = SEARCHING

        # Here a search goes on until its path is found or a list is at its end.
        while at[HEAP] > 0 and s.heap_key[0] < s.best[0]:
            node = s.heap[0]
            if node < m:
                remove_first(s)
                i = s.row_of[node]
                if i >= 0:
                    scan(lists, s, i, s.distance[node])
                continue
            i = node - m
            if s.fresh[i]:
                before = s.again[i]
                look(lists, s, i)
                if s.again[i] > before:
                    continue
            if s.lists_rebuilt[i] == at[AUGMENTED]:
                at[WANTED] = 1
                s.wanted[0] = i
                at[STAGE] = SHOWN
                at[WHOLE] += 1
                return NEED_ROW
            gather_wanted(s)
            at[STAGE] = RENEWING
            at[STOPS] += 1
            at[RENEWED] += at[WANTED]
            return NEED_LISTS
        if s.best[0] == far:
            return INFEASIBLE
        finish(s)
        at[STAGE] = BETWEEN


@kernel
def scan(lists, s, i, d):
    """Row i is reached at distance d."""
    s.start[i] = d
    s.rows[s.at[SCANNED]] = i
    s.at[SCANNED] += 1
    if s.limit.size > 0:
        x = d + max(s.limit[i] - s.u[i], 0)
        if x < s.best[0]:
            s.best[0] = x
            s.at[END_ROW] = i
            s.at[END_COLUMN] = -1
    s.again[i] = s.best[1]
    look(lists, s, i)


@kernel
def look(lists, s, i):
    """Relax the listed arcs of a row that has been reached."""
    s.at[SCANS] += 1
    s.fresh[i] = False
    base = s.start[i] - s.u[i]
    for t in range(lists.col.shape[1]):
        j = lists.col[i, t]
        if j < 0 or base + lists.key[i, t] >= s.best[0]:
            break
        relax(s, i, j, base + lists.cost[i, t] - s.v[j])
    x = max(base + lists.bound[i], s.start[i])
    if lists.bound[i] == s.best[1]:
        x = s.best[1]
    s.again[i] = x
    node = s.v.size + i
    if s.place[node] >= 0:
        remove(s, node)
    if x < s.best[0]:
        add(s, node, x)


@kernel
def look_at_all(s, i):
    """Relax all arcs of a row, which is in `line`."""
    base = s.start[i] - s.u[i]
    for j in range(s.v.size):
        if s.line[j] != s.best[1]:
            relax(s, i, j, base + s.line[j] - s.v[j])
    s.again[i] = s.best[1]
    node = s.v.size + i
    if s.place[node] >= 0:
        remove(s, node)


@kernel
def relax(s, i, j, x):
    """Column j can be reached from row i at distance x."""
    x = max(x, s.start[i])
    if x >= s.best[0] or x >= s.distance[j] or s.filled[j]:
        return
    if s.distance[j] == s.best[1]:
        s.touched[s.at[TOUCHED]] = j
        s.at[TOUCHED] += 1
    s.distance[j] = x
    s.before[j] = i
    if s.row_of[j] < 0:
        s.best[0] = x
        s.at[END_COLUMN] = j
        s.at[END_ROW] = -1
    else:
        add(s, j, x)


@kernel
def scan_zeros(s):
    """A path from one more row of zeros: all columns are as far below the greatest price as they are away."""
    m = s.v.size
    top = s.v.max()
    end = -1
    for j in range(m):
        if s.row_of[j] < 0 and not s.filled[j]:
            if s.v[j] == top:
                s.filled[j] = True
            elif end < 0 or s.v[j] > s.v[end]:
                end = j
    if end < 0:
        return False
    s.best[0] = top - s.v[end]
    s.at[END_COLUMN] = end
    s.at[AUGMENTED] += 1
    for j in range(m):
        x = top - s.v[j]
        if x < s.best[0] or j == end:
            s.touched[s.at[TOUCHED]] = j
            s.at[TOUCHED] += 1
            s.distance[j] = x
            s.before[j] = ROOT
            if j != end and s.row_of[j] >= 0:
                add(s, j, x)
    return True


@kernel
def finish(s):
    """Change prices by what the search has found, then the matching along the path; forget the search."""
    at = s.at
    length = s.best[0]
    for k in range(at[SCANNED]):
        i = s.rows[k]
        s.u[i] += length - s.start[i]
    for k in range(at[TOUCHED]):
        j = s.touched[k]
        if s.distance[j] < length:
            s.v[j] -= length - s.distance[j]
        s.distance[j] = s.best[1]
    for k in range(at[HEAP]):
        s.place[s.heap[k]] = -1
    j = at[END_COLUMN]
    if j < 0:
        i = at[END_ROW]
        j = s.col_of[i]
        s.col_of[i] = -1
    root = at[NEXT]
    while j >= 0:
        i = s.before[j]
        if i == ROOT:
            s.row_of[j] = -1
            s.filled[j] = True
            return
        s.row_of[j] = i
        j, s.col_of[i] = s.col_of[i], j
    at[NEXT] = root + 1


@kernel
def gather_wanted(s):
    """The rows whose lists will be at their end next, the nearest first and the others nearly in order."""
    m = s.v.size
    count = 0
    for k in range(s.at[HEAP]):
        node = s.heap[k]
        if node >= m and s.heap_key[k] < s.best[0] and s.lists_rebuilt[node - m] != s.at[AUGMENTED]:
            s.wanted[count] = node - m
            count += 1
            if count == REQUESTS:
                break
    s.at[WANTED] = count


@kernel
def add(s, node, x):
    """Put a node into the heap, or move it up."""
    p = s.place[node]
    if p < 0:
        p = s.at[HEAP]
        s.at[HEAP] += 1
    rise(s, p, node, x)


@kernel
def rise(s, p, node, x):
    """A node goes up from place p."""
    while p > 0:
        q = (p - 1) >> 1
        if s.heap_key[q] <= x:
            break
        s.heap_key[p] = s.heap_key[q]
        s.heap[p] = s.heap[q]
        s.place[s.heap[p]] = p
        p = q
    s.heap_key[p] = x
    s.heap[p] = node
    s.place[node] = p


@kernel
def sink(s, p, node, x):
    """A node goes down from place p."""
    size = s.at[HEAP]
    while True:
        q = 2 * p + 1
        if q >= size:
            break
        if q + 1 < size and s.heap_key[q + 1] < s.heap_key[q]:
            q += 1
        if x <= s.heap_key[q]:
            break
        s.heap_key[p] = s.heap_key[q]
        s.heap[p] = s.heap[q]
        s.place[s.heap[p]] = p
        p = q
    s.heap_key[p] = x
    s.heap[p] = node
    s.place[node] = p


@kernel
def remove_first(s):
    """Take the nearest node out of the heap."""
    s.place[s.heap[0]] = -1
    s.at[HEAP] -= 1
    last = s.at[HEAP]
    if last > 0:
        sink(s, 0, s.heap[last], s.heap_key[last])


@kernel
def remove(s, node):
    """Take any node out of the heap."""
    p = s.place[node]
    s.place[node] = -1
    s.at[HEAP] -= 1
    last = s.at[HEAP]
    if p == last:
        return
    moved, x = s.heap[last], s.heap_key[last]
    if p > 0 and s.heap_key[(p - 1) >> 1] > x:
        rise(s, p, moved, x)
    else:
        sink(s, p, moved, x)
