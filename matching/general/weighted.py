"""Greedy weighted matching, one-sided: algorithm 1 of Fagginger Auer and Bisseling.

Returns a maximal matching. Vertices are visited in random order; each unmatched vertex is matched to the unmatched
neighbour along its heaviest edge, the first of equal ones. That neighbour may have a heavier edge elsewhere, so the
weight has no lower bound; sorted.py and locally_dominant.py reach half of the maximum.

Arrays and order as in random.py.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithm 1 with the weighted `select`.

O(n + m) time, 5 bytes per vertex.
"""

import numpy as np

from gridcut.device import inner_kernel, kernel
from gridcut.device.intrinsics import prefetch
from matching.general.order import ONE, unmatched_kernel, vertex_order
from matching.general.random import PREFETCH_DISTANCE


@kernel
def prefetch_list(ptr, adj, weight, v):
    """Prefetch v's entries: the cache lines of the first and the last entry, which is all of them for most vertices."""
    first = ptr[v]
    last = ptr[v + ONE] - 1
    prefetch(adj, first)
    prefetch(adj, last)
    prefetch(weight, first)
    prefetch(weight, last)


@inner_kernel
def heaviest_unmatched(ptr, adj, weight, taken, v):
    """The entry of v's heaviest edge to an unmatched neighbour, the first of equal ones; -1: there is none."""
    best = np.int64(-1)
    best_weight = weight.dtype.type(-1)  # below all weights
    for k in range(np.uint64(ptr[v]), np.uint64(ptr[v + ONE])):
        if not taken[np.uint64(adj[k])]:
            # Branch-free: whether an edge is heavier than the ones before cannot be predicted.
            best = np.int64(k) if weight[k] > best_weight else best
            best_weight = max(weight[k], best_weight)
    return best


@kernel
def match_kernel(ptr, adj, weight, chunk, partner, taken):
    """Lines 4 to 9 for some vertices; writes partner and taken, returns the number of entries scanned."""
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
    """Lines 4 to 9 for the vertices of an order; writes partner and taken, returns the number of entries scanned."""
    positions, blocks, flips, chunk = order
    edges = 0
    for j in range(blocks.size):
        for begin in range(0, positions.size, chunk.size):
            count = unmatched_kernel(positions, blocks[j], flips[j], begin, chunk, taken)
            edges += match_kernel(ptr, adj, weight, chunk[:count], partner, taken)
    return edges


def solve(graph, partner, *, seed=0, shuffled=True):
    """Match unmatched vertices along their heaviest edge; returns counts of the work done.

    shuffled   visit vertices in random order; False: in index order
    """
    order = vertex_order(graph.n, seed, shuffled)
    taken = np.zeros(graph.n, np.uint8)
    return {"edges": match_all_kernel(graph.ptr, graph.adj, graph.keys(), order, partner, taken)}
