"""GraphSolver of networkx graphs: after changes, each result is that of a new solve; nodes and errors as there."""

import numpy as np
import pytest

import gridcut

networkx = pytest.importorskip("networkx")

KINDS = [networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph]


def random_network(rng, kind, n=30, infinite=0.05):
    """Nodes in random order; a few edges have no capacity."""
    graph = kind()
    graph.add_nodes_from(f"node {i}" for i in rng.permutation(n))
    for u, v in rng.integers(0, n, (3 * n, 2)):
        graph.add_edge(f"node {u}", f"node {v}")
    change_capacities(rng, graph, 1.0, infinite)
    return graph


def change_capacities(rng, graph, share, infinite, factor=1):
    for *_, data in graph.edges(data=True):
        if rng.random() < share:
            data.pop("capacity", None)
            if rng.random() >= infinite:
                data["capacity"] = int(rng.integers(0, 30)) * factor


def agrees(solver, graph, source, sink):
    warm, cold = solver.solve(), gridcut.graph_max_flow(graph, source, sink)
    warm.check()
    assert warm.value == cold.value
    assert isinstance(warm.value, int) == isinstance(cold.value, int)
    np.testing.assert_array_equal(warm.labels, cold.labels)
    assert warm.partition() == cold.partition()


def is_unbounded(graph, source, sink):
    """Whether edges without a capacity lead from the source to the sink."""
    infinite = [(u, v) for u, v, data in graph.edges(data=True) if "capacity" not in data]
    paths = networkx.DiGraph() if graph.is_directed() else networkx.Graph()
    paths.add_nodes_from(graph)
    paths.add_edges_from(infinite)
    return networkx.has_path(paths, source, sink)


@pytest.mark.parametrize("factor", [1, 0.25])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_warm_equals_cold(kind, factor):
    solved = rejected = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        graph = random_network(rng, kind)
        change_capacities(rng, graph, 1.0, 0.25, factor)
        source, sink = (str(name) for name in rng.choice(list(graph), 2, replace=False))
        if is_unbounded(graph, source, sink):
            with pytest.raises(ValueError, match="the maximum flow is unbounded"):
                gridcut.GraphSolver(graph, source, sink)
            rejected += 1
            continue
        solver = gridcut.GraphSolver(graph, source, sink)
        agrees(solver, graph, source, sink)
        for step in range(6):
            if step % 2:
                other = str(rng.choice([name for name in graph if name != sink]))
                if is_unbounded(graph, other, sink):
                    with pytest.raises(ValueError, match="the maximum flow is unbounded"):
                        solver.update(source=other)
                    rejected += 1
                else:
                    source = other
                    solver.update(source=other)
            else:
                change_capacities(rng, graph, 0.1, 0.0, factor)
                solver.update(capacity=graph)
            solved += 1
            agrees(solver, graph, source, sink)
    assert solved > 20
    assert rejected


def path_graph():
    graph = networkx.DiGraph()
    for ends, capacity in ((("a", "b"), 5), (("b", "c"), 3), (("c", "d"), 4)):
        graph.add_edge(*ends, capacity=capacity)
    return graph


def path_solver():
    graph = path_graph()
    return graph, gridcut.GraphSolver(graph, "a", "d")


def test_integers_among_floats_stay_floats():
    graph = path_graph()
    graph["a"]["b"]["capacity"] = 2.5
    solver = gridcut.GraphSolver(graph, "a", "d")
    assert solver.solve().value == 2.5
    graph["a"]["b"]["capacity"] = 2
    del graph["b"]["c"]["capacity"]
    solver.update(capacity=graph)
    cut = solver.solve()
    cut.check()
    assert cut.value == 2.0


def changed(attributes=None, edges=(), nodes=()):
    graph = path_graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    for (u, v), capacity in (attributes or {}).items():
        graph[u][v]["capacity"] = capacity
    return graph


def unlimited_path():
    graph = path_graph()
    for *_, data in graph.edges(data=True):
        del data["capacity"]
    return graph


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"source": "e"}, ValueError, "source must be a node of graph, got 'e'"),
        ({"sink": [1]}, ValueError, r"sink must be a node of graph, got \[1\]"),
        ({"sink": "a"}, ValueError, "source and sink must be different nodes of graph, both are 'a'"),
        ({"capacity": np.ones(3)}, TypeError, "capacity must be a networkx graph, .* got ndarray; change the edges'"),
        ({"capacity": changed(edges=[("a", "d")])}, ValueError, "capacity must have the nodes and edges of the solver"),
        ({"capacity": changed(nodes=["e"])}, ValueError, "capacity must have the nodes and edges of the solver"),
        ({"capacity": changed({("b", "c"): -1})}, ValueError, r"of edge \('b', 'c'\) is -1; capacities must be"),
        ({"capacity": changed({("b", "c"): 0.5})}, TypeError, "capacity must hold integers like the capacities so far"),
        ({"capacity": unlimited_path()}, ValueError, "the maximum flow is unbounded: .* from 'a' to 'd'"),
    ],
)
def test_wrong_updates_change_nothing(changes, error, message):
    _, solver = path_solver()
    assert solver.solve().value == 3
    with pytest.raises(error, match=message):
        solver.update(**changes)
    cut = solver.solve()
    cut.check()
    assert (cut.value, cut.partition()) == (3, ({"a", "b"}, {"c", "d"}))
