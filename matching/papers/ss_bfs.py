"""Breadth-first augmentation from one free row at a time.

Returns a maximum matching.  Each search grows one tree until it reaches a free column.  A tree that reaches none is
hidden permanently: no later augmenting path enters it, so that all failing searches together take linear time.

Arrays (n rows, m columns)
  seen[r]     last search that visited row r;  HIDDEN: row r is in the tree of a search that failed
  parent[r]   row from which row r was reached;  the column between them is row_match[r]
  queue       rows of the tree, in order

[1] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011, section 3.1.2.
[2] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
    IPDPS 2015, section II-B and Algorithm 1 (SS-BFS).

O(n * edges) in the worst case.
"""

import time

import numpy as np

from gridcut.device import plain_kernel
from matching.core.counts import AUGMENTATIONS, EDGES, PATH_LENGTH, PHASES, as_stats, new_counts
from matching.core.graph import BipartiteGraph

HIDDEN = np.iinfo(np.int32).max


@plain_kernel
def augment_each(row_ptr, row_adj, row_match, col_match, seen, parent, queue, counts):
    """Search from each free row."""
    edges, searches = 0, 0
    for root in range(row_match.size):
        if row_match[root] >= 0 or row_ptr[root] == row_ptr[root + 1]:
            continue
        searches += 1
        seen[root] = searches
        parent[root] = -1
        queue[0] = root
        head, tail = 0, 1
        last, goal = -1, -1
        while head < tail and goal < 0:
            r = queue[head]
            head += 1
            for k in range(row_ptr[r], row_ptr[r + 1]):
                edges += 1
                c = row_adj[k]
                mate = col_match[c]
                if mate < 0:
                    last, goal = r, c
                    break
                if seen[mate] < searches:
                    seen[mate] = searches
                    parent[mate] = r
                    queue[tail] = mate
                    tail += 1
        if goal < 0:
            for i in range(tail):
                seen[queue[i]] = HIDDEN
            continue
        counts[AUGMENTATIONS] += 1
        counts[PATH_LENGTH] -= 1
        r, c = last, goal
        while r >= 0:
            before = row_match[r]
            row_match[r] = c
            col_match[c] = r
            c = before
            r = parent[r]
            counts[PATH_LENGTH] += 2
    counts[EDGES] += edges
    counts[PHASES] += searches


def solve(graph: BipartiteGraph, row_match, col_match) -> dict:
    """Make a matching maximum in place; returns stats."""
    begin = time.perf_counter()
    rows, counts = graph.rows, new_counts()
    seen, parent, queue = np.zeros(rows, np.int32), np.empty(rows, np.int32), np.empty(rows, np.int32)
    augment_each(graph.row_ptr, graph.row_adj, row_match, col_match, seen, parent, queue, counts)
    return as_stats(counts, {"search": time.perf_counter() - begin})
