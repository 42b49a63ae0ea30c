"""A bipartite graph in the form that all solvers read: the neighbours of the rows and those of the columns.

Arrays (n rows, m columns)
  row_adj[row_ptr[r] : row_ptr[r + 1]]   neighbouring columns of row r, ascending, each once
  col_adj[col_ptr[c] : col_ptr[c + 1]]   neighbouring rows of column c, ascending, each once

A stored entry is an edge whatever its value, zero included, as in SciPy's function; entries stored twice are one edge.
A graph is given by one of its two sides.  The other side is built when it is first used.  Many solvers never use it,
and building it takes longer than the whole matching of many meshes.

Reading is one pass over the entries.  Transposing counts and distributes, by blocks of columns that fit into the cache;
sorting is two transpositions: O(n + m + edges), no comparison.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import kernel, plain_kernel, run_threads
from gridcut.device.arrays import download
from matching.core.sparse import INT32, INT64, GraphOnGpu, checked_shape, disordered, integers, plain, pointers_ascend

FINE, UNSORTED, OUTSIDE, DISORDERED = range(4)  # results of `_inspect`
BLOCK_BITS = 13  # transposing uses blocks of 2^13 columns, whose counters take 64 kB


class Lists(NamedTuple):
    """The adjacency lists of both sides of a graph, for kernels."""

    row_ptr: np.ndarray
    row_adj: np.ndarray
    col_ptr: np.ndarray
    col_adj: np.ndarray


class BipartiteGraph:
    """A bipartite graph between rows and columns, as adjacency lists of both sides.

    `matching.bipartite_graph` converts other forms to this one.

    Attributes
    ----------
    rows, cols, edges : int
        Numbers of rows, columns and edges.
    row_ptr, col_ptr : ndarray of int64
        Pointers of the adjacency lists, shapes (rows + 1,) and (cols + 1,).
    row_adj, col_adj : ndarray of int32, shape (edges,)
        Neighbours of each row, and of each column, in ascending order.  A side that was not given is built on first
        use.
    names : tuple of two lists, or None
        The nodes that are the rows and the columns, if the graph was one of networkx.
    """

    __slots__ = ("_by_col", "_by_row", "cols", "names", "rows")

    rows: int
    cols: int
    names: tuple[list, list] | None
    _by_row: tuple[np.ndarray, np.ndarray] | None
    _by_col: tuple[np.ndarray, np.ndarray] | None

    def __init__(self, rows: int, cols: int, by_row: tuple | None = None, by_col: tuple | None = None):
        """From (row_ptr, row_adj), (col_ptr, col_adj) or both, checked like a tuple by `bipartite_graph`."""
        if by_row is None and by_col is None:
            raise TypeError("BipartiteGraph needs by_row or by_col; matching.bipartite_graph(graph) computes them")
        sides = []
        for name, lists, shape in (("by_row", by_row, (rows, cols)), ("by_col", by_col, (cols, rows))):
            if lists is not None:
                if not isinstance(lists, tuple | list) or len(lists) != 2:
                    raise TypeError(f"{name} must be a pair of arrays, pointers and indices; got {lists!r}")
                sides.append(graph_of_rows(*lists, shape))
        given = sides[0] if by_row is not None else sides[0].transposed
        if len(sides) == 2 and not all(map(np.array_equal, given.by_col, sides[1].by_row)):
            raise ValueError("by_row and by_col must hold the same edges")
        self.rows, self.cols = given.shape
        self._by_row, self._by_col = given._by_row, given._by_col
        self.names = None

    @classmethod
    def of_checked(cls, rows: int, cols: int, by_row=None, by_col=None) -> "BipartiteGraph":
        """From lists that are known to satisfy the invariants of the file header."""
        graph = cls.__new__(cls)
        graph.rows, graph.cols = rows, cols
        graph._by_row, graph._by_col = by_row, by_col
        graph.names = None
        return graph

    @property
    def row_ptr(self) -> np.ndarray:
        return self._rows()[0]

    @property
    def row_adj(self) -> np.ndarray:
        return self._rows()[1]

    @property
    def col_ptr(self) -> np.ndarray:
        return self._cols()[0]

    @property
    def col_adj(self) -> np.ndarray:
        return self._cols()[1]

    @property
    def by_row(self) -> tuple[np.ndarray, np.ndarray]:
        """row_ptr, row_adj."""
        return self._by_row or self._rows()

    @property
    def by_col(self) -> tuple[np.ndarray, np.ndarray]:
        """col_ptr, col_adj."""
        return self._by_col or self._cols()

    @property
    def lists(self) -> Lists:
        """The lists of both sides."""
        return Lists(*self._rows(), *self._cols())

    def lists_by(self, threads: int) -> Lists:
        """The lists of both sides; several threads build a missing one."""
        return Lists(*self._rows(threads), *self._cols(threads))

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    def entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of each edge, by row: two arrays of shape (edges,)."""
        return np.repeat(np.arange(self.rows), np.diff(self.row_ptr)), self.row_adj

    @property
    def edges(self) -> int:
        return len((self._by_row or self.by_col)[1])

    @property
    def has_rows(self) -> bool:
        """Whether the lists of the rows exist; otherwise they have to be built by transposing."""
        return self._by_row is not None

    @property
    def transposed(self) -> "BipartiteGraph":
        """The same graph with rows and columns exchanged; nothing is copied."""
        graph = BipartiteGraph.of_checked(self.cols, self.rows, self._by_col, self._by_row)
        graph.names = None if self.names is None else self.names[::-1]
        return graph

    def _rows(self, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        if self._by_row is None:
            ptr, adj = self.by_col
            self._by_row = _transpose(ptr, adj, self.rows, threads)
        return self._by_row

    def _cols(self, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        if self._by_col is None:
            ptr, adj = self.by_row
            self._by_col = _transpose(ptr, adj, self.cols, threads)
        return self._by_col


class DeviceBipartiteGraph(GraphOnGpu):
    """Rows, columns and edges on a GPU, checked; may be passed to `maximum` any number of times.

    Attributes
    ----------
    rows, cols, edges : int
        Numbers of rows, columns and edges.
    lists : DeviceGraph
        row_ptr, row_adj, col_ptr, col_adj on the GPU, in any order within a list; None without edges.
    library : str
        Library of the caller's arrays: "cupy", "torch" or "numba".
    """

    __slots__ = ("_host", "cols", "edges", "library", "lists", "rows")

    def __init__(self, rows: int, cols: int, edges: int, lists, library: str):
        self.rows, self.cols, self.edges, self.lists, self.library = rows, cols, edges, lists, library
        self._host: BipartiteGraph | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    def host(self) -> BipartiteGraph:
        """The graph on the host; kept for later calls."""
        if self._host is None:
            if self.lists is None:
                lists = np.zeros(self.rows + 1, np.int64), np.zeros(0, np.int32)
            else:
                lists = download(self.lists.row_ptr), download(self.lists.row_adj)
            self._host = graph_of_rows(*lists, self.shape)
        return self._host


def graph_of_rows(indptr, indices, shape) -> BipartiteGraph:
    """The graph whose rows are compressed in `indptr` and `indices`, checked."""
    rows, cols = checked_shape(shape)
    indptr, indices = integers("indptr", indptr), integers("indices", indices)
    if len(indptr) != rows + 1:
        raise ValueError(f"indptr must have {rows + 1} entries, one for each row and the end, got {len(indptr)}")
    ptr = plain(indptr, INT64)
    if indices.dtype == INT32:
        adj = plain(indices, INT32)
        state = _inspect(ptr, adj, cols)
    else:
        adj = np.empty(len(indices), INT32)
        state = _narrow(ptr, plain(indices, INT64), cols, adj)
    if state == DISORDERED:
        raise disordered(len(indices))
    if state == OUTSIDE:
        used = indices[: ptr[-1]]
        raise ValueError(f"indices must lie in 0 ... {cols - 1}, got {used.min()} ... {used.max()}")
    edges = ptr[-1]
    if len(adj) > edges:
        adj = adj[:edges]
    if state == UNSORTED:
        col_ptr, col_adj = _without_duplicates(*_transpose(ptr, adj, cols))
        return BipartiteGraph.of_checked(rows, cols, _transpose(col_ptr, col_adj, rows), (col_ptr, col_adj))
    return BipartiteGraph.of_checked(rows, cols, (ptr, adj))


def columns_are_valid(graph: BipartiteGraph) -> bool:
    """Whether the lists of the columns still satisfy the invariants: they may share the caller's memory."""
    col_ptr, col_adj = graph.by_col
    return len(col_ptr) == graph.cols + 1 and _inspect(col_ptr, col_adj, graph.rows) == FINE


@plain_kernel
def _inspect(ptr, adj, size):
    """FINE; UNSORTED: a list does not ascend strictly; OUTSIDE: an index is not in [0, size); DISORDERED pointers."""
    if not pointers_ascend(ptr, adj.size):
        return DISORDERED
    edges = ptr[-1]
    if edges == 0:
        return FINE
    smallest, largest = adj[0], adj[0]
    for k in range(edges):
        smallest = min(smallest, adj[k])
        largest = max(largest, adj[k])
    if smallest < 0 or largest >= size:
        return OUTSIDE
    # Entries not above their predecessors, minus those that begin a list: two loops without a branch.
    descents = 0
    for k in range(1, edges):
        descents += adj[k] <= adj[k - 1]
    for i in range(1, ptr.size - 1):
        first = ptr[i]
        if 0 < first < ptr[i + 1]:
            descents -= adj[first] <= adj[first - 1]
    return FINE if descents == 0 else UNSORTED


@plain_kernel
def _narrow(ptr, adj, size, narrow):
    """_inspect of int64 indices, which are copied to `narrow` as int32."""
    if not pointers_ascend(ptr, adj.size):
        return DISORDERED
    smallest, largest = np.int64(0), np.int64(-1)
    for k in range(ptr[-1]):
        smallest = min(smallest, adj[k])
        largest = max(largest, adj[k])
        narrow[k] = adj[k]
    if smallest < 0 or largest >= size:
        return OUTSIDE
    return _inspect(ptr, narrow, size)


def _transpose(ptr, adj, size, threads=1):
    """The lists of the other side; each ascends and holds an index as many times as it was stored.

    Entries are sorted by blocks of columns, then within each block, whose counters stay in the cache.
    """
    blocks = ((size - 1) >> BLOCK_BITS) + 1
    rows = [(len(ptr) - 1) * i // threads for i in range(threads + 1)]
    numbers = run_threads(lambda i: _count_blocks(ptr, adj, rows[i], rows[i + 1], blocks), threads)
    start = np.zeros(blocks * threads + 1, np.int64)
    np.cumsum(np.transpose(numbers), out=start[1:])
    within, entry = np.empty(len(adj), np.int16), np.empty(len(adj), np.int32)
    run_threads(
        lambda i: _distribute(ptr, adj, rows[i], rows[i + 1], start[i:-1:threads].copy(), within, entry), threads
    )
    other_ptr, other_adj = np.zeros(size + 1, np.int64), np.empty(len(adj), np.int32)
    start = start[::threads].copy()
    ends = [blocks * i // threads for i in range(threads + 1)]
    run_threads(lambda i: _sort_blocks(start, ends[i], ends[i + 1], within, entry, other_ptr, other_adj), threads)
    return other_ptr, other_adj


@kernel
def _count_blocks(ptr, adj, first, last, blocks):
    """Number of entries of the rows [first, last) in each block of columns."""
    numbers = np.zeros(blocks, np.int64)
    for k in range(ptr[first], ptr[last]):
        numbers[np.int64(adj[k]) >> BLOCK_BITS] += 1
    return numbers


@plain_kernel
def _distribute(ptr, adj, first, last, position, within, entry):
    """Append the entries of the rows [first, last) to their blocks: column in the block, and row."""
    for i in range(first, last):
        for k in range(ptr[i], ptr[i + 1]):
            j = np.int64(adj[k])
            p = position[j >> BLOCK_BITS]
            position[j >> BLOCK_BITS] = p + 1
            within[p] = j & ((1 << BLOCK_BITS) - 1)
            entry[p] = i


@kernel
def _sort_blocks(start, begin, end, within, entry, other_ptr, other_adj):
    """Sort the entries of the blocks [begin, end) by column."""
    size = other_ptr.size - 1
    counter = np.empty((1 << BLOCK_BITS) + 1, np.int64)
    for b in range(begin, end):
        counter[:] = 0
        for k in range(start[b], start[b + 1]):
            counter[within[k] + 1] += 1
        counter[0] = start[b]
        first = b << BLOCK_BITS
        for j in range(min(size - first, 1 << BLOCK_BITS)):
            counter[j + 1] += counter[j]
            other_ptr[first + j + 1] = counter[j + 1]
        for k in range(start[b], start[b + 1]):
            p = counter[within[k]]
            counter[within[k]] = p + 1
            other_adj[p] = entry[k]


@kernel
def _without_duplicates(ptr, adj):
    """The same lists with each index once."""
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
