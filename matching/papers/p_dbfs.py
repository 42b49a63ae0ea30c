"""Disjoint breadth-first searches on threads: P-DBFS of Azad et al.

Makes a matching maximum.  In a phase a breadth-first search starts from each free row.  It claims each column that it
reaches and ends at the first free one, along whose path it augments.  The searches, and so the paths, are
vertex-disjoint (disjoint.py).

Arrays (n rows, m columns)
  by[c]     the row from which column c was reached; only the search that has claimed c in this phase accesses it
  queue     rows of one search

[1] Azad, Halappanavar, Rajamanickam, Boman, Khan, Pothen. "Multithreaded algorithms for maximum matching in bipartite
graphs." IPDPS 2012.

O(n edges); 4 bytes per row and thread.
"""

import numpy as np

from gridcut.device import atomic_add, atomic_load, atomic_store, kernel
from matching.papers.disjoint import claim, run_phases, worker_count


@kernel
def search_part(row_ptr, row_adj, row_match, col_match, by, free, number, visited, phase, shared):
    """One worker's searches; returns the numbers of scanned edges and of paths, and the paths' total length."""
    queue = np.empty(row_match.size, np.int32)
    edges, paths, length = 0, 0, 0
    k = atomic_add(shared, 0, 1)
    while k < number:
        queue[0] = free[k]
        head, tail = 0, 1
        while head < tail:
            r = queue[head]
            head += 1
            for a in range(row_ptr[r], row_ptr[r + 1]):
                c = row_adj[a]
                edges += 1
                if not claim(visited, c, phase):
                    continue
                by[c] = r
                mate = atomic_load(col_match, c)
                if mate >= 0:
                    queue[tail] = mate
                    tail += 1
                    continue
                while c >= 0:
                    u = by[c]
                    before = row_match[u]
                    row_match[u] = c
                    atomic_store(col_match, c, u)
                    c = before
                    length += 2
                length -= 1
                paths += 1
                tail = 0  # done with this row
                break
        k = atomic_add(shared, 0, 1)
    return edges, paths, length


def solve(graph, row_match, col_match, *, threads=1) -> dict:
    """Make a matching maximum in place; returns stats.

    threads   number of workers; None: numba's number of threads
    """
    threads = worker_count(threads)
    by = np.empty(graph.cols, np.int32)

    def search(free, number, visited, phase, shared):
        return search_part(graph.row_ptr, graph.row_adj, row_match, col_match, by, free, number, visited, phase, shared)

    return run_phases(graph, row_match, threads, search)
