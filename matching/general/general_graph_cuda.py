"""Validate an undirected graph in a caller's arrays on a GPU, and return its greedy matching as the caller's arrays.

Arrays (n vertices)
  ptr, adj      as in matching/general/general_graph.py: neighbours of v are adj[ptr[v]:ptr[v + 1]], ascending
  weight[k]     of entry k; int64 or float64
  partner[v]    partner or -1
  picked[v]     weight of the edge that matches v to a higher vertex, 0 for other v
  found[0]      number of invalid entries: v itself, an entry without its mirror entry or with another weight there, a
                weight that is negative, not finite, or so large that the sum might overflow

A graph with invalid entries is copied to the host, which brings it into order or rejects it with the reason.

O(n + m log(maximum degree)); 4 or 8 bytes per vertex in addition to the graph.
"""

import numpy as np

from gridcut.device.arguments import INT64_MAX
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
from gridcut.device.cuda_types import int32, int64
from gridcut.device.launch import launch
from matching.core.device_graph_cuda import contiguous_or_new, integers, parts_of, read_lists, require_gpu
from matching.core.grid_cuda import add_up
from matching.core.matching_cuda import as_library_array, clear, matched
from matching.core.sparse import checked_shape
from matching.general.general_graph import DeviceGeneralGraph, check_graph

THREADS = 32 if SIMULATED else 256
BLOCKS = 1 if SIMULATED else 2048


@device_function
def find_entry(ptr, adj, v, w):
    """Index of w in v's list; -1: not in it."""
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
def survey_kernel(ptr, adj, weight, weighted, max_weight, found):
    """One warp per vertex; counts invalid entries in found."""
    n = ptr.size - 1
    thread = int64(cuda.grid(1))
    threads = int64(cuda.gridsize(1))
    n_wrong = int64(0)
    v = thread >> 5
    while v < n:
        k = ptr[v] + (thread & 31)
        while k < ptr[v + 1]:
            w = int64(adj[k])
            back = find_entry(ptr, adj, w, v) if w != v else int64(-1)
            if back < 0:
                n_wrong += 1
            elif weighted and not (weight[k] == weight[back] and 0 <= weight[k] <= max_weight):
                n_wrong += 1
            k += 32
        v += threads >> 5
    add_up(found, int32(0), n_wrong)


@cuda_kernel
def pick_kernel(ptr, adj, weight, partner, picked):
    """Writes picked."""
    v = int64(cuda.grid(1))
    if v < picked.size:
        w = partner[v]
        picked[v] = weight[find_entry(ptr, adj, v, w)] if w > v else weight.dtype.type(0)


def general_graph(graph, weight=None) -> DeviceGeneralGraph:
    """matching.general.general_graph.check_graph for arrays on the GPU."""
    if isinstance(graph, DeviceGeneralGraph) and weight is None:
        return graph
    require_gpu()
    name = "weight"
    indptr, indices, shape = parts_of(graph, ("csr", "csc") if weight is None else ("csr",))
    if weight is None and not isinstance(graph, tuple):
        weight, name = graph.data, "graph"
    n, m = checked_shape(shape)
    if n != m:
        raise ValueError(f"graph must be square, with one row per vertex; got shape {(n, m)}")
    with refusing():
        indptr, indices = integers("indptr", indptr), integers("indices", indices)
        weight = None if weight is None else checked_weights(name, weight, indices.size)
        synchronize()  # the caller's library may still be writing its arrays
        ptr, adj, ascending = read_lists(indptr, indices, n, n)
        if adj is None:
            return DeviceGeneralGraph(n, None, None, None if weight is None else weight.dtype, indices.library)
        values = None if weight is None else contiguous(weight)[: adj.size]
        if not ascending or not is_clean(ptr, adj, values):
            on_host = (download(ptr), download(adj), (n, n)), None if values is None else download(values)
            ptr, adj, values = (None if a is None else upload(a) for a in check_graph(*on_host))
        return DeviceGeneralGraph(n, ptr, adj, values, indices.library)


def checked_weights(name: str, value, number: int) -> DeviceArray | None:
    """One weight per entry, int64 or float64; None for the values of a boolean matrix."""
    if not on_device(value):
        raise TypeError(f"{name} is on the host, but graph is on the GPU; copy one of them")
    array = wrap_device_array(name, value)
    if array.dtype == bool and name == "graph":
        return None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got {array.dtype}")
    if array.shape != (number,):
        raise ValueError(f"{name} must have one value per stored entry, shape {(number,)}; got {array.shape}")
    kind = np.dtype(np.float64 if array.dtype.kind == "f" else np.int64)
    return array if array.dtype == kind else wrap_device_array(name, widened(value, kind))


def contiguous(array: DeviceArray):
    """The array as a contiguous one; an array with gaps is packed on the host."""
    data, is_new = contiguous_or_new(array, array.dtype)
    return upload(array.host()) if is_new else data


def is_clean(ptr, adj, values) -> bool:
    """Whether the solvers accept the graph as it is."""
    found = upload(np.zeros(1, np.int64))
    weight = upload(np.zeros(1, np.int64)) if values is None else values
    if weight.dtype == np.int64:
        max_weight = np.int64(INT64_MAX // adj.size)
    else:
        max_weight = np.float64(np.finfo(np.float64).max / adj.size)
    blocks = min(BLOCKS, -(-32 * (ptr.size - 1) // THREADS))
    launch(survey_kernel, blocks, THREADS, ptr, adj, weight, np.int32(values is not None), max_weight, found)
    return not download(found)[0]


def all_unmatched(graph: DeviceGeneralGraph):
    """The partner array of the empty matching."""
    (partner,) = allocate((graph.n, np.int32))
    clear(partner, partner)
    return partner


def outcome(graph: DeviceGeneralGraph, partner) -> tuple:
    """(partner as an array of the caller's library, number of pairs, their weight).

    Floats are summed in vertex order, as on the CPU, so that both devices return the same sum.
    """
    cardinality = matched(partner) // 2 if graph.edges else 0
    weight = cardinality
    if graph.weighted:
        weight = 0
        if graph.edges:
            (picked,) = allocate((graph.n, graph.weight.dtype))
            launch(pick_kernel, -(-graph.n // THREADS), THREADS, graph.ptr, graph.adj, graph.weight, partner, picked)
            weight = np.add.accumulate(download(picked))[-1].item()
    return as_library_array(partner, graph.n, graph.library), cardinality, weight
