"""Completion of a solver's final pseudoflow on a graph to a flow, as gridcut/core/completion.py does on a grid.

Leaves that were solved before the search, changed capacities and pushes on a GPU leave flow that a node cannot have
received from the source, or has to get from elsewhere before it can pass it to the sink:

  source side   e - s > 0 must return along residual arcs, to nodes where it is < 0
  sink side     -(e + t) > 0 must be supplied against residual arcs, from nodes where it is < 0

No residual arc leads from the source side to the sink side, so one solve without arcs between them serves both, with
the arcs of the sink side reversed.  The flow across the cut, and so value and labels, remain.

Time: one pass over the nodes; a second search only if a node has such an excess or deficit.  Memory of that: a copy of
the residual graph, and the lists of a search.
"""

import numpy as np

from gridcut.core.units import scale_of, units
from gridcut.device import CertificateError, kernel
from gridcut.graph.graph_forest import make_graph_forest, make_graph_work
from gridcut.graph.graph_problem import GraphProblem, lists_of
from gridcut.graph.graph_search import UNTIL_SINK, search_nodes
from gridcut.graph.residual_graph import ARC, BACK, OUT, REVERSE, ResidualGraph, fill_graph


@kernel
def terminal_units_kernel(values, scale, out):
    """Write terminal capacities in units."""
    for u in range(out.size):
        out[u] = units(values[u], scale)


@kernel
def detach_graph_kernel(sink_side, first, arcs, excess, source, sink, out_arcs, out_excess):
    """Build the problem above from a solver's state."""
    for u in range(excess.size):
        out_excess[u] = -sink[u] - excess[u] if sink_side[u] else excess[u] - source[u]
        a = np.uint64(first[u])
        end = np.uint64(first[u + 1])
        while a < end:
            v = np.uint64(arcs[a])
            out, back = arcs[a + OUT], arcs[a + BACK]
            if sink_side[u] != sink_side[v]:
                out, back = 0, 0
            elif sink_side[u]:
                out, back = back, out
            out_arcs[a] = v
            out_arcs[a + REVERSE] = arcs[a + REVERSE]
            out_arcs[a + OUT] = out
            out_arcs[a + BACK] = back
            a += ARC


@kernel
def attach_graph_kernel(sink_side, first, arcs, source, sink, out_arcs, out_excess):
    """Turn the solution of that problem into a state in place."""
    for u in range(out_excess.size):
        out_excess[u] = -sink[u] - out_excess[u] if sink_side[u] else out_excess[u] + source[u]
        a = np.uint64(first[u])
        end = np.uint64(first[u + 1])
        while a < end:
            if sink_side[u] != sink_side[np.uint64(arcs[a])]:
                out_arcs[a + OUT] = arcs[a + OUT]
                out_arcs[a + BACK] = arcs[a + BACK]
            elif sink_side[u]:
                out_arcs[a + OUT], out_arcs[a + BACK] = out_arcs[a + BACK], out_arcs[a + OUT]
            a += ARC


def complete_graph(problem: GraphProblem, graph: ResidualGraph) -> ResidualGraph:
    """The graph itself if it holds a flow, or else a graph with a flow of the same value; `graph` is not changed.

    Raises CertificateError if the state does not belong to the capacities.
    """
    source, sink = _terminals(problem, graph)
    if ((graph.excess <= source) & (graph.excess >= -sink)).all():
        return graph
    sink_side = _search(graph)
    arcs, excess = np.empty_like(graph.arcs), np.empty_like(graph.excess)
    detach_graph_kernel(sink_side, graph.first, graph.arcs, graph.excess, source, sink, arcs, excess)
    _search(graph._replace(arcs=arcs, excess=excess))
    if (excess > 0).any():
        raise CertificateError(
            "the preflow cannot be completed to a flow; were the capacities changed after the solve?"
        )
    attach_graph_kernel(sink_side, graph.first, graph.arcs, source, sink, arcs, excess)
    return graph._replace(arcs=arcs, excess=excess)


def _terminals(problem: GraphProblem, graph: ResidualGraph) -> tuple[np.ndarray, np.ndarray]:
    """Capacities from the source and to the sink in units; of a clamped problem, in which one of them is 0."""
    lists = lists_of(problem)
    if problem.bound is not None:
        start = fill_graph(problem, lists, graph.dtype, graph.unit)[0].excess
        return np.maximum(start, 0), np.maximum(-start, 0)
    scale = scale_of(graph.unit, None)
    source, sink = np.empty_like(graph.excess), np.empty_like(graph.excess)
    terminal_units_kernel(lists.source, scale, source)
    terminal_units_kernel(lists.sink, scale, sink)
    return source, sink


def _search(graph: ResidualGraph) -> np.ndarray:
    """Push what can reach a deficit, in place; the nodes that can still reach one."""
    forest = make_graph_forest(graph)
    search_nodes(UNTIL_SINK, graph.first, graph.arcs, graph.excess, forest, make_graph_work(graph))
    return forest.label < 0
