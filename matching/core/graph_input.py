"""bipartite_graph: any accepted form of a bipartite graph, on the host or on a GPU, as the solvers read it."""

import scipy.sparse

from matching.core.device_graph import DeviceBipartiteGraph
from matching.core.graph import BipartiteGraph, graph_of_rows
from matching.core.sparse import is_on_gpu, not_a_graph, stored_lists


def bipartite_graph(graph) -> BipartiteGraph:
    """Check a graph and bring it into the form of the solvers.

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, m), a tuple (indptr, indices, shape), or a BipartiteGraph
        Stored entries are edges, explicit zeros too.  Indices need not be sorted and may repeat.  The arrays of a
        tuple, and those of a CSR or CSC matrix of another library, may lie on a GPU.

    Returns
    -------
    BipartiteGraph, or DeviceBipartiteGraph for arrays on a GPU
        May be passed wherever a graph is asked for, which saves this work when a graph is used again.

    Raises
    ------
    TypeError
        The graph is of another kind, or its indices are not integers.
    ValueError
        Indices or pointers that do not fit the shape, or a side of 2**31 - 1 vertices or more.

    Notes
    -----
    The result may share memory with the arrays passed in, which must not be changed while it is used.
    O(n + edges) for sorted indices without duplicates, else O(n + m + edges).
    """
    if isinstance(graph, BipartiteGraph):
        return graph
    if isinstance(graph, tuple):
        if len(graph) != 3:
            raise TypeError(f"graph as a tuple must be (indptr, indices, shape), got {len(graph)} parts")
        if is_on_gpu(graph):
            return _on_gpu(graph)
        return graph_of_rows(*graph)
    if scipy.sparse.issparse(graph):
        if graph.format == "csr" and graph.ndim == 2:  # a small graph is matched in little more time than this takes
            return graph_of_rows(graph.indptr, graph.indices, graph.shape)
        indptr, indices, _, by_col = stored_lists(graph, with_values=False)
        if by_col:
            return graph_of_rows(indptr, indices, graph.shape[::-1]).transposed
        return graph_of_rows(indptr, indices, graph.shape)
    if is_on_gpu(graph):
        return _on_gpu(graph)
    raise not_a_graph(graph, "a SciPy sparse matrix, a tuple (indptr, indices, shape) or a BipartiteGraph")


def _on_gpu(graph) -> DeviceBipartiteGraph:
    """The same for a graph on a GPU; only this function imports numba.cuda."""
    from matching.core.device_graph_cuda import device_graph

    return device_graph(graph)
