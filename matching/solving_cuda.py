"""matching.maximum for a graph on the GPU: the matching stays on the GPU, and only a few counts are copied to the host.

Returns a Matching whose arrays are those of the caller's library.  A matching to start from is checked on the host, for
which the graph is copied once.
"""

import time

import numpy as np

from gridcut.device.arrays import allocate, download, overwrite, refusing
from matching import methods
from matching.core.graph import DeviceBipartiteGraph
from matching.core.limits_cuda import check_sides
from matching.core.matching import Matching, start_on_host
from matching.core.matching_cuda import as_library_array, clear, matched


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
    matches = allocate(*((size, np.int32) for size in graph.shape))
    clear(*matches)
    if start is not None:
        for there, here in zip(matches, start_on_host(start, graph.host()), strict=True):
            if graph.edges:
                overwrite(there, here)
    return matches


def pairs_of(row_match, graph: DeviceBipartiteGraph) -> int:
    """The number of matched rows."""
    return matched(row_match) if graph.edges else 0
