"""A bipartite graph as every solver here reads it: the neighbours of the rows and those of the columns.

Arrays (n rows, m columns)
  row_adj[row_ptr[r] : row_ptr[r + 1]]   columns that row r may be matched with, ascending, each once
  col_adj[col_ptr[c] : col_ptr[c + 1]]   rows that column c may be matched with, ascending, each once

A stored entry is an edge whatever its value, zero included, as in SciPy's function; entries stored twice are one edge.
Sorting is two transpositions by counting: O(n + m + edges), no comparison.
"""

import operator
from typing import NamedTuple

import numpy as np
import scipy.sparse

from gridcut.device import kernel

INT32_MAX = np.iinfo(np.int32).max
FINE, UNSORTED, OUTSIDE = 0, 1, 2  # what `_inspect` finds


class BipartiteGraph(NamedTuple):
    """Rows, columns and their edges, in compressed rows and in compressed columns; see the head of this file."""

    rows: int
    cols: int
    row_ptr: np.ndarray
    row_adj: np.ndarray
    col_ptr: np.ndarray
    col_adj: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    @property
    def edges(self) -> int:
        return len(self.row_adj)

    @property
    def transposed(self) -> "BipartiteGraph":
        """The same graph, rows and columns exchanged; nothing is copied."""
        return BipartiteGraph(self.cols, self.rows, self.col_ptr, self.col_adj, self.row_ptr, self.row_adj)


def bipartite_graph(graph) -> BipartiteGraph:
    """Check a graph and bring it into the form of the solvers.

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, m), a tuple (indptr, indices, shape), or a BipartiteGraph
        Stored entries are edges, explicit zeros too.  Indices need not be sorted and may repeat.

    Returns
    -------
    BipartiteGraph
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
    """
    if isinstance(graph, BipartiteGraph):
        return graph
    if isinstance(graph, tuple):
        if len(graph) != 3:
            raise TypeError(f"graph as a tuple must be (indptr, indices, shape), got {len(graph)} parts")
        rows, cols, ptr, adj = _checked_parts(*graph)
    elif scipy.sparse.issparse(graph):
        if graph.ndim != 2:
            raise ValueError(f"graph must have 2 axes, rows and columns, got shape {graph.shape}")
        if graph.format == "csc":
            return bipartite_graph((graph.indptr, graph.indices, graph.shape[::-1])).transposed
        if graph.format == "coo":
            return _from_pairs(graph)
        matrix = graph if graph.format == "csr" else graph.tocsr()
        rows, cols, ptr, adj = _checked_parts(matrix.indptr, matrix.indices, matrix.shape)
    else:
        raise TypeError(
            "graph must be a SciPy sparse matrix, a tuple (indptr, indices, shape) or a BipartiteGraph, "
            f"got {type(graph).__name__}; scipy.sparse.csr_array(graph) makes one from a dense matrix"
        )
    state = _inspect(ptr, adj, cols)
    if state == OUTSIDE:
        raise ValueError(f"indices must lie in 0 ... {cols - 1}, got {adj.min()} ... {adj.max()}")
    adj = adj.astype(np.int32, copy=False)
    other_ptr, other_adj = _transpose(ptr, adj, cols)
    if state == UNSORTED:
        other_ptr, other_adj = _without_duplicates(other_ptr, other_adj)
        ptr, adj = _transpose(other_ptr, other_adj, rows)
    return BipartiteGraph(rows, cols, ptr, adj, other_ptr, other_adj)


def _from_pairs(graph) -> BipartiteGraph:
    """Coordinates: not by SciPy's conversion, which would add up the values of duplicates."""
    rows, cols = _checked_shape(graph.shape)
    row, col = (np.asarray(a) for a in (graph.row, graph.col))
    if len(row) and (row.min() < 0 or row.max() >= rows or col.min() < 0 or col.max() >= cols):
        raise ValueError(f"the coordinates of graph must lie within its shape {graph.shape}")
    order = np.argsort(row, kind="stable")
    ptr = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=rows), out=ptr[1:])
    return bipartite_graph((ptr, col[order], graph.shape))


def _checked_shape(shape) -> tuple[int, int]:
    try:
        rows, cols = (operator.index(size) for size in shape)
    except (TypeError, ValueError) as error:
        raise TypeError(f"shape must be two whole numbers, got {shape!r}") from error
    if not (0 <= rows < INT32_MAX and 0 <= cols < INT32_MAX):
        raise ValueError(f"shape must lie in 0 ... {INT32_MAX - 1}, as vertices are int32, got {(rows, cols)}")
    return rows, cols


def _checked_parts(indptr, indices, shape):
    """Contiguous native arrays; whether the indices fit is for `_inspect`."""
    rows, cols = _checked_shape(shape)
    indptr, indices = np.asarray(indptr), np.asarray(indices)
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
            raise TypeError(f"{name} must be a one-dimensional array of integers, got {array.dtype}, {array.shape}")
    if len(indptr) != rows + 1:
        raise ValueError(f"indptr must have {rows + 1} entries, one for each row and the end, got {len(indptr)}")
    # Writable and aligned: numba would compile every kernel once more for arrays that are not.
    ptr = np.require(indptr, np.int64, "CAW")
    # SciPy allows arrays longer than what the last pointer says.
    if ptr[0] != 0 or ptr[-1] > len(indices) or not _ascends(ptr):
        raise ValueError(f"indptr must ascend from 0 to at most {len(indices)}, the number of indices")
    kind = np.int32 if indices.dtype == np.int32 else np.int64
    return rows, cols, ptr, np.require(indices[: ptr[-1]], kind, "CAW")


@kernel
def _ascends(ptr):
    for i in range(ptr.size - 1):
        if ptr[i + 1] < ptr[i]:
            return False
    return True


@kernel
def _inspect(ptr, adj, size):
    """FINE; UNSORTED: a list that does not strictly ascend; OUTSIDE: an index beyond `size`."""
    state = FINE
    for i in range(ptr.size - 1):
        last = -1
        for k in range(ptr[i], ptr[i + 1]):
            if adj[k] < 0 or adj[k] >= size:
                return OUTSIDE
            if adj[k] <= last:
                state = UNSORTED
            last = adj[k]
    return state


@kernel
def _transpose(ptr, adj, size):
    """The lists of the other side; each ascends, and holds an index as often as it was stored."""
    other_ptr = np.zeros(size + 1, np.int64)
    for k in range(adj.size):
        other_ptr[adj[k] + 1] += 1
    for j in range(size):
        other_ptr[j + 1] += other_ptr[j]
    other_adj = np.empty(adj.size, np.int32)
    place = other_ptr[:size].copy()
    for i in range(ptr.size - 1):
        for k in range(ptr[i], ptr[i + 1]):
            j = adj[k]
            other_adj[place[j]] = i
            place[j] += 1
    return other_ptr, other_adj


@kernel
def _without_duplicates(ptr, adj):
    """Ascending lists, each index once."""
    once_ptr = np.zeros(ptr.size, np.int64)
    once = np.empty(adj.size, np.int32)
    kept = 0
    for i in range(ptr.size - 1):
        for k in range(ptr[i], ptr[i + 1]):
            if k == ptr[i] or adj[k] != adj[k - 1]:
                once[kept] = adj[k]
                kept += 1
        once_ptr[i + 1] = kept
    return once_ptr, once[:kept].copy()
