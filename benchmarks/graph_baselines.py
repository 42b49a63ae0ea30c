"""Other programs for cuts of sparse graphs, each as `prepare(graph, source, sink)` and `run(arrays)`.

`prepare` makes the arrays that the program accepts, outside of the clock.  `run` builds the program's graph from them,
solves, and reads the labels: (value, labels), labels True = source side.
"""

import numpy as np
import scipy.sparse

from benchmarks.baselines import Baseline


def edges_of(graph, source, sink):
    """Edges with the capacities of both directions if the graph is symmetric, else arcs."""
    arcs = graph.tocoo()
    is_symmetric = (graph != graph.T).nnz == 0
    keep = arcs.row < arcs.col if is_symmetric else arcs.row != arcs.col
    row, col, capacity = arcs.row[keep], arcs.col[keep], arcs.data[keep]
    return row, col, capacity, capacity if is_symmetric else np.zeros_like(capacity), source, sink


def network_of(graph, source, sink):
    """All arcs of the network with two more nodes, n: the source, n + 1: the sink."""
    arcs = graph.tocoo()
    n = graph.shape[0]
    keep = arcs.row != arcs.col
    given, taken = np.flatnonzero(source), np.flatnonzero(sink)
    tails = np.concatenate([arcs.row[keep], np.full(len(given), n), taken])
    heads = np.concatenate([arcs.col[keep], given, np.full(len(taken), n + 1)])
    return n, tails, heads, np.concatenate([arcs.data[keep], source[given], sink[taken]])


def pymaxflow(arrays):
    import maxflow

    row, col, forward, backward, source, sink = arrays
    graph = maxflow.Graph[int](len(source), len(row))
    nodes = graph.add_nodes(len(source))
    graph.add_edges(row, col, forward, backward)
    graph.add_grid_tedges(nodes, source, sink)
    return graph.maxflow(), ~graph.get_grid_segments(nodes)


def for_thinhpf(graph, source, sink):
    n, tails, heads, capacity = network_of(graph, source, sink)
    return n, tails.astype(np.uint32), heads.astype(np.uint32), capacity.astype(np.int32)


def run_thinhpf(arrays):
    """Without labels: thinhpf reads them node by node only."""
    import thinhpf

    n, tails, heads, capacity = arrays
    graph = thinhpf.hpf(n + 2, len(tails))
    graph.add_node(n + 2)
    graph.set_source(n)
    graph.set_sink(n + 1)
    graph.add_edges(tails, heads, capacity)
    graph.mincut()
    return graph.compute_maxflow(), None


def for_scipy(graph, source, sink):
    n, tails, heads, capacity = network_of(graph, source, sink)
    return scipy.sparse.csr_array((capacity.astype(np.int32), (tails, heads)), shape=(n + 2, n + 2))


def run_scipy(network):
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    n = network.shape[0] - 2
    solved = maximum_flow(network, n, n + 1)
    residual = scipy.sparse.csr_array(network - solved.flow)
    residual.eliminate_zeros()
    labels = np.zeros(n + 2, bool)
    labels[breadth_first_order(residual, n, return_predecessors=False)] = True
    return int(solved.flow_value), labels[:n]


def for_igraph(graph, source, sink):
    n, tails, heads, capacity = network_of(graph, source, sink)
    return n, np.stack([tails, heads], 1), capacity.tolist()


def run_igraph(arrays):
    import igraph

    n, ends, capacity = arrays
    found = igraph.Graph(n + 2, ends, directed=True).mincut(n, n + 1, capacity)
    labels = np.zeros(n + 2, bool)
    labels[found.partition[0]] = True
    return int(found.value), labels[:n]


def run_ortools(arrays):
    from ortools.graph.python import max_flow

    n, tails, heads, capacity = arrays
    solver = max_flow.SimpleMaxFlow()
    solver.add_arcs_with_capacity(tails, heads, capacity)
    solver.solve(n, n + 1)
    labels = np.zeros(n + 2, bool)
    labels[solver.get_source_side_min_cut()] = True
    return solver.optimal_flow(), labels[:n]


BASELINES = {
    "PyMaxflow": Baseline("maxflow", "PyMaxflow", pymaxflow, edges_of),
    "thinhpf": Baseline("thinhpf", "thinhpf", run_thinhpf, for_thinhpf),
    "SciPy": Baseline("scipy", "scipy", run_scipy, for_scipy),
    "igraph": Baseline("igraph", "igraph", run_igraph, for_igraph),
    "OR-tools": Baseline("ortools", "ortools", run_ortools, network_of),
}
