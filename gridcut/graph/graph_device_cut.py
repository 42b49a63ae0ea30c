"""The cut of a graph of integers by a method whose graphs are built on the GPU; gridcut/graph/graph_methods.py."""

import time
from functools import partial

from gridcut.graph import graph_methods
from gridcut.graph.graph_cut import GraphCut, KeptGraph
from gridcut.graph.graph_load_cuda import FlowOnDevice, fetch_graph, fits_device, labels_and_value, load_on_device
from gridcut.graph.graph_problem import GraphProblem, lists_of

__all__ = ["cut_on_device", "fits_device"]


def cut_on_device(problem: GraphProblem, nodes: list | None, name: str, start: float) -> GraphCut:
    """As `gridcut.graph.graph_flow.cut_of_graph`, for a problem that `fits_device`.

    The residuals remain on the GPU until the cut first needs them.
    """
    solve = graph_methods.METHODS[name].on_device
    assert solve is not None
    loaded = load_on_device(problem, lists_of(problem))
    moments = [start, time.perf_counter()]
    stats = solve(loaded.graph)
    moments.append(time.perf_counter())
    labels, value = labels_and_value(loaded)
    moments.append(time.perf_counter())
    spent = (end - begin for begin, end in zip(moments[:-1], moments[1:], strict=True))
    graph = loaded.graph
    stats = {
        **stats,
        "seconds": dict(zip(("load", "solve", "value"), spent, strict=True)),
        "dtype": graph.excess.dtype.name,
        "unit": 1,
    }
    flow = FlowOnDevice(graph.row, graph.residual, graph.excess, loaded.is_paired)
    return GraphCut(value, labels, "cuda", name, stats, KeptGraph(problem, partial(fetch_graph, flow, problem)), nodes)
