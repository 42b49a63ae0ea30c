"""The cheap initial matching: each row takes its first free column.

Returns a maximal matching, which has at least half as many pairs as a maximum one.

Arrays
  row_match[r], col_match[c]   partner, or -1;  changed in place; existing pairs are kept

[1] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011, section 3.3.1 ("simple greedy matching").

O(n + edges).
"""

import time

from gridcut.device import atomic_add, atomic_cas, plain_kernel
from gridcut.device.intrinsics import prefetch
from matching.core.graph import BipartiteGraph

PREFETCH_DISTANCE = 16  # rows between prefetching the match of a row's first column and reading it
CHUNK_ROWS = 64  # rows that a thread claims at a time


@plain_kernel
def take_first_free(row_ptr, row_adj, row_match, col_match):
    """Match every row that has a free column; returns the number of scanned edges."""
    edges = 0
    for r in range(row_match.size):
        if row_match[r] >= 0:
            continue
        for k in range(row_ptr[r], row_ptr[r + 1]):
            edges += 1
            c = row_adj[k]
            if col_match[c] < 0:
                row_match[r] = c
                col_match[c] = r
                break
    return edges


@plain_kernel
def take_first_free_shared(row_ptr, row_adj, row_match, col_match, shared):
    """take_first_free on one of several threads, for chunks of the rows; shared[0]: the first row of the next chunk.

    Small chunks keep the threads close to each other, so that about the same rows stay free as with one thread.  In a
    mesh, distant threads would compute matchings that are shifted against each other, with long paths between them.
    """
    n = row_match.size
    edges = 0
    begin = atomic_add(shared, 0, CHUNK_ROWS)
    while begin < n:
        for r in range(begin, min(n, begin + CHUNK_ROWS)):
            prefetch(col_match, row_adj[row_ptr[min(r + PREFETCH_DISTANCE, n - 1)]])
            if row_match[r] >= 0:
                continue
            for k in range(row_ptr[r], row_ptr[r + 1]):
                edges += 1
                c = row_adj[k]
                if col_match[c] < 0 and atomic_cas(col_match, c, -1, r) == -1:
                    row_match[r] = c
                    break
        begin = atomic_add(shared, 0, CHUNK_ROWS)
    return edges


def initialise(graph: BipartiteGraph, row_match, col_match) -> dict:
    """Add pairs to a matching in place; returns stats."""
    begin = time.perf_counter()
    edges = take_first_free(graph.row_ptr, graph.row_adj, row_match, col_match)
    return {"edges": int(edges), "seconds": {"init": time.perf_counter() - begin}}
