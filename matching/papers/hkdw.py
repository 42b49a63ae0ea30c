"""Hopcroft and Karp's algorithm with the extra searches of Duff and Wiberg.

Returns a maximum matching.  After the shortest augmenting paths of a phase, another depth-first search starts
from each row that is still free, along any edges; these searches are disjoint.  They find many of the longer paths
early, which saves phases.

Arrays: those of hopcroft_karp.py and pothen_fan.py.

[1] Duff, Wiberg. "Remarks on implementations of O(n^(1/2) tau) assignment algorithms." ACM Transactions on Mathematical
    Software 14, 1988.
[2] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011, section 3.1.7.

Deviation from [1]: the extra searches start from rows, like the levels, and use lookahead.

O(sqrt(n + m) * edges).
"""

import time

import numpy as np

from matching.core.counts import PHASES, as_stats, new_counts
from matching.core.graph import BipartiteGraph
from matching.papers.hopcroft_karp import augment_level_paths, clear, find_levels, free_rows, still_free
from matching.papers.pothen_fan import search_disjoint


def solve(graph: BipartiteGraph, row_match, col_match) -> dict:
    """Make a matching maximum in place; returns stats."""
    rows, counts = graph.rows, new_counts()
    row_ptr, row_adj = graph.row_ptr, graph.row_adj
    level, seen = np.full(rows, -1, np.int32), np.zeros(rows, np.int32)
    arc, ahead = np.empty(rows, np.int64), row_ptr[:-1].copy()
    free, queue, stack = (np.empty(rows, np.int32) for _ in range(3))
    seconds = {"levels": 0.0, "paths": 0.0, "extra": 0.0}
    number = free_rows(row_ptr, row_match, free)
    while number:
        times = [time.perf_counter()]
        counts[PHASES] += 1
        reached, found = find_levels(row_ptr, row_adj, col_match, free, number, level, arc, queue, counts)
        times.append(time.perf_counter())
        if found:
            augment_level_paths(row_ptr, row_adj, row_match, col_match, free, number, level, arc, stack, counts)
            clear(level, queue, reached)
            number = still_free(row_match, free, number)
            times.append(time.perf_counter())
            arrays = (row_ptr, row_adj, row_match, col_match, free, ahead, seen, arc, stack, counts)
            search_disjoint(arrays, number, int(counts[PHASES]), False, True)
            number = still_free(row_match, free, number)
            times.append(time.perf_counter())
        for name, begin, end in zip(seconds, times, times[1:], strict=False):
            seconds[name] += end - begin
        if not found:
            break
    return as_stats(counts, seconds)
