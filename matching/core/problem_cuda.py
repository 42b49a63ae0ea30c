"""Transfer of matching problems to the GPU and back: the only module that copies graphs and matchings.

Arrays on the GPU, as in matching/core/graph.py: row_ptr and col_ptr int64; row_adj, col_adj, row_match and col_match
int32.

Only the side of the graph that exists on the host is uploaded; building the other on the GPU is faster than copying it.
"""

import time
from typing import Any, NamedTuple

import numpy as np

from gridcut.device.arrays import download, refusing, synchronize, upload
from matching.core.graph import BipartiteGraph
from matching.core.limits_cuda import check_sides
from matching.core.transpose_cuda import transposed

# Entries of `counts` after a kernel; a solver's further counts follow.
EDGES, PHASES, PATH_LENGTH, LEVELS = range(4)


class DeviceGraph(NamedTuple):
    """A bipartite graph on the GPU."""

    row_ptr: Any
    row_adj: Any
    col_ptr: Any
    col_adj: Any


class MatchedGraph(NamedTuple):
    """A graph and its matching, as a kernel reads them. X is the side that acts: the rows, or the columns."""

    x_ptr: Any  # neighbours in Y of x: x_adj[x_ptr[x]:x_ptr[x + 1]]
    x_adj: Any
    y_ptr: Any
    y_adj: Any
    mate_x: Any  # partner in Y, or -1: unmatched
    mate_y: Any


def on_gpu(run, graph: BipartiteGraph, row_match, col_match, **parameters) -> dict:
    """Change a matching on the host in place by a function of a graph and a matching on the GPU; returns its stats.

    run   run(graph, row_match, col_match, **parameters) -> stats

    A graph without edges is not transferred.
    """
    if not graph.edges:
        return {"edges": 0, "phases": 0, "augmentations": 0, "path_length": 0, "seconds": {}}
    check_sides(*graph.shape)
    times = [time.perf_counter()]
    before = int(np.count_nonzero(row_match >= 0))
    with refusing():
        on_device = uploaded(graph)
        matches = upload(row_match), upload(col_match)
        synchronize()
        times.append(time.perf_counter())
        stats = run(on_device, *matches, **parameters)
        synchronize()
        times.append(time.perf_counter())
        row_match[:], col_match[:] = (download(a) for a in matches)
    times.append(time.perf_counter())
    seconds = {name: times[i + 1] - times[i] for i, name in enumerate(("upload", "search", "download"))}
    augmentations = int(np.count_nonzero(row_match >= 0)) - before
    return {**stats, "augmentations": augmentations, "seconds": seconds}


def uploaded(graph: BipartiteGraph) -> DeviceGraph:
    """Both sides of a graph on the GPU."""
    if graph.has_rows:
        rows = upload(graph.row_ptr), upload(graph.row_adj)
        return DeviceGraph(*rows, *transposed(*rows, graph.cols))
    cols = upload(graph.col_ptr), upload(graph.col_adj)
    return DeviceGraph(*transposed(*cols, graph.rows), *cols)


def as_stats(counts) -> dict:
    """The counts that all kernels share, by name."""
    return dict(zip(("edges", "phases", "path_length", "levels"), counts.tolist(), strict=False))
