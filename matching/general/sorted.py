"""Greedy matching by decreasing edge weights: algorithm 2 of Fagginger Auer and Bisseling.

Returns a maximal matching with at least half of the maximum weight of any matching. Edges are visited by decreasing
weight; each edge that joins two unmatched vertices is taken. Equal edges are visited in the order of (lower end, upper
end), which makes the matching unique: locally_dominant.py finds the same one without sorting the edges.

Arrays (n vertices, m edges)                     paper [1]
  partner[v]   partner, or -1                      pi(v), there min(v, partner of v)
  lower[e], upper[e]   the ends of edge e          v, w; both ascend with e
  order[i]     the i-th edge to be visited

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithm 2.
[2] Avis. "A survey of heuristics for the weighted matching problem." Networks 13, 1983: half of the maximum weight.

O(n + m log m) time, 32 bytes per edge.
"""

import numpy as np

from gridcut.device import plain_kernel


@plain_kernel
def list_edges_kernel(ptr, adj, weight, lower, upper, key):
    """Each edge once, with its negated weight."""
    e = 0
    for v in range(ptr.size - 1):
        for k in range(ptr[v], ptr[v + 1]):
            if adj[k] > v:
                lower[e] = v
                upper[e] = adj[k]
                key[e] = -weight[k]
                e += 1


@plain_kernel
def match_kernel(lower, upper, order, partner):
    """Lines 3 to 6; writes partner."""
    for e in order:
        v = lower[e]
        w = upper[e]
        if partner[v] < 0 and partner[w] < 0:
            partner[v] = w
            partner[w] = v


def solve(graph, partner):
    """Match unmatched vertices along the heaviest remaining edge; returns counts of the work done."""
    weight = graph.keys()
    lower, upper = (np.empty(graph.edges, np.int32) for _ in range(2))
    key = np.empty(graph.edges, np.int64)
    list_edges_kernel(graph.ptr, graph.adj, weight, lower, upper, key)
    match_kernel(lower, upper, np.argsort(key, kind="stable"), partner)
    return {"edges": 2 * graph.edges}
