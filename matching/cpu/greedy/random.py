"""Greedy random matching: algorithm 1 of Fagginger Auer and Bisseling.

Returns a maximal matching.  Vertices come in random order; each that is still free takes its first free neighbour.

Arrays (n vertices)                              paper [1]
  partner[v]   -1: free; partner[partner[v]] == v  pi(v), there min(v, partner of v)
  order[i]     the vertex that comes i-th          V after line 1

Deviates from [1]: the order is shuffled here, not the graph; with shuffled=False the numbering of the graph is the
order, which is faster by the cache misses of the other.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithm 1 with the random `select`.

O(n + m) time, 4 bytes a vertex.
"""

from gridcut.device import kernel
from matching.cpu.greedy.order import vertex_order


@kernel
def match_kernel(ptr, adj, order, partner):
    """Lines 4 to 9; writes partner, returns the number of entries looked at."""
    looks = 0
    for v in order:
        if partner[v] >= 0:
            continue
        start = ptr[v]
        end = ptr[v + 1]
        k = start
        while k < end and partner[adj[k]] >= 0:
            k += 1
        if k < end:
            partner[v] = adj[k]
            partner[adj[k]] = v
            looks += 1
        looks += k - start
    return looks


def solve(graph, partner, *, seed=0, shuffled=True):
    """Match free vertices with their first free neighbour; counts of what was done.

    shuffled   vertices come in random order; False: in the order of their numbers
    """
    return {"edges": match_kernel(graph.ptr, graph.adj, vertex_order(graph.n, seed, shuffled), partner)}
