"""matching.maximum for a graph on the GPU: the matching stays on the GPU, and only a few counts are copied to the host.

Returns a Matching whose arrays are those of the caller's library.

Arrays (n rows, m columns)
  row_match[r], col_match[c]   partner, or -1
  given                        the caller's initial matching: the column of each row, or -1
  found                        numbers of rows of `given` with an invalid entry, by kind

One race: threads whose rows of `given` hold the same column c exchange -1 for their row in col_match[c] by
compare-and-swap.  One of them succeeds, and the others are counted in found[TWICE].

O(n + m + edges of the rows matched in `given`), in addition to the initial matching and the search.
"""

import time

import numpy as np

from gridcut.device.arrays import (
    allocate,
    download,
    on_device,
    overwrite,
    refusing,
    synchronize,
    to_library,
    upload,
    widened,
    wrap_device_array,
)
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel
from gridcut.device.cuda_types import int32, int64
from gridcut.device.launch import launch
from matching import methods
from matching.core.device_graph import DeviceBipartiteGraph
from matching.core.grid_cuda import add_up
from matching.core.limits_cuda import check_sides
from matching.core.matching import Matching, wrong_columns, wrong_dtype, wrong_shape
from matching.core.matching_cuda import as_library_array, clear, matched

THREADS = 32 if SIMULATED else 256
OUTSIDE, NO_EDGE, TWICE = range(3)  # in found


@cuda_kernel
def start_kernel(given, start, stride, row_ptr, row_adj, row_match, col_match, found):
    """Write both sides of a given matching, and count the rows that violate it."""
    r = int64(cuda.grid(1))
    outside, missing, twice = int64(0), int64(0), int64(0)
    if r < row_match.size:
        c = int64(given[start + r * stride])
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


def match(graph: DeviceBipartiteGraph, chosen: tuple, start, begin: float) -> Matching:
    """Match a graph on the GPU; chosen: the result of `methods.choose`, begin: the time at which the call began."""
    device, method, init, keywords = chosen
    check_sides(*graph.shape)
    initialise, solve = initialiser(init), methods.METHODS[method].on("cuda").function
    with refusing():
        row_match, col_match = start_on_gpu(start, graph)
        initial = pairs_of(row_match, graph) if start is not None else 0
        ready = time.perf_counter()
        init_stats, initialised = {}, ready
        stats = {"edges": 0, "phases": 0, "path_length": 0}
        cardinality = initial
        if graph.edges:
            if initialise is not None:
                init_stats = initialise(graph, row_match, col_match)
                initial = pairs_of(row_match, graph)
                initialised = time.perf_counter()
            stats = solve(graph.lists, row_match, col_match, **keywords)
            cardinality = pairs_of(row_match, graph)
        end = time.perf_counter()
        stats["seconds"] = {"check": ready - begin, "init": initialised - ready, "solve": end - initialised}
        stats |= {"initial": initial, "init": init_stats, "augmentations": cardinality - initial}
        matches = (
            as_library_array(a, n, graph.library) for a, n in zip((row_match, col_match), graph.shape, strict=True)
        )
        return Matching(*matches, cardinality, method, init, device, stats, graph)


def initialiser(init: str):
    """The function of an initial matching for a graph and a matching on the GPU; None for "none"."""
    entry = methods.INITS[init]

    def on_gpu(graph, row_match, col_match) -> dict:
        return entry.cuda.function(graph.lists, row_match, col_match)

    def on_host(graph, row_match, col_match) -> dict:
        matches = download(row_match), download(col_match)
        stats = entry.cpu.function(graph.host(), *matches)
        for there, here in zip((row_match, col_match), matches, strict=True):
            overwrite(there, here)
        return stats

    return on_gpu if entry.cuda else on_host if entry.cpu else None


def start_on_gpu(start, graph: DeviceBipartiteGraph):
    """(row_match, col_match) on the GPU, all -1 if start is None; raises ValueError if it is not a matching."""
    rows, cols = graph.shape
    row_match, col_match = allocate((rows, np.int32), (cols, np.int32))
    clear(row_match, col_match)
    if start is None:
        return row_match, col_match
    start = getattr(start, "row_match", start)
    if not on_device(start):
        start = np.asarray(start)
    if tuple(start.shape) != (rows,):
        raise wrong_shape(start.shape, rows)
    if not rows:
        return row_match, col_match
    given = wrap_device_array("start", to_library(start, "numba") if isinstance(start, np.ndarray) else start)
    if given.dtype.kind not in "iu":
        raise wrong_dtype(given.dtype)
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
    array = (given.data, np.int64(given.start), np.int64(given.strides[0]))
    launch(start_kernel, -(-rows // THREADS), THREADS, *array, ptr, adj, row_match, col_match, found)
    counts = download(found)
    if counts[OUTSIDE]:
        raise wrong_columns(cols)
    for wrong, what in ((NO_EDGE, "are matched along no edge"), (TWICE, "share a column with another")):
        if counts[wrong]:
            raise ValueError(f"start must be a matching in the graph: {counts[wrong]} rows {what}; set such rows to -1")
    return row_match, col_match


def pairs_of(row_match, graph: DeviceBipartiteGraph) -> int:
    """The number of matched rows."""
    return matched(row_match) if graph.edges else 0
