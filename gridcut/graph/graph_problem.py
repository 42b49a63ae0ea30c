"""`GraphProblem`, and the validation of graphs, capacities and terminals, which converts them to one form.

No other file checks them again, except the values: kernels that read every capacity find negative ones and NaN.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy
import scipy.sparse

from gridcut.core.load import plane
from gridcut.core.problem import as_capacity, bad_capacity
from gridcut.device.arguments import INT64_MAX, plain_array
from gridcut.device.sparse import check_compressed, check_matrix, is_sparse

MAX_NODES = 2**31 - 2


class GraphProblem(NamedTuple):
    """A checked graph; the arrays are the caller's own if their type allows it, and are never written.

    nodes             number of nodes
    indptr, indices   node u has the entries indptr[u] to indptr[u + 1], an entry i leads to node indices[i]; entries
                      may repeat, be in any order, and lead from a node to itself
    capacity          one per entry
    source, sink      one per node, or 0-d: the same for all nodes
    is_float          capacities are floats: the solvers work on multiples of a fixed-point unit
    bound             None, or for floats the bound to which capacities are clamped: see gridcut/core/units.py
    most              None, or the largest of integers that were clamped: see `clamped`
    """

    nodes: int
    indptr: np.ndarray
    indices: np.ndarray
    capacity: np.ndarray
    source: np.ndarray
    sink: np.ndarray
    is_float: bool
    bound: float | None = None
    most: int | None = None

    @property
    def entries(self) -> int:
        return int(self.indptr[-1])


def check_graph_problem(graph, source, sink) -> GraphProblem:
    """Check types and shapes of the arguments of `graph_max_flow` and `GraphSolver`; TypeError or ValueError."""
    nodes, indptr, indices, capacity = check_graph(graph)
    source = check_terminal("source", source, nodes)
    sink = check_terminal("sink", sink, nodes)
    is_float = any(array.dtype.kind == "f" for array in (capacity, source, sink))
    return GraphProblem(nodes, indptr, indices, capacity, source, sink, is_float)


def check_terminal(name: str, value, nodes: int) -> np.ndarray:
    """A terminal's capacities as an array of one of gridcut.core.problem.DTYPES, of `nodes` entries or 0-d."""
    array = as_capacity(name, value)
    if array.ndim and array.shape != (nodes,):
        raise ValueError(
            f"{name} must be a scalar or have one capacity for each of the {nodes} nodes, got shape {array.shape}"
        )
    return array


def check_graph(graph) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Number of nodes, pointers, indices and capacities of a graph in any accepted form."""
    if isinstance(graph, tuple):
        return _of_arrays(graph)
    if is_sparse(graph):
        return _of_matrix(graph)
    raise TypeError(
        "graph must be a SciPy sparse matrix or array, or a tuple (indptr, indices, capacity, shape); "
        f"got {type(graph).__name__} (of networkx: networkx.minimum_cut with backend='cutmatch')"
    )


def _of_arrays(graph: tuple) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    if len(graph) != 4:
        raise TypeError(f"graph as a tuple must be (indptr, indices, capacity, shape), got {len(graph)} parts")
    indptr, indices = (_index_array(name, array) for name, array in zip(("indptr", "indices"), graph[:2], strict=True))
    shape = _check_shape(graph[3])
    check_compressed("graph", indptr, indices, shape)
    capacity = as_capacity("graph: capacity", graph[2])
    if capacity.shape != indices.shape and capacity.ndim:
        raise ValueError(
            f"graph: capacity must be a scalar or have one value for each of the {len(indices)} indices, "
            f"got shape {capacity.shape}"
        )
    return shape[0], indptr, indices, capacity


def _of_matrix(matrix: Any) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    if matrix.ndim != 2:
        raise ValueError(f"graph must have two axes, from node and to node, got shape {matrix.shape}")
    shape = _check_shape(matrix.shape)
    check_matrix("graph", matrix)
    if matrix.format != "csr":
        matrix = matrix.tocsr()
    return shape[0], matrix.indptr, matrix.indices, as_capacity("graph", matrix.data)


def _index_array(name: str, value) -> np.ndarray:
    array = plain_array(f"graph: {name}", value)
    if array.size == 0 and array.ndim == 1 and not isinstance(value, np.ndarray):
        array = array.astype(np.int32)  # an empty list
    return array


def _check_shape(shape) -> tuple[int, int]:
    if not (isinstance(shape, tuple | list) and len(shape) == 2):
        raise TypeError(f"graph: shape must be a pair of integers, got {shape!r:.60}")
    n, m = shape
    for side in (n, m):
        if not isinstance(side, int | np.integer) or isinstance(side, bool):
            raise TypeError(f"graph: shape must be a pair of integers, got {shape!r:.60}")
    if n != m or n < 0:
        raise ValueError(f"graph must be square, with a row and a column for each node; got shape {(int(n), int(m))}")
    if n > MAX_NODES:
        raise ValueError(f"graph must have at most {MAX_NODES} nodes, got {n}")
    return int(n), int(m)


def flat(array: np.ndarray, length: int | None = None) -> np.ndarray:
    """An array as kernels read it, of a single type per dtype: contiguous and not marked read-only.

    length: repeat a 0-d array to this length.  Copies only what is not contiguous.
    """
    if type(array) is np.ndarray and array.size and array.ndim and array.flags.carray and array.dtype.isnative:
        return array
    if array.ndim == 0:
        return np.full(length, array)
    if array.size == 0:
        return np.empty(0, array.dtype.newbyteorder("="))
    return plane(np.ascontiguousarray(array, array.dtype.newbyteorder("=")), array.shape).data


class Lists(NamedTuple):
    """The arrays of a problem as kernels read them."""

    indptr: np.ndarray  # int64
    indices: np.ndarray  # int32 or int64
    capacity: np.ndarray
    source: np.ndarray
    sink: np.ndarray


def lists_of(problem: GraphProblem) -> Lists:
    """The arrays of a problem as kernels read them; copies the pointers, and what is not contiguous."""
    entries = problem.entries
    indices = problem.indices[:entries]
    if indices.dtype not in (np.int32, np.int64):
        indices = indices.astype(np.int64)
    capacity = problem.capacity if problem.capacity.ndim == 0 else problem.capacity[:entries]
    return Lists(
        problem.indptr.astype(np.int64),
        flat(indices),
        flat(capacity, entries),
        flat(problem.source, problem.nodes),
        flat(problem.sink, problem.nodes),
    )


def clamped(problem: GraphProblem) -> GraphProblem:
    """The problem with integers so small that those incident to any node can be summed, in copies.

    If its minimum cuts cost less than `most`, they are those of the problem, so "no limit" may be any large integer.
    """
    lists = lists_of(problem)
    incident = np.diff(lists.indptr) + np.bincount(lists.indices, minlength=problem.nodes)
    most = (INT64_MAX - 1) // (2 + int(incident.max(initial=0)))
    names = "capacity", "source", "sink"
    smaller = {name: np.minimum(getattr(problem, name).astype(np.int64), most) for name in names}
    return problem._replace(**smaller, most=most)


def first_bad_value(problem: GraphProblem, lists: Lists) -> ValueError:
    """The error for a negative capacity or NaN, of which there is one; its message says where it is."""
    for name, values in (("source", lists.source), ("sink", lists.sink)):
        at = _first_bad(values)
        if at is not None:
            return bad_capacity(name, values[at], (at,))
    at = _first_bad(lists.capacity)
    assert at is not None
    node = int(np.searchsorted(lists.indptr, at, side="right")) - 1
    return bad_capacity("graph", lists.capacity[at], (node, int(lists.indices[at])))


def _first_bad(values: np.ndarray) -> int | None:
    bad = ~(values >= 0)
    return int(np.argmax(bad)) if bad.any() else None


# The edges of an energy on a sparse graph: pairs of nodes with weights, from a matrix with an entry for each edge.


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


def edge_lists(nodes: int, tail, head, forward, back) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays (indptr, indices, capacity) of a graph with an entry in both directions of each edge, in sorted rows.

    Parallel edges are not added: `graph_max_flow` does, without overflow.

    tail, head      ends of the edges, int64, from 0 to nodes - 1
    forward, back   capacities from tail to head and from head to tail, 0 or more; int64 or float64
    """
    ends = (np.concatenate(pair, dtype=np.int32, casting="same_kind") for pair in ((tail, head), (head, tail)))
    entries = scipy.sparse.coo_array((np.concatenate((forward, back)), tuple(ends)), shape=(nodes, nodes))
    entries.has_canonical_format = True  # else SciPy would add them
    rows = entries.tocsc().tocsr()
    return rows.indptr, rows.indices, rows.data
