"""Greedy random matching: algorithm 1 of Fagginger Auer and Bisseling.

Returns a maximal matching. Vertices are visited in random order; each unmatched vertex is matched to its first
unmatched neighbour.

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

from gridcut.device import kernel
from gridcut.device.prefetch import prefetch
from matching.general.order import ONE, unmatched_kernel, vertex_order

PREFETCH_DISTANCE = np.uint64(24)  # vertices between the prefetch of a list and its use


@kernel
def match_kernel(ptr, adj, chunk, partner, taken):
    """Lines 4 to 9 for some vertices; writes partner and taken, returns the number of entries scanned.

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
    """Lines 4 to 9 for the vertices of an order; writes partner and taken, returns the number of entries scanned."""
    positions, blocks, flips, chunk = order
    edges = 0
    for j in range(blocks.size):
        for begin in range(0, positions.size, chunk.size):
            count = unmatched_kernel(positions, blocks[j], flips[j], begin, chunk, taken)
            edges += match_kernel(ptr, adj, chunk[:count], partner, taken)
    return edges


def solve(graph, partner, *, seed=0, shuffled=True):
    """Match unmatched vertices to their first unmatched neighbour; returns counts of the work done.

    shuffled   visit vertices in random order; False: in index order
    """
    order = vertex_order(graph.n, seed, shuffled)
    return {"edges": match_all_kernel(graph.ptr, graph.adj, order, partner, np.zeros(graph.n, np.uint8))}
