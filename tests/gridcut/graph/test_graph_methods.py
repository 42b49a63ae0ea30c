"""The named methods of graph_max_flow: values of SciPy, PyMaxflow and networkx, labels of the default, certificates.

Labels are unique by the tie rule, so they are compared.
"""

import importlib
import inspect
import os

import numpy as np
import pytest
import scipy.sparse

import gridcut
from gridcut.device.choose import numba_cuda_is_installed
from gridcut.graph import graph_methods

BASE = int(os.environ.get("CUTMATCH_SEED", "0"))
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1

VARIANTS = {
    "push_relabel fifo": {"method": "push_relabel"},
    "push_relabel highest": {"method": "push_relabel", "order": "highest"},
    "push_relabel, rare relabelings": {"method": "push_relabel", "global_every": 50},
    "lock_free, 1": {"method": "lock_free", "threads": 1},
    "lock_free, 3": {"method": "lock_free", "threads": 3},
    "lock_free, 8": {"method": "lock_free", "threads": 8, "global_every": 0.1},
}
# method, device, module of its solver
SOLVERS = [
    ("ibfs", "cpu", "gridcut.graph.graph_ibfs"),
    ("push_relabel", "cpu", "gridcut.papers.graph_push_relabel"),
    ("lock_free", "cpu", "gridcut.papers.graph_lock_free"),
    ("lock_free", "cuda", "gridcut.papers.graph_lock_free_cuda"),
    ("waves", "cuda", "gridcut.graph.graph_waves_cuda"),
]

every_variant = pytest.mark.parametrize("variant", VARIANTS)


def solve(graph, source, sink, variant):
    """The cut by a name of VARIANTS, certified and compared with the default."""
    cut = gridcut.graph_max_flow(graph, source, sink, **VARIANTS[variant])
    cut.check()
    expected = gridcut.graph_max_flow(graph, source, sink)
    assert cut.value == expected.value
    np.testing.assert_array_equal(cut.labels, expected.labels)
    assert (cut.method, cut.device) == (VARIANTS[variant]["method"], "cpu")
    return cut


@every_variant
def test_random_graphs(variant, graphs):
    """Repeated entries, loops, unreachable nodes."""
    for seed in range(BASE, BASE + 60):
        problem = graphs.random_problem(seed)
        value, labels = graphs.oracle(*problem)
        cut = solve(*problem, variant)
        assert cut.value == value, f"seed {seed}"
        np.testing.assert_array_equal(cut.labels, labels, f"seed {seed}")


@pytest.mark.thorough
@every_variant
def test_many_random_graphs(variant, graphs):
    for seed in range(BASE, BASE + 3000):
        solve(*graphs.random_problem(seed), variant)


@every_variant
def test_the_adversary_of_many_augmentations(variant, graphs):
    problem = graphs.layered_problem()
    assert solve(*problem, variant).value == graphs.oracle(*problem)[0]


@every_variant
def test_values_of_networkx_and_pymaxflow(variant, graphs):
    networkx = pytest.importorskip("networkx")
    maxflow = pytest.importorskip("maxflow")
    for seed in range(BASE, BASE + 10):
        graph, source, sink = graphs.random_problem(seed)
        n = graph.shape[0]
        network = networkx.DiGraph()
        network.add_nodes_from(["s", "t", *range(n)])
        theirs = maxflow.Graph[int](n, graph.nnz)
        nodes = theirs.add_nodes(n)
        theirs.add_grid_tedges(nodes, source, sink)
        dense = graph.toarray()
        np.fill_diagonal(dense, 0)
        for u, v in zip(*np.nonzero(dense), strict=True):
            network.add_edge(int(u), int(v), capacity=int(dense[u, v]))
            theirs.add_edge(int(u), int(v), int(dense[u, v]), 0)
        for u in range(n):
            network.add_edge("s", u, capacity=int(source[u]))
            network.add_edge(u, "t", capacity=int(sink[u]))
        value = solve(graph, source, sink, variant).value
        assert value == networkx.maximum_flow_value(network, "s", "t", backend="networkx") == theirs.maxflow()


@every_variant
def test_a_path_that_flow_has_to_come_back_on(variant):
    """Most of the excess reaches the end of a long path, where little of it can leave."""
    n = 2000
    nodes = np.arange(n - 1)
    graph = scipy.sparse.coo_array((np.full(n - 1, 50), (nodes, nodes + 1)), shape=(n, n))
    source, sink = np.zeros(n, int), np.zeros(n, int)
    source[0], sink[-1], sink[n // 2] = 40, 7, 3
    cut = solve(graph + graph.T, source, sink, variant)
    assert cut.value == 10
    assert cut.labels.all()


@every_variant
def test_long_rows(variant):
    """A hub with an arc to every node: each of its arcs is scanned a few times, not once per push."""
    n = 20_000
    rng = np.random.default_rng(0)
    leaves = np.arange(1, n)
    ends = np.zeros((2, n - 1), int)
    ends[1] = leaves
    graph = scipy.sparse.coo_array((rng.integers(0, 9, n - 1), ends), shape=(n, n))
    source, sink = np.zeros(n, int), rng.integers(0, 9, n)
    source[0] = 10**6
    cut = solve(graph, source, sink, variant)
    assert cut.stats["pushes"] < 4 * n


@every_variant
def test_complete_graphs(variant):
    n = 120
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 4, (n, n))
    source, sink = rng.integers(0, 50, (2, n))
    solve(scipy.sparse.csr_array(dense), source, sink, variant)


@every_variant
def test_components_without_a_source_or_a_sink(variant):
    """Excess that cannot reach a sink stays, next to a component in which it can."""
    edges = np.array([[0, 1, 1, 2, 3, 4, 4, 5], [1, 0, 2, 1, 4, 3, 5, 4]])
    graph = scipy.sparse.coo_array((np.full(8, 3), edges), shape=(7, 7))
    cut = solve(graph, [9, 0, 0, 9, 0, 0, 4], [0, 0, 0, 0, 0, 2, 0], variant)
    assert cut.value == 2
    assert cut.labels.all()


@every_variant
@pytest.mark.parametrize(("total", "dtype"), [(INT32_MAX, "int32"), (INT32_MAX + 1, "int64"), (INT64_MAX - 1, "int64")])
def test_capacities_at_the_limits(variant, total, dtype):
    """A diamond whose middle has capacities that sum to the largest integer of the type."""
    part = total // 4
    graph = ([0, 1, 2, 2], [1, 2], np.array([part, part]), (3, 3))
    cut = solve(graph, [part, total - 3 * part, 0], [0, part, part], variant)
    assert cut.stats["dtype"] == dtype
    assert cut.value == 2 * part


@every_variant
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_every_type(variant, dtype, graphs):
    graph, source, sink = graphs.random_problem(21)
    dense = np.minimum(graph.toarray(), 1 if dtype == "bool" else 100)
    source, sink = np.minimum(source, dense.max()), np.minimum(sink, dense.max())
    value, _ = graphs.oracle(scipy.sparse.csr_array(dense), source, sink)
    indptr, heads, capacity, shape = graphs.as_tuple(scipy.sparse.coo_array(dense))
    given = indptr, heads, capacity.astype(dtype), shape
    assert solve(given, source.astype(dtype), sink.astype(dtype), variant).value == value


@every_variant
def test_floats(variant, graphs):
    """Infinite capacities, capacities that are no multiples of a power of two, and those that need a finer unit."""
    for seed in range(BASE, BASE + 10):
        graph, source, sink = graphs.random_problem(seed)
        solve(graph / 7, source / 7, sink / 7, variant)
        hard = np.where(source > 0, np.inf, 0.0)
        solve(graph * 0.1, hard, np.where((sink > 0) & (source == 0), 1e200, 0.0), variant)
    fine = solve(([0, 1, 2], [1, 0], [1e-300, 1e300], (2, 2)), [1.0, 0], [0, 1.0], variant)
    assert fine.value == pytest.approx(1e-300)
    with pytest.raises(ValueError, match="every cut has infinite capacity"):
        gridcut.graph_max_flow(([0, 1, 1], [1], [np.inf], (2, 2)), [np.inf, 0], [0, np.inf], **VARIANTS[variant])


@every_variant
@pytest.mark.parametrize("n", [0, 1, 5])
def test_graphs_without_edges(variant, n):
    empty = scipy.sparse.csr_array((n, n), dtype=np.int64)
    assert solve(empty, np.arange(n), 2, variant).value == sum(min(u, 2) for u in range(n))
    loops = solve((range(n + 1), range(n), np.full(n, 7), (n, n)), 1, 3, variant)
    assert loops.value == n


def test_threads_are_exact_in_every_run(graphs):
    """Many runs on a graph in which threads meet all the time: each is certified."""
    problem = graphs.layered_problem(8, 20)
    value, labels = graphs.oracle(*problem)
    for run in range(40):
        cut = gridcut.graph_max_flow(*problem, method="lock_free", threads=2 + run % 5, global_every=1 + run % 3)
        cut.check()
        assert cut.value == value
        np.testing.assert_array_equal(cut.labels, labels)


@pytest.mark.parametrize("threads", [1, 4])
def test_fallback_is_exact(threads, graphs, monkeypatch):
    from gridcut.papers import graph_lock_free

    monkeypatch.setattr(graph_lock_free, "FALLBACK_ROUND", 2)
    problem = graphs.layered_problem()
    cut = gridcut.graph_max_flow(*problem, method="lock_free", threads=threads, global_every=0.02)
    cut.check()
    assert cut.value == graphs.oracle(*problem)[0]
    assert cut.stats["global_relabels"] > 2


def test_residuals_are_complete_after_lock_free(graphs):
    """The residual capacities of both directions of a pair add up to those of the graph."""
    graph, source, sink = graphs.random_problem(33)
    cut = gridcut.graph_max_flow(graph, source, sink, method="lock_free", threads=2)
    dense = graph.toarray()
    np.fill_diagonal(dense, 0)
    residual = cut.residual().toarray()
    np.testing.assert_array_equal(residual + residual.T, dense + dense.T)


def test_counters(graphs):
    problem = graphs.layered_problem()
    often, rarely = (
        gridcut.graph_max_flow(*problem, method="push_relabel", global_every=every).stats for every in (0.1, 100)
    )
    assert often["global_relabels"] > rarely["global_relabels"] >= 2
    assert min(often["pushes"], often["relabels"], rarely["pushes"], rarely["relabels"]) > 0
    assert gridcut.graph_max_flow(*problem, method="lock_free", threads=3).stats["threads"] == 3


def keywords_of(function):
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]


def test_every_solver_of_the_table_is_listed_here():
    listed = {(method, device) for method, device, _ in SOLVERS}
    table = {(name, d) for name, entry in graph_methods.METHODS.items() for d in ("cpu", "cuda") if getattr(entry, d)}
    assert table == listed


@pytest.mark.parametrize(("name", "ran_on", "module"), SOLVERS)
def test_parameters_are_the_keywords_of_the_solver(name, ran_on, module):
    if ran_on == "cuda" and not numba_cuda_is_installed():
        pytest.skip("needs numba-cuda to import the solver")
    entry = graph_methods.METHODS[name]
    accepted = entry.cpu_parameters if ran_on == "cpu" else entry.cuda_parameters
    assert list(accepted) == keywords_of(importlib.import_module(module).solve)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"method": "push_relabel", "order": "lowest"}, ValueError, "order must be 'fifo' or 'highest', got 'lowest'"),
        ({"method": "push_relabel", "global_every": 0}, ValueError, "global_every must be positive, got 0"),
        ({"method": "push_relabel", "threads": 2}, TypeError, "accepts order, global_every"),
        ({"method": "lock_free", "threads": 0}, ValueError, "threads must be 1 or more, got 0"),
        ({"method": "lock_free", "threads": 1.5}, TypeError, "threads must be an integer, got 1.5"),
        ({"method": "lock_free", "global_every": np.nan}, ValueError, "global_every must be a number, got nan"),
        ({"method": "lock_free", "order": "fifo"}, TypeError, "accepts threads, global_every"),
        ({"device": "gpu"}, ValueError, "device must be 'auto', 'cpu' or 'cuda', got 'gpu'"),
        ({"device": None}, TypeError, "device must be 'auto', 'cpu' or 'cuda', got NoneType"),
    ],
)
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        gridcut.graph_max_flow(([0, 1, 2], [1, 0], [3, 4], (2, 2)), [9, 0], [0, 9], **parameters)
