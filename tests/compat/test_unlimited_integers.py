"""Integers that stand for no limit, as `sys.maxsize`: clamped to what can flow, in every face that takes integers."""

import sys

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import gridcut
import gridcut.compat.maxflow as maxflow
from tests.gridcut.oracles import graph_cut as oracle

UNLIMITED = (99 * 10**16, sys.maxsize)
SHAPE = (4, 8, 9)
ABOVE = np.zeros((3, 3, 3), np.int64)  # a block needs the nine blocks above it
ABOVE[0] = 1


def pit():
    """Values of the blocks of an open pit: costs above, and ore below."""
    rng = np.random.default_rng(5)
    worth = rng.integers(-10, 3, SHAPE)
    worth[2:] += rng.integers(0, 200, (2, 8, 9)) * (rng.random((2, 8, 9)) < 0.2)
    return np.maximum(worth, 0), np.maximum(-worth, 0)


def precedences():
    nodes = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    pairs = []
    for y in (-1, 0, 1):
        for x in (-1, 0, 1):
            below = nodes[1:, max(0, -y) : 8 - max(0, y), max(0, -x) : 9 - max(0, x)]
            above = nodes[:-1, max(0, y) : 8 + min(0, y), max(0, x) : 9 + min(0, x)]
            pairs.append((below.ravel(), above.ravel()))
    tails, heads = np.concatenate(pairs, axis=1)
    return tails, heads


@pytest.fixture(scope="module")
def answer():
    """Value and labels by SciPy, with the sum of all values in place of no limit."""
    source, sink = (one.ravel() for one in pit())
    enough = int(source.sum() + sink.sum()) + 1
    ends = precedences()
    graph = scipy.sparse.coo_array((np.full(len(ends[0]), enough), ends), shape=(source.size, source.size))
    return oracle(graph, source, sink)


@pytest.mark.parametrize("unlimited", UNLIMITED)
def test_graphs(answer, unlimited):
    source, sink = (one.ravel() for one in pit())
    tails, heads = precedences()
    n = source.size
    graph = scipy.sparse.csr_array((np.full(len(tails), unlimited), (tails, heads)), shape=(n, n))
    solver = gridcut.GraphSolver(graph, source, sink)
    for cut in (gridcut.graph_max_flow(graph, source, sink), solver.solve()):
        cut.check()
        assert cut.value == answer[0]
        np.testing.assert_array_equal(cut.labels, answer[1])
    solver.update(capacity=1)
    changed = solver.solve()
    changed.check()
    assert changed.value == gridcut.graph_max_flow((graph.indptr, graph.indices, 1, (n, n)), source, sink).value


@pytest.mark.parametrize("unlimited", UNLIMITED)
def test_all_of_source_sink_and_graph(unlimited):
    """Seeds, and a chain between them of which one edge is limited."""
    chain = np.array([unlimited, 7, unlimited])
    graph = scipy.sparse.csr_array((chain, (np.arange(3), np.arange(1, 4))), shape=(4, 4))
    cut = gridcut.graph_max_flow(graph, [unlimited, 0, 0, 0], [0, 0, 0, unlimited])
    cut.check()
    assert cut.value == 7
    assert cut.labels.tolist() == [True, True, False, False]
    network = nx.DiGraph()
    for u, capacity in enumerate(chain.tolist()):
        network.add_edge(u, u + 1, capacity=capacity)
    assert nx.maximum_flow(network, 0, 3)[0] == 7
    assert nx.maximum_flow(network, 1, 3, backend="cutmatch")[0] == 7


@pytest.mark.parametrize("unlimited", UNLIMITED)
@pytest.mark.parametrize("way", [pytest.param("grid, twice", marks=pytest.mark.slow), "edges", "single edges"])
def test_graphs_of_pymaxflow(answer, unlimited, way):
    graph = maxflow.GraphInt()
    nodes = graph.add_grid_nodes(SHAPE)
    graph.add_grid_tedges(nodes, *pit())
    if way == "single edges":
        for u, v in zip(*map(np.ndarray.tolist, precedences()), strict=True):
            graph.add_edge(u, v, unlimited, 0)
    elif way == "edges":
        count = len(precedences()[0])
        graph.add_edges(*precedences(), np.full(count, unlimited), np.zeros(count, np.int64))
    else:
        for _ in range(2):
            graph.add_grid_edges(nodes, unlimited, ABOVE)
    assert graph.maxflow() == answer[0]
    np.testing.assert_array_equal(graph.get_grid_segments(nodes).ravel(), ~answer[1])


def test_sums_of_terminals_do_not_wrap():
    graph = maxflow.GraphInt()
    graph.add_nodes(2)
    for _ in range(2):
        graph.add_tedge(0, 2**62, 2**62)
    assert graph.maxflow() == 2**63
    graph.add_tedge(0, sys.maxsize, 0)
    graph.add_tedge(0, sys.maxsize, 0)
    graph.add_tedge(1, 0, sys.maxsize)
    graph.add_edge(0, 1, 5, 0)
    assert graph.maxflow() == 2**63 + 5
    assert graph.get_grid_segments(np.arange(2)).tolist() == [False, True]
    graph.add_edge(0, 1, sys.maxsize, 0)
    with pytest.raises(ValueError, match="too large"):
        graph.maxflow()
    many = maxflow.GraphInt()
    nodes = many.add_grid_nodes(16)
    many.add_grid_tedges(nodes, 2**60, 2**60)
    assert many.maxflow() == 2**64


@pytest.mark.slow
def test_weights_and_sums_of_weights_do_not_wrap():
    graph = maxflow.GraphInt()
    nodes = graph.add_grid_nodes((3, 3))
    for _ in range(4):  # their sum is 2^64
        graph.add_grid_edges(nodes, 2**62)
    graph.add_grid_tedges(nodes, [[9, 0, 0]] * 3, [[0, 0, 4]] * 3)
    assert graph.maxflow() == 12
    graph.add_grid_tedges(nodes, 2**62, [[0, 0, 2**63 - 5]] * 3)
    with pytest.raises(ValueError, match="too large"):
        graph.maxflow()
    with pytest.raises(OverflowError, match="must fit int64"):
        graph.add_grid_edges(nodes, 2**62, 4 * ABOVE[0])
