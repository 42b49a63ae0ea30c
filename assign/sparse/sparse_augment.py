"""The exact last step of a sparse assignment: shortest augmenting paths.

`match_without_search` gives rows their cheapest columns as long as no search is needed.  `augment` matches one row
after the other along a shortest path, by Dijkstra's algorithm with a heap.  Both keep two invariants:

    cost[i, j] - v[j] at the column j of row i is the minimum over all its columns and limit[i]
    v never rises

u[i] is that minimum, so it needs no array.  Free columns may have any price, and a search may end at any of them.

Arrays (n rows, m columns; CSR as in sparse_auction.py)
  arc_of[i]      arc of row i to its column;  -1: none, or unmatched at limit[i]
  row_of[j]      row of column j, or -1
  limit[i]       cost at which row i may stay unmatched;  no entries: it must not
  dist[j]        length of the shortest known path to column j;  infinity: none
  pred_arc[j], pred_row[j]   last arc of that path, and its row
  heap_key, heap columns reached, nearest first; an entry is outdated if its key differs from dist
  ready          columns reached at the current distance; they bypass the heap
  seen, done     columns with a finite dist; those scanned, in order

Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing 38,
1987.

augment: O(a log a) per row for a arcs; usually only a small part of the graph is scanned.
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
    """Match the rows waiting[:top] without a search; returns the number of rows left, which are at its front.

    A row takes its cheapest column and lowers its price until the second cheapest is equally good; the displaced row is
    next.  A row is left if its two cheapest columns tie and neither is free, or after `budget` rows.
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
    """Remove the first entry of a heap with heap_size + 1 entries."""
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
    """Match the rows `roots`; returns (DONE, 0, rows scanned), or (row, columns, rows scanned) if a row has no path.

    Then s.done[:columns] are all columns of that row and of the rows matched with these columns.
    After `budget` scans no further search starts: (STOPPED, 0, rows scanned).
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
                d = max(base + (cost[a] - v[j]), current)  # rounding may make it smaller
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
    """arc_of[i] = arc of row i to its column, or -1."""
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
    """u[i] = price of each matched row, or the limit of an unmatched one."""
    for i in range(u.size):
        a = arc_of[i]
        u[i] = cost[a] - v[columns[a]] if a >= 0 else limit[i]
