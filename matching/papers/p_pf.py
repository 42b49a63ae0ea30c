"""Pothen and Fan's algorithm with fairness, on threads: P-PF of Azad et al.

Makes a matching maximum.  In a phase a depth-first search starts from each free row, and claims each column it enters.
Before it goes deeper, it looks ahead for a free column among the neighbours of its row, and augments as soon as it has
found one.  The searches, and so the paths, are vertex-disjoint (disjoint.py).  Fairness: phases scan neighbours
alternately forwards and backwards.

Arrays (n rows, m columns)
  look[r]   first neighbour of row r not yet scanned by lookahead; never decreases, since columns stay matched
  at[r]     number of neighbours of row r entered or tried in this phase, by the search that has claimed r
  stack     rows of the current path of one worker

If lookahead skips a free column, another search has claimed it in this phase and will match it; so the columns entered
when going deeper are matched.

[1] Azad, Halappanavar, Rajamanickam, Boman, Khan, Pothen. "Multithreaded algorithms for maximum matching in bipartite
graphs." IPDPS 2012.
[2] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
Mathematical Software 38, 2011 (fairness).

O(n edges); 16 bytes per row, and 4 more per row and thread.
"""

import numpy as np

from gridcut.device import atomic_add, atomic_load, kernel
from matching.papers.disjoint import augment_stack, claim, run_phases, worker_count


@kernel
def search_part(row_ptr, row_adj, row_match, col_match, look, at, backwards, free, number, visited, phase, shared):
    """One worker's searches; returns the numbers of scanned edges and of paths, and the paths' total length."""
    stack = np.empty(row_match.size, np.int32)
    edges, paths, length = 0, 0, 0
    k = atomic_add(shared, 0, 1)
    while k < number:
        r = free[k]
        stack[0] = r
        at[r] = 0
        top = 0
        while top >= 0:
            r = stack[top]
            first, last = row_ptr[r], row_ptr[r + 1]
            last_column = -1
            a = look[r]
            edges -= a
            while a < last and last_column < 0:
                c = row_adj[a]
                a += 1
                if atomic_load(col_match, c) < 0 and claim(visited, c, phase):
                    last_column = c
            look[r] = a
            edges += a
            if last_column >= 0:
                length += augment_stack(row_match, col_match, stack, top, last_column)
                paths += 1
                break
            deeper = -1
            tried = at[r]
            edges -= tried
            while tried < last - first and deeper < 0:
                c = row_adj[last - 1 - tried if backwards else first + tried]
                tried += 1
                if claim(visited, c, phase):
                    deeper = atomic_load(col_match, c)
            at[r] = tried
            edges += tried
            if deeper >= 0:
                top += 1
                stack[top] = deeper
                at[deeper] = 0
            else:
                top -= 1
        k = atomic_add(shared, 0, 1)
    return edges, paths, length


def solve(graph, row_match, col_match, *, fairness=True, threads=1) -> dict:
    """Make a matching maximum in place; returns stats.

    fairness  every second phase scans neighbours backwards
    threads   number of workers; None: numba's number of threads
    """
    threads = worker_count(threads)
    look = graph.row_ptr[:-1].copy()
    at = np.zeros(graph.rows, np.int64)

    def search(free, number, visited, phase, shared):
        arrays = (*graph.by_row, row_match, col_match, look, at)
        return search_part(*arrays, bool(fairness and phase % 2 == 0), free, number, visited, phase, shared)

    return run_phases(graph, row_match, threads, search)
