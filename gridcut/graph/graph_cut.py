"""`GraphCut`, the minimum cut of a sparse graph: value, labels, residuals, and a certificate of optimality."""

from dataclasses import dataclass, field

import numpy as np
import scipy

from gridcut.device.result import Result
from gridcut.graph.graph_problem import GraphProblem, lists_of
from gridcut.graph.residual_graph import ResidualGraph, fill_graph


class KeptGraph:
    """The problem of a cut and the solver's final state; a pickled copy of a stale cut holds neither.

    solver   its `epoch` changes when it modifies the state; None: the state belongs to the cut

    The first call completes the state to a flow.
    """

    def __init__(self, problem: GraphProblem | None, graph: ResidualGraph | None, solver=None):
        self._problem, self._graph = problem, graph
        self._is_flow = False
        self._solver = solver
        self._epoch = None if solver is None else solver.epoch

    def __call__(self) -> tuple[GraphProblem, ResidualGraph]:
        problem = self.problem
        assert self._graph is not None
        if not self._is_flow:
            from gridcut.graph.graph_completion import complete_graph  # with kernels that a solve does not need

            self._graph = complete_graph(problem, self._graph)
            self._is_flow = True
        return problem, self._graph

    @property
    def problem(self) -> GraphProblem:
        if self._problem is None or self._graph is None or not self._is_current:
            raise RuntimeError(
                "this cut is stale: its GraphSolver was updated or solved again; call residual(), flow() and check() "
                "before that"
            )
        return self._problem

    @property
    def _is_current(self) -> bool:
        return self._solver is None or self._solver.epoch == self._epoch

    def __reduce__(self):
        return KeptGraph, self() if self._is_current and self._problem is not None else (None, None)


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
    _nodes: list | None = field(default=None, repr=False)  # the nodes of a networkx graph

    @property
    def bound(self) -> float | None:
        """Bound to which float capacities were clamped, which leaves the minimum cuts as they are; None without one."""
        return self._kept.problem.bound

    def partition(self) -> tuple[set, set]:
        """The nodes of the source side and of the sink side: of a networkx graph the nodes themselves, else integers.

        Of a networkx graph, these are the sets that ``networkx.minimum_cut`` returns.
        """
        nodes = range(self.labels.size) if self._nodes is None else self._nodes
        sides: tuple[set, set] = (set(), set())
        for node, is_source in zip(nodes, self.labels.tolist(), strict=True):
            sides[not is_source].add(node)
        return sides

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
