"""Greedy weighted matching, one-sided: algorithm 1 of Fagginger Auer and Bisseling.

Returns a maximal matching.  Vertices come in random order; each that is still free takes the free neighbour to which
its edge is heaviest, the first of those that are equal.  That neighbour may have had a heavier edge elsewhere: the
weight is bounded by nothing, see sorted.py and locally_dominant.py for half of the best.

Arrays as in random.py, and
  taken[v]   1 if partner[v] >= 0: a quarter of the memory, which is read at random

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithm 1 with the weighted `select`.

O(n + m) time, 5 bytes a vertex.
"""

import numpy as np

from gridcut.device import kernel
from matching.cpu.greedy.order import vertex_order


@kernel
def heaviest_free(ptr, adj, weight, taken, v):
    """The entry of v's heaviest edge to a free neighbour, the first of those that are equal; -1: none is free."""
    best = -1
    for k in range(ptr[v], ptr[v + 1]):
        # The weight first: it is read in a row, `taken` is not.
        if (best < 0 or weight[k] > weight[best]) and not taken[adj[k]]:
            best = k
    return best


@kernel
def match_kernel(ptr, adj, weight, order, partner, taken):
    """Lines 4 to 9; writes partner, returns the number of entries looked at."""
    looks = 0
    for v in order:
        if not taken[v]:
            looks += ptr[v + 1] - ptr[v]
            best = heaviest_free(ptr, adj, weight, taken, v)
            if best >= 0:
                w = adj[best]
                partner[v] = w
                partner[w] = v
                taken[v] = 1
                taken[w] = 1
    return looks


def solve(graph, partner, *, seed=0, shuffled=True):
    """Match free vertices along their heaviest edge; counts of what was done.

    shuffled   vertices come in random order; False: in the order of their numbers
    """
    order = vertex_order(graph.n, seed, shuffled)
    taken = np.zeros(graph.n, np.uint8)
    return {"edges": match_kernel(graph.ptr, graph.adj, graph.weights(), order, partner, taken)}
