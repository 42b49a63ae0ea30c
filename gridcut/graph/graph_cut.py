"""`GraphCut`, the minimum cut of a sparse graph: value, labels, residuals, and a certificate of optimality."""

from dataclasses import dataclass, field

import numpy as np
import scipy

from gridcut.core.solve_exactly import Kept
from gridcut.core.units import scale_of, units
from gridcut.device import CertificateError, plain_kernel
from gridcut.device.result import Result
from gridcut.graph.graph_forest import make_graph_forest, make_graph_work
from gridcut.graph.graph_problem import GraphProblem, lists_of
from gridcut.graph.graph_search import UNTIL_SINK, search_nodes
from gridcut.graph.residual_graph import ARC, BACK, OUT, REVERSE, ResidualGraph, fill_graph


class KeptGraph(Kept):
    """The problem of a cut and the solver's final state; a pickled copy of a stale cut holds neither.

    The first call completes the state to a flow.
    """

    kind = "GraphSolver"

    def __init__(self, problem: GraphProblem | None, graph: ResidualGraph | None, solver=None):
        super().__init__(solver, problem is not None)
        self._problem, self._graph = problem, graph
        self._is_flow = False

    def __call__(self) -> tuple[GraphProblem, ResidualGraph]:
        problem = self.problem
        assert self._graph is not None
        if not self._is_flow:
            self._graph = complete_graph(problem, self._graph)
            self._is_flow = True
        return problem, self._graph

    @property
    def problem(self) -> GraphProblem:
        self.require()
        assert self._problem is not None
        return self._problem

    def __reduce__(self):
        return KeptGraph, self() if self.is_current else (None, None)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GraphCut(Result):
    """A minimum cut of a sparse graph and its maximum flow.

    Attributes
    ----------
    value : int or float
        Capacity of the cut, which equals the value of the maximum flow; summed from the caller's capacities.
    labels : ndarray of bool, shape (n,)
        True on the source side.  A node is on the sink side if and only if it can still reach the sink in the final
        residual graph; that set is the same for every maximum flow.
    device : str
        "cpu" or "cuda", where it ran.
    method : str
        Method that ran.
    stats : dict
        Counters of the solver, "seconds" per phase, "dtype" of the residuals, and "unit": 1 for integers, or the power
        of two to whose multiples floats were rounded down.

    Notes
    -----
    `residual`, `flow` and `check` read the arrays passed to `graph_max_flow` again, which are kept by reference, not
    copied: they are valid only as long as those arrays are unchanged.
    """

    value: int | float
    labels: np.ndarray
    device: str
    method: str
    stats: dict
    _kept: KeptGraph = field(repr=False)

    @property
    def bound(self) -> float | None:
        """Bound to which float capacities were clamped, which leaves the minimum cuts as they are; None without one."""
        return self._kept.problem.bound

    def partition(self) -> tuple[set, set]:
        """The nodes of the source side and of the sink side."""
        return set(np.flatnonzero(self.labels).tolist()), set(np.flatnonzero(~self.labels).tolist())

    def residual(self) -> "scipy.sparse.csr_array":
        """Residual capacities between nodes under the maximum flow of `flow`, in the caller's unit.

        Returns
        -------
        scipy.sparse.csr_array of shape (n, n)
            One entry for each pair of nodes with an entry in the graph, in both directions; zeros are stored.

        Raises
        ------
        RuntimeError
            If the cut is stale: its `GraphSolver` was updated or solved again.
        """
        problem, graph = self._kept()
        return _matrix(problem, graph, graph.arcs[2::4].copy())

    def flow(self) -> "scipy.sparse.csr_array":
        """Net flow between nodes of a maximum flow, in the caller's unit; negative in the opposite direction.

        The sum of a row is what the node gets from the source minus what it passes to the sink.

        Returns
        -------
        scipy.sparse.csr_array of shape (n, n)
            One entry for each pair of nodes with an entry in the graph, in both directions; zeros are stored.

        Raises
        ------
        RuntimeError
            If the cut is stale: its `GraphSolver` was updated or solved again.
        """
        problem, graph = self._kept()
        empty, _ = fill_graph(problem, lists_of(problem), graph.dtype, graph.unit)
        return _matrix(problem, graph, empty.arcs[2::4] - graph.arcs[2::4])

    def check(self) -> None:
        """Certify that the cut is minimal and the labels are right, and the flow, from the caller's capacities.

        Raises CertificateError unless the flow of `flow` is within the capacities and conserved at every node, no
        residual arc leads from the source side to the sink side, every node of the sink side reaches the sink, and the
        value is that of the flow and the capacity of the cut.  O(entries log degree).
        """
        from gridcut.graph.graph_certificate import certify_graph  # with kernels that a solve does not need

        certify_graph(self.value, self.labels, *self._kept())


def _matrix(problem: GraphProblem, graph: ResidualGraph, values: np.ndarray) -> "scipy.sparse.csr_array":
    """The matrix with one value per arc, in units."""
    if isinstance(graph.unit, float):
        values = values * graph.unit
    heads = graph.arcs[::4].copy()
    return scipy.sparse.csr_array((values, heads, graph.first // 4), shape=(problem.nodes, problem.nodes))


# Completion of a solver's final pseudoflow on a graph to a flow, as gridcut/core/cut.py does on a grid.
#
# Leaves that were solved before the search, changed capacities and pushes on a GPU leave flow that a node cannot have
# received from the source, or has to get from elsewhere before it can pass it to the sink:
#
#   source side   e - s > 0 must return along residual arcs, to nodes where it is < 0
#   sink side     -(e + t) > 0 must be supplied against residual arcs, from nodes where it is < 0
#
# No residual arc leads from the source side to the sink side, so one solve without arcs between them serves both,
# with the arcs of the sink side reversed.  The flow across the cut, and so value and labels, remain.
#
# Time: one pass over the nodes; a second search only if a node has such an excess or deficit.  Memory of that: a copy
# of the residual graph, and the lists of a search.


@plain_kernel
def terminal_units_kernel(values, scale, out):
    """Write terminal capacities in units."""
    for u in range(out.size):
        out[u] = units(values[u], scale)


@plain_kernel
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


@plain_kernel
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
