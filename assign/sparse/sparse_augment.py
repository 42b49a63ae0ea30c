"""The exact last step of a sparse assignment: shortest augmenting paths.

`augment` matches one row after the other along a shortest path, by Dijkstra's algorithm with a heap.  It keeps two
invariants:

    cost[i, j] - v[j] at the column j of row i is the minimum over all its columns and limit[i]
    v never rises

u[i] is that minimum, so it needs no array.  Free columns may have any price, and a search may end at any of them.

Arrays (n rows, m columns; CSR as in sparse_auction.py)
  arc_of[i]      arc of row i to its column;  -1: none, or unmatched at limit[i]
  row_of[j]      row of column j, or -1
  limit[i]       cost at which row i may stay unmatched;  no entries: it must not
  dist[j]        length of the shortest known path to column j;  infinity: none
  pred_arc[j], pred_row[j]   last arc of that path, and its row
  frontier       columns reached but not scanned (assign/core/frontier.py)
  seen, done     columns with a finite dist; those scanned, in order

Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing 38,
1987.

augment: O(a log a) per row for a arcs; usually only a small part of the graph is scanned.
"""

from typing import NamedTuple

import numpy as np

from assign.core.frontier import Frontier, clear, make_frontier, push, push_ready, take_nearest
from gridcut.device import inner_kernel, kernel, plain_kernel

DONE, STOPPED = -1, -2  # instead of a row


class Search(NamedTuple):
    """Memory of `augment`; see above."""

    dist: np.ndarray
    pred_arc: np.ndarray
    pred_row: np.ndarray
    frontier: Frontier
    seen: np.ndarray
    done: np.ndarray

    @staticmethod
    def of(arcs, m, infinity):
        index_type = np.int32 if arcs < 2**31 else np.int64
        return Search(
            np.full(m, infinity), np.empty(m, index_type), np.empty(m, np.int32),
            make_frontier(m, 0, infinity.dtype), np.empty(m, np.int32), np.empty(m, np.int32),
        )  # fmt: skip


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
        best, target, n_seen, n_done = find_path(start, columns, cost, limit, infinity, v, arc_of, row_of, root, s)
        scans += 1 + n_done
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


@inner_kernel
def find_path(start, columns, cost, limit, infinity, v, arc_of, row_of, root, s):
    """Dijkstra's search from a row; returns the length of the shortest path, its end, and the sizes of seen and done.

    The end is a free column, -2 - i if row i stays unmatched, or -1 if there is no path.
    """
    dist, pred_arc, pred_row, frontier, seen, done = s
    clear(frontier)
    i = root
    u = infinity
    for a in range(start[i], start[i + 1]):
        u = min(u, cost[a] - v[columns[a]])
    if limit.size:
        u = min(u, limit[i])
    current = v.dtype.type(0)
    best = infinity
    target = np.int64(-1)
    n_seen = n_done = 0
    while True:
        base = current - u
        if limit.size and base + limit[i] < best:
            best = base + limit[i]
            target = -2 - i
        for a in range(start[i], start[i + 1]):
            j = columns[a]
            d = max(base + (cost[a] - v[j]), current)  # rounding may make it smaller
            if d < best and d < dist[j]:
                if dist[j] == infinity:
                    seen[n_seen] = j
                    n_seen += 1
                dist[j] = d
                pred_arc[j] = a
                pred_row[j] = i
                if row_of[j] < 0:
                    best = d
                    target = np.int64(j)
                elif d == current:
                    push_ready(frontier, j)
                else:
                    push(frontier, dist, d, j)
        if best == current:
            break
        nearest, current = take_nearest(frontier, dist, current, best)
        if current >= best:
            break
        done[n_done] = nearest
        n_done += 1
        i = np.int64(row_of[nearest])
        u = cost[arc_of[i]] - v[nearest]
    return best, target, n_seen, n_done


@plain_kernel
def find_arcs(start, columns, row_of, arc_of):
    """arc_of[i] = arc of row i to its column, or -1."""
    for i in range(arc_of.size):
        arc_of[i] = -1
    for j in range(row_of.size):
        i = row_of[j]
        if i >= 0:
            for a in range(start[i], start[i + 1]):
                if columns[a] == j:
                    arc_of[i] = a
                    break


@plain_kernel
def row_prices(start, columns, cost, limit, v, arc_of, u):
    """u[i] = price of each matched row, or the limit of an unmatched one."""
    for i in range(u.size):
        a = arc_of[i]
        u[i] = cost[a] - v[columns[a]] if a >= 0 else limit[i]
