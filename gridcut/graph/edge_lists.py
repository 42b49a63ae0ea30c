"""Adjacency lists of a list of edges, in the form that `graph_max_flow` reads fastest: sorted, without repetitions."""

import numpy as np

from gridcut.device import kernel
from gridcut.device.arguments import INT64_MAX


def edge_lists(nodes: int, tail, head, forward, back) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays (indptr, indices, capacity) of a graph with an entry in both directions of each edge.

    Entries at the same position are summed, integers to at most INT64_MAX.  O(nodes + edges).

    tail, head      ends of the edges, int64, from 0 to nodes - 1
    forward, back   capacities from tail to head and from head to tail, 0 or more; int64 or float64
    """
    limit = np.inf if forward.dtype.kind == "f" else np.int64(INT64_MAX)
    return edge_lists_kernel(nodes, tail, head, forward, back, limit)


@kernel
def edge_lists_kernel(nodes, tail, head, forward, back, limit):
    """Two counting sorts: the entries are grouped by head, then by tail, so that the heads of every row ascend."""
    edges = tail.size
    start = np.zeros(nodes + 1, np.int64)
    for e in range(edges):
        start[tail[e] + 1] += 1
        start[head[e] + 1] += 1
    for u in range(nodes):
        start[u + 1] += start[u]
    cursor = start[:-1].copy()
    origin = np.empty(2 * edges, np.int32)
    amount = np.empty(2 * edges, forward.dtype)
    for e in range(edges):
        u, v = tail[e], head[e]
        at = cursor[v]
        cursor[v] = at + 1
        origin[at] = u
        amount[at] = forward[e]
        at = cursor[u]
        cursor[u] = at + 1
        origin[at] = v
        amount[at] = back[e]
    for u in range(nodes):
        cursor[u] = start[u]
    indices = np.empty(2 * edges, np.int32)
    capacity = np.empty(2 * edges, forward.dtype)
    for v in range(nodes):
        for i in range(start[v], start[v + 1]):
            u = origin[i]
            at = cursor[u]
            if at > start[u] and indices[at - 1] == v:
                room = limit - capacity[at - 1]
                capacity[at - 1] = limit if amount[i] > room else capacity[at - 1] + amount[i]
            else:
                indices[at] = v
                capacity[at] = amount[i]
                cursor[u] = at + 1
    kept = 0
    for u in range(nodes):
        first, last = start[u], cursor[u]
        start[u] = kept
        for i in range(first, last):
            indices[kept] = indices[i]
            capacity[kept] = capacity[i]
            kept += 1
    start[nodes] = kept
    return start, indices[:kept], capacity[:kept]
