"""The Karp-Sipser initial matching as published with tree grafting: only the degrees of the rows are updated.

Returns a maximal matching.  Rows with one free column are matched first, including those that reach this state
in the process; then the other rows in order, each followed by the rows that it leaves with one free column.

Arrays (n rows, m columns)
  left[r]   number of free columns of row r
  single    rows left with one free column, last in first out; each row is pushed once

[1] Karp, Sipser. "Maximum matchings in sparse random graphs." FOCS 1981.
[2] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
    IPDPS 2015, section II-B and the authors' program, which uses recursion instead of a stack.

O(n + m + edges).
"""

import time

import numpy as np

from gridcut.device import plain_kernel
from matching.core.graph import BipartiteGraph


@plain_kernel
def count_free(row_ptr, row_adj, col_match, left):
    for r in range(left.size):
        number = 0
        for k in range(row_ptr[r], row_ptr[r + 1]):
            if col_match[row_adj[k]] < 0:
                number += 1
        left[r] = number


@plain_kernel
def match_greedily(row_ptr, row_adj, col_ptr, col_adj, row_match, col_match, left, single):
    """Match until no free row has a free column; returns the numbers of scanned edges and of forced pairs."""
    edges, forced = 0, 0
    top = 0
    for r in range(row_match.size):
        if row_match[r] < 0 and left[r] == 1:
            single[top] = r
            top += 1
    for row in range(-1, row_match.size):
        r = np.int64(row)
        while r >= 0 or top:
            if r < 0:
                top -= 1
                r = np.int64(single[top])
                forced += 1
            if row_match[r] < 0 and left[r] > 0:
                k = row_ptr[r]
                while col_match[row_adj[k]] >= 0:
                    k += 1
                c = row_adj[k]
                row_match[r] = c
                col_match[c] = r
                edges += k + 1 - row_ptr[r] + col_ptr[c + 1] - col_ptr[c]
                for a in range(col_ptr[c], col_ptr[c + 1]):
                    other = col_adj[a]
                    left[other] -= 1
                    if left[other] == 1 and row_match[other] < 0:
                        single[top] = other
                        top += 1
            r = np.int64(-1)
    return edges, forced


def initialise(graph: BipartiteGraph, row_match, col_match) -> dict:
    """Add pairs to a matching in place; returns stats."""
    begin = time.perf_counter()
    row_ptr, row_adj, col_ptr, col_adj = graph.lists
    left = np.empty(graph.rows, np.int32)
    single = np.empty(graph.rows, np.int32)
    count_free(row_ptr, row_adj, col_match, left)
    edges, forced = match_greedily(row_ptr, row_adj, col_ptr, col_adj, row_match, col_match, left, single)
    edges += graph.edges
    return {"edges": int(edges), "forced": int(forced), "seconds": {"init": time.perf_counter() - begin}}
