"""The cut of a graph of integers by a method whose graphs are built on the GPU; gridcut/graph/graph_methods.py."""

from functools import partial

from gridcut.core.solve_exactly import Clock, solve_exactly
from gridcut.graph import graph_methods
from gridcut.graph.graph_cut import GraphCut, KeptGraph
from gridcut.graph.graph_load_cuda import (
    FlowOnDevice,
    LoadedGraph,
    fetch_graph,
    fits_device,
    labels_and_value,
    load_on_device,
)
from gridcut.graph.graph_problem import GraphProblem, lists_of

__all__ = ["cut_on_device", "fits_device"]


def cut_on_device(problem: GraphProblem, nodes: list | None, name: str, start: float) -> GraphCut:
    """As `gridcut.graph.graph_flow.cut_of_graph`, for a problem that `fits_device`.

    The residuals remain on the GPU until the cut first needs them.
    """
    find = graph_methods.METHODS[name].on_device
    assert find is not None
    solve = find()
    lists = lists_of(problem)

    def load(bound):
        return load_on_device(problem, lists)

    def run(state: LoadedGraph):
        return None, solve(state.graph)

    def value(state: LoadedGraph, _):
        return *labels_and_value(state), None

    found = solve_exactly(load, run, value, Clock(start))
    graph, is_paired = found.state.graph, found.state.is_paired
    flow = FlowOnDevice(graph.row, graph.residual, graph.excess, is_paired)
    kept = KeptGraph(problem, partial(fetch_graph, flow, problem))
    return GraphCut(found.value, found.labels, "cuda", name, found.stats, kept, nodes)
