"""Karp and Sipser's initial matching, with the degree-one vertices of both sides.

Returns a maximal matching, usually a few vertices short of maximum on sparse random graphs.  A vertex with one free
neighbour is matched with it, which some maximum matching does too; only when there is no such vertex the next rows
take their first free column.

Vertices are numbered through: row r is r, column c of n rows is n + c.

Arrays
  left[v]   free vertex: number of its free neighbours * 2^32 + exclusive or of their names: when there is but one, the
            rest is the neighbour itself, and no list is searched for it.  Matched vertex: below 0
  queue     in order: v, a vertex left with one free neighbour (once each), or -1 - v, a matched one whose neighbours
            have not been told.  Who is matched is settled some entries ahead: from `at` to `settled` stand matched
            vertices whose neighbours are to be told, or numbers below 0: nothing to do

Lists and counts of entries to come are fetched ahead, or memory would be waited for at every step.  That takes several
entries, so where no vertex is forced, several rows take a column before they are told about each other (`together`, one
for small graphs): on random graphs this leaves some 30 rows of a million instead of 2, in a third of the time.

[1] Karp, Sipser. "Maximum matchings in sparse random graphs." FOCS 1981.
[2] Duff, Kaya, Uçar. "Design, implementation, and analysis of maximum transversal algorithms." ACM Transactions on
    Mathematical Software 38, 2011, section 3.3.2.

Deviations: [1] takes a random edge where no vertex is forced; the order here keeps what is good in the numbering of
meshes (1 of 2.6e5 rows of a geometric graph was left, 4988 with rows and columns permuted).  Counts carry the names
of the neighbours.  All other neighbours of a vertex with one free neighbour are matched, so nobody is told of it.

O(n + m + edges); memory 20 bytes a row and 12 bytes a column.
"""

import time

import numpy as np

from gridcut.device import kernel
from matching.cpu.prefetch import prefetch
from matching.graph import BipartiteGraph

ONE = 1 << 32
NAME = ONE - 1
MATCHED = -(1 << 62)
AHEAD = 4  # entries between two steps of fetching
LONGEST = 16  # neighbours of a vertex that are fetched ahead
ROWS_PER_PICK = 1 << 14  # graphs with so many rows more let one row more take a column at a time ...
MOST_PICKS = 64  # ... up to this


@kernel
def count_free(ptr, adj, match, other_match, anyone, first, other_first, left):
    """Number and names of the free neighbours of every free vertex of one side, whose vertices begin at `first`."""
    for i in range(match.size):
        name = 0
        number = ptr[i + 1] - ptr[i]
        if anyone:
            number = 0
            for k in range(ptr[i], ptr[i + 1]):
                if other_match[adj[k]] < 0:
                    name ^= other_first + np.int64(adj[k])
                    number += 1
        else:
            for k in range(ptr[i], ptr[i + 1]):
                name ^= other_first + np.int64(adj[k])
        left[first + i] = number * ONE + name if match[i] < 0 else MATCHED


@kernel
def pick(row, together, row_ptr, row_adj, row_match, col_match, left, queue, tail):
    """The next rows take their first free column and are to be told of; (row to go on with, end of the queue)."""
    n = row_match.size
    picked = 0
    while row < n and picked < together:
        ahead = min(row + 2 * AHEAD, n - 1)
        for k in range(row_ptr[ahead], min(row_ptr[ahead] + LONGEST, row_ptr[ahead + 1])):
            prefetch(left, n + np.int64(row_adj[k]))
        if left[row] >= ONE:
            for k in range(row_ptr[row], row_ptr[row + 1]):
                c = np.int64(row_adj[k])
                if left[n + c] >= 0:
                    row_match[row] = c
                    col_match[c] = row
                    left[row] = MATCHED
                    left[n + c] = MATCHED
                    queue[tail] = -1 - row
                    queue[tail + 1] = -1 - (n + c)
                    tail += 2
                    picked += 1
                    break
        row += 1
    return row, tail


@kernel
def match_greedily(row_ptr, row_adj, col_ptr, col_adj, row_match, col_match, left, queue, together):
    """Match all it can; (edges looked at, pairs that were forced)."""
    n = row_match.size
    edges, forced, row, tail = 0, 0, 0, 0
    for v in range(left.size):
        if left[v] >> 32 == 1:
            queue[tail] = v
            tail += 1
    at, asked, named, settled = 0, 0, 0, 0
    while True:
        if at == tail:
            row, tail = pick(row, together, row_ptr, row_adj, row_match, col_match, left, queue, tail)
            if at == tail:
                return edges, forced
        while asked < min(tail, at + 4 * AHEAD):
            if queue[asked] >= 0:
                prefetch(left, queue[asked])
            asked += 1
        while named < min(tail, at + 3 * AHEAD):
            v = np.int64(queue[named])
            u = left[v] & NAME if v >= 0 else -1 - v
            # Of more than one name together there is no such vertex, and asking for strange addresses takes long.
            if v < 0 or left[v] >> 32 == 1:
                prefetch(left, u)
                if u < n:
                    prefetch(row_ptr, u)
                else:
                    prefetch(col_ptr, u - n)
            named += 1
        while settled < min(tail, at + 2 * AHEAD):
            v = np.int64(queue[settled])
            u = -1 - v
            if v >= 0 and left[v] >> 32 == 1:
                u = left[v] & NAME
                # Its neighbours may not have been told yet that u is matched.
                if left[u] >= 0:
                    r, c = (v, u - n) if v < n else (u, v - n)
                    row_match[r] = c
                    col_match[c] = r
                    left[v] = MATCHED
                    left[u] = MATCHED
                    forced += 1
                else:
                    u = np.int64(-1)
            queue[settled] = u
            if u >= n:
                prefetch(col_adj, col_ptr[u - n])
            elif u >= 0:
                prefetch(row_adj, row_ptr[u])
            settled += 1
        # The same for rows and for columns: a kernel would cost as much to call as three neighbours to tell.
        if at + AHEAD < settled:
            u = np.int64(queue[at + AHEAD])
            if u >= n:
                for k in range(col_ptr[u - n], min(col_ptr[u - n] + LONGEST, col_ptr[u - n + 1])):
                    prefetch(left, col_adj[k])
            elif u >= 0:
                for k in range(row_ptr[u], min(row_ptr[u] + LONGEST, row_ptr[u + 1])):
                    prefetch(left, n + np.int64(row_adj[k]))
        u = np.int64(queue[at])
        at += 1
        if u >= n:
            edges += col_ptr[u - n + 1] - col_ptr[u - n]
            for k in range(col_ptr[u - n], col_ptr[u - n + 1]):
                r = np.int64(col_adj[k])
                now = (left[r] - ONE) ^ u
                left[r] = now
                queue[tail] = r
                tail += now >> 32 == 1
        elif u >= 0:
            edges += row_ptr[u + 1] - row_ptr[u]
            for k in range(row_ptr[u], row_ptr[u + 1]):
                c = n + np.int64(row_adj[k])
                now = (left[c] - ONE) ^ u
                left[c] = now
                queue[tail] = c
                tail += now >> 32 == 1


def initialise(graph: BipartiteGraph, row_match, col_match) -> dict:
    """Add pairs to a matching in place; stats, "forced" the pairs made where a vertex had one free neighbour."""
    begin = time.perf_counter()
    n, m = graph.shape
    if n + m >= 2**31:
        raise ValueError(f"graph has {n + m} vertices, too many for 'karp_sipser'; use init='cheap'")
    row_ptr, row_adj, col_ptr, col_adj = graph.lists
    left = np.empty(n + m, np.int64)
    anyone = bool((row_match >= 0).any())
    count_free(row_ptr, row_adj, row_match, col_match, anyone, 0, n, left)
    count_free(col_ptr, col_adj, col_match, row_match, anyone, n, 0, left)
    queue = np.empty(3 * n + m + 1, np.int32)
    together = min(1 + n // ROWS_PER_PICK, MOST_PICKS)
    edges, forced = match_greedily(row_ptr, row_adj, col_ptr, col_adj, row_match, col_match, left, queue, together)
    edges += 2 * graph.edges
    return {"edges": int(edges), "forced": int(forced), "seconds": {"init": time.perf_counter() - begin}}
