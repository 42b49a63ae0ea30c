"""A bipartite graph from a caller's arrays on a GPU: read in place, validated on the GPU, the other side built there.

Arrays (n rows, m columns)
  ptr, adj           the caller's, with any stride, int32 or int64; row r has adj[ptr[r]:ptr[r + 1]]
  own_ptr, own_adj   the same as the solvers read them, contiguous int64 and int32; the caller's own arrays if possible
  found              counts, by the names below

Lists in which every entry is larger than the one before are sorted and without duplicates. All entries not larger than
their predecessor are counted, except at the start of a row. Other lists are copied to the host, which sorts them.

O(n + m + edges); no memory in addition to the graph, or one copy of it.
"""

import numpy as np

from gridcut.device import cuda_is_available
from gridcut.device.arrays import (
    DeviceArray,
    allocate,
    download,
    on_device,
    refusing,
    synchronize,
    upload,
    widened,
    wrap_device_array,
)
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel
from gridcut.device.cuda_types import int32, int64
from gridcut.device.launch import launch
from matching.core.graph import DeviceBipartiteGraph, graph_of_rows
from matching.core.grid_cuda import add_up
from matching.core.problem_cuda import DeviceGraph
from matching.core.sparse import checked_shape
from matching.core.transpose_cuda import transposed

THREADS = 32 if SIMULATED else 256
BLOCKS = 1 if SIMULATED else 2048
DISORDERED, OUTSIDE, DESCENTS, EDGES = range(4)  # in found


@cuda_kernel
def read_kernel(ptr, ptr_start, ptr_step, adj, adj_start, adj_step, number, cols, to_copy, own_ptr, own_adj, found):
    """Count invalid entries in `found`; write own_ptr (to_copy & 1) and own_adj (to_copy & 2)."""
    rows = own_ptr.size - 1
    thread = int64(cuda.grid(1))
    threads = int64(cuda.gridsize(1))
    edges = min(int64(ptr[ptr_start + rows * ptr_step]), number)
    disordered, outside, descents = int64(0), int64(0), int64(0)
    r = thread
    while r <= rows:
        pointer = int64(ptr[ptr_start + r * ptr_step])
        following = int64(ptr[ptr_start + (r + 1) * ptr_step]) if r < rows else number
        if following < pointer or (r == 0 and pointer != 0):
            disordered += 1
        # The first entry of a row may be smaller than its predecessor.
        elif r < rows and 0 < pointer < following <= edges:
            first = adj_start + pointer * adj_step
            if int64(adj[first]) <= int64(adj[first - adj_step]):
                descents -= 1
        if to_copy & 1:
            own_ptr[r] = pointer
        r += threads
    k = thread
    while k < edges:
        position = adj_start + k * adj_step
        c = int64(adj[position])
        if c < 0 or c >= cols:
            outside += 1
        if k > 0 and c <= int64(adj[position - adj_step]):
            descents += 1
        if to_copy & 2:
            own_adj[k] = int32(c)
        k += threads
    add_up(found, int32(DISORDERED), disordered)
    add_up(found, int32(OUTSIDE), outside)
    add_up(found, int32(DESCENTS), descents)
    if thread == 0:
        found[EDGES] = edges


def device_graph(graph) -> DeviceBipartiteGraph:
    """A validated graph from a tuple (indptr, indices, shape), or from a CSR or CSC matrix, with arrays on the GPU.

    Raises TypeError for an argument that is not a graph on this GPU, ValueError for invalid pointers and indices.
    """
    if isinstance(graph, DeviceBipartiteGraph):
        return graph
    require_gpu()
    by_col = getattr(graph, "format", "csr") == "csc"
    indptr, indices, shape = parts_of(graph, ("csr", "csc"))
    rows, cols = checked_shape(shape)
    with refusing():
        sizes = (cols, rows) if by_col else (rows, cols)
        indptr, indices = integers("indptr", indptr), integers("indices", indices)
        synchronize()  # the caller's library may still be writing its arrays
        ptr, adj, ascending = read_lists(indptr, indices, *sizes)
        if adj is None:
            return DeviceBipartiteGraph(rows, cols, 0, None, indices.library)
        if not ascending:
            on_host = graph_of_rows(download(ptr), download(adj), sizes)
            ptr, adj = upload(on_host.row_ptr), upload(on_host.row_adj)
        side, other = (ptr, adj), transposed(ptr, adj, sizes[1])
        lists = DeviceGraph(*other, *side) if by_col else DeviceGraph(*side, *other)
        return DeviceBipartiteGraph(rows, cols, adj.size, lists, indices.library)


def parts_of(graph, formats: tuple[str, ...]) -> tuple:
    """(indptr, indices, shape) of a tuple, or of a matrix in one of these formats."""
    if isinstance(graph, tuple):
        if len(graph) != 3:
            raise TypeError(f"graph as a tuple must be (indptr, indices, shape), got {len(graph)} parts")
        return graph
    form = getattr(graph, "format", "csr")
    if form not in formats:
        known = " or ".join(formats).upper().replace(" OR ", " or ")
        raise TypeError(f"graph on the GPU must be in {known} format, got {form}; pass graph.tocsr()")
    return graph.indptr, graph.indices, graph.shape


def require_gpu() -> None:
    """Raise TypeError if numba has no GPU."""
    if not cuda_is_available():
        raise TypeError(
            "graph has its arrays on a GPU, but no CUDA solver is available; copy them to the host, or install "
            "numba-cuda (cutmatch's extra cuda13 or cuda12)"
        )


def integers(name: str, value) -> DeviceArray:
    """A one-dimensional array of int32 or int64 on the GPU."""
    if not on_device(value):
        raise TypeError(f"{name} is on the host, but the other array of graph is on the GPU; copy one of them")
    array = wrap_device_array(name, value)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be a one-dimensional array of integers, got {array.dtype}, {array.shape}")
    return array if array.dtype in (np.int32, np.int64) else wrap_device_array(name, widened(value, np.dtype(np.int64)))


def contiguous_or_new(array: DeviceArray, dtype) -> tuple:
    """(contiguous array of this dtype, whether it must be filled): the caller's own if possible, else a new one."""
    if array.size and array.dtype == dtype and array.strides == (1,):
        return array.data[array.start : array.start + array.size], False
    return allocate((array.size, dtype))[0], True


def read_lists(indptr: DeviceArray, indices: DeviceArray, rows: int, cols: int) -> tuple:
    """(ptr, adj, whether each list ascends), validated; adj is None if there are no entries."""
    if indptr.size != rows + 1:
        raise ValueError(f"indptr must have {rows + 1} entries, one per row and one for the end, got {indptr.size}")
    number = indices.size
    (ptr, new_ptr), (adj, new_adj) = (
        contiguous_or_new(indptr, np.dtype(np.int64)),
        contiguous_or_new(indices, np.dtype(np.int32)),
    )
    given = indices if number else DeviceArray(adj, 0, (1,), (0,), np.dtype(np.int32), indices.library)
    found = upload(np.zeros(4, np.int64))
    blocks = max(1, min(BLOCKS, -(-max(rows + 1, number) // THREADS)))
    launch(
        read_kernel,
        blocks,
        THREADS,
        *(indptr.data, np.int64(indptr.start), np.int64(indptr.strides[0])),
        *(given.data, np.int64(given.start), np.int64(given.strides[0])),
        *(np.int64(number), np.int64(cols), np.int64(new_ptr + 2 * new_adj), ptr[: rows + 1], adj, found),
    )
    counts = download(found)
    if counts[DISORDERED]:
        raise ValueError(f"indptr must ascend from 0 to at most {number}, the number of indices")
    if counts[OUTSIDE]:
        raise ValueError(f"indices must be 0 to {cols - 1}, but {counts[OUTSIDE]} of them are not")
    edges = int(counts[EDGES])
    return ptr[: rows + 1], adj[:edges] if edges else None, not counts[DESCENTS]
