"""An undirected graph from a caller's arrays on a GPU, checked there; and its greedy matching as the caller wants it.

Arrays (n vertices)
  ptr, adj      as in matching/general/general_graph.py: neighbours of v are adj[ptr[v]:ptr[v + 1]], ascending
  weight[k]     of entry k; int64 or float64
  partner[v]    -1: free
  picked[v]     the weight of the edge that v is matched along to a higher vertex, 0 for others
  found[0]      entries that are not as they should be: v's own number, no entry back, or with another weight, or a
                weight that is negative, not finite, or so large that their sum might not be

A graph in which anything is found goes to the host, where it is put in order, or refused with the reason.

O(n + m log(largest degree)); 4 or 8 bytes a vertex beside the graph.
"""

import numpy as np
from numba import float64, int32, int64

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
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel, device_function
from gridcut.device.launch import launch
from matching.core.device_graph_cuda import flat, integers, read_lists, refuse_without_gpu
from matching.core.grid_cuda import add_up
from matching.core.sparse import checked_shape
from matching.general.device_general_graph import DeviceGeneralGraph
from matching.general.general_graph import check_graph
from matching.portfolio.portfolio_cuda import matched
from matching.solving_cuda import as_library_array, clear_kernel

THREADS = 32 if SIMULATED else 256
BLOCKS = 1 if SIMULATED else 2048


@device_function
def entry_of(ptr, adj, v, w):
    """Where v's list holds w; -1: nowhere."""
    low = ptr[v]
    end = ptr[v + 1]
    high = end
    while low < high:
        middle = (low + high) >> 1
        if adj[middle] < w:
            low = middle + 1
        else:
            high = middle
    return low if low < end and adj[low] == w else int64(-1)


@cuda_kernel
def survey_kernel(ptr, adj, weight, weighted, most, found):
    """A warp for each vertex; counts in found."""
    n = ptr.size - 1
    thread = int64(cuda.grid(1))
    threads = int64(cuda.gridsize(1))
    wrong = int64(0)
    v = thread >> 5
    while v < n:
        k = ptr[v] + (thread & 31)
        while k < ptr[v + 1]:
            w = int64(adj[k])
            back = entry_of(ptr, adj, w, v) if w != v else int64(-1)
            if back < 0:
                wrong += 1
            elif weighted and not (weight[k] == weight[back] and 0 <= weight[k] <= most):
                wrong += 1
            k += 32
        v += threads >> 5
    add_up(found, int32(0), wrong)


@cuda_kernel
def pick_kernel(ptr, adj, weight, partner, picked):
    """Writes picked."""
    v = int64(cuda.grid(1))
    if v < picked.size:
        w = partner[v]
        picked[v] = weight[entry_of(ptr, adj, v, w)] if w > v else weight.dtype.type(0)


def general_graph(graph, weight=None) -> DeviceGeneralGraph:
    """matching.general.general_graph.check_graph for arrays on the GPU."""
    if isinstance(graph, DeviceGeneralGraph) and weight is None:
        return graph
    refuse_without_gpu()
    name = "weight"
    if isinstance(graph, tuple):
        if len(graph) != 3:
            raise TypeError(f"graph as a tuple must be (indptr, indices, shape), got {len(graph)} parts")
        indptr, indices, shape = graph
    else:
        form = getattr(graph, "format", "csr")
        if form not in ("csr", "csc") or (form == "csc" and weight is not None):
            raise TypeError(f"graph on the GPU must be in CSR, got {form}; pass graph.tocsr()")
        indptr, indices, shape = graph.indptr, graph.indices, graph.shape
        if weight is None:
            weight, name = graph.data, "graph"
    n, m = checked_shape(shape)
    if n != m:
        raise ValueError(f"graph must be square, one row for each vertex; got shape {(n, m)}")
    with refusing():
        indptr, indices = integers("indptr", indptr), integers("indices", indices)
        weight = None if weight is None else weights(name, weight, indices.size)
        synchronize()  # the caller's library may still be writing its arrays
        ptr, adj, ascending = read_lists(indptr, indices, n, n)
        if adj is None:
            return DeviceGeneralGraph(n, None, None, None if weight is None else weight.dtype, indices.library)
        values = None if weight is None else in_one_piece(weight)[: adj.size]
        if not ascending or not is_clean(ptr, adj, values):
            on_host = (download(ptr), download(adj), (n, n)), None if values is None else download(values)
            ptr, adj, values = (None if a is None else upload(a) for a in check_graph(*on_host))
        return DeviceGeneralGraph(n, ptr, adj, values, indices.library)


def weights(name: str, value, number: int) -> DeviceArray | None:
    """One weight for each entry, int64 or float64; None for those of a boolean matrix."""
    if not on_device(value):
        raise TypeError(f"{name} lies on the host and graph on the GPU; copy one to the other")
    array = wrap_device_array(name, value)
    if array.dtype == bool:
        return None
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got {array.dtype}")
    if array.shape != (number,):
        raise ValueError(f"{name} must have one value for each stored entry, {(number,)}; got {array.shape}")
    kind = np.dtype(np.float64 if array.dtype.kind == "f" else np.int64)
    return array if array.dtype == kind else wrap_device_array(name, widened(value, kind))


def in_one_piece(array: DeviceArray):
    """A one-dimensional array without gaps; one that has gaps is put together on the host."""
    data, missing = flat(array, array.dtype)
    return upload(array.host()) if missing else data


def is_clean(ptr, adj, values) -> bool:
    """Whether the solvers can take the graph as it is."""
    found = upload(np.zeros(1, np.int64))
    weight = upload(np.zeros(1, np.int64)) if values is None else values
    if weight.dtype == np.int64:
        most = np.int64(np.iinfo(np.int64).max // adj.size)
    else:
        most = np.float64(np.finfo(np.float64).max / adj.size)
    blocks = min(BLOCKS, -(-32 * (ptr.size - 1) // THREADS))
    launch(survey_kernel, blocks, THREADS, ptr, adj, weight, np.int32(values is not None), most, found)
    return not download(found)[0]


def nobody_matched(graph: DeviceGeneralGraph):
    """The partners before the first is found."""
    (partner,) = allocate((graph.n, np.int32))
    launch(clear_kernel, -(-max(graph.n, 1) // THREADS), THREADS, partner, partner)
    return partner


def outcome(graph: DeviceGeneralGraph, partner) -> tuple:
    """(partner as an array of the caller's library, pairs, their weight).

    Floats are added in the order of vertices, as on the CPU, so that both find the same sum.
    """
    size = matched(partner) // 2 if graph.edges else 0
    weight = size
    if graph.weighted:
        weight = 0
        if graph.edges:
            (picked,) = allocate((graph.n, graph.weight.dtype))
            launch(pick_kernel, -(-graph.n // THREADS), THREADS, graph.ptr, graph.adj, graph.weight, partner, picked)
            weight = np.add.accumulate(download(picked))[-1].item()
    return as_library_array(partner, graph.n, graph.library), size, weight


def kernels():
    """Name, kernel and argument types of what is compiled."""
    ids, longs = int32[::1], int64[::1]
    listed = []
    for kind in (int64, float64):
        listed.append((f"survey {kind}", survey_kernel, (longs, ids, kind[::1], int32, kind, longs)))
        listed.append((f"pick {kind}", pick_kernel, (longs, ids, kind[::1], ids, kind[::1])))
    return listed
