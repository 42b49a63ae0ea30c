"""The shared parts of p_pf, p_dbfs and p_hk: concurrent searches, each from its own free row.

visited[c] is the last phase in which a search claimed column c.  Until the phase ends, the column and the row that it
is matched with belong to the search that claimed it.  So paths have no vertex in common, and a search can augment
immediately, while others are running.  After a search has claimed a column, no other thread changes the mate of the
column in this phase.

A phase without a path has explored everything that is reachable from the free rows; then the matching is maximum.

Azad, Halappanavar, Rajamanickam, Boman, Khan, Pothen. "Multithreaded algorithms for maximum matching in bipartite
graphs." IPDPS 2012.
"""

from time import perf_counter

import numpy as np

from gridcut.device import atomic_cas, atomic_load, atomic_store, plain_kernel, run_threads, thread_count
from matching.core.counts import AUGMENTATIONS, EDGES, PATH_LENGTH, PHASES, as_stats, new_counts
from matching.papers.hopcroft_karp import free_rows, still_free

PARALLEL_MIN_ROWS = 64  # with fewer free rows, one thread is faster


@plain_kernel
def claim(visited, c, phase):
    """Claim column c for this search; returns False if a search has claimed it in this phase."""
    seen = atomic_load(visited, c)
    return seen != phase and atomic_cas(visited, c, seen, phase) == seen


@plain_kernel
def augment_stack(row_match, col_match, stack, top, c):
    """Match the rows of a path, the last one with the free column c; returns the number of edges of the path."""
    length = 2 * top + 1
    while top >= 0:
        r = stack[top]
        before = row_match[r]
        row_match[r] = c
        atomic_store(col_match, c, r)
        c = before
        top -= 1
    return length


def worker_count(threads) -> int:
    """The requested number of threads, by default numba's."""
    return thread_count() if threads is None else threads


def run_phases(graph, row_match, threads, search, prepare=None, parallel_min_rows=PARALLEL_MIN_ROWS) -> dict:
    """Search from all free rows, in phases, until a phase finds no path; returns stats.

    search(free, number, visited, phase, shared)   one worker, which claims free rows by the counter shared[0]; returns
                                                   the numbers of scanned edges and of paths, and the paths' length
    prepare(free, number, counts)                  runs before each phase; returns whether there is a path
    parallel_min_rows                              with fewer free rows, there is only one worker
    """
    counts = new_counts()
    visited = np.zeros(graph.cols, np.int32)
    free = np.empty(graph.rows, np.int32)
    shared = np.zeros(1, np.int64)
    seconds = {"search": 0.0} if prepare is None else {"levels": 0.0, "search": 0.0}
    number = free_rows(graph.row_ptr, row_match, free)
    while number:
        begin = perf_counter()
        counts[PHASES] += 1
        if prepare is not None:
            some = prepare(free, number, counts)
            seconds["levels"] += perf_counter() - begin
            if not some:
                break
        begin = perf_counter()
        shared[0] = 0
        found = run_threads(
            lambda i, count=number, phase=int(counts[PHASES]): search(free, count, visited, phase, shared),
            threads if number >= parallel_min_rows else 1,
        )
        edges, paths, length = np.sum(found, axis=0)
        counts[EDGES] += edges
        counts[AUGMENTATIONS] += paths
        counts[PATH_LENGTH] += length
        seconds["search"] += perf_counter() - begin
        if not paths:
            break
        number = still_free(row_match, free, number)
    return {**as_stats(counts, seconds), "threads": threads}
