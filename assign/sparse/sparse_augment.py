"""The exact end of a sparse assignment: rows get columns along shortest paths until all prices fit.

`settle` gives rows their cheapest columns as long as that takes no search; `augment` matches one row after the other
along a path of least cost, by Dijkstra's search with a heap.  Both keep these true:

    cost[i, j] - v[j] is least at the column of row i, of all its columns and limit[i]
    v never rises

and u[i] is that least number, so it needs no array.  Nothing is asked of free columns: their prices may be anything,
and a search may end at any of them.

Arrays (n rows, m columns; CSR as in auction.py)
  arc_of[i]      arc of row i to its column;  -1: none, or unmatched at limit[i]
  row_of[j]      row of column j, or -1
  limit[i]       cost at which row i may stay unmatched;  no entries: it must not
  reach[j]       length of the shortest known path to column j;  far: none
  via[j], by[j]  last arc of that path, and its row
  heap_key, heap columns reached, shortest first; a column whose reach differs from its key was reached again since
  ready          columns reached at the distance the search has got to, which need no heap
  seen, done     columns whose reach is not far; those scanned, in order

Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing 38,
1987.

augment: O(a log a) for a row and a arcs; usually a small part of the graph is seen.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import kernel

DONE, STOPPED = -1, -2  # instead of a row


class Search(NamedTuple):
    """Memory of `augment`; see above."""

    dist: np.ndarray
    pred_arc: np.ndarray
    pred_row: np.ndarray
    heap_key: np.ndarray
    heap: np.ndarray
    ready: np.ndarray
    seen: np.ndarray
    done: np.ndarray

    @staticmethod
    def of(arcs, m, infinity):
        index_type = np.int32 if arcs < 2**31 else np.int64
        return Search(
            np.full(m, infinity), np.empty(m, index_type), np.empty(m, np.int32), np.empty(arcs + 1, infinity.dtype),
            np.empty(arcs + 1, np.int32), np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m, np.int32),
        )  # fmt: skip


@kernel
def match_without_search(start, columns, cost, limit, spread, budget, v, arc_of, row_of, waiting, top):
    """Match rows waiting[:top] without a search; those left over are waiting[:number].

    A row takes its best column and lowers the price until the second best is as good; the row it drives away is
    next.  A row stays if two columns are equally good and neither is free, or after `budget` rows.
    """
    left = np.empty(top, np.int32)
    n_left = 0
    rows = 0
    while top > 0:
        top -= 1
        i = np.int64(waiting[top])
        while i >= 0:
            rows += 1
            first = np.uint64(start[i])
            at, at2 = first, first
            low = cost[first] - v[columns[first]]
            second = low + spread
            for a in range(first + np.uint64(1), np.uint64(start[i + 1])):
                w = cost[a] - v[columns[a]]
                is_less = w < low
                other = low if is_less else w
                other_at = at if is_less else a
                low = w if is_less else low
                at = a if is_less else at
                closer = other < second
                second = other if closer else second
                at2 = other_at if closer else at2
            if limit.size:
                if limit[i] <= low:
                    break
                second = min(second, limit[i])
            if second == low and row_of[columns[at]] >= 0 and row_of[columns[at2]] < 0:
                at = at2
            j = columns[at]
            displaced = np.int64(row_of[j])
            if displaced >= 0 and (second == low or rows > budget):
                left[n_left] = i
                n_left += 1
                break
            v[j] -= second - low
            row_of[j] = i
            arc_of[i] = at
            if displaced >= 0:
                arc_of[displaced] = -1
            i = displaced
    waiting[:n_left] = left[:n_left]
    return n_left


@kernel
def _push(key, heap, heap_size, distance, j):
    at = heap_size
    while at > 0:
        parent = (at - 1) >> 1
        if key[parent] <= distance:
            break
        key[at] = key[parent]
        heap[at] = heap[parent]
        at = parent
    key[at] = distance
    heap[at] = j


@kernel
def _pop(key, heap, heap_size):
    """Remove the first of size + 1 entries."""
    distance, j = key[heap_size], heap[heap_size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= heap_size:
            break
        if child + 1 < heap_size and key[child + 1] < key[child]:
            child += 1
        if key[child] >= distance:
            break
        key[at] = key[child]
        heap[at] = heap[child]
        at = child
    key[at] = distance
    heap[at] = j


@kernel
def augment(start, columns, cost, limit, infinity, budget, v, arc_of, row_of, roots, s):
    """Match the rows `roots`; (DONE, 0, rows scanned), or a row that cannot be, and how many columns it reached.

    Those are the first so many of s.done: all columns of the root and of the rows these columns are matched with.
    No further row is begun after `budget` scans: (STOPPED, 0, rows scanned).
    """
    scans = 0
    for r in range(roots.size):
        if scans > budget:
            return STOPPED, 0, scans
        root = np.int64(roots[r])
        i = root
        u = infinity
        for a in range(start[i], start[i + 1]):
            u = min(u, cost[a] - v[columns[a]])
        if limit.size:
            u = min(u, limit[i])
        current = v.dtype.type(0)
        best = infinity
        target = np.int64(-1)  # a free column, or -2 - i: row i stays unmatched
        n_seen = n_done = heap_size = n_ready = 0
        while True:
            scans += 1
            base = current - u
            if limit.size and base + limit[i] < best:
                best = base + limit[i]
                target = -2 - i
            for a in range(start[i], start[i + 1]):
                j = columns[a]
                d = max(base + (cost[a] - v[j]), current)  # it may be less by rounding
                if d < best and d < s.dist[j]:
                    if s.dist[j] == infinity:
                        s.seen[n_seen] = j
                        n_seen += 1
                    s.dist[j] = d
                    s.pred_arc[j] = a
                    s.pred_row[j] = i
                    if row_of[j] < 0:
                        best = d
                        target = np.int64(j)
                    elif d == current:
                        s.ready[n_ready] = j
                        n_ready += 1
                    else:
                        _push(s.heap_key, s.heap, heap_size, d, j)
                        heap_size += 1
            if best == current:
                break
            next_column = np.int64(-1)
            if n_ready:
                n_ready -= 1
                next_column = np.int64(s.ready[n_ready])
            else:
                while heap_size > 0 and s.heap_key[0] < best:
                    j = s.heap[0]
                    distance = s.heap_key[0]
                    heap_size -= 1
                    _pop(s.heap_key, s.heap, heap_size)
                    if distance == s.dist[j]:
                        next_column = np.int64(j)
                        current = distance
                        break
            if next_column < 0:
                break
            s.done[n_done] = next_column
            n_done += 1
            i = np.int64(row_of[next_column])
            u = cost[arc_of[i]] - v[next_column]
        if target == -1:
            return root, n_done, scans
        for k in range(n_done):
            j = s.done[k]
            v[j] -= best - s.dist[j]
        if target < -1:
            i = -2 - target
            arc = arc_of[i]
            arc_of[i] = -1
            if i == root:
                arc = -1
            j = np.int64(columns[arc]) if arc >= 0 else -1
        else:
            j = target
        while j >= 0:
            arc = s.pred_arc[j]
            i = np.int64(s.pred_row[j])
            old = arc_of[i]
            arc_of[i] = arc
            row_of[j] = i
            j = np.int64(columns[old]) if i != root else -1
        for k in range(n_seen):
            s.dist[s.seen[k]] = infinity
    return DONE, 0, scans


@kernel
def find_arcs(start, columns, row_of, arc_of):
    """arc_of[i] = arc of row i to its column."""
    arc_of[:] = -1
    for j in range(row_of.size):
        i = row_of[j]
        if i >= 0:
            for a in range(start[i], start[i + 1]):
                if columns[a] == j:
                    arc_of[i] = a
                    break


@kernel
def row_prices(start, columns, cost, limit, v, arc_of, u):
    """u of matched rows, and of those unmatched at their limit."""
    for i in range(u.size):
        a = arc_of[i]
        u[i] = cost[a] - v[columns[a]] if a >= 0 else limit[i]
