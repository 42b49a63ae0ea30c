"""`GraphSolver`: similar minimum-cut problems on one graph, each solved from the flow of the one before."""

from typing import Any

import numpy as np

from gridcut.core.load import INT32_MAX
from gridcut.core.problem import as_capacity
from gridcut.core.solve_exactly import Clock, solve_exactly
from gridcut.core.units import CAPACITY_LIMIT, scale_of
from gridcut.device.arguments import one_at_a_time
from gridcut.device.sparse import is_sparse
from gridcut.graph.graph_cut import GraphCut, KeptGraph
from gridcut.graph.graph_problem import (
    GraphProblem,
    check_graph,
    check_graph_problem,
    check_terminal,
    first_bad_value,
    lists_of,
)
from gridcut.graph.graph_search import GraphMemory
from gridcut.graph.graph_value import value_of_graph
from gridcut.graph.graph_warm import change_capacities, change_terminals
from gridcut.graph.residual_graph import LoadedProblem, ResidualGraph, largest_incident_sum, largest_value, load_graph


class GraphSolver:
    """Solve a sequence of similar minimum-cut problems on one sparse graph, warm-starting each from the previous flow.

    Every result is exact.

    Parameters
    ----------
    graph, source, sink
        As in `graph_max_flow`.  The arrays are copied, so later changes of the caller's arrays have no effect.

    Raises
    ------
    TypeError, ValueError
        As `graph_max_flow`.

    See Also
    --------
    graph_max_flow : the minimum cut of one graph.

    Notes
    -----
    Residuals and certificate of a cut are available until the next `update` or `solve`; its value and labels remain
    valid.  If more than a tenth of the nodes change, the next solve keeps the flow and searches from scratch.  Memory:
    that of `graph_max_flow`, and one copy of all capacities.

    An interrupt of `update` changes all capacities or none; after one of `solve`, the next solve starts cold.  Copies
    and pickles are independent: they have the capacities, without the flow.  A solver that another thread is using
    raises RuntimeError; different solvers are independent.

    References
    ----------
    .. [1] Kohli, Torr. "Dynamic graph cuts for efficient inference in Markov random fields." PAMI 29(12), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> solver = GraphSolver(csr_array(np.array([[0, 2], [2, 0]])), np.array([9, 0]), np.array([0, 9]))
    >>> solver.solve().value
    2
    >>> solver.update(sink=np.array([0, 1]))
    >>> solver.solve().value
    1
    """

    _is_running = False  # see one_at_a_time

    def __init__(self, graph: Any, source: Any, sink: Any):
        given = check_graph_problem(graph, source, sink)
        self.epoch = 0
        self._problem = given._replace(
            indptr=given.indptr.copy(),
            indices=given.indices.copy(),
            **{name: getattr(given, name).copy() for name in ("capacity", "source", "sink")},
        )
        _check_values(self._problem)
        self._held: LoadedProblem | None = None  # the state of the last solve, with its forests

    @one_at_a_time
    def update(self, *, source: Any = None, sink: Any = None, capacity: Any = None) -> None:
        """Change some capacities; the others keep their values.  If an error is raised, no capacity has changed.

        Parameters
        ----------
        source, sink : array_like of shape (n,), or scalar, optional
            New capacities from the source and to the sink.
        capacity : array_like, scalar, or sparse matrix, optional
            New capacities of the graph's entries, in the order of the entries (for a SciPy matrix, those of its
            ``tocsr()``); or a graph as the solver was created with, with the same entries.

        Raises
        ------
        TypeError, ValueError
            As `graph_max_flow`; also if the entries are others, and for float capacities if all were integers before.
        """
        new = problem = self._problem
        if capacity is not None:
            new = new._replace(capacity=self._entries(capacity).copy())
        if source is not None:
            new = new._replace(source=check_terminal("source", source, problem.nodes).copy())
        if sink is not None:
            new = new._replace(sink=check_terminal("sink", sink, problem.nodes).copy())
        for name in ("capacity", "source", "sink"):
            if getattr(new, name).dtype.kind == "f" and not problem.is_float:
                raise TypeError(f"{name} must hold integers like the capacities so far, got {getattr(new, name).dtype}")
        _check_values(new)
        if new is not problem:
            self.epoch += 1
            self._problem = new

    @one_at_a_time
    def solve(self) -> GraphCut:
        """Compute the minimum cut for the current capacities.

        Returns
        -------
        GraphCut
            As `graph_max_flow` returns it.  Its `residual` and `check` can be called until the next `update` or
            `solve`.

        Raises
        ------
        ValueError
            As `graph_max_flow`.
        """
        clock = Clock()
        self.epoch += 1
        problem, lists = self._problem, lists_of(self._problem)
        held, self._held = self._held, None  # until this solve is complete: an error may leave it half changed
        touched = None
        if held is not None and _fits(held.graph, held.problem, lists):
            touched = _apply(held.graph, held.problem, problem, lists)
            held = held._replace(problem=problem)
        else:
            held = None

        def load(bound):
            nonlocal held, touched
            held = touched = None  # frees the memory of the state
            loaded = load_graph(problem._replace(bound=bound), lists)
            return loaded._replace(memory=GraphMemory(loaded.graph))

        def solve(state: LoadedProblem):
            return state.memory.solve(touched)

        def value(state: LoadedProblem, sink_side):
            labels = ~sink_side
            return labels, *value_of_graph(state.problem, lists, labels, state.unit)

        found = solve_exactly(load, solve, value, clock, held, arcs="graph")
        kept = KeptGraph(found.state.problem, found.state.graph, self)
        self._held = found.state
        return GraphCut(found.value, found.labels, "cpu", "ibfs", found.stats, kept)

    def _entries(self, capacity) -> np.ndarray:
        """The capacities of all entries from an argument of `update`."""
        problem = self._problem
        if is_sparse(capacity) or isinstance(capacity, tuple):
            nodes, indptr, indices, values = check_graph(capacity)
            same = nodes == problem.nodes and np.array_equal(indptr, problem.indptr)
            if not same or not np.array_equal(indices[: indptr[-1]], problem.indices[: problem.entries]):
                raise ValueError(
                    "capacity must have the entries of the solver's graph, in the same order; create a new GraphSolver "
                    "for another graph"
                )
            return values
        values = as_capacity("capacity", capacity)
        if values.ndim and values.shape != (problem.entries,):
            raise ValueError(
                f"capacity must be a scalar or have one value for each of the {problem.entries} entries of the graph, "
                f"got shape {values.shape}"
            )
        return values

    @one_at_a_time
    def __getstate__(self) -> dict:
        """What copies and pickles hold: everything except the flow."""
        return {**self.__dict__, "_held": None, "_is_running": False}


def _fits(graph: ResidualGraph, old: GraphProblem, lists) -> bool:
    """Whether the capacities of a graph can be changed to these: same type, same unit, not clamped."""
    if old.bound is not None:
        return False
    largest = [float(largest_value(values)[0]) for values in (lists.source, lists.sink)]
    zeros = np.zeros(graph.nodes, np.float64)
    largest.append(largest_incident_sum(lists.indptr, lists.indices, lists.capacity, np.inf, 1.0, zeros))
    # Together with those before, since entries change one after another.
    limit = CAPACITY_LIMIT / 4 if graph.excess.dtype == np.int64 else INT32_MAX / 2
    return sum(largest) / graph.unit <= limit and _graph_total(graph) <= limit


def _graph_total(graph: ResidualGraph) -> float:
    """The largest sum of residuals and excess of a node, in units."""
    return float(np.abs(graph.excess).max(initial=0)) + float(graph.arcs[2::4].max(initial=0))


def _apply(graph: ResidualGraph, old: GraphProblem, new: GraphProblem, lists) -> np.ndarray:
    """Change the capacities of a graph from an old problem to a new one; the changed nodes, with repetitions."""
    before = lists_of(old)
    scale = scale_of(graph.unit, None)
    touched = np.empty(graph.nodes + 2 * lists.indices.size, graph.first.dtype)
    count = change_terminals(lists.source, lists.sink, before.source, before.sink, scale, graph.excess, touched)
    if old.capacity is not new.capacity:
        count += change_capacities(
            lists.indptr,
            lists.indices,
            lists.capacity,
            before.capacity,
            scale,
            graph.first,
            graph.arcs,
            graph.excess,
            touched[count:],
        )
    return touched[:count].copy()


def _check_values(problem: GraphProblem) -> None:
    """Raise ValueError for a negative capacity or NaN."""
    lists = lists_of(problem)
    if any(largest_value(values)[1] for values in (lists.source, lists.sink, lists.capacity)):
        raise first_bad_value(problem, lists)
