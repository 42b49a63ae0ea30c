"""Greedy random matching: algorithm 1 of Fagginger Auer and Bisseling.

Returns a maximal matching.  Vertices come in random order; each that is still free takes its first free neighbour.

Arrays (n vertices)                              paper [1]
  partner[v]   -1: free; partner[partner[v]] == v  pi(v), there min(v, partner of v)
  taken[v]     1 if partner[v] >= 0: a quarter of the memory, which is read at random
  order        see order.py                        V after line 1
  chunk[i]     vertices that come next             V in line 4, those taken long ago left out

Deviates from [1]: the order is shuffled here, not the graph, and in blocks of 16384 vertices, so that the graph is read
block by block; vertices are asked whether they are free a thousand at a time and again when it is their turn, and their
lists are asked for some vertices ahead.  With shuffled=False the numbering of the graph is the order.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithm 1 with the random `select`.

O(n + m) time, 5 bytes a vertex.
"""

import numpy as np

from gridcut.device import kernel
from matching.core.prefetch import prefetch
from matching.general.order import ONE, unmatched_kernel, vertex_order

PREFETCH_DISTANCE = np.uint64(24)  # vertices from when a list is asked for to when it is read


@kernel
def match_kernel(ptr, adj, chunk, partner, taken):
    """Lines 4 to 9 for some vertices; writes partner and taken, returns the number of entries looked at.

    Indices are unsigned, which spares numba the question whether they count from the end: half of the time.
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
        edges += k - start
    return edges


@kernel
def match_all_kernel(ptr, adj, order, partner, taken):
    """Lines 4 to 9 for the vertices of an order; writes partner and taken, returns the number of entries looked at."""
    positions, blocks, flips, chunk = order
    edges = 0
    for j in range(blocks.size):
        for begin in range(0, positions.size, chunk.size):
            count = unmatched_kernel(positions, blocks[j], flips[j], begin, chunk, taken)
            edges += match_kernel(ptr, adj, chunk[:count], partner, taken)
    return edges


def solve(graph, partner, *, seed=0, shuffled=True):
    """Match free vertices with their first free neighbour; counts of what was done.

    shuffled   vertices come in random order; False: in the order of their numbers
    """
    order = vertex_order(graph.n, seed, shuffled)
    return {"edges": match_all_kernel(graph.ptr, graph.adj, order, partner, np.zeros(graph.n, np.uint8))}
