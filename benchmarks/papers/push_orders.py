"""Push-relabel for cardinality matching in four orders of the active columns: Deveci et al., ICPP 2013, algorithm 1.

The rules and the global relabeling are those of matching/papers/push_relabel.py, without its gap heuristic.

order   0 "fifo", 1 "lifo", 2 "highest" and 3 "lowest" label first
next_of[c], first_of[d]   lists of the active columns with label 2 d + 1, for the last two orders
"""

import numpy as np

from gridcut.device import kernel
from matching.core.counts import EDGES, new_counts
from matching.papers.push_relabel import min_label_row, relabel_all

ORDERS = {"fifo": 0, "lifo": 1, "highest": 2, "lowest": 3}


@kernel
def insert(c, order, col_label, ring, tail, next_of, first_of):
    """Add an active column; returns the new end of the ring."""
    if order < 2:
        ring[tail % ring.size if order == 0 else tail] = c
        return tail + 1
    d = col_label[c] >> 1
    next_of[c] = first_of[d]
    first_of[d] = c
    return tail


@kernel
def sort_again(order, col_match, col_label, active, next_of, first_of):
    """Rebuild the lists by label from the marks in `active`."""
    first_of[:] = -1
    for c in range(col_match.size):
        if active[c]:
            insert(c, order, col_label, next_of, 0, next_of, first_of)


@kernel
def push_in_order(col_ptr, col_adj, row_ptr, row_adj, row_match, col_match, interval, order, counts):
    """Algorithm 1 in place; returns the number of pushes, and adds the scanned edges to `counts`."""
    n, m = row_match.size, col_match.size
    unreachable = n + m
    row_label, col_label = np.empty(n, np.int32), np.empty(m, np.int32)
    at_label = np.empty(unreachable // 2 + 2, np.int32)
    queue, ring = np.empty(n, np.int32), np.empty(m, np.int32)
    next_of, first_of = np.empty(m, np.int32), np.full(unreachable // 2 + 2, -1, np.int32)
    active = np.zeros(m, np.uint8)
    head, tail, waiting, pushes, since, at = 0, 0, 0, 0, interval, 0
    for c in range(m):
        if col_match[c] < 0 and col_ptr[c] < col_ptr[c + 1]:
            active[c] = 1
            waiting += 1
            if order < 2:
                tail = insert(c, order, col_label, ring, tail, next_of, first_of)
    while waiting > 0:
        if since >= interval:
            since = 0
            relabel_all(
                col_ptr, col_adj, row_ptr, row_adj, row_match, col_match, row_label, col_label, at_label, queue, counts
            )
            if order >= 2:
                sort_again(order, col_match, col_label, active, next_of, first_of)
                at = 0 if order == 3 else first_of.size - 1
        if order == 0:
            c = np.int64(ring[head % m])
            head += 1
        elif order == 1:
            tail -= 1
            c = np.int64(ring[tail])
        else:
            while first_of[at] < 0:
                at += 1 if order == 3 else -1
            c = np.int64(first_of[at])
            first_of[at] = next_of[c]
        active[c] = 0
        waiting -= 1
        if col_label[c] >= unreachable:
            continue
        label = np.int64(col_label[c])
        r, looked = min_label_row(col_ptr, col_adj, c, label - 1, label % 4 == 3, row_label)
        counts[EDGES] += looked
        least = np.int64(row_label[r])
        if least >= unreachable:
            continue
        displaced = np.int64(row_match[r])
        row_match[r] = c
        col_match[c] = r
        col_label[c] = least + 1
        row_label[r] = least + 2
        pushes += 1
        since += 1
        if displaced < 0:
            continue
        col_match[displaced] = -1
        active[displaced] = 1
        waiting += 1
        tail = insert(displaced, order, col_label, ring, tail, next_of, first_of)
        if order >= 2:
            d = np.int64(col_label[displaced]) >> 1
            at = max(at, d) if order == 2 else min(at, d)
    return pushes


def pushes_and_edges(graph, row_match, col_match, order: str, frequency: float):
    """The pushes and the edges of a run in an order; the matching is made maximum in place."""
    counts = new_counts()
    interval = max(1, int(frequency * (graph.rows + graph.cols)))
    pushes = push_in_order(*graph.by_col, *graph.by_row, row_match, col_match, interval, ORDERS[order], counts)
    return int(pushes), int(counts[EDGES])
