"""bipartite_graph: any accepted form of a bipartite graph, on the host or on a GPU, as the solvers read it."""

from typing import Any, TypeAlias, overload

import scipy.sparse

from gridcut.device.networkx_graph import NetworkxGraph, is_networkx
from gridcut.device.sparse import as_scipy
from matching.core.graph import BipartiteGraph, DeviceBipartiteGraph, graph_of_rows
from matching.core.sparse import is_on_gpu, not_a_graph, stored_lists

# Accepted graphs; matrices of other libraries with arrays on a GPU are accepted, too.
GraphLike: TypeAlias = (
    scipy.sparse.sparray | scipy.sparse.spmatrix | tuple | BipartiteGraph | DeviceBipartiteGraph | NetworkxGraph
)


@overload
def bipartite_graph(
    graph: scipy.sparse.sparray | scipy.sparse.spmatrix | BipartiteGraph | NetworkxGraph,
) -> BipartiteGraph: ...
@overload
def bipartite_graph(graph: GraphLike) -> BipartiteGraph | DeviceBipartiteGraph: ...
def bipartite_graph(graph: GraphLike) -> BipartiteGraph | DeviceBipartiteGraph:
    """Check a bipartite graph and convert it to the form of the solvers.

    Parameters
    ----------
    graph : sparse matrix or array of shape (n, m), tuple (indptr, indices, shape), BipartiteGraph, or networkx.Graph
        Stored entries are edges, including explicit zeros.  Indices may be unsorted and may repeat.  The arrays of a
        tuple, and those of a CSR or CSC matrix of another library, may be on a GPU.  The rows of a networkx graph are
        its nodes with the attribute ``bipartite=0``, in the graph's order, and the columns those with 1.  If no node
        has that attribute, the nodes are coloured, and the first node of each component is a row.

    Returns
    -------
    BipartiteGraph or DeviceBipartiteGraph
        The checked graph, a DeviceBipartiteGraph if its arrays are on a GPU.  All functions of this package accept it
        as `graph` and then skip the check.

    Raises
    ------
    TypeError
        If `graph` has another type or is directed, or its indices are not integers.
    ValueError
        If indices or pointers do not fit the shape, a side has 2**31 - 1 vertices or more, or a networkx graph is not
        bipartite.

    See Also
    --------
    maximum : Maximum matching of the graph.

    Notes
    -----
    The result may share memory with the arguments, which must not be changed while it is in use.
    O(n + edges) for sorted indices without duplicates, otherwise O(n + m + edges).

    Examples
    --------
    >>> from matching import bipartite_graph
    >>> graph = bipartite_graph(([0, 2, 3], [0, 1, 1], (2, 2)))
    >>> graph.shape, graph.edges, graph.col_adj.tolist()
    ((2, 2), 3, [0, 0, 1])
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
        return _of_matrix(graph)
    if is_on_gpu(graph):
        return _on_gpu(graph)
    if is_networkx(graph):
        from matching.core.networkx_graphs import bipartite_lists

        lists, rows, cols = bipartite_lists(graph)
        checked = graph_of_rows(*lists)
        checked.names = rows, cols
        return checked
    matrix = as_scipy(graph)
    if matrix is not graph:
        return _of_matrix(matrix)
    raise not_a_graph(
        graph, "a SciPy sparse matrix, a tuple (indptr, indices, shape), a BipartiteGraph or a networkx graph"
    )


def _of_matrix(matrix: Any) -> BipartiteGraph:
    if matrix.format == "csr" and matrix.ndim == 2:  # fast path: matching a small graph takes little longer than this
        return graph_of_rows(matrix.indptr, matrix.indices, matrix.shape)
    indptr, indices, _, by_col = stored_lists(matrix, with_values=False)
    if by_col:
        return graph_of_rows(indptr, indices, matrix.shape[::-1]).transposed
    return graph_of_rows(indptr, indices, matrix.shape)


def _on_gpu(graph) -> DeviceBipartiteGraph:
    """The same for a graph on a GPU; only this function imports numba.cuda."""
    from matching.core.device_graph_cuda import device_graph

    return device_graph(graph)
