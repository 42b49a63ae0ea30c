"""Hopcroft and Karp's algorithm on threads: P-HK of Azad et al.

Makes a matching maximum.  A phase is a breadth-first search from all free rows, level by level, which ends with the
level that reaches a free column.  Then a depth-first search starts from each free row, along edges from one level to
the next.  It claims each column it enters, and augments as soon as it reaches a free one (disjoint.py).

Arrays (n rows, m columns)
  level[r]   matched edges between row r and the nearest free row; -1: not reached in this phase
  at[r]      number of neighbours of row r tried in this phase, by the search that has claimed r
  queue      rows reached in this phase, by level
  stack      rows of the current path of one worker

Deviation from [1]: one thread searches levels with few rows.

[1] Azad, Halappanavar, Rajamanickam, Boman, Khan, Pothen. "Multithreaded algorithms for maximum matching in bipartite
graphs." IPDPS 2012.
[2] Hopcroft, Karp. "An n^(5/2) algorithm for maximum matchings in bipartite graphs." SIAM Journal on Computing 2, 1973.

O(sqrt(n + m) edges) with one thread; several may leave more paths to the next phase.  20 bytes per row, and 4 more
per row and thread.
"""

import numpy as np

from gridcut.device import atomic_add, atomic_cas, atomic_load, kernel, run_threads
from matching.core.counts import EDGES
from matching.papers.disjoint import augment_stack, claim, run_phases, worker_count
from matching.papers.forest_threads import CHUNK_ENTRIES, NEXT, PRIVATE_ENTRIES, QUEUE_END, flush

PARALLEL_MIN_ROWS = 8192  # number of rows of a level from which several threads share it


@kernel
def start_levels(row_ptr, free, number, level, queue):
    """Level 0: the free rows."""
    for k in range(number):
        level[free[k]] = 0
        queue[k] = free[k]


@kernel
def level_part(row_ptr, row_adj, col_match, level, queue, tail, depth, shared):
    """One worker's chunks of queue[shared[NEXT]:tail]; returns scanned edges and whether a free column was reached."""
    private = np.empty(PRIVATE_ENTRIES, np.int32)
    waiting = 0
    edges = 0
    found = False
    first = atomic_add(shared, NEXT, CHUNK_ENTRIES)
    while first < tail:
        for k in range(first, min(first + CHUNK_ENTRIES, tail)):
            r = queue[k]
            edges += row_ptr[r + 1] - row_ptr[r]
            for a in range(row_ptr[r], row_ptr[r + 1]):
                mate = col_match[row_adj[a]]
                if mate < 0:
                    found = True
                elif atomic_load(level, mate) < 0 and atomic_cas(level, mate, -1, depth) == -1:
                    private[waiting] = mate
                    waiting += 1
                    if waiting == PRIVATE_ENTRIES:
                        flush(private, waiting, queue, shared, QUEUE_END)
                        waiting = 0
        first = atomic_add(shared, NEXT, CHUNK_ENTRIES)
    flush(private, waiting, queue, shared, QUEUE_END)
    return edges, found


@kernel
def narrow_levels(row_ptr, row_adj, col_match, level, queue, head, tail, depth, wide, shared):
    """Search levels on one worker while they have fewer than `wide` rows; returns (head, tail, depth, edges, found)."""
    edges = 0
    found = False
    while head < tail and tail - head < wide and not found:
        shared[NEXT] = head
        depth += 1
        looked, found = level_part(row_ptr, row_adj, col_match, level, queue, tail, depth, shared)
        edges += looked
        head = tail
        tail = shared[QUEUE_END]
    return head, tail, depth, edges, found


@kernel
def search_part(row_ptr, row_adj, row_match, col_match, level, at, free, number, visited, phase, shared):
    """One worker's searches; returns the numbers of scanned edges and of paths, and the paths' total length."""
    stack = np.empty(row_match.size, np.int32)
    edges, paths, length = 0, 0, 0
    k = atomic_add(shared, 0, 1)
    while k < number:
        stack[0] = free[k]
        at[free[k]] = 0
        top = 0
        while top >= 0:
            r = stack[top]
            below = level[r] + 1
            first, tries = row_ptr[r], row_ptr[r + 1] - row_ptr[r]
            tried = at[r]
            edges -= tried
            column, deeper = -1, -1
            while tried < tries and column < 0:
                c = row_adj[first + tried]
                tried += 1
                mate = atomic_load(col_match, c)
                # Another search may change the mate before this one claims the column; then the claim fails.
                if (mate < 0 or level[mate] == below) and claim(visited, c, phase):
                    column, deeper = c, mate
            at[r] = tried
            edges += tried
            if column < 0:
                top -= 1
            elif deeper >= 0:
                top += 1
                stack[top] = deeper
                at[deeper] = 0
            else:
                length += augment_stack(row_match, col_match, stack, top, column)
                paths += 1
                break
        k = atomic_add(shared, 0, 1)
    return edges, paths, length


def solve(graph, row_match, col_match, *, threads=1, wide=PARALLEL_MIN_ROWS) -> dict:
    """Make a matching maximum in place; returns stats.

    threads   number of workers; None: numba's number of threads
    wide      number of rows of a level from which several threads share it
    """
    threads = worker_count(threads)
    ptr, adj = graph.row_ptr, graph.row_adj
    level = np.empty(graph.rows, np.int32)
    at = np.zeros(graph.rows, np.int64)
    queue = np.empty(graph.rows, np.int32)
    ends = np.zeros(80, np.int64)

    def find_levels(free, number, counts):
        level[:] = -1
        start_levels(ptr, free, number, level, queue)
        head, tail, depth, found = 0, number, 0, False
        ends[QUEUE_END] = number
        while head < tail and not found:
            if threads == 1 or tail - head < wide:
                least = graph.rows + 1 if threads == 1 else wide
                head, tail, depth, edges, found = narrow_levels(
                    ptr, adj, col_match, level, queue, head, tail, depth, least, ends
                )
            else:
                ends[NEXT] = head
                depth += 1
                done = run_threads(
                    lambda i, last=tail, below=depth: level_part(ptr, adj, col_match, level, queue, last, below, ends),
                    threads,
                )
                edges, found = sum(looked for looked, _ in done), any(seen for _, seen in done)
                head, tail = tail, int(ends[QUEUE_END])
            counts[EDGES] += edges
        level[queue[head:tail]] = -1  # below the free columns reached: no shortest path contains them
        return found

    def search(free, number, visited, phase, shared):
        return search_part(ptr, adj, row_match, col_match, level, at, free, number, visited, phase, shared)

    return run_phases(graph, row_match, threads, search, find_levels)
