"""Validation of sparse input: index arrays are checked before any code follows them.

SciPy's constructors test the first and the last pointer of a compressed matrix, but not the pointers between them or
any index, and its conversions follow both in compiled code without bounds checks.  So a matrix is tested before it is
converted (`gridcut.device.sparse`); lists that need no conversion are tested in the pass that reads them.
"""

import operator

import numpy as np
import scipy.sparse

from gridcut.device import plain_kernel
from gridcut.device.arguments import INT32_MAX, plain_array
from gridcut.device.arrays import on_device
from gridcut.device.sparse import check_matrix

INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
# Conversions of other libraries' graphs to sparse arrays, by the package of their class.
CONVERSIONS = {
    "networkx": "networkx.bipartite.biadjacency_matrix converts it",
    "pandas": "scipy.sparse.csr_array(graph.to_numpy()) converts it",
    "sparse": "graph.to_scipy_sparse() converts it",
}


class GraphOnGpu:
    """Base of the checked graphs whose arrays are on a GPU."""

    __slots__ = ()


def is_on_gpu(graph) -> bool:
    """Whether the arrays of a graph are on a GPU: those of a tuple, or `indptr` and `indices` of a matrix."""
    if isinstance(graph, GraphOnGpu):
        return True
    parts = graph[:2] if isinstance(graph, tuple) else (getattr(graph, name, None) for name in ("indptr", "indices"))
    return any(map(on_device, parts))


def not_a_graph(graph, accepted: str) -> TypeError:
    """The error for an object of another type, with a conversion."""
    package = type(graph).__module__.partition(".")[0]
    if isinstance(graph, np.ma.MaskedArray):
        hint = "scipy.sparse.csr_array(graph.filled(0)) converts a masked array"
    else:
        hint = CONVERSIONS.get(package, "scipy.sparse.csr_array(graph) converts a dense matrix")
    return TypeError(f"graph must be {accepted}, got {type(graph).__name__}; {hint}")


def integers(name: str, array) -> np.ndarray:
    """A one-dimensional array of integers; an empty one may have any dtype."""
    if type(array) is np.ndarray and array.ndim == 1 and array.dtype.kind in "iu":
        return array
    array = plain_array(name, array)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise TypeError(f"{name} must be a one-dimensional array of integers, got {array.dtype}, {array.shape}")
    return array


def plain(array, dtype):
    """A contiguous, writable, aligned, native array: numba would compile each kernel again for other arrays."""
    if array.dtype != dtype:
        return array.astype(dtype, order="C")
    return array if array.flags.carray else np.require(array, dtype, ["C", "A", "W"])


def checked_shape(shape) -> tuple[int, int]:
    try:
        rows, cols = shape
        rows, cols = operator.index(rows), operator.index(cols)
    except (TypeError, ValueError) as error:
        raise TypeError(f"shape must be two integers, got {shape!r}") from error
    if not (0 <= rows < INT32_MAX and 0 <= cols < INT32_MAX):
        raise ValueError(f"shape must lie in 0 ... {INT32_MAX - 1}, as vertices are int32, got {(rows, cols)}")
    return rows, cols


@plain_kernel
def pointers_ascend(ptr, most):
    """Whether pointers ascend from 0 to at most `most`; SciPy allows more indices than the last pointer."""
    if ptr[0] != 0 or ptr[-1] > most:
        return False
    fine = True
    for i in range(ptr.size - 1):
        fine &= ptr[i + 1] >= ptr[i]
    return fine


def checked_pointers(indptr, lists: int, indices: int) -> np.ndarray:
    """The int64 pointers of `lists` lists, checked to ascend from 0 to at most the number of indices."""
    indptr = integers("indptr", indptr)
    if len(indptr) != lists + 1:
        raise ValueError(f"indptr must have {lists + 1} entries, one for each row and the end, got {len(indptr)}")
    ptr = plain(indptr, INT64)
    if not pointers_ascend(ptr, indices):
        raise disordered(indices)
    return ptr


def disordered(indices: int) -> ValueError:
    return ValueError(f"indptr must ascend from 0 to at most {indices}, the number of indices")


def check_axes(graph) -> None:
    """Raise ValueError unless there are two axes: SciPy has sparse arrays with one, and COO arrays with more."""
    if graph.ndim != 2:
        raise ValueError(f"graph must have 2 axes, rows and columns, got shape {graph.shape}")
    checked_shape(graph.shape)


def stored_lists(graph, with_values: bool = True):
    """(indptr, indices, values, whether they are lists of columns) of a SciPy matrix.

    The caller checks the lists, as those of a compressed matrix are returned unchanged.
    """
    check_axes(graph)
    if graph.format not in ("csr", "csc"):
        check_matrix("graph", graph)
        entries = (graph.copy() if graph.format == "lil" else graph).tocoo()  # SciPy converts no read-only LIL arrays
        wide = {"i": np.int64, "u": np.uint64, "f": np.float64}.get(entries.dtype.kind, entries.dtype)
        values = entries.data.astype(wide, copy=False) if with_values else np.ones(entries.nnz, np.int8)
        graph = scipy.sparse.csr_array((values, (entries.row, entries.col)), shape=graph.shape)
    if with_values and len(graph.data) < len(graph.indices):
        raise ValueError(f"graph has {len(graph.indices)} indices, but {len(graph.data)} values")
    return graph.indptr, graph.indices, graph.data, graph.format == "csc"
