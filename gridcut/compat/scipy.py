"""SciPy's maximum flow: the same arguments, results and exceptions."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from gridcut.graph.graph_cut import GraphCut
from gridcut.graph.graph_flow import graph_max_flow

__all__ = ["MaximumFlowResult", "maximum_flow"]

INT32_MAX = np.iinfo(np.int32).max


class MaximumFlowResult(NamedTuple):
    """Result of `maximum_flow`.

    Attributes
    ----------
    flow_value : int
        Value of the maximum flow.
    flow : csr_array or csr_matrix (n, n), int32
        Flow along each edge, negative in the opposite direction.
    """

    flow_value: int
    flow: Any


def maximum_flow(
    csgraph: scipy.sparse.csr_array | scipy.sparse.csr_matrix, source: int, sink: int, *, method: str = "dinic"
) -> MaximumFlowResult:
    """Maximum flow between two nodes, with the interface of `scipy.sparse.csgraph.maximum_flow`.

    Parameters
    ----------
    csgraph : CSR array or matrix (n, n) of integers
        Capacity of each edge, at least 0, as int32.
    source, sink : int
        The nodes between which flow is sent.
    method : {"dinic", "edmonds_karp"}
        Accepted, without effect: both are SciPy's algorithms.

    Returns
    -------
    MaximumFlowResult
        ``flow_value`` and the matrix ``flow``, of the type of `csgraph`.  SciPy may find another maximum flow.

    Raises
    ------
    TypeError
        If the graph is not a CSR matrix.
    ValueError
        If the graph is not square or not of integers, or if a node is out of range or source and sink are the same.

    See Also
    --------
    gridcut.graph_max_flow : any numbers, many sources and sinks, and the minimum cut; faster, since it makes no flow.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from gridcut.compat.scipy import maximum_flow
    >>> maximum_flow(csr_array([[0, 5, 0], [0, 0, 3], [0, 0, 0]]), 0, 2).flow_value
    3
    """
    if not (scipy.sparse.issparse(csgraph) and csgraph.format == "csr"):
        raise TypeError("graph must be in CSR format")
    if csgraph.dtype.kind not in "iu":
        raise ValueError("graph capacities must be integers")
    if method not in ("dinic", "edmonds_karp"):
        raise ValueError(f"{method} method is not supported yet.")
    n, m = csgraph.shape
    if n != m:
        raise ValueError("graph must be specified as a square matrix.")
    if source == sink:
        raise ValueError("source and sink vertices must differ")
    for name, node in (("source", source), ("sink", sink)):
        if not 0 <= node < n:
            raise ValueError(f"{name} value ({node}) must be between 0 and {n - 1}")
    graph = _with_reverse_edges(csgraph)
    total = int(graph.data.sum())
    at_source, at_sink = np.zeros(n, np.int64), np.zeros(n, np.int64)
    at_source[source] = at_sink[sink] = total + 1
    lists = (graph.indptr, graph.indices, graph.data, (n, n))
    cut = graph_max_flow(lists, at_source, at_sink)
    flow = flow_of_cut(lists, cut, source, sink)
    matrix = type(csgraph)((flow.astype(np.int32), graph.indices, graph.indptr), shape=(n, n))
    return MaximumFlowResult(int(cut.value), matrix)


def _with_reverse_edges(matrix) -> Any:
    """The capacities as int64 CSR with ascending indices, and a zero for each edge without one in reverse."""
    graph = scipy.sparse.csr_array((matrix.data.astype(np.int64), matrix.indices, matrix.indptr), shape=matrix.shape)
    graph.sum_duplicates()
    if graph.data.size and not 0 <= graph.data.min() <= graph.data.max() <= INT32_MAX:
        raise ValueError(f"graph capacities must be from 0 to {INT32_MAX}, as SciPy's are")
    # Both have an entry wherever either has one, because entries of the sum that cancel stay stored as zeros.
    pattern = scipy.sparse.csr_array((np.ones(graph.nnz, np.int64), graph.indices, graph.indptr), shape=graph.shape)
    both = (pattern + pattern.T).tocsr()
    both.sort_indices()
    n = graph.shape[0]
    keys = np.repeat(np.arange(n), np.diff(both.indptr)) * n + both.indices
    own = np.repeat(np.arange(n), np.diff(graph.indptr)) * n + graph.indices
    data = np.zeros(both.nnz, np.int64)
    data[np.searchsorted(keys, own)] = graph.data
    return scipy.sparse.csr_array((data, both.indices, both.indptr), shape=graph.shape)


def flow_of_cut(graph: tuple, cut: GraphCut, source: int, sink: int) -> np.ndarray:
    """A maximum flow along the entries of (indptr, indices, capacity, (n, n)), negative in reverse.

    graph   the graph of the cut, without repeated entries; a node is the source, and one the sink

    The solver leaves a maximum preflow: flow that cannot reach the sink remains at nodes of the source side.  A second
    cut, from those nodes to the source in the residual graph, sends it back along the paths by which it came.
    """
    indptr, indices, capacity, (n, _) = graph
    tail = np.repeat(np.arange(n), np.diff(indptr))
    kept = tail != indices  # no loops
    residual = cut.residual()
    position = _positions(residual, tail[kept], indices[kept])
    whole = np.zeros(len(residual.data), capacity.dtype)
    whole[position] = capacity[kept]
    along = whole - residual.data  # for each pair of nodes in both directions
    excess = -np.bincount(np.repeat(np.arange(n), np.diff(residual.indptr)), along, n).astype(along.dtype)
    excess[[source, sink]] = 0
    if (excess > 0).any():
        home = np.zeros(n, excess.dtype)
        home[source] = 2 * excess.sum() + 1
        left = graph_max_flow(residual, np.maximum(excess, 0), home).residual()
        along = whole - left.data
    flow = np.zeros(len(indices), along.dtype)
    flow[kept] = along[position]
    return flow


def _positions(matrix, tail, head) -> np.ndarray:
    """Where the entries (tail, head) are stored in a CSR matrix that has them all, in ascending rows."""
    n = matrix.shape[0]
    keys = np.repeat(np.arange(n), np.diff(matrix.indptr)) * n + matrix.indices
    return np.searchsorted(keys, tail * n + head)
