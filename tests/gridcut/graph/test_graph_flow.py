"""graph_max_flow against SciPy on random and adversarial graphs: values, labels, types, limits, infinite capacities."""

import os

import numpy as np
import pytest
import scipy.sparse

import gridcut
from tests.gridcut import oracles

BASE = int(os.environ.get("CUTMATCH_SEED", "0"))
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1


def check_seed(seed):
    graph, source, sink = oracles.random_graph(seed)
    value, labels = oracles.graph_cut(graph, source, sink)
    cut = gridcut.graph_max_flow(graph, source, sink)
    cut.check()
    assert cut.value == value, f"seed {seed}"
    np.testing.assert_array_equal(cut.labels, labels, f"seed {seed}")
    unsorted = gridcut.graph_max_flow(oracles.as_tuple(graph, np.random.default_rng(seed)), source, sink)
    unsorted.check()
    assert unsorted.value == value, f"seed {seed}"
    np.testing.assert_array_equal(unsorted.labels, labels, f"seed {seed}")


def test_random_graphs():
    for seed in range(BASE, BASE + 100):
        check_seed(seed)


@pytest.mark.thorough
def test_many_random_graphs():
    for seed in range(BASE, BASE + 10_000):
        check_seed(seed)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_graphs_without_edges(n):
    empty = scipy.sparse.csr_array((n, n), dtype=np.int64)
    cut = gridcut.graph_max_flow(empty, np.arange(n), 2)
    cut.check()
    assert cut.value == sum(min(u, 2) for u in range(n))
    assert cut.labels.tolist() == [u >= 2 for u in range(n)]
    floats = gridcut.graph_max_flow(empty, np.arange(n) * 1e-300, 2e-300)
    floats.check()
    assert floats.labels.tolist() == [u >= 2 for u in range(n)]
    loops = gridcut.graph_max_flow((range(n + 1), range(n), np.full(n, 7), (n, n)), 1, 3)
    loops.check()
    assert loops.value == n
    assert loops.residual().nnz == 0
    assert gridcut.graph_max_flow(([0] * (n + 1), [], [], (n, n)), 0, 0).value == 0


@pytest.mark.parametrize("repeats", [2, 5])
def test_the_sum_of_repeated_entries_has_more_than_32_bits(repeats):
    graph = ([0, repeats, repeats], [1] * repeats, np.full(repeats, 2**30), (2, 2))
    cut = gridcut.graph_max_flow(graph, [2**28, 0], [0, 2**28])
    cut.check()
    assert cut.value == 2**28
    assert cut.stats["dtype"] == "int64"


@pytest.mark.parametrize("order", [1, -1], ids=["ascending", "descending"])
def test_every_structure_of_three_nodes(order):
    """Symmetric ones, which are read in one pass, and all that differ from them in a few entries or on the diagonal."""
    rows, columns = np.divmod(np.arange(9), 3)
    source, sink = np.array([9, 3, 0]), np.array([0, 4, 8])
    for structure in range(2**9):
        kept = np.flatnonzero(structure >> np.arange(9) & 1)
        kept = kept[np.lexsort((order * columns[kept], rows[kept]))]
        indptr = np.searchsorted(rows[kept], np.arange(4))
        arrays = indptr, columns[kept], 1 + kept, (3, 3)
        cut = gridcut.graph_max_flow(arrays, source, sink)
        cut.check()
        matrix = scipy.sparse.csr_array((1 + kept, (rows[kept], columns[kept])), shape=(3, 3))
        value, labels = oracles.graph_cut(matrix, source, sink)
        assert cut.value == value, structure
        np.testing.assert_array_equal(cut.labels, labels)


@pytest.mark.parametrize(
    ("others", "total", "dtype"),
    [
        (1, 10_000, "int32"),  # no sum can be too large
        (1, INT32_MAX, "int32"),  # a longer row of large capacities would be
        (1, INT32_MAX + 1, "int64"),
        (INT32_MAX // 12, INT32_MAX + 1, "int64"),
    ],
)
def test_the_type_follows_the_sums_of_rows_that_are_read_once(others, total, dtype):
    """A star of both directions, whose first edge is the largest; `total`: the sum at its centre."""
    leaves = 5
    large = (total - 2 * (leaves - 1) * others - 3) // 2
    capacity = np.array([large, *[others] * (leaves - 1)])
    graph = scipy.sparse.lil_array((leaves + 1, leaves + 1), dtype=np.int64)
    graph[0, 1:] = graph[1:, 0] = capacity
    source, sink = np.zeros((2, leaves + 1), np.int64)
    source[0] = total - 2 * capacity.sum()
    sink[1] = 2
    cut = gridcut.graph_max_flow(graph.tocsr(), source, sink)
    cut.check()
    assert cut.stats["dtype"] == dtype
    assert cut.value == 2


def test_sums_beyond_64_bits_of_all_nodes():
    """Values are exact beyond 2^63 if only every node's capacities fit."""
    n, high = 10, 2**61
    cut = gridcut.graph_max_flow(scipy.sparse.csr_array((n, n), dtype=np.int64), np.full(n, high), np.full(n, high))
    cut.check()
    assert cut.value == n * high


def test_sums_at_a_node_must_fit():
    graph = ([0, 2, 2], [1, 1], [2**62, 2**62], (2, 2))
    with pytest.raises(ValueError, match="source, sink and graph are too large: the capacities incident to a node"):
        gridcut.graph_max_flow(graph, [2**63 - 1, 0], [0, 2**63 - 1])
    cut = gridcut.graph_max_flow(graph, [2**63 - 1, 0], [0, 9])
    cut.check()
    assert cut.value == 9


def test_infinite_capacities():
    inf = np.inf
    graph = scipy.sparse.csr_array(np.array([[0, inf, 0], [inf, 0, 0.25], [0, 0.25, 0]]))
    cut = gridcut.graph_max_flow(graph, [inf, 0, 0], [0, 0, inf])
    cut.check()
    assert cut.value == 0.25
    assert cut.labels.tolist() == [True, True, False]
    with pytest.raises(ValueError, match="every cut has infinite capacity.* source, graph or sink finite"):
        gridcut.graph_max_flow(graph, [inf, 0, 0], [inf, 0, 0])
    with pytest.raises(ValueError, match="every cut has infinite capacity"):
        gridcut.graph_max_flow(graph, [inf, 0, 0], [0, inf, 0])


def test_an_infinite_capacity_may_be_the_first():
    graph = scipy.sparse.csr_array(np.array([[0, 45.8, 0], [0, 0, 188.1], [0, 0, 0]]))
    cut = gridcut.graph_max_flow(graph, [np.inf, 0, np.inf], [0, 1e200, 0])
    cut.check()
    assert cut.value == 45.8
    assert cut.labels.tolist() == [True, False, True]


def test_tiny_and_huge_floats():
    graph, source, sink = oracles.random_graph(30)
    value, _ = oracles.graph_cut(graph, source, sink)
    for exponent in (-1060, -500, 500, 1000):
        scale = 2.0**exponent
        cut = gridcut.graph_max_flow(graph * scale, source * scale, sink * scale)
        cut.check()
        assert cut.value == value * scale


def test_the_adversary_of_many_augmentations():
    graph, source, sink = oracles.layered_problem()
    cut = gridcut.graph_max_flow(graph, source, sink)
    cut.check()
    value, labels = oracles.graph_cut(graph, source, sink)
    assert cut.value == value
    np.testing.assert_array_equal(cut.labels, labels)


def test_partition():
    cut = gridcut.graph_max_flow(([0, 1, 2], [1, 0], [3, 4], (2, 2)), [9, 0], [0, 9])
    assert cut.partition() == ({0}, {1})
