"""`graph_max_flow`: the minimum cut of any sparse graph, from arrays to labels."""

import time
from typing import Any, Literal

from gridcut.core.solve_exactly import Clock, solve_exactly
from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_name
from gridcut.device.choose import Implementation, Method, cuda_is_available
from gridcut.graph.graph_cut import GraphCut, KeptGraph
from gridcut.graph.graph_problem import GraphProblem, check_graph_problem, lists_of
from gridcut.graph.graph_value import value_of_graph
from gridcut.graph.residual_graph import LoadedProblem, load_graph


def graph_max_flow(
    graph: Any,
    source: Any,
    sink: Any,
    *,
    method: str = "auto",
    device: DeviceName = "auto",
) -> GraphCut:
    """Compute the minimum cut and maximum flow between a source and a sink over the nodes of a sparse graph.

    Parameters
    ----------
    graph : scipy.sparse matrix or array of shape (n, n), or tuple (indptr, indices, capacity, shape)
        The entry at (u, v) is the capacity from node u to node v.  An undirected edge has an entry in both directions.
        Entries may be in any order; those at the same position are summed, those on the diagonal are ignored.
        In a tuple, node u has the entries indptr[u] to indptr[u + 1]; `capacity` has one value per entry or is a
        scalar; `shape` is (n, n).
    source, sink : array_like of shape (n,), or scalar
        Capacity from the source to each node, and from each node to the sink.  In an energy, `source` is the cost of
        labelling a node False (sink side) and `sink` the cost of True; ``inf`` forbids a label.
    method : str
        "auto", the fastest method, or one of `gridcut.graph.graph_flow.METHODS`.
    device : {"auto", "cpu", "cuda"}
        "auto" uses an NVIDIA GPU, if there is one, for graphs of integers with a million entries or more, and for
        methods that run on nothing else; otherwise the CPU.  "cuda" uses a GPU, or raises RuntimeError if that is
        impossible.  The method "auto" is "ibfs" on the CPU and "waves" on a GPU.

    Returns
    -------
    GraphCut
        ``value``, ``labels`` (True: source side), statistics, flow, residuals and certificate.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    RuntimeError
        If `device` is not available, or the method does not run on it.
    ValueError
        If indices or shapes do not fit, or if a capacity is negative or NaN.  If integer capacities incident to a node
        sum to 2^63 - 1 or more, also without those that no minimum cut contains.  If infinite capacities lead from the
        source to the sink (every cut is infinite), or if float capacities differ too much in magnitude to be
        represented together.

    See Also
    --------
    max_flow : the minimum cut of a grid.
    GraphSolver : repeated solves after changes of some capacities.

    Notes
    -----
    Capacities have the types of `max_flow`, and the same precision: integers are exact, floats are rounded down to
    multiples of a power of two, ``stats["unit"]``.  Float capacities may be infinite; integers whose sum at a
    node int64 does not hold are clamped, so ``sys.maxsize`` stands for no limit.

    The residual graph is built in O(n + entries).  Building is fastest if every row is sorted, without repetitions and
    diagonal, and every edge is stored in both directions.  Memory: 16 bytes per direction of an edge, 24 for floats and
    for integers whose sum at a node can reach 2^31, and 40 bytes per node.  Graphs with many trees or chains need at
    most 28 bytes more per node; trees are solved in O(n).

    References
    ----------
    .. [1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> graph = csr_array(np.array([[0, 2, 0], [2, 0, 2], [0, 2, 0]]))
    >>> cut = graph_max_flow(graph, np.array([9, 4, 0]), np.array([0, 3, 9]))
    >>> cut.value, cut.labels
    (5, array([ True,  True, False]))
    """
    start = time.perf_counter()
    problem = check_graph_problem(graph, source, sink)
    return cut_of_graph(problem, *choose(device, method, problem), start)


def cut_of_graph(problem: GraphProblem, device: Literal["cpu", "cuda"], name: str, start: float) -> GraphCut:
    """The cut of a checked problem by the method `name`.

    start   the perf_counter() from which time is measured
    """
    lists = lists_of(problem)
    solver = METHODS[name].on(device).function

    def load(bound):
        return load_graph(problem if bound is None else problem._replace(bound=bound), lists)

    def solve(state: LoadedProblem):
        return solver(state.graph)

    def value(state: LoadedProblem, sink_side):
        labels = ~sink_side
        return labels, *value_of_graph(state.problem, lists, labels, state.unit)

    found = solve_exactly(load, solve, value, Clock(start), arcs="graph")
    kept = KeptGraph(found.state.problem, found.state.graph)
    return GraphCut(found.value, found.labels, device, name, found.stats, kept)


# The methods of `graph_max_flow` by name, and the rule behind ``method="auto"``.

DEFAULTS = {"cpu": "ibfs", "cuda": "waves"}
GPU_ENTRIES = 10**6  # entries from which on a GPU is as fast as the CPU, or faster, on all families that were measured


# ``solve(graph)`` changes a ResidualGraph on the host in place; it returns the mask of the nodes that can still reach
# the sink, and stats, a new dict of counters.  No method has parameters.
METHODS = {
    "ibfs": Method(Implementation("gridcut.graph.graph_search:solve")),
    "waves": Method(cuda=Implementation("gridcut.graph.graph_waves_cuda:solve")),
}


def choose(device: DeviceName, method: str, problem: GraphProblem) -> tuple[Literal["cpu", "cuda"], str]:
    """The device and the name of the method that will run.

    Raises TypeError, ValueError or RuntimeError if they are unknown or unavailable.
    """
    check_name("method", method, METHODS)
    if device != "auto":
        ran_on = resolve(device)
    elif method != "auto":
        ran_on = "cpu" if METHODS[method].cpu is not None else resolve("cuda")
    else:
        ran_on = "cuda" if is_faster_on_gpu(problem) else "cpu"
    name = DEFAULTS[ran_on] if method == "auto" else method
    entry = METHODS[name]
    if getattr(entry, ran_on) is None:
        other = "cpu" if ran_on == "cuda" else "cuda"
        raise RuntimeError(f"method {name!r} does not run on device={ran_on!r}; use device={other!r}")
    return ran_on, name


def is_faster_on_gpu(problem: GraphProblem) -> bool:
    """Whether there is a GPU, and the problem, of integers, is large enough for it, and not too large."""
    if problem.is_float or problem.entries < GPU_ENTRIES or not cuda_is_available():
        return False
    from gridcut.graph.graph_waves_cuda import MAX_ARCS, MAX_NODES

    return problem.nodes < MAX_NODES and 2 * problem.entries <= MAX_ARCS
