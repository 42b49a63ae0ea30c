"""graph_max_flow against SciPy on random and adversarial graphs: values, labels, types, limits, infinite capacities."""

import os

import numpy as np
import pytest
import scipy.sparse

import gridcut

BASE = int(os.environ.get("CUTMATCH_SEED", "0"))
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1


def check_seed(graphs, seed):
    graph, source, sink = graphs.random_problem(seed)
    value, labels = graphs.oracle(graph, source, sink)
    cut = gridcut.graph_max_flow(graph, source, sink)
    cut.check()
    assert cut.value == value, f"seed {seed}"
    np.testing.assert_array_equal(cut.labels, labels, f"seed {seed}")
    unsorted = gridcut.graph_max_flow(graphs.as_tuple(graph, np.random.default_rng(seed)), source, sink)
    unsorted.check()
    assert unsorted.value == value, f"seed {seed}"
    np.testing.assert_array_equal(unsorted.labels, labels, f"seed {seed}")


def test_random_graphs(graphs):
    for seed in range(BASE, BASE + 300):
        check_seed(graphs, seed)


@pytest.mark.thorough
def test_many_random_graphs(graphs):
    for seed in range(BASE, BASE + 10_000):
        check_seed(graphs, seed)


TYPES = ["bool", "uint8", "uint16", "int8", "int16", "uint32", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type(dtype, graphs):
    graph, source, sink = graphs.random_problem(21)
    dense = np.minimum(graph.toarray(), 1 if dtype == "bool" else 100)
    source, sink = np.minimum(source, dense.max()), np.minimum(sink, dense.max())
    value, labels = graphs.oracle(scipy.sparse.csr_array(dense), source, sink)
    indptr, heads, capacity, shape = graphs.as_tuple(scipy.sparse.coo_array(dense))
    given = indptr, heads, capacity.astype(dtype), shape
    cut = gridcut.graph_max_flow(given, source.astype(dtype), sink.astype(dtype))
    cut.check()
    assert cut.value == value
    assert isinstance(cut.value, float if "float" in dtype else int)
    np.testing.assert_array_equal(cut.labels, labels)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TYPES)
def test_types_may_be_mixed(dtype, graphs):
    graph, source, sink = graphs.random_problem(21)
    dense = np.minimum(graph.toarray(), 1 if dtype == "bool" else 100)
    source, sink = np.minimum(source, dense.max()), np.minimum(sink, dense.max())
    indptr, heads, capacity, shape = graphs.as_tuple(scipy.sparse.coo_array(dense))
    mixed = gridcut.graph_max_flow((indptr, heads, capacity.astype(dtype), shape), source.astype(np.float64), sink)
    mixed.check()
    assert mixed.value == graphs.oracle(scipy.sparse.csr_array(dense), source, sink)[0]


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_sparse_format(form, kind, graphs):
    graph, source, sink = graphs.random_problem(24)
    value, labels = graphs.oracle(graph, source, sink)
    made = getattr(scipy.sparse, f"{form}_{kind}")(graph.tocsr())
    cut = gridcut.graph_max_flow(made, source, sink)
    cut.check()
    assert cut.value == value
    np.testing.assert_array_equal(cut.labels, labels)


@pytest.mark.parametrize("indices", ["int16", "uint16", "int32", "int64", "uint64"])
def test_every_type_of_indices(indices, graphs):
    graph, source, sink = graphs.random_problem(25)
    indptr, heads, capacity, shape = graphs.as_tuple(graph)
    given = indptr.astype(indices), heads.astype(indices), capacity, shape
    cut = gridcut.graph_max_flow(given, source, sink)
    cut.check()
    assert cut.value == graphs.oracle(graph, source, sink)[0]


def test_read_only_strided_and_unused_arrays(graphs):
    graph, source, sink = graphs.random_problem(26)
    indptr, heads, capacity, shape = graphs.as_tuple(graph)
    value, _ = graphs.oracle(graph, source, sink)
    heads, capacity = np.append(heads, [999, -5]), np.append(capacity, [7, 7])  # after the last pointer: not in use
    capacity = np.repeat(capacity, 2)[::2]
    for array in (indptr, heads, capacity, source):
        array.flags.writeable = False
    cut = gridcut.graph_max_flow((indptr, heads, capacity, shape), source, np.repeat(sink, 3)[::3])
    cut.check()
    assert cut.value == value


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


def test_scalars():
    graph = scipy.sparse.csr_array(np.array([[0, 3], [3, 0]]))
    cut = gridcut.graph_max_flow((graph.indptr, graph.indices, 2, (2, 2)), [9, 0], [0, 9])
    cut.check()
    assert cut.value == 2
    assert gridcut.graph_max_flow(graph, 4, 1).value == 2


def test_repeated_entries_are_summed():
    cut = gridcut.graph_max_flow(([0, 3, 4], [1, 1, 1, 0], [1, 2, 3, 5], (2, 2)), [9, 0], [0, 9])
    cut.check()
    assert cut.value == 6
    assert cut.residual().toarray().tolist() == [[0, 0], [11, 0]]


@pytest.mark.parametrize("repeats", [2, 3, 4, 5])
def test_the_sum_of_repeated_entries_has_more_than_32_bits(repeats):
    graph = ([0, repeats, repeats], [1] * repeats, np.full(repeats, 2**30), (2, 2))
    cut = gridcut.graph_max_flow(graph, [2**28, 0], [0, 2**28])
    cut.check()
    assert cut.value == 2**28
    assert cut.stats["dtype"] == "int64"


@pytest.mark.parametrize("order", [1, -1], ids=["ascending", "descending"])
def test_every_structure_of_three_nodes(graphs, order):
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
        value, labels = graphs.oracle(matrix, source, sink)
        assert cut.value == value, structure
        np.testing.assert_array_equal(cut.labels, labels)


def test_the_type_follows_the_sums():
    for total, dtype in ((INT32_MAX, "int32"), (INT32_MAX + 1, "int64"), (INT64_MAX - 1, "int64")):
        part = total // 4
        graph = ([0, 2, 2], [1, 1], np.array([part, part]), (2, 2))
        cut = gridcut.graph_max_flow(graph, [total - 3 * part, 0], [part, INT64_MAX // 2 if part > 2**40 else part])
        cut.check()
        assert cut.stats["dtype"] == dtype
        assert cut.value == total - 3 * part


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
    with pytest.raises(ValueError, match="every cut has infinite capacity.*node"):
        gridcut.graph_max_flow(graph, [inf, 0, 0], [inf, 0, 0])
    with pytest.raises(ValueError, match=r"every cut has infinite capacity.*for instance over \w+ at"):
        gridcut.graph_max_flow(graph, [inf, 0, 0], [0, inf, 0])


def test_an_infinite_capacity_may_be_the_first():
    graph = scipy.sparse.csr_array(np.array([[0, 45.8, 0], [0, 0, 188.1], [0, 0, 0]]))
    cut = gridcut.graph_max_flow(graph, [np.inf, 0, np.inf], [0, 1e200, 0])
    cut.check()
    assert cut.value == 45.8
    assert cut.labels.tolist() == [True, False, True]


def test_huge_terminals_leave_the_precision_to_the_arcs(graphs):
    graph, source, sink = graphs.random_problem(27)
    value, labels = graphs.oracle(graph, np.where(source > 0, 10**6, 0), np.where(sink > 0, 10**6, 0))
    hard = [np.where(terminal > 0, 1e200, 0.0) for terminal in (source, sink)]
    both = (source > 0) & (sink > 0)
    hard[1][both] = 0
    soft = [np.where(terminal > 0, 10**6, 0) for terminal in hard]
    value, labels = graphs.oracle(graph, *soft)
    cut = gridcut.graph_max_flow(graph * 0.1, *hard)
    cut.check()
    assert cut.value == pytest.approx(value * 0.1)
    np.testing.assert_array_equal(cut.labels, labels)


def test_tiny_and_huge_floats(graphs):
    graph, source, sink = graphs.random_problem(30)
    value, _ = graphs.oracle(graph, source, sink)
    for exponent in (-1060, -500, 500, 1000):
        scale = 2.0**exponent
        cut = gridcut.graph_max_flow(graph * scale, source * scale, sink * scale)
        cut.check()
        assert cut.value == value * scale


def test_floats_of_too_different_sizes_are_rejected_or_exact():
    graph = ([0, 1, 2], [1, 0], [1e-300, 1e300], (2, 2))
    cut = gridcut.graph_max_flow(graph, [1.0, 0], [0, 1.0])
    cut.check()
    assert cut.value == pytest.approx(1e-300)


def test_a_long_path():
    """Flow through every node, in a graph that is solved from its leaves."""
    n = 20_000
    nodes = np.arange(n - 1)
    graph = scipy.sparse.coo_array((np.full(n - 1, 5), (nodes, nodes + 1)), shape=(n, n))
    source, sink = np.zeros(n, int), np.zeros(n, int)
    source[0], sink[-1] = 9, 7
    cut = gridcut.graph_max_flow(graph, source, sink)
    cut.check()
    assert cut.value == 5
    assert cut.labels.sum() == n - 1


def test_a_star_and_a_complete_graph(graphs):
    n = 300
    rng = np.random.default_rng(0)
    star = np.zeros((n, n), int)
    star[0], star[:, 0] = rng.integers(0, 9, (2, n))
    for dense in (star, rng.integers(0, 4, (n, n))):
        np.fill_diagonal(dense, 0)
        graph = scipy.sparse.csr_array(dense)
        source, sink = rng.integers(0, 50, (2, n))
        cut = gridcut.graph_max_flow(graph, source, sink)
        cut.check()
        assert cut.value == graphs.oracle(graph, source, sink)[0]


def test_the_adversary_of_many_augmentations(graphs):
    graph, source, sink = graphs.layered_problem()
    cut = gridcut.graph_max_flow(graph, source, sink)
    cut.check()
    value, labels = graphs.oracle(graph, source, sink)
    assert cut.value == value
    np.testing.assert_array_equal(cut.labels, labels)


def test_like_the_grid():
    """The same labels as max_flow on the same problem, given as a graph."""
    rng = np.random.default_rng(2)
    shape = (30, 40)
    index = np.arange(1200).reshape(shape)
    source, sink = rng.integers(0, 30, (2, *shape))
    right, down = rng.integers(0, 20, (2, *shape))
    tails = np.concatenate([index[:, :-1].ravel(), index[:-1].ravel()])
    heads = np.concatenate([index[:, 1:].ravel(), index[1:].ravel()])
    values = np.concatenate([right[:, :-1].ravel(), down[:-1].ravel()])
    graph = scipy.sparse.coo_array((values, (tails, heads)), shape=(1200, 1200))
    grid = gridcut.max_flow(source, sink, {(0, 1): right, (1, 0): down}, device="cpu")
    cut = gridcut.graph_max_flow(graph + graph.T, source.ravel(), sink.ravel())
    assert cut.value == grid.value
    np.testing.assert_array_equal(cut.labels, grid.labels.ravel())


def test_agrees_with_networkx_and_pymaxflow(graphs):
    networkx = pytest.importorskip("networkx")
    maxflow = pytest.importorskip("maxflow")
    for seed in range(40):
        graph, source, sink = graphs.random_problem(seed)
        n = graph.shape[0]
        network = networkx.DiGraph()
        network.add_nodes_from(["s", "t", *range(n)])
        dense = graph.toarray()
        for u, v in zip(*np.nonzero(dense), strict=True):
            network.add_edge(int(u), int(v), capacity=int(dense[u, v]))
        for u in range(n):
            network.add_edge("s", u, capacity=int(source[u]))
            network.add_edge(u, "t", capacity=int(sink[u]))
        theirs = maxflow.Graph[int](n, graph.nnz)
        nodes = theirs.add_nodes(n)
        graph = graph.tocoo()
        keep = graph.row != graph.col
        theirs.add_edges(graph.row[keep], graph.col[keep], graph.data[keep], np.zeros(keep.sum(), int))
        theirs.add_grid_tedges(nodes, source, sink)
        value = gridcut.graph_max_flow(graph, source, sink).value
        assert value == networkx.maximum_flow_value(network, "s", "t") == theirs.maxflow()
