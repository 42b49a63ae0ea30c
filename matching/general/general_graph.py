"""The border of greedy matching: an undirected graph, checked once and brought to one form.

Below this file nothing is checked again.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse

from gridcut.device import kernel
from gridcut.device.arguments import plain_array
from matching.core.sparse import (
    INT32,
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
from matching.general.order import GOLDEN, MIX_1, ONE, S27, S30
from matching.general.parts import each, parts_of

INT64_MAX = 2**63 - 1
LARGEST_FLOAT = float(np.finfo(np.float64).max)
# What `survey` finds; the largest wins.
CLEAN, LOOPS, UNSORTED, OUTSIDE = range(4)
SYMMETRIC, ONE_WAY, TWO_WEIGHTS = range(3)
SHIFT = np.uint64(32)
NO_BITS = np.empty(0, np.uint64)
ENTRIES = np.uint64(1024)  # looked at together
WIDTH = np.uint64(8)  # entries of a row written without asking how many it has
SMALLEST = 100_000  # entries below which starting threads costs more than it saves


class GeneralGraph(NamedTuple):
    """An undirected graph: every edge is stored at both of its ends.

    ::

        0 --- 1 --- 2        ptr   0        1        4     6     8
              |   /          adj   1        0  2  3  1  3  1  2
              | /
              3

    ptr     int64 (n + 1): vertex v's neighbours are adj[ptr[v] : ptr[v + 1]], ascending, none twice, v not among them
    adj     int32
    weight  int64 or float64, one for each entry of adj, the same at both ends, neither negative nor -0.0; None: no
            weights
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
        """The weights, ones where the graph has none."""
        return np.ones(len(self.adj), np.int64) if self.weight is None else self.weight

    def keys(self) -> np.ndarray:
        """Integers that compare as the weights do: themselves, or their bits."""
        return self.weights().view(np.int64)

    def to_csr(self) -> scipy.sparse.csr_array:
        """A SciPy array of the same edges, with their weights as values."""
        return scipy.sparse.csr_array((self.weights(), self.adj, self.ptr), shape=(self.n, self.n))


@kernel
def list_rows(ptr, v, first, last, row):
    """The rows of the entries from `first` to `last`, the first of which is in row v.

    Short rows are written at full width and what is too much is overwritten: their lengths cannot be predicted.
    """
    k = first
    while k < last:
        end = max(k, min(np.uint64(ptr[v + ONE]), last))
        for j in range(WIDTH):
            row[k - first + j] = v
        k += WIDTH
        while k < end:
            row[k - first] = v
            k += ONE
        k = end
        v += ONE


@kernel
def look_at(adj, bits, weighted, row, first, count, following):
    """What `survey` returns, for `count` entries, and whether they and `following` more ascend in their rows."""
    most = np.uint64(0)
    loops = False
    total = np.uint64(0)
    largest = np.uint64(0)
    for i in range(count):
        v = np.uint64(row[i])
        w = np.uint64(np.uint32(adj[first + i]))
        most = max(most, w)
        loops |= w == v
        key = (min(v, w) << SHIFT | max(v, w)) * GOLDEN
        if weighted:
            key += bits[first + i]
            largest = max(largest, bits[first + i])
        key = (key ^ key >> S30) * MIX_1
        key ^= key >> S27
        total += key if v < w else ~key + ONE
    unsorted = False
    for i in range(ONE, count + following):
        unsorted |= (row[i] == row[i - ONE]) & (adj[first + i] <= adj[first + i - ONE])
    return most, loops, unsorted, total, largest


@kernel
def survey(ptr, adj, bits, weighted, first, last):
    """What rows `first` to `last` hold, their share of a sum that is 0 where both ends of every edge agree, and the
    largest of the bits of weights.

    What they hold: whether they are in range, ascend without duplicates, and hold no loops.  The sum is that of random
    bits of (lower end, upper end, weight) over the upper ends less that over the lower ones: 0 by chance almost never.
    Reads everything in a row, many entries at a time, so takes a fraction of the time of `compare_ends`.
    """
    row = np.empty(ENTRIES + ONE + WIDTH, np.int32)
    most = np.uint64(0)
    loops, unsorted = False, False
    total = np.uint64(0)
    largest = np.uint64(0)
    v = np.uint64(first)
    k = np.uint64(ptr[first])
    end = np.uint64(ptr[last])
    while k < end:
        count = min(ENTRIES, end - k)
        following = np.uint64(k + count < end)
        list_rows(ptr, v, k, k + count + following, row)
        high, with_loops, out_of_order, share, heavy = look_at(adj, bits, weighted, row, k, count, following)
        most, largest = max(most, high), max(largest, heavy)
        loops |= with_loops
        unsorted |= out_of_order
        total += share
        v = np.uint64(row[count])
        k += count
    if most >= np.uint64(ptr.size - 1) and ptr[last] > ptr[first]:
        return OUTSIDE, total, largest
    return UNSORTED if unsorted else LOOPS if loops else CLEAN, total, largest


@kernel
def compare_ends(ptr, adj, weight, weighted, seen):
    """Whether each edge is stored at both ends, with one weight; `seen` holds a copy of the starts of the rows.

    Rows ascend, so the rows that mention w come in the order of w's own list.
    """
    for v in range(ptr.size - 1):
        for k in range(ptr[v], ptr[v + 1]):
            w = adj[k]
            back = seen[w]
            if back == ptr[w + 1] or adj[back] != v:
                return ONE_WAY, v, w
            if weighted and weight[back] != weight[k]:
                return TWO_WEIGHTS, v, w
            seen[w] = back + 1
    return SYMMETRIC, -1, -1


def check_graph(graph, weight=None, threads: int = 1) -> GeneralGraph:
    """A caller's graph in the solvers' form."""
    known = isinstance(graph, GeneralGraph)
    if known and weight is None:
        return graph
    ptr, adj, values = graph if known else _arrays_of(graph, weight)
    if weight is not None:
        values = plain_array("weight", weight)
        if values.shape != adj.shape:
            raise ValueError(f"weight must have one value for each stored entry, {adj.shape}; got {values.shape}")
    name = "graph" if weight is None else "weight"
    values = _as_weights(values, name)

    found, total, largest = _survey(ptr, adj, values, threads)
    if found == OUTSIDE:
        raise ValueError(f"graph has a neighbour outside 0 ... {len(ptr) - 2}")
    if values is not None:
        values = _check_range(values, name, largest)
    if found == UNSORTED:
        ptr, adj, values = _without_duplicates(ptr, adj, values)
    if found >= LOOPS:
        ptr, adj, values = _without_loops(ptr, adj, values)
        _, total, _ = _survey(ptr, adj, values, threads)
    if total == 0:
        return GeneralGraph(ptr, adj, values)
    compared = adj if values is None else values
    wrong, v, w = compare_ends(ptr, adj, compared, values is not None, ptr[:-1].copy())
    if wrong == ONE_WAY:
        raise ValueError(
            f"graph must be symmetric, but only one of ({v}, {w}) and ({w}, {v}) is stored; pass graph + graph.T"
        )
    if wrong == TWO_WEIGHTS:
        raise ValueError(f"graph must be symmetric, but ({v}, {w}) and ({w}, {v}) have different weights")
    return GeneralGraph(ptr, adj, values)


def is_sound(graph: GeneralGraph) -> bool:
    """Whether the arrays still are what `check_graph` left: they may share memory with the caller's."""
    ptr, adj, values = graph
    if not pointers_ascend(ptr, len(adj)) or ptr[-1] != len(adj):
        return False
    found, total, _ = _survey(ptr, adj, values, 1)
    return found == CLEAN and total == 0


def _survey(ptr, adj, values, threads):
    """What the graph holds, 0 if both ends of every edge agree, and the largest of the bits of weights."""
    bits = NO_BITS if values is None else values.view(np.uint64)
    parts = parts_of(len(ptr) - 1, threads if len(adj) >= SMALLEST else 1)
    found, totals, largest = zip(*each(survey, (ptr, adj, bits, values is not None), parts), strict=True)
    return max(found), sum(int(total) for total in totals) % 2**64, int(max(largest))


def _arrays_of(graph, weight):
    """indptr (int64), indices (int32) and values (or None) of what the caller passed; pointers are checked."""
    if is_on_gpu(graph):
        raise TypeError("graph lies on the GPU, but is read on the CPU here; copy its arrays to the host first")
    if scipy.sparse.issparse(graph):
        if weight is not None and graph.format != "csr":
            raise TypeError(f"weight needs a graph in CSR, whose entries it follows; got {graph.format.upper()}")
        check_axes(graph)
        n = _check_square(graph.shape)
        # Lists of columns serve as well: they are those of the rows, or the graph is refused.
        ptr, adj, values, _ = stored_lists(graph)
        adj = integers("indices", adj)
        ptr = checked_pointers(ptr, n, len(adj))
        adj, values = adj[: ptr[-1]], None if values.dtype == bool else values[: ptr[-1]]
    elif isinstance(graph, tuple) and len(graph) == 3:
        n, values = _check_square(graph[2]), None
        adj = integers("indices", graph[1])
        ptr = checked_pointers(graph[0], n, len(adj))
        if ptr[-1] != len(adj):
            raise ValueError(f"indptr must rise from 0 to the number of indices, {len(adj)}; got {ptr[-1]}")
    else:
        raise not_a_graph(graph, "a symmetric SciPy sparse matrix or a tuple (indptr, indices, shape)")
    if adj.dtype != INT32 and adj.size and not (adj.min() >= 0 and adj.max() < n):
        raise ValueError(f"graph has a neighbour outside 0 ... {n - 1}")
    return ptr, plain(adj, INT32), values


def _check_square(shape) -> int:
    """The number of vertices."""
    n, m = checked_shape(shape)
    if n != m:
        raise ValueError(f"graph must be square, one row for each vertex; got shape {(n, m)}")
    return n


def _as_weights(values, name):
    """Weights as int64 or float64; their range is checked later."""
    if values is None or values.dtype == bool:
        return None
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got {values.dtype}")
    if values.dtype == np.uint64 and values.size:
        _check_sum(int(values.max()), len(values))
    with np.errstate(over="ignore"):  # long doubles may become infinite, which is refused like other infinities
        return plain(values, np.dtype(np.float64 if values.dtype.kind == "f" else np.int64))


def _check_sum(largest: int, count: int) -> None:
    if largest * count > INT64_MAX:
        raise ValueError(f"integer weights must be within {INT64_MAX // count} here, got {largest}")


def _check_range(values, name, largest: int):
    """Weights that are finite and not negative, nor -0.0; `largest` is that of their bits, which sees all of it."""
    if largest < 2**63 and values.dtype == np.int64:
        _check_sum(largest, len(values))
        return values
    if largest < 2**63 and np.uint64(largest).view(np.float64) < LARGEST_FLOAT / max(len(values), 1):
        return values
    with np.errstate(over="ignore"):
        if not np.isfinite(values.sum()):
            raise ValueError(f"{name} holds weights that are not finite, or whose sum is not")
    if values.min() < 0:
        raise ValueError(f"{name} holds a negative weight, {values.min()}; pass abs(graph) or other weights")
    return np.abs(values)


def _without_duplicates(ptr, adj, values):
    """Rows that ascend; weights of an edge that is stored more than once are added."""
    n = len(ptr) - 1
    data = np.ones(len(adj), np.int64) if values is None else values.copy()
    matrix = scipy.sparse.csr_array((data, adj.copy(), ptr.copy()), shape=(n, n))
    matrix.sum_duplicates()
    ptr, adj = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return ptr, adj, None if values is None else matrix.data


def _without_loops(ptr, adj, values):
    """No vertex is its own neighbour."""
    row = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    kept = row != adj
    ptr = np.concatenate([[0], np.cumsum(kept)])[ptr]
    return ptr, adj[kept], None if values is None else values[kept]
