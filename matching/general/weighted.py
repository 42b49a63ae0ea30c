"""Greedy weighted matching, one-sided: algorithm 1 of Fagginger Auer and Bisseling.

Returns a maximal matching.  Vertices come in random order; each that is still free takes the free neighbour to which
its edge is heaviest, the first of those that are equal.  That neighbour may have had a heavier edge elsewhere: the
weight is bounded by nothing, see sorted.py and locally_dominant.py for half of the best.

Arrays and order as in random.py.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithm 1 with the weighted `select`.

O(n + m) time, 5 bytes a vertex.
"""

import numpy as np

from gridcut.device import kernel
from matching.core.prefetch import prefetch
from matching.general.order import ONE, unmatched_kernel, vertex_order
from matching.general.random import PREFETCH_DISTANCE


@kernel
def prefetch_list(ptr, adj, weight, v):
    """Ask for v's entries: the lines they begin and end in, which is all of them for most vertices."""
    first = ptr[v]
    last = ptr[v + ONE] - 1
    prefetch(adj, first)
    prefetch(adj, last)
    prefetch(weight, first)
    prefetch(weight, last)


@kernel
def heaviest_unmatched(ptr, adj, weight, taken, v):
    """The entry of v's heaviest edge to a free neighbour, the first of those that are equal; -1: none is free."""
    best = np.int64(-1)
    best_weight = weight.dtype.type(-1)  # less than any
    for k in range(np.uint64(ptr[v]), np.uint64(ptr[v + ONE])):
        if not taken[np.uint64(adj[k])]:
            # No branch: whether an edge is heavier than the ones before cannot be predicted.
            best = np.int64(k) if weight[k] > best_weight else best
            best_weight = max(weight[k], best_weight)
    return best


@kernel
def match_kernel(ptr, adj, weight, chunk, partner, taken):
    """Lines 4 to 9 for some vertices; writes partner and taken, returns the number of entries looked at."""
    n = np.uint64(chunk.size)
    edges = 0
    for i in range(n):
        if i + 2 * PREFETCH_DISTANCE < n:
            prefetch(ptr, chunk[i + 2 * PREFETCH_DISTANCE])
        if i + PREFETCH_DISTANCE < n:
            prefetch_list(ptr, adj, weight, np.uint64(chunk[i + PREFETCH_DISTANCE]))
        v = np.uint64(chunk[i])
        if not taken[v]:
            edges += ptr[v + ONE] - ptr[v]
            best = heaviest_unmatched(ptr, adj, weight, taken, v)
            if best >= 0:
                w = np.uint64(adj[np.uint64(best)])
                partner[v] = w
                partner[w] = v
                taken[v] = 1
                taken[w] = 1
    return edges


@kernel
def match_all_kernel(ptr, adj, weight, order, partner, taken):
    """Lines 4 to 9 for the vertices of an order; writes partner and taken, returns the number of entries looked at."""
    positions, blocks, flips, chunk = order
    edges = 0
    for j in range(blocks.size):
        for begin in range(0, positions.size, chunk.size):
            count = unmatched_kernel(positions, blocks[j], flips[j], begin, chunk, taken)
            edges += match_kernel(ptr, adj, weight, chunk[:count], partner, taken)
    return edges


def solve(graph, partner, *, seed=0, shuffled=True):
    """Match free vertices along their heaviest edge; counts of what was done.

    shuffled   vertices come in random order; False: in the order of their numbers
    """
    order = vertex_order(graph.n, seed, shuffled)
    taken = np.zeros(graph.n, np.uint8)
    return {"edges": match_all_kernel(graph.ptr, graph.adj, graph.keys(), order, partner, taken)}
