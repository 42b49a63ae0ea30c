"""Hopcroft and Karp's algorithm on threads: P-HK of Azad et al.

Makes a matching maximum.  A phase is a breadth-first search from all free rows, level by level, which ends with the
level that reaches a free column.  Then a depth-first search starts from each free row, along edges from one level to
the next.  It claims each column it enters, and augments as soon as it reaches a free one (disjoint.py).

Arrays (n rows, m columns)
  level[r]   matched edges between row r and the nearest free row; -1: not reached in this phase
  at[r]      number of neighbours of row r tried in this phase, by the search that has claimed r
  queue      rows reached in this phase, by level
  stack      rows of the current path of one worker

Deviation from [1]: one thread searches levels with few rows.  The threads meet after each of the others
(gridcut/device/threads.py).

[1] Azad, Halappanavar, Rajamanickam, Boman, Khan, Pothen. "Multithreaded algorithms for maximum matching in bipartite
graphs." IPDPS 2012.
[2] Hopcroft, Karp. "An n^(5/2) algorithm for maximum matchings in bipartite graphs." SIAM Journal on Computing 2, 1973.

O(sqrt(n + m) edges) with one thread; several may leave more paths to the next phase.  20 bytes per row, and 4 more
per row and thread.
"""

import numpy as np

from gridcut.device import atomic_add, atomic_cas, atomic_load, atomic_store, inner_kernel, kernel, plain_kernel
from gridcut.device.threads import CELL, is_last, new_cells, release, run_team, wait
from matching.core.counts import EDGES
from matching.papers.disjoint import augment_stack, claim, run_phases, worker_count

PARALLEL_MIN_ROWS = 512  # number of rows of a level from which several threads share it
CHUNK, PRIVATE = 64, 1024  # rows that a thread claims at a time; entries of its private queue
NEXT, END, SCANNED, FOUND, HEAD, TAIL, DEPTH, DONE = range(0, 8 * CELL, CELL)  # the state of a search by levels


@plain_kernel
def start_levels(free, number, level, queue):
    """Level 0: the free rows."""
    for k in range(number):
        level[free[k]] = 0
        queue[k] = free[k]


@inner_kernel
def level_part(row_ptr, row_adj, col_match, level, queue, s, private):
    """This thread's chunks of the level queue[s[HEAD]:s[TAIL]]."""
    tail, depth = s[TAIL], s[DEPTH] + 1
    waiting, edges = 0, 0
    first = atomic_add(s, NEXT, CHUNK)
    while first < tail:
        for k in range(first, min(first + CHUNK, tail)):
            r = queue[k]
            edges += row_ptr[r + 1] - row_ptr[r]
            for a in range(row_ptr[r], row_ptr[r + 1]):
                mate = col_match[row_adj[a]]
                if mate < 0:
                    atomic_store(s, FOUND, 1)
                elif atomic_load(level, mate) < 0 and atomic_cas(level, mate, -1, depth) == -1:
                    if waiting == PRIVATE:
                        waiting = append(private, waiting, queue, s)
                    private[waiting] = mate
                    waiting += 1
        first = atomic_add(s, NEXT, CHUNK)
    append(private, waiting, queue, s)
    atomic_add(s, SCANNED, edges)


@inner_kernel
def append(private, number, queue, s):
    """Append private entries to the queue; returns 0, the number that is left."""
    at = atomic_add(s, END, number)
    for j in range(number):
        queue[at + j] = private[j]
    return 0


@inner_kernel
def end_level(s):
    """The rows found by a level are the next one, unless a free column was reached."""
    s[HEAD], s[TAIL] = s[TAIL], s[END]
    s[NEXT] = s[HEAD]
    s[DEPTH] += 1
    s[DONE] = s[FOUND] == 1 or s[HEAD] == s[TAIL]


@kernel
def find_levels(cells, threads, row_ptr, row_adj, col_match, level, queue, s, wide):
    """One thread of the team that searches level by level; the last one to arrive searches narrow levels alone."""
    private = np.empty(PRIVATE, np.int32)
    generation = 0
    while s[DONE] == 0:
        level_part(row_ptr, row_adj, col_match, level, queue, s, private)
        generation += 1
        if threads == 1 or is_last(cells, threads, generation):
            end_level(s)
            while s[DONE] == 0 and s[TAIL] - s[HEAD] < wide:
                level_part(row_ptr, row_adj, col_match, level, queue, s, private)
                end_level(s)
            release(cells, generation)
        elif not wait(cells, generation):
            return


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

    def search_levels(free, number, counts):
        level[:] = -1
        start_levels(free, number, level, queue)
        s, cells = np.zeros(8 * CELL, np.int64), new_cells()
        s[TAIL] = s[END] = number
        team = threads if number >= wide else 1  # the first level is the widest one, mostly
        run_team(lambda i: find_levels(cells, team, ptr, adj, col_match, level, queue, s, wide), team, cells)
        counts[EDGES] += s[SCANNED]
        level[queue[s[HEAD] : s[TAIL]]] = -1  # below the free columns reached: no shortest path contains them
        return bool(s[FOUND])

    def search(free, number, visited, phase, shared):
        return search_part(ptr, adj, row_match, col_match, level, at, free, number, visited, phase, shared)

    return run_phases(graph, row_match, threads, search, search_levels)
