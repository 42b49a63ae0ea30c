"""Depth-first augmentation from one free row at a time; with lookahead it is Duff's MC21.

Returns a maximum matching.  A search ends when it reaches a free column.  A search that reaches none hides all visited
rows permanently, as no later augmenting path enters them.

Arrays (n rows, m columns)
  seen[r]     last search that visited row r;  HIDDEN: visited by a search that failed
  ahead[r]    first edge of row r not yet scanned by lookahead; never decreases
  next[r]     edge of row r at which the current search resumes
  stack       rows of the current path;  visited   rows of the current search

[1] Duff. "On algorithms for obtaining a maximum transversal." ACM Transactions on Mathematical Software 7, 1981.
[2] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011, sections 3.1.1 and 3.1.3.

O(n * edges) in the worst case.
"""

import time

import numpy as np

from gridcut.device import plain_kernel
from matching.core.counts import AUGMENTATIONS, EDGES, PATH_LENGTH, PHASES, as_stats, new_counts
from matching.core.graph import BipartiteGraph
from matching.papers.hopcroft_karp import match_along
from matching.papers.ss_bfs import HIDDEN


@plain_kernel
def augment_each(row_ptr, row_adj, row_match, col_match, lookahead, ahead, seen, next_edge, stack, visited, counts):
    """Search from each free row."""
    edges, searches = 0, 0
    for root in range(row_match.size):
        if row_match[root] >= 0 or row_ptr[root] == row_ptr[root + 1]:
            continue
        searches += 1
        seen[root] = searches
        next_edge[root] = row_ptr[root]
        stack[0], visited[0] = root, root
        top, number = 0, 1
        found = False
        while top >= 0:
            r = stack[top]
            end = row_ptr[r + 1]
            c, deeper = -1, -1
            if lookahead and ahead[r] < end:
                k = ahead[r]
                while k < end and col_match[row_adj[k]] >= 0:
                    k += 1
                if k < end:
                    c = row_adj[k]
                    k += 1
                edges += k - ahead[r]
                ahead[r] = k
            if c < 0:
                k = next_edge[r]
                edges -= k
                while k < end:
                    mate = col_match[row_adj[k]]
                    k += 1
                    if mate < 0:
                        c = row_adj[k - 1]
                        break
                    if seen[mate] < searches:
                        deeper = mate
                        break
                edges += k
                next_edge[r] = k
            if c >= 0:
                found = True
                counts[AUGMENTATIONS] += 1
                counts[PATH_LENGTH] += 2 * top + 1
                top = match_along(row_match, col_match, stack, top, c)
            elif deeper >= 0:
                seen[deeper] = searches
                next_edge[deeper] = row_ptr[deeper]
                top += 1
                stack[top] = deeper
                visited[number] = deeper
                number += 1
            else:
                top -= 1
        if not found:
            for i in range(number):
                seen[visited[i]] = HIDDEN
    counts[EDGES] += edges
    counts[PHASES] += searches


def solve(graph: BipartiteGraph, row_match, col_match, *, lookahead: bool = True) -> dict:
    """Make a matching maximum in place; returns stats.

    lookahead   look for a free column before going deeper
    """
    begin = time.perf_counter()
    rows, counts = graph.rows, new_counts()
    ahead = graph.row_ptr[:-1].copy()
    next_edge = np.empty(rows, np.int64)
    seen, stack, visited = np.zeros(rows, np.int32), np.empty(rows, np.int32), np.empty(rows, np.int32)
    arrays = (ahead, seen, next_edge, stack, visited, counts)
    augment_each(*graph.by_row, row_match, col_match, bool(lookahead), *arrays)
    return as_stats(counts, {"search": time.perf_counter() - begin})
