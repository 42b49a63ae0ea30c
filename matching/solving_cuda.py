"""The device path of matching.maximum: a graph on the GPU in, a matching on the GPU out; a few numbers come back.

Returns a Matching whose arrays are those of the caller's library.

Arrays (n rows, m columns)
  row_match[r], col_match[c]   partner, or -1
  given                        a caller's matching to begin with: the column of each row, or -1
  found                        what was counted

No races but one: rows of `given` that want the same column exchange -1 for their name there, so one gets it and the
others are counted.

O(n + m + edges of the rows matched in `given`), and what the initial matching and the search take.
"""

import time

import numpy as np
from numba import int32, int64

from gridcut.device import resolve
from gridcut.device.arrays import (
    allocate,
    download,
    on_device,
    refusing,
    return_as,
    synchronize,
    to_library,
    upload,
    widened,
    wrap_device_array,
)
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel
from gridcut.device.launch import launch
from matching import methods
from matching.core.device_graph import DeviceBipartiteGraph
from matching.core.device_graph_cuda import device_graph
from matching.core.grid_cuda import add_up
from matching.core.limits_cuda import check_sides
from matching.core.matching import Matching
from matching.portfolio.portfolio_cuda import matched

THREADS = 32 if SIMULATED else 256
OUTSIDE, NO_EDGE, TWICE = range(3)  # in found


@cuda_kernel
def free_kernel(row_match, col_match):
    """Nobody is matched."""
    v = int64(cuda.grid(1))
    if v < row_match.size:
        row_match[v] = int32(-1)
    if v < col_match.size:
        col_match[v] = int32(-1)


@cuda_kernel
def start_kernel(given, start, step, row_ptr, row_adj, row_match, col_match, found):
    """Writes both sides of a given matching, and counts what is none."""
    r = int64(cuda.grid(1))
    outside, missing, twice = int64(0), int64(0), int64(0)
    if r < row_match.size:
        c = int64(given[start + r * step])
        if c < -1 or c >= col_match.size:
            outside = int64(1)
        elif c >= 0:
            k = row_ptr[r]
            end = row_ptr[r + 1]
            while k < end and row_adj[k] != c:
                k += 1
            if k == end:
                missing = int64(1)
            elif cuda.atomic.cas(col_match, c, int32(-1), int32(r)) >= 0:
                twice = int64(1)
            else:
                row_match[r] = int32(c)
    add_up(found, int32(OUTSIDE), outside)
    add_up(found, int32(NO_EDGE), missing)
    add_up(found, int32(TWICE), twice)


def maximum(graph, method, init, device, start, threads, parameters, begin=None) -> Matching:
    """matching.maximum for a graph on the GPU, with all its arguments; begin: when the call did."""
    begin = time.perf_counter() if begin is None else begin
    if device != "auto" and resolve(device) == "cpu":
        raise TypeError("graph lies on the GPU, but device='cpu' was asked for; copy its arrays to the host first")
    checked = device_graph(graph)
    check_sides(*checked.shape)
    device, method, init, keywords = methods.choose(method, init, "cuda", threads, parameters)
    fill, search = methods.fill_on_gpu(init), methods.search_on_gpu(method)
    with refusing():
        row_match, col_match = start_of(start, checked)
        initial = pairs_of(row_match, checked) if start is not None else 0
        ready = time.perf_counter()
        init_stats, initialised = {}, ready
        stats = {"edges": 0, "phases": 0, "path_length": 0}
        cardinality = initial
        if checked.edges:
            if fill is not None:
                init_stats = fill(checked.lists, row_match, col_match)
                initial = pairs_of(row_match, checked)
                initialised = time.perf_counter()
            stats = search(checked.lists, row_match, col_match, **keywords)
            cardinality = pairs_of(row_match, checked)
        end = time.perf_counter()
        stats["seconds"] = {"check": ready - begin, "init": initialised - ready, "solve": end - initialised}
        stats |= {"initial": initial, "init": init_stats, "augmentations": cardinality - initial}
        matches = (handed(a, n, checked.library) for a, n in zip((row_match, col_match), checked.shape, strict=True))
        return Matching(*matches, cardinality, method, init, device, stats, checked)


def start_of(start, graph: DeviceBipartiteGraph):
    """(row_match, col_match) to begin with, on the GPU; raises ValueError for what is no matching in the graph."""
    rows, cols = graph.shape
    row_match, col_match = allocate((rows, np.int32), (cols, np.int32))
    launch(free_kernel, -(-max(rows, cols, 1) // THREADS), THREADS, row_match, col_match)
    if start is None:
        return row_match, col_match
    start = getattr(start, "row_match", start)
    if not on_device(start):
        start = np.asarray(start)
    if tuple(start.shape) != (rows,):
        raise ValueError(f"start must hold the column of each of the {rows} rows, got shape {tuple(start.shape)}")
    if not rows:
        return row_match, col_match
    given = wrap_device_array("start", to_library(start, "numba") if isinstance(start, np.ndarray) else start)
    if given.dtype.kind not in "iu":
        raise TypeError(f"start must hold integers, the column of each row or -1, got dtype {given.dtype}")
    if given.dtype not in (np.int32, np.int64):
        given = wrap_device_array(
            "start", widened(start if on_device(start) else to_library(start, "numba"), np.dtype(np.int64))
        )
    synchronize()
    if graph.edges:
        ptr, adj = graph.lists.row_ptr, graph.lists.row_adj
    else:
        ptr, adj = upload(np.zeros(rows + 1, np.int64)), upload(np.zeros(1, np.int32))
    found = upload(np.zeros(3, np.int64))
    place = (given.data, np.int64(given.start), np.int64(given.strides[0]))
    launch(start_kernel, -(-rows // THREADS), THREADS, *place, ptr, adj, row_match, col_match, found)
    counts = download(found)
    if counts[OUTSIDE]:
        raise ValueError(f"start must hold columns in 0 ... {cols - 1}, or -1 for none")
    for wrong, what in ((NO_EDGE, "are matched along no edge"), (TWICE, "share a column with another")):
        if counts[wrong]:
            raise ValueError(f"start must be a matching in the graph: {counts[wrong]} rows {what}")
    return row_match, col_match


def pairs_of(row_match, graph: DeviceBipartiteGraph) -> int:
    """How many rows are matched."""
    return matched(row_match) if graph.edges else 0


def handed(match, size: int, library: str):
    """A match as an array of the caller's library; one without elements has no memory to share."""
    return return_as(match, library) if size else to_library(np.zeros(0, np.int32), library)


def kernels():
    """Name, kernel and argument types of what is compiled."""
    ids, longs = int32[::1], int64[::1]
    starts = [
        (f"start {kind}", start_kernel, (kind[::1], int64, int64, longs, ids, ids, ids, longs))
        for kind in (int32, int64)
    ]
    return [("free", free_kernel, (ids, ids)), *starts]
