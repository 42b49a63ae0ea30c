"""Input validation of greedy matching: an undirected graph, validated once and converted to one form.

The code below this layer does not validate again.
"""

import secrets
from typing import NamedTuple

import numpy as np
import scipy.sparse

from gridcut.device import inner_kernel, kernel, plain_kernel
from gridcut.device.arguments import INT64_MAX, plain_array
from gridcut.device.arrays import download
from gridcut.device.networkx_graph import NetworkxGraph, is_networkx
from matching.core.networkx_graphs import general_lists
from matching.core.sparse import (
    INT32,
    GraphOnGpu,
    check_axes,
    checked_pointers,
    checked_shape,
    integers,
    is_on_gpu,
    not_a_graph,
    plain,
    pointers_ascend,
    stored_lists,
)
from matching.general.order import MIX_1, ONE, S27, S30, parts_of, run_on_parts

MAX_FLOAT = float(np.finfo(np.float64).max)
# Results of `survey`; the largest takes precedence.
CLEAN, LOOPS, UNSORTED, OUTSIDE = range(4)
SYMMETRIC, ONE_WAY, TWO_WEIGHTS = range(3)
NO_BITS = np.empty(0, np.uint64)
# Factors of the lower and of the upper end of an edge in checksums: odd, and unknown before the process starts, so that
# no weights of a graph can be chosen such that errors cancel out.
FACTORS = secrets.randbits(63) | 1, secrets.randbits(63) | 1
BATCH = np.uint64(1024)  # entries per batch
UNROLL = np.uint64(8)  # entries of a row written at once, whatever its length
PARALLEL_MIN_ENTRIES = 100_000  # below that many entries, starting threads costs more than it saves

# A tuple is (indptr, indices, shape).
GraphLike = scipy.sparse.sparray | scipy.sparse.spmatrix | tuple | NetworkxGraph


class GeneralGraph(NamedTuple):
    """An undirected graph, in which every edge is stored at both of its ends.

    ::

        0 --- 1 --- 2        ptr   0        1        4     6     8
              |   /          adj   1        0  2  3  1  3  1  2
              | /
              3

    ptr     int64 (n + 1): vertex v's neighbours are adj[ptr[v] : ptr[v + 1]], ascending, each once, without v
    adj     int32
    weight  int64 or float64, one per entry of adj, equal at both ends, nonnegative and not -0.0; None: no weights
    """

    ptr: np.ndarray
    adj: np.ndarray
    weight: np.ndarray | None

    @property
    def n(self) -> int:
        return len(self.ptr) - 1

    @property
    def edges(self) -> int:
        return len(self.adj) // 2

    def weights(self) -> np.ndarray:
        """The weights, or ones for a graph without weights."""
        return np.ones(len(self.adj), np.int64) if self.weight is None else self.weight

    def keys(self) -> np.ndarray:
        """Integers in the order of the weights: the weights themselves, or their bits."""
        return self.weights().view(np.int64)

    def to_csr(self) -> scipy.sparse.csr_array:
        """A SciPy array of the same edges, with their weights as values."""
        return scipy.sparse.csr_array((self.weights(), self.adj, self.ptr), shape=(self.n, self.n))


@inner_kernel
def list_rows(ptr, v, first, last, row):
    """The rows of the entries `first` to `last` - 1; entry `first` is in row v.

    Short rows are written at full width and the surplus is overwritten, since their lengths cannot be predicted.
    """
    k = first
    while k < last:
        end = max(k, min(np.uint64(ptr[v + ONE]), last))
        for j in range(UNROLL):
            row[k - first + j] = v
        k += UNROLL
        while k < end:
            row[k - first] = v
            k += ONE
        k = end
        v += ONE


@inner_kernel
def scan_entries(adj, bits, of_lower, of_upper, row, first, count, following):
    """The results of `survey` for `count` entries, with the order of these and of `following` entries after them."""
    weighted = bits.size > 0
    max_neighbour = np.uint32(0)
    has_loops = False
    total = np.uint64(0)
    max_bits = np.uint64(0)
    for i in range(count):
        v = np.uint32(row[i])
        w = np.uint32(adj[first + i])
        max_neighbour = max(max_neighbour, w)
        has_loops |= w == v
        key = np.uint64(min(v, w)) * of_lower + np.uint64(max(v, w)) * of_upper
        if weighted:
            key += bits[first + i]
            max_bits = max(max_bits, bits[first + i])
        key = (key ^ key >> S30) * MIX_1
        key ^= key >> S27
        total += key if v < w else ~key + ONE
    is_unsorted = False
    for i in range(ONE, count + following):
        is_unsorted |= (row[i] == row[i - ONE]) & (adj[first + i] <= adj[first + i - ONE])
    return max_neighbour, has_loops, is_unsorted, total, max_bits


@kernel
def survey(ptr, adj, bits, of_lower, of_upper, first, last):
    """Survey rows `first` to `last` - 1: (what they contain, their checksum, maximum of the bits of the weights).

    What they contain: whether indices are in range, ascend without duplicates, and include loops. The checksums of all
    rows sum to 0 if both ends of every edge agree: each is a sum of random bits of (lower end, upper end, weight) over
    the upper ends, minus that over the lower ends. Other graphs have a sum of 0 almost never, whatever their weights,
    because the factors `of_lower` and `of_upper` are random (FACTORS). All arrays are read sequentially, many entries
    at a time, in a fraction of the time of `compare_ends`.
    """
    row = np.empty(BATCH + ONE + UNROLL, np.int32)
    max_neighbour = np.uint32(0)
    has_loops, is_unsorted = False, False
    total = np.uint64(0)
    max_bits = np.uint64(0)
    v = np.uint64(first)
    k = np.uint64(ptr[first])
    end = np.uint64(ptr[last])
    while k < end:
        count = min(BATCH, end - k)
        following = np.uint64(k + count < end)
        list_rows(ptr, v, k, k + count + following, row)
        batch_neighbour, batch_loops, batch_unsorted, batch_total, batch_bits = scan_entries(
            adj, bits, np.uint64(of_lower), np.uint64(of_upper), row, k, count, following
        )
        max_neighbour, max_bits = max(max_neighbour, batch_neighbour), max(max_bits, batch_bits)
        has_loops |= batch_loops
        is_unsorted |= batch_unsorted
        total += batch_total
        v = np.uint64(row[count])
        k += count
    if max_neighbour >= np.uint64(ptr.size - 1) and ptr[last] > ptr[first]:
        return OUTSIDE, total, max_bits
    return UNSORTED if is_unsorted else LOOPS if has_loops else CLEAN, total, max_bits


@plain_kernel
def compare_ends(ptr, adj, weight, weighted, next_entry):
    """Whether each edge is stored at both ends with the same weight; `next_entry` holds a copy of the row starts.

    Rows ascend, so the rows that contain w are met in the order of w's own list.
    """
    for v in range(ptr.size - 1):
        for k in range(ptr[v], ptr[v + 1]):
            w = adj[k]
            mirror = next_entry[w]
            if mirror == ptr[w + 1] or adj[mirror] != v:
                return ONE_WAY, v, w
            if weighted and weight[mirror] != weight[k]:
                return TWO_WEIGHTS, v, w
            next_entry[w] = mirror + 1
    return SYMMETRIC, -1, -1


def check_graph(graph, weight=None, threads: int = 1) -> GeneralGraph:
    """Convert a caller's graph to a validated GeneralGraph."""
    if is_networkx(graph):
        graph, weight = general_lists(graph, weight)
    is_checked = isinstance(graph, GeneralGraph)
    if is_checked and weight is None:
        return graph
    ptr, adj, values = graph if is_checked else _arrays_of(graph, weight)
    if weight is not None:
        values = plain_array("weight", weight)
        values = values.astype(np.int64) if values.dtype == bool else values  # False weighs 0, unlike a bool matrix's
        if values.shape != adj.shape:
            raise ValueError(f"weight must have one value per stored entry, shape {adj.shape}; got {values.shape}")
    name = "graph" if weight is None else "weight"
    values = _as_weights(values, name)

    found, total, max_bits = _survey(ptr, adj, values, threads)
    if found == OUTSIDE:
        raise ValueError(f"graph has a neighbour outside 0 to {len(ptr) - 2}")
    if values is not None:
        values = _check_range(values, name, max_bits)
    if found == UNSORTED:
        ptr, adj, values = _without_duplicates(ptr, adj, values)
    if found >= LOOPS:
        ptr, adj, values = _without_loops(ptr, adj, values)
        _, total, _ = _survey(ptr, adj, values, threads)
    if total == 0:
        return GeneralGraph(ptr, adj, values)
    values_or_adj = adj if values is None else values
    wrong, v, w = compare_ends(ptr, adj, values_or_adj, values is not None, ptr[:-1].copy())
    if wrong == ONE_WAY:
        raise ValueError(
            f"graph must be symmetric, but only one of ({v}, {w}) and ({w}, {v}) is stored; pass graph + graph.T"
        )
    if wrong == TWO_WEIGHTS:
        raise ValueError(f"graph must be symmetric, but ({v}, {w}) and ({w}, {v}) have different weights")
    return GeneralGraph(ptr, adj, values)


def is_sound(graph: GeneralGraph) -> bool:
    """Whether the arrays are still valid: they may share memory with the caller's."""
    ptr, adj, values = graph
    if not pointers_ascend(ptr, len(adj)) or ptr[-1] != len(adj):
        return False
    found, total, _ = _survey(ptr, adj, values, 1)
    return found == CLEAN and total == 0


def _survey(ptr, adj, values, threads):
    """What the graph contains, its checksum (0 if both ends of every edge agree), and the maximum of weight bits."""
    bits = NO_BITS if values is None else values.view(np.uint64)
    parts = parts_of(len(ptr) - 1, threads if len(adj) >= PARALLEL_MIN_ENTRIES else 1)
    found, totals, max_bits = zip(*run_on_parts(survey, (ptr, adj, bits, *FACTORS), parts), strict=True)
    return max(found), sum(int(total) for total in totals) % 2**64, int(max(max_bits))


def _arrays_of(graph, weight):
    """indptr (int64), indices (int32) and values (or None) of a caller's graph; pointers are validated."""
    if is_on_gpu(graph):
        raise TypeError("graph is on the GPU, but this function runs on the CPU; copy its arrays to the host first")
    if scipy.sparse.issparse(graph):
        if weight is not None and graph.format != "csr":
            raise TypeError(f"weight requires graph in CSR format, whose order it follows; got {graph.format.upper()}")
        check_axes(graph)
        n = _check_square(graph.shape)
        # CSC lists serve as well: they equal the row lists, or the graph is rejected.
        ptr, adj, values, _ = stored_lists(graph)
        adj = integers("indices", adj)
        ptr = checked_pointers(ptr, n, len(adj))
        adj, values = adj[: ptr[-1]], None if values.dtype == bool else values[: ptr[-1]]
    elif isinstance(graph, tuple) and len(graph) == 3:
        n, values = _check_square(graph[2]), None
        adj = integers("indices", graph[1])
        ptr = checked_pointers(graph[0], n, len(adj))
        if ptr[-1] != len(adj):
            raise ValueError(f"indptr must ascend from 0 to the number of indices, {len(adj)}; got {ptr[-1]}")
    else:
        raise not_a_graph(
            graph, "a symmetric SciPy sparse matrix, a tuple (indptr, indices, shape) or a networkx graph"
        )
    if adj.dtype != INT32 and adj.size and not (adj.min() >= 0 and adj.max() < n):
        raise ValueError(f"graph has a neighbour outside 0 to {n - 1}")
    return ptr, plain(adj, INT32), values


def _check_square(shape) -> int:
    """The number of vertices."""
    n, m = checked_shape(shape)
    if n != m:
        raise ValueError(f"graph must be square, with one row per vertex; got shape {(n, m)}")
    return n


def _as_weights(values, name):
    """Weights as int64 or float64; their range is checked later."""
    if values is None or values.dtype == bool:
        return None
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got {values.dtype}")
    if values.dtype == np.uint64 and values.size:
        _check_sum(int(values.max()), len(values))
    with np.errstate(over="ignore"):  # long doubles may become infinite, which is rejected as other infinities are
        return plain(values, np.dtype(np.float64 if values.dtype.kind == "f" else np.int64))


def _check_sum(max_weight: int, count: int) -> None:
    if max_weight * count > INT64_MAX:
        raise ValueError(f"integer weights must be at most {INT64_MAX // count} here, got {max_weight}; use floats")


def _check_range(values, name, max_bits: int):
    """Weights that are finite, nonnegative and not -0.0; `max_bits`, the maximum of their bits, shows all of it."""
    if max_bits < 2**63 and values.dtype == np.int64:
        _check_sum(max_bits, len(values))
        return values
    if max_bits < 2**63 and np.uint64(max_bits).view(np.float64) < MAX_FLOAT / max(len(values), 1):
        return values
    with np.errstate(over="ignore"):
        if not np.isfinite(values.sum()):
            raise ValueError(f"{name} holds weights that are not finite, or whose sum is not")
    if values.min() < 0:
        raise ValueError(f"{name} holds a negative weight, {values.min()}; pass abs(graph) or other weights")
    return np.abs(values)


def _without_duplicates(ptr, adj, values):
    """Ascending rows; weights of duplicate edges are added."""
    n = len(ptr) - 1
    data = np.ones(len(adj), np.int64) if values is None else values.copy()
    matrix = scipy.sparse.csr_array((data, adj.copy(), ptr.copy()), shape=(n, n))
    matrix.sum_duplicates()
    ptr, adj = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return ptr, adj, None if values is None else matrix.data


def _without_loops(ptr, adj, values):
    """The graph without entries on the diagonal."""
    row = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    kept = row != adj
    ptr = np.concatenate([[0], np.cumsum(kept)])[ptr]
    return ptr, adj[kept], None if values is None else values[kept]


# On a GPU; general_graph_cuda.py reads and checks such graphs


class DeviceGeneralGraph(GraphOnGpu):
    """An undirected graph on a GPU, checked; ptr, adj and weight as in general_graph.py, None without edges.

    weighted   whether it has weights; a graph without edges may have them too
    library    library of the caller's arrays: "cupy", "torch" or "numba"
    """

    __slots__ = ("_host", "adj", "library", "n", "ptr", "weight", "weighted")

    def __init__(self, n: int, ptr, adj, weight, library: str):
        self.n, self.ptr, self.adj, self.library = n, ptr, adj, library
        self.weighted = weight is not None
        self.weight = weight if adj is not None else None
        self._host = None

    @property
    def edges(self) -> int:
        return 0 if self.adj is None else self.adj.size // 2

    def host(self) -> GeneralGraph:
        """The graph on the host; kept for later calls."""
        if self._host is None:
            if self.adj is None:
                arrays = np.zeros(self.n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
            else:
                arrays = download(self.ptr), download(self.adj), download(self.weight) if self.weighted else None
            self._host = GeneralGraph(*arrays[:2], arrays[2] if self.weighted else None)
        return self._host
