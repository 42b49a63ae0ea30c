"""networkx graphs as arguments of graph_max_flow: values and partitions of networkx, and its rules for capacities."""

import os
import pickle
from decimal import Decimal

import numpy as np
import pytest

import gridcut

networkx = pytest.importorskip("networkx")

BASE = int(os.environ.get("CUTMATCH_SEED", "0"))
KINDS = [networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph]


def random_graph(seed, kind=networkx.DiGraph, factor=1):
    """Nodes that are strings in random order, some edges without a capacity, loops, and parallel edges if possible."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    names = [f"node {i}" for i in rng.permutation(n)]
    graph = kind()
    graph.add_nodes_from(names)
    for u, v in rng.integers(0, n, (int(rng.integers(0, 5 * n)), 2)):
        if rng.random() < 0.9:
            graph.add_edge(names[u], names[v], capacity=int(rng.integers(0, 20)) * factor)
        else:
            graph.add_edge(names[u], names[v], cost=1)
    return graph, names[0], names[1]


def without_parallel_edges(graph):
    """The same problem as networkx accepts it."""
    simple = networkx.DiGraph() if graph.is_directed() else networkx.Graph()
    simple.add_nodes_from(graph)
    for u, v, data in graph.edges(data=True):
        capacity = data.get("capacity", float("inf"))
        if simple.has_edge(u, v):
            capacity += simple[u][v]["capacity"]
        simple.add_edge(u, v, capacity=capacity)
    return simple


@pytest.mark.parametrize("factor", [1, 0.25, 2**33])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_values_and_partitions_are_those_of_networkx(kind, factor):
    solved = 0
    for seed in range(BASE, BASE + 20):
        graph, source, sink = random_graph(seed, kind, factor)
        try:
            value, partition = networkx.minimum_cut(without_parallel_edges(graph), source, sink)
        except networkx.NetworkXUnbounded:
            with pytest.raises(
                ValueError, match=f"the maximum flow is unbounded: edges .* from '{source}' to '{sink}'"
            ):
                gridcut.graph_max_flow(graph, source, sink)
            continue
        solved += 1
        cut = gridcut.graph_max_flow(graph, source, sink)
        cut.check()
        assert cut.value == value, f"seed {seed}"
        assert factor == 0.25 or isinstance(cut.value, int)
        assert cut.partition() == partition, f"seed {seed}"
        assert [node in partition[0] for node in graph] == cut.labels.tolist()
    assert solved > 5


def test_names_of_nodes_are_not_capacities():
    """Integers as nodes, which would be capacities of all nodes of a matrix."""
    graph = networkx.path_graph(4)
    networkx.set_edge_attributes(graph, {(0, 1): 5, (1, 2): 2, (2, 3): 4}, "capacity")
    cut = gridcut.graph_max_flow(graph, 3, 0)
    cut.check()
    assert (cut.value, cut.partition()) == (2, ({2, 3}, {0, 1}))
    assert cut.labels.tolist() == [False, False, True, True]


def test_unhashable_and_unknown_nodes_and_equal_ones():
    graph = networkx.path_graph(3)
    for node in (7, "a", [1], np.zeros(3)):
        with pytest.raises(ValueError, match="source must be a node of graph, got"):
            gridcut.graph_max_flow(graph, node, 1)
        with pytest.raises(ValueError, match="sink must be a node of graph, got"):
            gridcut.graph_max_flow(graph, 1, node)
    with pytest.raises(ValueError, match="source and sink must be different nodes of graph, both are 2"):
        gridcut.graph_max_flow(graph, 2, 2)


def test_unbounded_flows_name_an_edge():
    graph = networkx.DiGraph([("a", "b"), ("b", "c")])
    graph.add_edge("a", "c", capacity=1)
    message = "unbounded: edges of infinite capacity lead from 'a' to 'c', the last one from 'b'; give one of them"
    with pytest.raises(ValueError, match=message):
        gridcut.graph_max_flow(graph, "a", "c")
    graph["b"]["c"]["capacity"] = 3
    assert gridcut.graph_max_flow(graph, "a", "c").value == 4
    assert gridcut.graph_max_flow(graph, "c", "a").value == 0


@pytest.mark.parametrize(
    ("capacity", "error"),
    [(-1, ValueError), (float("nan"), ValueError), (-float("inf"), ValueError), ("3", TypeError), (None, TypeError)]
    + [(1j, TypeError), ([1], TypeError), (Decimal(3), TypeError), (np.zeros(2), TypeError)],
)
def test_bad_capacities_name_the_edge(capacity, error):
    graph = networkx.Graph([("x", "y", {"capacity": 2}), ("y", "z", {"capacity": capacity})])
    with pytest.raises(
        error, match=r"the edge attribute 'capacity' of edge \('y', 'z'\) is .*; capacities must be num"
    ):
        gridcut.graph_max_flow(graph, "x", "z")


def test_partition_of_a_matrix_and_of_a_copy():
    cut = gridcut.graph_max_flow(([0, 1, 2], [1, 0], [3, 4], (2, 2)), [9, 0], [0, 9])
    assert cut.partition() == ({0}, {1})
    graph, source, sink = random_graph(3)
    cut = gridcut.graph_max_flow(graph, source, sink)
    copy = pickle.loads(pickle.dumps(cut))
    copy.check()
    assert copy.partition() == cut.partition()
