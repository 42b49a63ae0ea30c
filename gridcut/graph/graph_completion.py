"""A maximum flow from the preflow of a cut, between one source and one sink.

Solvers leave a maximum preflow: flow that cannot reach the sink remains at nodes of the source side.  A second cut,
from those nodes to the source in the residual graph, sends it back along the paths by which it came.

Time: one pass over the entries, and a second cut if flow remains.  Memory: 16 bytes per entry and 8 per node.
"""

import numpy as np
import scipy

from gridcut.device import kernel
from gridcut.graph.graph_cut import GraphCut
from gridcut.graph.graph_flow import graph_max_flow


@kernel
def flow_kernel(indptr, indices, capacity, first, heads, residual, position, along, excess):
    """Write the flow of every residual entry, where each entry of the graph is found, and the excess of every node.

    first, heads   the residual entries of each node, which include all entries of the graph but loops
    position       of each entry of the graph among the residual entries; -1: a loop
    """
    slot = np.zeros(excess.size, np.int64)  # of the current row: position of the residual entry with this head
    for u in range(excess.size):
        for i in range(first[u], first[u + 1]):
            along[i] = -residual[i]
            slot[heads[i]] = i
        for entry in range(indptr[u], indptr[u + 1]):
            v = indices[entry]
            if v == u:
                position[entry] = -1
            else:
                position[entry] = slot[v]
                along[slot[v]] += capacity[entry]
        for i in range(first[u], first[u + 1]):
            excess[u] -= along[i]


def complete_flow(graph: tuple, cut: GraphCut, source: int, sink: int) -> "tuple[np.ndarray, scipy.sparse.csr_array]":
    """Where each entry of the graph is stored in the flow (-1: a loop), and the flow in both directions as CSR.

    graph   (indptr, indices, capacity, (n, n)), the graph of the cut, without repeated entries
    """
    indptr, indices, capacity, (n, _) = graph
    residual = cut.residual()
    capacity = capacity if cut.bound is None else np.minimum(capacity, cut.bound)
    position = np.empty(len(indices), np.int64)
    along = np.empty(residual.data.size, np.result_type(residual.data, capacity))
    excess = np.zeros(n, along.dtype)
    flow_kernel(indptr, indices, capacity, residual.indptr, residual.indices, residual.data, position, along, excess)
    excess[[source, sink]] = 0
    if (excess > 0).any():
        home = np.zeros(n, excess.dtype)
        home[source] = 2 * excess.sum() + 1
        back = graph_max_flow(residual, np.maximum(excess, 0), home, device="cpu")
        before = residual.data if back.bound is None else np.minimum(residual.data, back.bound)
        along += before - back.residual().data
    return position, scipy.sparse.csr_array((along, residual.indices, residual.indptr), shape=(n, n))


def flow_of_cut(graph: tuple, cut: GraphCut, source: int, sink: int) -> np.ndarray:
    """A maximum flow along the entries of a graph as in `complete_flow`, negative in reverse; 0 along loops."""
    position, along = complete_flow(graph, cut, source, sink)
    flow = np.zeros(len(position), along.dtype)
    flow[position >= 0] = along.data[position[position >= 0]]
    return flow
