"""The edges of an energy on a sparse graph: pairs of nodes with weights, from a matrix with an entry for each edge."""

import numpy as np
import scipy.sparse

from gridcut.device import kernel
from gridcut.device.arguments import INT64_MAX
from gridcut.device.sparse import check_matrix


def undirected_edges(weights, nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ends and the weight of each entry of a sparse matrix (nodes, nodes), without those on the diagonal.

    Edges may repeat.  TypeError or ValueError for another shape, and for weights that are not finite numbers >= 0.
    """
    if weights.ndim != 2 or weights.shape != (nodes, nodes):
        raise ValueError(
            f"weights as a sparse matrix must have shape {(nodes, nodes)}, as unary has {nodes} nodes; "
            f"got {weights.shape}"
        )
    check_matrix("weights", weights)
    if weights.dtype.kind not in "biuf" or weights.dtype == np.uint64:
        raise TypeError(f"weights must hold integers up to 64 bits (signed) or floats, got {weights.dtype}")
    entries = weights.tocoo()
    bad = ~((entries.data >= 0) & (entries.data < np.inf))
    if bad.any():
        at = int(np.argmax(bad))
        edge = int(entries.row[at]), int(entries.col[at])
        raise ValueError(f"weights holds {entries.data[at]} at {edge}; weights must be finite and 0 or more")
    is_edge = entries.row != entries.col
    weight = entries.data[is_edge]
    return (
        entries.row[is_edge],
        entries.col[is_edge],
        weight.astype(np.float64 if weight.dtype.kind == "f" else np.int64),
    )


def merged(nodes: int, tail, head, weight) -> scipy.sparse.csr_array:
    """The edges as entries above the diagonal, parallel ones added, without those of weight 0."""
    matrix = scipy.sparse.csr_array((weight, (np.minimum(tail, head), np.maximum(tail, head))), shape=(nodes, nodes))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


# Adjacency lists of a list of edges, in the form that `graph_max_flow` reads fastest: sorted, without repetitions.


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
