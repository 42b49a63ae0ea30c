"""Greedy random matching: algorithm 1 of Fagginger Auer and Bisseling.

Returns a maximal matching. Vertices are visited in random order; each unmatched vertex is matched to its first
unmatched neighbour, or to the first from a random entry of its list on.

Arrays (n vertices)                              paper [1]
  partner[v]   partner, or -1                      pi(v), there min(v, partner of v)
  taken[v]     1 if partner[v] >= 0: a quarter of the memory of partner, which is read at random
  order        see order.py                        V after line 1
  chunk[i]     the next vertices                   V in line 4, without those matched long before

Deviates from [1]: the order is shuffled here, not the graph, and in blocks of 16384 vertices, so that the graph is read
block by block. A thousand vertices at a time are tested for being unmatched, and each again when it is visited; their
lists are prefetched some vertices in advance. With shuffled=False the order is the index order.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithm 1 with the random `select`.

O(n + m) time, 5 bytes per vertex.
"""

import numpy as np

from gridcut.device import inner_kernel, kernel
from gridcut.device.intrinsics import prefetch
from matching.general.order import ONE, random_entry, random_factor, unmatched_kernel, vertex_order

PREFETCH_DISTANCE = np.uint64(24)  # vertices between the prefetch of a list and its use
FIRST = np.uint32(0)  # instead of a factor for `random_entry`: search a list from its start


@inner_kernel
def match_first(adj, partner, taken, v, start, end):
    """Match v to the first unmatched neighbour of a part of its list; returns the number of entries scanned."""
    k = start
    while k < end:
        w = np.uint64(adj[k])
        k += ONE
        if not taken[w]:
            partner[v] = w
            partner[w] = v
            taken[v] = 1
            taken[w] = 1
            break
    return k - start


@kernel
def match_kernel(ptr, adj, chunk, partner, taken, r):
    """Lines 4 to 9 for some vertices; writes partner and taken, returns the number of entries scanned.

    r   FIRST, or a factor for `random_entry`, from which on a list is searched

    Indices are unsigned: numba then omits its test for negative indices, which takes half of the time.
    """
    n = np.uint64(chunk.size)
    edges = 0
    for i in range(n):
        if i + 2 * PREFETCH_DISTANCE < n:
            prefetch(ptr, chunk[i + 2 * PREFETCH_DISTANCE])
        if i + PREFETCH_DISTANCE < n:
            prefetch(adj, ptr[np.uint64(chunk[i + PREFETCH_DISTANCE])])
        v = np.uint64(chunk[i])
        if taken[v]:
            continue
        start = np.uint64(ptr[v])
        end = np.uint64(ptr[v + ONE])
        middle = start + random_entry(v, r, end - start) if r else start
        edges += match_first(adj, partner, taken, v, middle, end)
        if r and not taken[v]:
            edges += match_first(adj, partner, taken, v, start, middle)
    return edges


@kernel
def match_all_kernel(ptr, adj, order, partner, taken, r):
    """Lines 4 to 9 for the vertices of an order; writes partner and taken, returns the number of entries scanned."""
    positions, blocks, flips, chunk = order
    edges = 0
    for j in range(blocks.size):
        for begin in range(0, positions.size, chunk.size):
            count = unmatched_kernel(positions, blocks[j], flips[j], begin, chunk, taken)
            edges += match_kernel(ptr, adj, chunk[:count], partner, taken, r)
    return edges


def solve(graph, partner, *, seed=0, shuffled=True, select="first"):
    """Match unmatched vertices to an unmatched neighbour; returns counts of the work done.

    shuffled   visit vertices in random order; False: in index order
    select     "first" neighbour, by index, or "random": the first from a random entry of the list on
    """
    if select not in ("first", "random"):
        raise ValueError(f"method 'random' accepts select='first' or 'random', got {select!r}")
    order = vertex_order(graph.n, seed, shuffled)
    r = random_factor(np.uint64(seed), np.uint64(0)) if select == "random" else FIRST
    taken = np.zeros(graph.n, np.uint8)
    return {"edges": match_all_kernel(graph.ptr, graph.adj, order, partner, taken, r)}
