"""Waves on sparse graphs in numba's simulator, and on a GPU if there is one."""

import numpy as np
import pytest
import scipy.sparse

import gridcut
from tests.gridcut import oracles


def check(graph, source, sink):
    """Solve on the GPU, certify, and compare with the CPU; the cut."""
    cut = gridcut.graph_max_flow(graph, source, sink, method="waves", device="cuda")
    cut.check()
    assert (cut.method, cut.device) == ("waves", "cuda")
    expected = gridcut.graph_max_flow(graph, source, sink, device="cpu")
    assert cut.value == expected.value
    np.testing.assert_array_equal(cut.labels, expected.labels)
    return cut


def path(n, capacity):
    nodes = np.arange(n - 1)
    graph = scipy.sparse.coo_array((np.full(n - 1, capacity), (nodes, nodes + 1)), shape=(n, n))
    return graph + graph.T, *np.zeros((2, n), int)


@pytest.mark.sim
@pytest.mark.parametrize("seed", range(5))
def test_random_graphs(seed):
    """Repeated entries, loops, unreachable nodes."""
    problem = oracles.random_graph(seed)
    assert check(*problem).value == oracles.graph_cut(*problem)[0]


@pytest.mark.sim
def test_wide_and_narrow_levels():
    """Levels of one node and of many, alternately: searches and waves change between one block and all."""
    rng = np.random.default_rng(3)
    widths = [1, 40, 2, 70, 3, 3, 50, 1]
    first = np.concatenate([[0], np.cumsum(widths)])
    tails, heads = [], []
    for a, b, c in zip(first[:-2], first[1:-1], first[2:], strict=True):
        tails += [*range(a, b), *rng.integers(a, b, c - b)]
        heads += [*rng.integers(b, c, b - a), *range(b, c)]
    n = first[-1]
    graph = scipy.sparse.coo_array((rng.integers(1, 9, len(tails)), (tails, heads)), shape=(n, n))
    source, sink = rng.integers(0, 20, n), np.zeros(n, int)
    sink[-1], sink[:5] = 150, 30
    cut = check(graph + graph.T, source, sink)
    assert cut.value == oracles.graph_cut(graph + graph.T, source, sink)[0]
    assert cut.stats["launches"] > 2


@pytest.mark.sim
def test_flow_passes_a_long_path_in_one_wave():
    graph, source, sink = path(60, 9)
    source[0], sink[-1] = 7, 7
    cut = check(graph, source, sink)
    assert cut.value == 7
    assert cut.stats == {**cut.stats, "launches": 2, "levels": 61}  # the second search finds no deficit


@pytest.mark.sim
def test_excess_that_reaches_no_deficit_does_not_prolong_later_searches():
    """Two components; the flow in one needs several phases, the excess in the other never moves."""
    graph, source, sink = path(30, 6)
    graph = graph.tolil()
    graph[24, 25] = graph[25, 24] = 0
    source[27], source[0], source[10], sink[12], sink[24] = 4, 9, 5, 3, 5
    cut = check(graph.tocsr(), source, sink)
    assert cut.value == 6  # the capacity of the edge between nodes 10 and 11
    assert cut.labels[25:].all()


@pytest.mark.sim
def test_wide_capacities_and_floats():
    graph, source, sink = oracles.random_graph(4)
    assert check(graph * 2**40, source * 2**40, sink * 2**40).stats["dtype"] == "int64"
    check(graph / 7, source / 7, sink / 7)
    check(graph * 0.1, np.where(source > 0, np.inf, 0.0), sink * 0.1)


@pytest.mark.sim
def test_layers_in_which_flow_changes_its_path():
    problem = oracles.layered_problem(3, 10)
    assert check(*problem).value == oracles.graph_cut(*problem)[0]


@pytest.mark.sim
@pytest.mark.parametrize("is_reversed", [False, True])
def test_rows_longer_than_a_lane_scans_at_a_time(is_reversed):
    """17 hubs with 70 leaves each, in levels that all blocks process."""
    rng = np.random.default_rng(8)
    hubs, leaves = (part.ravel() for part in np.meshgrid(np.arange(17), np.arange(17, 87)))
    graph = scipy.sparse.coo_array((rng.integers(0, 3, hubs.size), (hubs, leaves)), shape=(87, 87))
    graph = graph + graph.T
    ends = rng.integers(20, 60, 87) * (np.arange(87) < 17), rng.integers(1, 20, 87) * (np.arange(87) >= 17)
    source, sink = ends[::-1] if is_reversed else ends
    assert check(graph, source, sink).value == oracles.graph_cut(graph, source, sink)[0]


@pytest.mark.gpu
def test_large_graphs_on_a_gpu():
    rng = np.random.default_rng(5)
    n, m = 50_000, 200_000
    graph = scipy.sparse.coo_array((rng.integers(0, 99, m), rng.integers(0, n, (2, m))), shape=(n, n))
    source, sink = rng.integers(0, 200, (2, n)) * (rng.random((2, n)) < 0.3)
    check(graph, source, sink)
    check(graph * 2**40, source * 2**40, sink * 2**40)
    check(*oracles.layered_problem())
    graph, source, sink = path(100_000, 50)
    source[0], sink[-1], sink[50_000] = 40, 7, 3
    assert check(graph, source, sink).value == 10
