"""Pothen and Fan's algorithm: phases of disjoint depth-first searches with lookahead, from all free rows.

Returns a maximum matching.  In a phase one search starts from each free row, and no row is visited twice; the last
phase is the one without an augmenting path.  Before a search goes deeper, it looks for a free column among all
neighbours of the row (lookahead).  With `fairness`, every other phase scans the neighbours in descending order, which
keeps searches out of the same long dead ends.

Arrays (n rows, m columns)
  free        free rows; rows that became matched are removed after each phase
  ahead[r]    first edge of row r not yet scanned by lookahead; never decreases, in any phase, as columns stay matched,
              so that all lookahead takes time linear in the edges
  seen[r]     last phase in which row r was visited
  next[r]     number of edges of row r scanned by the search of this phase
  stack       rows of the current path

[1] Pothen, Fan. "Computing the block triangular form of a sparse matrix." ACM Transactions on Mathematical Software 16,
    1990.
[2] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011, sections 3.1.4 and 3.2 (fairness).

O(n * edges) in the worst case; a phase takes linear time.
"""

import time

import numpy as np

from gridcut.device import plain_kernel
from matching.core.counts import AUGMENTATIONS, EDGES, PATH_LENGTH, PHASES, as_stats, new_counts
from matching.core.graph import BipartiteGraph
from matching.papers.hopcroft_karp import free_rows, match_along, still_free


@plain_kernel
def search_disjoint(arrays, number, phase, backward, lookahead):
    """Search depth-first from each free row, and augment along the path found; returns the number of paths.

    arrays   row_ptr, row_adj, row_match, col_match, then those of the file header, and counts
    """
    row_ptr, row_adj, row_match, col_match, free, ahead, seen, next_edge, stack, counts = arrays
    edges, paths = 0, 0
    for i in range(number):
        if row_match[free[i]] >= 0 or seen[free[i]] == phase:
            continue
        stack[0] = free[i]
        seen[free[i]] = phase
        next_edge[free[i]] = 0
        top = 0
        while top >= 0:
            r = stack[top]
            first, end = row_ptr[r], row_ptr[r + 1]
            c = -1
            if lookahead and ahead[r] < end:
                k = ahead[r]
                while k < end and col_match[row_adj[k]] >= 0:
                    k += 1
                if k < end:
                    c = row_adj[k]
                    k += 1
                edges += k - ahead[r]
                ahead[r] = k
            deeper = -1
            if c < 0:
                degree = end - first
                k = next_edge[r]
                edges -= k
                while k < degree:
                    j = row_adj[end - 1 - k] if backward else row_adj[first + k]
                    k += 1
                    mate = col_match[j]
                    if mate < 0:
                        c = j
                        break
                    if seen[mate] != phase:
                        deeper = mate
                        break
                edges += k
                next_edge[r] = k
            if c >= 0:
                paths += 1
                counts[PATH_LENGTH] += 2 * top + 1
                top = match_along(row_match, col_match, stack, top, c)
            elif deeper >= 0:
                seen[deeper] = phase
                next_edge[deeper] = 0
                top += 1
                stack[top] = deeper
            else:
                top -= 1
    counts[EDGES] += edges
    counts[AUGMENTATIONS] += paths
    return paths


@plain_kernel
def run_phases(arrays, fairness, lookahead):
    row_ptr, _, row_match, _, free, _, _, _, _, counts = arrays
    number = free_rows(row_ptr, row_match, free)
    paths, phase = 1, 0
    while number and paths:
        phase += 1
        paths = search_disjoint(arrays, number, phase, fairness and phase % 2 == 0, lookahead)
        number = still_free(row_match, free, number)
    counts[PHASES] = phase


def solve(graph: BipartiteGraph, row_match, col_match, *, fairness: bool = True, lookahead: bool = True) -> dict:
    """Make a matching maximum in place; returns stats.

    fairness    scan the neighbours alternately in ascending and in descending order
    lookahead   look for a free column before going deeper
    """
    begin = time.perf_counter()
    rows, counts = graph.rows, new_counts()
    free, seen, stack = np.empty(rows, np.int32), np.zeros(rows, np.int32), np.empty(rows, np.int32)
    next_edge = np.empty(rows, np.int64)
    arrays = (*graph.by_row, row_match, col_match, free, graph.row_ptr[:-1].copy(), seen, next_edge, stack, counts)
    run_phases(arrays, bool(fairness), bool(lookahead))
    return as_stats(counts, {"search": time.perf_counter() - begin})
