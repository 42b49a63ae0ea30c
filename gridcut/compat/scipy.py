"""SciPy's maximum flow: the same arguments, results and exceptions."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from gridcut.device.arguments import INT32_MAX, MAX_COUNT, check_count, unmarked
from gridcut.device.sparse import as_scipy
from gridcut.graph.flow_between import certify_flow_matrix
from gridcut.graph.graph_flow import graph_max_flow

__all__ = ["MaximumFlowResult", "maximum_flow"]


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
        If the graph is not a CSR matrix, or a node is not an integer.
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
    given, csgraph = csgraph, as_scipy(csgraph, "csr")
    if not (scipy.sparse.issparse(csgraph) and csgraph.format == "csr"):
        raise TypeError("graph must be in CSR format")
    if csgraph.dtype.kind not in "iu":
        raise ValueError("graph capacities must be integers")
    if method not in ("dinic", "edmonds_karp"):
        raise ValueError(f"{method} method is not supported yet.")
    n, m = csgraph.shape
    if n != m:
        raise ValueError("graph must be specified as a square matrix.")
    source, sink = (check_count(name, node, -MAX_COUNT) for name, node in (("source", source), ("sink", sink)))
    if source == sink:
        raise ValueError("source and sink vertices must differ")
    for name, node in (("source", source), ("sink", sink)):
        if not 0 <= node < n:
            raise ValueError(f"{name} value ({node}) must be between 0 and {n - 1}")
    indices, indptr = unmarked(csgraph.indices), unmarked(csgraph.indptr)
    graph = scipy.sparse.csr_array((csgraph.data.astype(np.int64), indices, indptr), shape=(n, n))
    if not graph.has_canonical_format:
        graph = graph.copy()  # its indices are the caller's
        graph.sum_duplicates()
    if graph.data.size and not 0 <= graph.data.min() <= graph.data.max() <= INT32_MAX:
        raise ValueError(f"graph capacities must be from 0 to {INT32_MAX}, as SciPy's are")
    terminals = np.zeros((2, n), np.int64)
    terminals[0, source] = terminals[1, sink] = int(graph.data.sum()) + 1
    lists = (graph.indptr, graph.indices, graph.data, (n, n))
    cut = graph_max_flow(lists, *terminals, device="cpu")  # its flow is needed on the host
    along = cut.flow()
    certify_flow_matrix(graph, along, source, sink, cut.value)
    matrix = type(csgraph)((along.data.astype(np.int32), along.indices, along.indptr), shape=(n, n))
    # An array of the package "sparse" gets one.
    return MaximumFlowResult(int(cut.value), matrix if csgraph is given else type(given).from_scipy_sparse(matrix))
