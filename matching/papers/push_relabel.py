"""Push-relabel for cardinality matching: free columns push to rows, guided by lower bounds on distances.

Returns a maximum matching.  An active column takes the neighbouring row with the minimum label and displaces the column
that is matched with it, which becomes active.  Columns are processed in the order they became active, by default.  A
breadth-first search from all free rows makes labels exact distances: at the start, and after every `frequency` * (n +
m) pushes.  Rows without a path to a free row are not processed.  In the end, columns that were matched at the start and
have lost their row permanently get one again, instead of other columns [4].

Arrays (n rows, m columns; unreachable = n + m, the label of vertices without a path to a free row)
  row_label[r]   lower bound on the length of an alternating path from row r to a free row; even, 0 for free rows
  col_label[c]   the same for columns; odd, at most 1 above the minimum label of its rows
  at_label[d]    number of matched rows with label 2 d; if it becomes 0, larger labels are set to unreachable (gap)
  ring           active columns, first in first out, or last in first out
  first_of[d], next_of[c]   a list of the active columns with label 2 d + 1, for highest or lowest label first

[1] Deveci, Kaya, Uçar, Çatalyürek. "A push-relabel-based maximum cardinality bipartite matching algorithm on GPUs."
    ICPP 2013, Algorithms 1 and 2.
[2] Cherkassky, Goldberg, Martin, Setubal, Stolfi. "Augment or push: a computational study of bipartite matching and
    unit-capacity flow algorithms." Journal of Experimental Algorithmics 3, 1998.
[3] Kaya, Langguth, Manne, Uçar. "Push-relabel based algorithms for the maximum transversal problem." Computers &
    Operations Research 40, 2013.
[4] Mendelsohn, Dulmage. "Some generalizations of the problem of distinct representatives." Canadian Journal of
    Mathematics 10, 1958.

Deviations from [1]: labels are exact at the start too ([3]); a column with a label of 3 modulo 4 scans its rows in
descending order; a gap ([2]) is used only if at least n edges were scanned since the last sweep of all rows, so that
these sweeps do not dominate; the exchange at the end ([4]).  The parallel version of Langguth and others (Parallel
Computing 40, 2014) is not implemented.

O((n + m) * edges).
"""

import time

import numpy as np

from gridcut.device import plain_kernel
from matching.core.counts import AUGMENTATIONS, EDGES, PATH_LENGTH, PHASES, as_stats, new_counts
from matching.core.graph import BipartiteGraph

MAX_VERTICES = 2**31 - 4  # labels are int32
FIFO, LIFO, HIGHEST, LOWEST = range(4)
ORDERS = {"fifo": FIFO, "lifo": LIFO, "highest": HIGHEST, "lowest": LOWEST}


@plain_kernel
def relabel_all(g, at_label, queue, counts):
    """Algorithm 2, global relabeling: exact distances to the free rows."""
    row_ptr, row_adj, _, _, row_match, col_match, row_label, col_label = g
    unreachable = row_match.size + col_match.size
    head, tail, edges = 0, 0, 0
    at_label[:] = 0
    for c in range(col_match.size):
        col_label[c] = unreachable
    for r in range(row_match.size):
        row_label[r] = unreachable
        if row_match[r] < 0:
            row_label[r] = 0
            queue[tail] = r
            tail += 1
    while head < tail:
        r = queue[head]
        head += 1
        below = row_label[r] + 1
        edges += row_ptr[r + 1] - row_ptr[r]
        for k in range(row_ptr[r], row_ptr[r + 1]):
            c = row_adj[k]
            if col_label[c] == unreachable:
                col_label[c] = below
                mate = col_match[c]
                if mate >= 0:
                    row_label[mate] = below + 1
                    at_label[(below + 1) >> 1] += 1
                    queue[tail] = mate
                    tail += 1
    counts[EDGES] += edges
    counts[PHASES] += 1


@plain_kernel
def sort_active(col_ptr, col_match, col_label, unreachable, next_of, first_of):
    """List the columns that are unmatched and can reach a free row by label; returns their number.

    All of them are active, and no other column is.
    """
    first_of[:] = -1
    count = 0
    for c in range(col_match.size):
        if col_match[c] < 0 and col_label[c] < unreachable and col_ptr[c + 1] > col_ptr[c]:
            d = col_label[c] >> 1
            next_of[c] = first_of[d]
            first_of[d] = c
            count += 1
    return count


@plain_kernel
def min_label_row(col_ptr, col_adj, c, lowest, falling, row_label):
    """The row with the minimum label of column c, and the scanned edges; stops at `lowest`, a lower bound."""
    first, end = col_ptr[c], col_ptr[c + 1]
    best, least = -1, np.int64(0)
    for i in range(end - first):
        r = col_adj[end - 1 - i] if falling else col_adj[first + i]
        if best < 0 or row_label[r] < least:
            best, least = r, np.int64(row_label[r])
            if least <= lowest:
                return best, i + 1
    return best, end - first


@plain_kernel
def push_all(g, at_label, ring, queue, next_of, first_of, interval, gap, order, counts):
    """Algorithm 1, until no column is active.

    g   row_ptr, row_adj, col_ptr, col_adj, row_match, col_match, row_label, col_label
    """
    _, _, col_ptr, col_adj, row_match, col_match, row_label, col_label = g
    unreachable = row_match.size + col_match.size
    size = ring.size
    head, active = 0, 0
    for c in range(col_match.size):
        if col_match[c] < 0 and col_ptr[c + 1] > col_ptr[c]:
            ring[active] = c
            active += 1
    if active == 0:
        return
    relabel_all(g, at_label, queue, counts)
    pushes, edges, since_sweep, at = 0, 0, 0, 0
    if order >= HIGHEST:
        active = sort_active(col_ptr, col_match, col_label, unreachable, next_of, first_of)
        at = first_of.size - 1 if order == HIGHEST else 0
    while active:
        if pushes >= interval:
            pushes = 0
            relabel_all(g, at_label, queue, counts)
            if order >= HIGHEST:
                active = sort_active(col_ptr, col_match, col_label, unreachable, next_of, first_of)
                if active == 0:
                    break
                at = first_of.size - 1 if order == HIGHEST else 0
        active -= 1
        if order == FIFO:
            c = np.int64(ring[head])
            head = head + 1 if head + 1 < size else 0
        elif order == LIFO:
            c = np.int64(ring[active])
        else:
            while first_of[at] < 0:
                at += -1 if order == HIGHEST else 1
            c = np.int64(first_of[at])
            first_of[at] = next_of[c]
        if col_label[c] >= unreachable:
            continue
        label = np.int64(col_label[c])
        r, looked = min_label_row(col_ptr, col_adj, c, label - 1, label % 4 == 3, row_label)
        edges += looked
        since_sweep += looked
        least = np.int64(row_label[r])
        if least >= unreachable:
            continue
        displaced = np.int64(row_match[r])
        row_match[r] = c
        col_match[c] = r
        col_label[c] = least + 1
        row_label[r] = least + 2
        if least + 2 < unreachable:
            at_label[(least + 2) >> 1] += 1
        pushes += 1
        if displaced < 0:
            counts[AUGMENTATIONS] += 1
            counts[PATH_LENGTH] += 1
            continue
        counts[PATH_LENGTH] += 2
        col_match[displaced] = -1
        if order < HIGHEST:
            last = head + active
            ring[last if last < size else last - size] = displaced
        else:
            d = np.int64(col_label[displaced]) >> 1
            next_of[displaced] = first_of[d]
            first_of[d] = displaced
            at = max(at, d) if order == HIGHEST else min(at, d)
        active += 1
        at_label[least >> 1] -= 1
        if gap and at_label[least >> 1] == 0 and since_sweep >= row_match.size:
            since_sweep = 0
            for i in range(row_match.size):
                if row_label[i] > least:
                    row_label[i] = unreachable
            for d in range((least >> 1) + 1, at_label.size):
                at_label[d] = 0
    counts[EDGES] += edges


@plain_kernel
def restore_columns(before, row_match, col_match):
    """Match the columns again that had a row in `before` and have lost it.

    Rows never lose their partner.  So from such a column a path alternates between its old pair to a row and the row's
    new pair to a column, until it reaches a column without an old pair.  All old pairs of the path are restored, and
    only the last column loses its row.
    """
    for c in range(col_match.size):
        if before[c] >= 0 and col_match[c] < 0:
            last = np.int64(c)
            while before[last] >= 0:
                r = before[last]
                displaced = np.int64(row_match[r])
                row_match[r] = last
                col_match[last] = r
                last = displaced
            col_match[last] = -1


def solve(
    graph: BipartiteGraph, row_match, col_match, *, frequency: float = 0.5, gap: bool = True, order: str = "fifo"
) -> dict:
    """Make a matching maximum in place; returns stats, with the number of global relabelings as "phases".

    frequency   number of pushes per vertex between global relabelings
    gap         set larger labels to unreachable when no row has a label
    order       of the active columns: "fifo", "lifo", "highest" or "lowest" label first
    """
    if graph.rows + graph.cols > MAX_VERTICES:
        raise ValueError(
            f"graph has {graph.rows + graph.cols} vertices, more than the {MAX_VERTICES} that 'push_relabel' accepts; "
            "use 'pothen_fan'"
        )
    begin = time.perf_counter()
    rows, cols = graph.shape
    counts, before = new_counts(), col_match.copy()
    g = (*graph.lists, row_match, col_match, np.empty(rows, np.int32), np.empty(cols, np.int32))
    at_label = np.empty((rows + cols) // 2 + 2, np.int32)
    ring, queue = np.empty(cols, np.int32), np.empty(rows, np.int32)
    by_label = order in ("highest", "lowest")
    next_of, first_of = (np.empty(size if by_label else 0, np.int32) for size in (cols, at_label.size))
    interval = int(min(max(frequency * (rows + cols), 1), 2**62))
    push_all(g, at_label, ring, queue, next_of, first_of, interval, bool(gap), ORDERS[order], counts)
    restore_columns(before, row_match, col_match)
    return as_stats(counts, {"push": time.perf_counter() - begin})
