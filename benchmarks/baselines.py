"""Other programs for the same problems: BASELINES[problem][name].

`prepare` gets a problem, makes the form that suits the program, outside of the clock, and returns a callable without
arguments, or None for a problem that the program does not support (in minutes).  What the callable returns:

    grids, graphs    the value, and labels: True = source side; thinhpf has no function for labels: None
    labels           labels after expansions or swaps until convergence
    assignment       the optimal cost; lapx: of its fastest function for the matrix, whose name is its __name__
    matching         the number of pairs
    cost flow        the optimal cost

None of them is needed to use cutmatch: a baseline that is not installed is listed as missing.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import scipy.sparse

from benchmarks.graph_instances import grid_edges

EXACT_FLOAT32 = 2**24
LARGEST_FOR_ORTOOLS = 2000  # rows of a dense matrix: it holds every pair as an arc of a graph
LARGEST_FOR_LAPMOD = 10**6  # it rejects larger costs
LABELS_FOR_SWAPS = 32  # of PyMaxflow, which scans all pixels for each pair of labels
SHORT = 0.01  # seconds of a call of lapx that is repeated to find the fastest function


class Baseline(NamedTuple):
    """A program."""

    module: str
    distribution: str
    prepare: Callable

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None


def installed(problem: str) -> dict[str, Baseline]:
    """The baselines of a problem that are installed."""
    return {name: one for name, one in BASELINES[problem].items() if one.installed}


def grid_pymaxflow(problem):
    """Boykov and Kolmogorov's program; building the graph is timed."""
    import maxflow

    def run():
        shape = problem.source.shape
        graph = maxflow.Graph[int](problem.source.size, len(problem.edges) * problem.source.size)
        ids = graph.add_grid_nodes(shape)
        for offset, weights in problem.edges.items():
            structure = np.zeros((3,) * len(shape))
            structure[tuple(1 + o for o in offset)] = 1
            graph.add_grid_edges(ids, weights=weights, structure=structure, symmetric=True)
        graph.add_grid_tedges(ids, problem.source, problem.sink)
        value = graph.maxflow()
        return value, ~graph.get_grid_segments(ids)

    return run


def network_of(graph, source, sink):
    """All arcs of the network with two more nodes, n: the source, n + 1: the sink."""
    arcs = graph.tocoo()
    n = graph.shape[0]
    keep = arcs.row != arcs.col
    given, taken = np.flatnonzero(source), np.flatnonzero(sink)
    tails = np.concatenate([arcs.row[keep], np.full(len(given), n), taken])
    heads = np.concatenate([arcs.col[keep], given, np.full(len(taken), n + 1)])
    return n, tails, heads, np.concatenate([arcs.data[keep], source[given], sink[taken]])


def labels_of(n, nodes):
    """The labels of n nodes, of which these, perhaps with terminals, are on the source side."""
    labels = np.zeros(n + 2, bool)
    labels[nodes] = True
    return labels[:n]


def graph_pymaxflow(graph, source, sink):
    """Edges with the capacities of both directions if the graph is symmetric, else arcs."""
    import maxflow

    arcs = graph.tocoo()
    is_symmetric = (graph != graph.T).nnz == 0
    keep = arcs.row < arcs.col if is_symmetric else arcs.row != arcs.col
    row, col, capacity = arcs.row[keep], arcs.col[keep], arcs.data[keep]
    backward = capacity if is_symmetric else np.zeros_like(capacity)

    def run():
        built = maxflow.Graph[int](len(source), len(row))
        nodes = built.add_nodes(len(source))
        built.add_edges(row, col, capacity, backward)
        built.add_grid_tedges(nodes, source, sink)
        return built.maxflow(), ~built.get_grid_segments(nodes)

    return run


def graph_thinhpf(graph, source, sink):
    import thinhpf

    n, tails, heads, capacity = network_of(graph, source, sink)
    arcs = tails.astype(np.uint32), heads.astype(np.uint32), capacity.astype(np.int32)

    def run():
        built = thinhpf.hpf(n + 2, len(tails))
        built.add_node(n + 2)
        built.set_source(n)
        built.set_sink(n + 1)
        built.add_edges(*arcs)
        built.mincut()
        return built.compute_maxflow(), None

    return run


def graph_scipy(graph, source, sink):
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    n, tails, heads, capacity = network_of(graph, source, sink)
    network = scipy.sparse.csr_array((capacity.astype(np.int32), (tails, heads)), shape=(n + 2, n + 2))

    def run():
        solved = maximum_flow(network, n, n + 1)
        residual = scipy.sparse.csr_array(network - solved.flow)
        residual.eliminate_zeros()
        return int(solved.flow_value), labels_of(n, breadth_first_order(residual, n, return_predecessors=False))

    return run


def graph_igraph(graph, source, sink):
    import igraph

    n, tails, heads, capacity = network_of(graph, source, sink)
    ends, capacity = np.stack([tails, heads], 1), capacity.tolist()

    def run():
        found = igraph.Graph(n + 2, ends, directed=True).mincut(n, n + 1, capacity)
        return int(found.value), labels_of(n, found.partition[0])

    return run


def graph_ortools(graph, source, sink):
    from ortools.graph.python import max_flow

    n, tails, heads, capacity = network_of(graph, source, sink)

    def run():
        solver = max_flow.SimpleMaxFlow()
        solver.add_arcs_with_capacity(tails, heads, capacity)
        solver.solve(n, n + 1)
        return solver.optimal_flow(), labels_of(n, solver.get_source_side_min_cut())

    return run


def labels_gco(problem, move, start):
    """gco-wrapper around GCO 3.0 (research only); it takes the start pixel by pixel unless that is all zero."""
    for name, kind in (("int", int), ("float", float)):  # aliases numpy has dropped and the wrapper still reads
        if name not in np.__dict__:
            setattr(np, name, kind)
    from gco import pygco

    count, height, width = problem.unary.shape

    def run():
        graph = pygco.GCO()
        graph.create_general_graph(height * width, count, False)
        graph.set_data_cost(np.ascontiguousarray(problem.unary.reshape(count, -1).T))
        right = np.broadcast_to(problem.weights[0, 1], (height, width))[:, :-1]
        down = np.broadcast_to(problem.weights[1, 0], (height, width))[:-1]
        near, far = grid_edges(height, width)
        graph.set_all_neighbors(near, far, np.concatenate([right.ravel(), down.ravel()]).astype(np.intc))
        graph.set_smooth_cost(np.ascontiguousarray(problem.cost))
        if start.any():
            for pixel, label in enumerate(start.ravel().tolist()):
                graph.init_label_at_site(pixel, label)
        (graph.swap if move == "swap" else graph.expansion)(-1)
        labels = graph.get_labels().reshape(height, width)
        graph.destroy_graph()
        return labels

    return run


def labels_pymaxflow(problem, move, start):
    """PyMaxflow's fastmin: one weight for all edges."""
    from maxflow.fastmin import abswap_grid, aexpansion_grid

    weights = {weight for of in problem.weights.values() for weight in np.unique(of).tolist()}
    if len(weights) > 1 or (move == "swap" and len(problem.unary) > LABELS_FOR_SWAPS):
        return None
    unary = np.ascontiguousarray(np.moveaxis(problem.unary, 0, -1)).astype(np.int64)
    solve = abswap_grid if move == "swap" else aexpansion_grid
    return lambda: solve(unary, (weights.copy().pop() * problem.cost).astype(np.int64), labels=start.astype(np.int64))


def assignment_scipy(cost):
    if scipy.sparse.issparse(cost):
        from scipy.sparse.csgraph import min_weight_full_bipartite_matching

        low = int(cost.data.min()) - 1  # a stored 0 would be an absent entry
        graph = scipy.sparse.csr_array((cost.data.astype(np.float64) - low, cost.indices, cost.indptr), cost.shape)

        def run():
            row, col = min_weight_full_bipartite_matching(graph)
            return float(graph[row, col].sum()) + low * len(row)

        return run
    from scipy.optimize import linear_sum_assignment

    numbers = cost.astype(np.float64)
    return lambda: numbers[linear_sum_assignment(numbers)].sum()


def assignment_ortools(cost):
    """Filling the graph is timed, since there is no other interface."""
    from ortools.graph.python import linear_sum_assignment

    if not scipy.sparse.issparse(cost):
        n, m = cost.shape
        if n != m or n > LARGEST_FOR_ORTOOLS:
            return None
        row, col = (a.ravel().astype(np.int32) for a in np.indices(cost.shape))
        values = cost.ravel().astype(np.int64)
    else:
        row = np.repeat(np.arange(cost.shape[0], dtype=np.int32), np.diff(cost.indptr))
        col, values = cost.indices.astype(np.int32), cost.data.astype(np.int64)

    def run():
        solver = linear_sum_assignment.SimpleLinearSumAssignment()
        solver.add_arcs_with_cost(row, col, values)
        if solver.solve() != solver.OPTIMAL:
            raise AssertionError("OR-tools found no optimum")
        return solver.optimal_cost()

    return run


def assignment_lapx(cost, names=None):
    """The fastest of lapx's functions (of those of `names`) for the matrix, by one call, or by three short ones."""
    fastest, least = None, np.inf
    for run in lapx_functions(cost):
        if names is None or run.__name__ in names:
            taken = []
            while len(taken) < 3 and (not taken or taken[-1] < SHORT):
                begin = time.perf_counter()
                run()
                taken.append(time.perf_counter() - begin)
            if min(taken) < least:
                fastest, least = run, min(taken)
    return fastest


def lapx_functions(cost) -> list[Callable]:
    """All of lapx's functions for a matrix, each as a callable of its name that returns the cost."""
    import lap

    if scipy.sparse.issparse(cost):
        if cost.data.max(initial=0) >= LARGEST_FOR_LAPMOD:
            return []
        matrix = cost.shape[0], cost.data.astype(np.float64), cost.indptr.astype(np.int32), cost.indices
        return [_named("lapmod", lap.lapmod, *matrix)]
    extend = {"extend_cost": cost.shape[0] != cost.shape[1]}
    calls = [("lapjv", extend), ("lapjvx", extend), ("lapjvs", {"prefer_float32": False})]
    calls = [(name, options, np.float64) for name, options in [*calls, ("lapjvr", extend), ("lapjvh", extend)]]
    if np.issubdtype(cost.dtype, np.integer) and np.abs(cost).max(initial=0) < EXACT_FLOAT32:
        calls += [("lapjvs", {}, np.float32), ("lapjvr", extend, np.float32), ("lapjvh", extend, np.float32)]
    numbers = {dtype: np.ascontiguousarray(cost, dtype) for _, _, dtype in calls}
    return [
        _named(name + " f32" * (dtype == np.float32), getattr(lap, name), numbers[dtype], **options)
        for name, options, dtype in calls
    ]


def _named(name: str, function: Callable, *arguments, **options) -> Callable:
    def run():
        return function(*arguments, **options)[0]

    run.__name__ = name
    return run


def assignment_of(module: str):
    """lapcpp or laprust, which solve float64."""

    def prepare(cost):
        solve, numbers = __import__(module).lapjv, cost.astype(np.float64)
        return lambda: numbers[tuple(solve(numbers)[1:])].sum()

    return prepare


def matching_scipy(graph):
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return lambda: int(np.count_nonzero(maximum_bipartite_matching(graph, perm_type="row") >= 0))


def matching_igraph(graph):
    import igraph

    n, m = graph.shape
    coo = graph.tocoo()
    built = igraph.Graph(n + m, np.column_stack([coo.row, coo.col.astype(np.int64) + n]))
    sides = [False] * n + [True] * m
    return lambda: len(built.maximum_bipartite_matching(types=sides))


def cost_flow_ortools(tail, head, capacity, cost, supply):
    """Filling the graph is timed, since there is no other interface."""
    from ortools.graph.python import min_cost_flow

    def run():
        solver = min_cost_flow.SimpleMinCostFlow()
        solver.add_arcs_with_capacity_and_unit_cost(tail, head, capacity, cost)
        solver.set_nodes_supplies(np.arange(len(supply)), supply)
        if solver.solve() != solver.OPTIMAL:
            raise AssertionError("OR-tools finds no flow")
        return solver.optimal_cost()

    return run


def cost_flow_pylmcf(tail, head, capacity, cost, supply):
    """LEMON's network simplex, on int64 and arcs sorted by their ends."""
    import pylmcf

    order = np.lexsort((head, tail))
    tail, head, capacity, cost = (np.int64(values)[order] for values in (tail, head, capacity, cost))
    supply = np.int64(supply)

    def run():
        graph = pylmcf.Graph(len(supply), tail, head)
        graph.set_node_supply(supply)
        graph.set_edge_costs(cost)
        graph.set_edge_capacities(capacity)
        graph.solve()
        return graph.total_cost()

    return run


BASELINES = {
    "grids": {"PyMaxflow": Baseline("maxflow", "PyMaxflow", grid_pymaxflow)},
    "graphs": {
        "PyMaxflow": Baseline("maxflow", "PyMaxflow", graph_pymaxflow),
        "thinhpf": Baseline("thinhpf", "thinhpf", graph_thinhpf),
        "SciPy": Baseline("scipy", "scipy", graph_scipy),
        "igraph": Baseline("igraph", "igraph", graph_igraph),
        "OR-tools": Baseline("ortools", "ortools", graph_ortools),
    },
    "labels": {
        "gco-wrapper": Baseline("gco", "gco-wrapper", labels_gco),
        "PyMaxflow": Baseline("maxflow", "PyMaxflow", labels_pymaxflow),
    },
    "assignment": {
        "SciPy": Baseline("scipy", "scipy", assignment_scipy),
        "lapx": Baseline("lap", "lapx", assignment_lapx),
        "OR-tools": Baseline("ortools", "ortools", assignment_ortools),
    },
    "small assignment": {
        "lapx": Baseline("lap", "lapx", assignment_lapx),
        "lapcpp": Baseline("lapcpp", "lapcpp", assignment_of("lapcpp")),
        "laprust": Baseline("laprust", "laprust", assignment_of("laprust")),
    },
    "matching": {
        "SciPy": Baseline("scipy", "scipy", matching_scipy),
        "igraph": Baseline("igraph", "python-igraph", matching_igraph),
    },
    "cost flow": {
        "OR-tools": Baseline("ortools", "ortools", cost_flow_ortools),
        "pylmcf": Baseline("pylmcf", "pylmcf", cost_flow_pylmcf),
    },
}
