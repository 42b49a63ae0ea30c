"""The Karp-Sipser initial matching, with the degree-one vertices of both sides.

Returns a maximal matching, usually a few pairs short of maximum on sparse random graphs.  A vertex with one free
neighbour is matched with it, as in some maximum matching.  Only if there is no such vertex, the next rows are matched
with their first free columns.

All pairs matched before the first such row belong to some maximum matching.  The free vertices that still have free
neighbours then form the *core*.  Free vertices outside the core can stay free, and in the end the number of missing
pairs is at most the number of free core vertices on either side [1].

Vertices have consecutive indices: row r is r, column c of a graph with n rows is n + c.

Arrays
  left[v]   free vertex v: sum over its free neighbours u of 2^32 + u.  If there is only one, the low 32 bits are the
            neighbour itself, and no list is searched for it.  Matched vertex: negative
  queue     in order: v, a vertex left with one free neighbour (once each), or -1 - v, a matched vertex whose neighbours
            have not been updated.  Vertices are matched a few entries in advance: the entries `at` to `settled` are
            matched vertices whose neighbours will be updated, or negative: nothing to do

Lists and counts of later entries are prefetched, since otherwise every step would wait for memory.  Prefetching needs
several entries in the queue.  So if no vertex is forced, several rows take a column before their neighbours are updated
(`picks`, 1 for small graphs): on random graphs this leaves about 30 rows of a million instead of 2, in a third of the
time.

Threads share `left`, and each has its own queue.  The thread whose atomic addition leaves a vertex with one free
neighbour puts it into its queue.  The thread whose compare-and-swap sets left[r] and then left[n + c] to a negative
value makes the pair (r, c).  If it gets r but not c, then r has no free neighbour left.

[1] Karp, Sipser. "Maximum matchings in sparse random graphs." FOCS 1981.
[2] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011, section 3.3.2.

Deviations: if no vertex is forced, [1] takes a random edge; the order here preserves a good numbering of meshes (1 of
2.6e5 rows of a geometric graph was left, 4988 with rows and columns permuted).  Counts include the indices of the
neighbours.  All neighbours of a vertex with one free neighbour, except that one, are matched; so they need no update.

O(n + m + edges); 20 bytes per row and 12 bytes per column, and 12 and 4 for each further thread.
"""

import time

import numpy as np

from gridcut.device import (
    atomic_add,
    atomic_cas,
    atomic_load,
    inner_kernel,
    kernel,
    plain_kernel,
    run_threads,
    thread_count,
)
from gridcut.device.intrinsics import prefetch
from matching.core.graph import BipartiteGraph

ONE = 1 << 32
INDEX_MASK = ONE - 1
MATCHED = -(1 << 62)
PREFETCH_DISTANCE = 4  # entries of the queue between two steps of prefetching
MAX_PREFETCHED = 16  # prefetched neighbours per vertex
ROWS_PER_PICK = 1 << 14  # one more row takes a column at a time for every 2^14 rows of the graph ...
MAX_PICKS = 64  # ... up to this number
OUTSIDE = -2  # in row_match and col_match: free, and not in the core
MAX_VERTICES = 2**31 - 1  # vertices of both sides, whose indices are int32
CHUNK_ROWS = 256  # rows that a thread claims at a time
ALONE_ROWS = 1 << 12  # rows that one thread picks first, if there are others
PICKED = 20  # threads share the rows as soon as one pair was forced for this number of rows
PARALLEL_MIN_EDGES = 1_000_000  # from this number of edges on, threads are faster


@plain_kernel
def count_free(ptr, adj, match, other_match, has_pairs, first, other_first, left, begin, end):
    """Set `left` for the vertices [begin, end) of one side; `first` is the index of its first vertex."""
    for i in range(begin, end):
        total = 0
        if has_pairs:
            for k in range(ptr[i], ptr[i + 1]):
                if other_match[adj[k]] < 0:
                    total += ONE + other_first + np.int64(adj[k])
        else:
            for k in range(ptr[i], ptr[i + 1]):
                total += ONE + other_first + np.int64(adj[k])
        left[first + i] = total if match[i] < 0 else MATCHED


@plain_kernel
def list_single(left, begin, end, queue):
    """List the vertices in [begin, end) with one free neighbour; returns their number."""
    tail = 0
    for v in range(begin, end):
        if left[v] >> 32 == 1:
            queue[tail] = v
            tail += 1
    return tail


@plain_kernel
def take(left, v, shared):
    """Set a free vertex to MATCHED; returns False if it is not free."""
    if shared is None:
        if left[v] < 0:
            return False
        left[v] = MATCHED
        return True
    while True:
        before = atomic_load(left, v)
        if before < 0:
            return False
        if atomic_cas(left, v, before, MATCHED) == before:
            return True


@inner_kernel
def pick(row, end, picks, row_ptr, row_adj, row_match, col_match, left, queue, tail, shared):
    """Match the next rows with their first free columns; returns (next row, end of the queue)."""
    n = row_match.size
    picked = 0
    while row < end and picked < picks:
        ahead = min(row + 2 * PREFETCH_DISTANCE, n - 1)
        for k in range(row_ptr[ahead], min(row_ptr[ahead] + MAX_PREFETCHED, row_ptr[ahead + 1])):
            prefetch(left, n + np.int64(row_adj[k]))
        if left[row] >= ONE and take(left, row, shared):
            for k in range(row_ptr[row], row_ptr[row + 1]):
                c = np.int64(row_adj[k])
                if left[n + c] >= 0 and take(left, n + c, shared):
                    row_match[row] = c
                    col_match[c] = row
                    queue[tail] = -1 - row
                    queue[tail + 1] = -1 - (n + c)
                    tail += 2
                    picked += 1
                    break
        row += 1
    return row, tail


@kernel
def match_greedily(lists, row_match, col_match, left, queue, tail, picks, row, end, shared):
    """Match the forced pairs that follow from queue[:tail], then the rows from `row` to `end`, `picks` at a time.

    shared   shared[0]: the row from which on threads share the rows; None: this is the only thread

    Returns the numbers of scanned edges and of forced pairs.
    """
    row_ptr, row_adj, col_ptr, col_adj = lists
    n = row_match.size
    edges, forced = 0, 0
    at, fetched, decoded, settled = 0, 0, 0, 0
    while True:
        if at == tail:
            while at == tail:
                if row == end and shared is not None:
                    row = min(n, atomic_add(shared, 0, CHUNK_ROWS))
                    end = min(n, row + CHUNK_ROWS)
                if row == end:
                    return edges, forced
                row, tail = pick(row, end, picks, row_ptr, row_adj, row_match, col_match, left, queue, tail, shared)
        while fetched < min(tail, at + 4 * PREFETCH_DISTANCE):
            if queue[fetched] >= 0:
                prefetch(left, queue[fetched])
            fetched += 1
        while decoded < min(tail, at + 3 * PREFETCH_DISTANCE):
            v = np.int64(queue[decoded])
            u = left[v] & INDEX_MASK if v >= 0 else -1 - v
            # With several neighbours the sum is not a vertex, and prefetching arbitrary addresses is slow.
            if v < 0 or left[v] >> 32 == 1:
                prefetch(left, u)
                if u < n:
                    prefetch(row_ptr, u)
                else:
                    prefetch(col_ptr, u - n)
            decoded += 1
        while settled < min(tail, at + 2 * PREFETCH_DISTANCE):
            v = np.int64(queue[settled])
            u = -1 - v
            if v >= 0:
                single = left[v]
                u = np.int64(-1)
                if single >> 32 == 1:
                    other = single & INDEX_MASK
                    r, c = (v, other - n) if v < n else (other, v - n)
                    # `left` may not have been updated yet although the other vertex is matched.
                    if left[other] >= 0 and take(left, r, shared) and take(left, n + c, shared):
                        row_match[r] = c
                        col_match[c] = r
                        forced += 1
                        u = other
            queue[settled] = u
            if u >= n:
                prefetch(col_adj, col_ptr[u - n])
            elif u >= 0:
                prefetch(row_adj, row_ptr[u])
            settled += 1
        # Written twice, for rows and for columns: a call of a kernel takes the time of three updates of neighbours.
        if at + PREFETCH_DISTANCE < settled:
            u = np.int64(queue[at + PREFETCH_DISTANCE])
            if u >= n:
                for k in range(col_ptr[u - n], min(col_ptr[u - n] + MAX_PREFETCHED, col_ptr[u - n + 1])):
                    prefetch(left, col_adj[k])
            elif u >= 0:
                for k in range(row_ptr[u], min(row_ptr[u] + MAX_PREFETCHED, row_ptr[u + 1])):
                    prefetch(left, n + np.int64(row_adj[k]))
        u = np.int64(queue[at])
        at += 1
        if u >= n:
            edges += col_ptr[u - n + 1] - col_ptr[u - n]
            for k in range(col_ptr[u - n], col_ptr[u - n + 1]):
                r = np.int64(col_adj[k])
                if shared is None:
                    now = left[r] - ONE - u
                    left[r] = now
                else:
                    now = atomic_add(left, r, -ONE - u) - ONE - u
                queue[tail] = r
                tail += now >> 32 == 1
        elif u >= 0:
            edges += row_ptr[u + 1] - row_ptr[u]
            for k in range(row_ptr[u], row_ptr[u + 1]):
                c = n + np.int64(row_adj[k])
                if shared is None:
                    now = left[c] - ONE - u
                    left[c] = now
                else:
                    now = atomic_add(left, c, -ONE - u) - ONE - u
                queue[tail] = c
                tail += now >> 32 == 1


@plain_kernel
def mark_outside_core(match, left, first, begin, end):
    """Mark the free vertices in [begin, end) of one side without free neighbours; returns the number of the others."""
    free = 0
    for i in range(begin, end):
        if match[i] < 0:
            if left[first + i] < ONE:
                match[i] = OUTSIDE
            else:
                free += 1
    return free


def initialise(graph: BipartiteGraph, row_match, col_match, *, threads: int | None = 1) -> dict:
    """Add pairs to a matching in place; returns stats; "forced": pairs of a vertex with a single free neighbour.

    threads   number of workers for graphs of PARALLEL_MIN_EDGES edges or more; None: numba's number of threads
    """
    begin = time.perf_counter()
    has_pairs = bool((row_match >= 0).any())
    workers = 1 if graph.edges < PARALLEL_MIN_EDGES else threads or thread_count()
    edges, forced = match(graph, row_match, col_match, has_pairs, workers)
    for side in (row_match, col_match):
        np.maximum(side, -1, out=side)
    return {"edges": int(edges), "forced": int(forced), "seconds": {"init": time.perf_counter() - begin}}


def match(graph: BipartiteGraph, row_match, col_match, has_pairs: bool, threads: int) -> tuple[int, int]:
    """Add pairs to a matching in place; returns the numbers of scanned edges and of forced pairs.

    has_pairs   whether the given matching has pairs

    Free vertices outside the core are marked OUTSIDE instead of -1.
    """
    n, m = graph.shape
    if n + m > MAX_VERTICES:
        raise ValueError(
            f"graph has {n + m} vertices, more than the {MAX_VERTICES} that 'karp_sipser' accepts; use init='cheap'"
        )
    lists = graph.lists_by(threads)
    row_ptr, row_adj, col_ptr, col_adj = lists
    left = np.empty(n + m, np.int64)
    queues = [np.empty(3 * n + m + 1, np.int32) for _ in range(threads)]
    rows, cols, both = ([size * i // threads for i in range(threads + 1)] for size in (n, m, n + m))
    shared = np.full(1, n)
    picks = min(1 + n // ROWS_PER_PICK, MAX_PICKS)

    def count(i):
        count_free(row_ptr, row_adj, row_match, col_match, has_pairs, 0, n, left, rows[i], rows[i + 1])
        count_free(col_ptr, col_adj, col_match, row_match, has_pairs, n, 0, left, cols[i], cols[i + 1])

    def list_forced(i):
        return list_single(left, both[i], both[i + 1], queues[i])

    def follow(i, tail=0, row=0, end=0, shared=None if threads == 1 else shared):
        return match_greedily(lists, row_match, col_match, left, queues[i], tail, picks, row, end, shared)

    def find_core(i):
        mark_outside_core(row_match, left, 0, rows[i], rows[i + 1])
        mark_outside_core(col_match, left, n, cols[i], cols[i + 1])

    run_threads(count, threads)
    tails = run_threads(list_forced, threads)
    looked = run_threads(lambda i: follow(i, tails[i]), threads)
    run_threads(find_core, threads)
    # Threads that pick rows start inside a local order, and leave more rows, from which searches are long.  So one
    # thread picks them, twice as many each time, until many pairs are forced, which depend less on the order.
    row, end, is_shared = 0, n if threads == 1 else ALONE_ROWS, False
    while row < n and not is_shared:
        end = min(n, end)
        looked.append(follow(0, 0, row, end, None))
        is_shared = PICKED * looked[-1][1] > end - row
        row, end = end, 2 * end
    if row < n:
        shared[0] = row
        looked += run_threads(follow, threads)
    return 2 * graph.edges + sum(edges for edges, _ in looked), sum(forced for _, forced in looked)
