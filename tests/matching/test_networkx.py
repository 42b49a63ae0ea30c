"""Graphs of networkx are read as they are, and matched edges are returned as their nodes."""

import pickle

import networkx as nx
import numpy as np
import pytest

import matching
from matching.core.sparse import not_a_graph


def bipartite(seed=0, rows=12, cols=15, p=0.2):
    """A graph with nodes of two types, in mixed order."""
    rng = np.random.default_rng(seed)
    graph = nx.Graph()
    names = [f"row {i}" for i in range(rows)] + [(i, "col") for i in range(cols)]
    for i in rng.permutation(len(names)):
        graph.add_node(names[i], bipartite=int(i >= rows))
    graph.add_edges_from((names[i], names[rows + j]) for i, j in np.argwhere(rng.random((rows, cols)) < p))
    return graph


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("marked", [True, False])
def test_maximum(seed, marked):
    graph = bipartite(seed)
    sides = nx.get_node_attributes(graph, "bipartite")
    if not marked:
        for node in graph:
            del graph.nodes[node]["bipartite"]
    found = matching.maximum(graph)
    found.check()
    edges = found.edges()
    assert all(graph.has_edge(*edge) for edge in edges)
    assert len({node for edge in edges for node in edge}) == 2 * found.cardinality == 2 * len(edges)
    if marked:
        assert all((sides[row], sides[col]) == (0, 1) for row, col in edges)
        top = [node for node in graph if sides[node] == 0]
        assert found.cardinality == len(nx.bipartite.hopcroft_karp_matching(graph, top)) // 2
        rows, cols = found._graph.names
        matrix = nx.bipartite.biadjacency_matrix(graph, rows, cols)
        assert (matching.bipartite_graph(matrix).row_adj == found._graph.row_adj).all()
        assert rows == top
        table = found.to_pandas()
        assert list(zip(table["row"], table["col"], strict=True)) == edges


def test_small_graphs():
    assert matching.maximum(nx.Graph()).edges() == []
    lonely = nx.Graph()
    lonely.add_nodes_from("abc")
    found = matching.maximum(lonely)
    assert found._graph.shape == (3, 0)
    assert found.edges() == []
    assert found.to_pandas().shape == (0, 2)
    path = nx.path_graph(4)
    assert sorted(map(sorted, matching.maximum(path).edges())) == [[0, 1], [2, 3]]
    parallel = nx.MultiGraph([("a", "b"), ("a", "b")])
    assert matching.maximum(parallel).edges() == [("a", "b")]
    assert matching.maximum(nx.subgraph_view(path, filter_node=lambda node: node < 2)).edges() == [(0, 1)]


@pytest.mark.parametrize("call", [matching.maximum, matching.bipartite_graph])
def test_graphs_that_are_not_bipartite(call):
    with pytest.raises(ValueError, match=r"not bipartite: the edge \(.*\) joins two nodes.*matching.greedy"):
        call(nx.complete_graph(3))
    with pytest.raises(ValueError, match=r"not bipartite: the edge \('a', 'a'\)"):
        call(nx.Graph([("a", "a")]))
    for side in (0, 1):
        graph = nx.path_graph(4)
        nx.set_node_attributes(graph, {0: 0, 1: 1, 2: 0, 3: 1}, "bipartite")
        graph.add_edge(side, side + 2)
        with pytest.raises(ValueError, match="joins two nodes of one side"):
            call(graph)


def test_other_refused_graphs():
    graph = nx.path_graph(2)
    graph.nodes[0]["bipartite"] = 0
    with pytest.raises(ValueError, match="node 1 of graph has bipartite=None; each node must have"):
        matching.maximum(graph)
    graph.nodes[1]["bipartite"] = "right"
    with pytest.raises(ValueError, match="bipartite='right'"):
        matching.maximum(graph)
    for call in (matching.maximum, matching.greedy):
        with pytest.raises(TypeError, match=r"directed.*to_undirected"):
            call(nx.DiGraph([(0, 1)]))
    with pytest.raises(TypeError, match="biadjacency_matrix converts it"):
        matching.maximum_bipartite_matching(nx.path_graph(2))
    assert "dense" not in str(not_a_graph(nx.path_graph(2), "a matrix"))


def test_greedy():
    graph = nx.les_miserables_graph()
    found = matching.greedy(graph)
    found.check()
    edges = found.edges()
    assert nx.is_maximal_matching(graph, set(edges))
    assert found.weight == sum(graph.edges[edge]["weight"] for edge in edges)
    assert found.method == "locally_dominant"
    matrix = nx.to_scipy_sparse_array(graph)
    assert (found.partner == matching.greedy(matrix).partner).all()
    twin = pickle.loads(pickle.dumps(found))
    twin.check()
    assert twin.edges() == edges


def test_weights_of_greedy():
    graph = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 3)])
    plain = matching.greedy(graph)
    assert plain.method == "random"
    assert plain.weight == plain.cardinality
    graph.edges[1, 2]["length"] = 2.5
    found = matching.greedy(graph, "length")
    assert (found.edges(), found.weight) == ([(1, 2)], 2.5)
    graph.edges[1, 2]["weight"] = 6
    assert matching.greedy(graph).edges() == [(1, 2)]
    parallel = nx.MultiGraph()
    parallel.add_edge(0, 1, weight=2)
    parallel.add_edge(0, 1, weight=2)
    parallel.add_edge(1, 2, weight=3)
    found = matching.greedy(parallel)
    assert (found.edges(), found.weight) == ([(0, 1)], 4)
    assert matching.greedy(nx.Graph()).edges() == []
    assert matching.coarsen(nx.path_graph(5)).graph.shape[0] < 5


def test_refused_weights():
    graph = nx.path_graph(3)
    with pytest.raises(TypeError, match="name of an edge attribute.*got list"):
        matching.greedy(graph, [1, 2, 3, 4])
    with pytest.raises(ValueError, match="no edge of graph has the attribute weight='length'"):
        matching.greedy(graph, "length")
    graph.edges[0, 1]["weight"] = "heavy"
    with pytest.raises(TypeError, match="edge attribute 'weight' of graph must hold real numbers"):
        matching.greedy(graph)
    graph.edges[0, 1]["weight"] = -1
    with pytest.raises(ValueError, match="negative weight"):
        matching.greedy(graph)
