"""Every method from every initial matching: certified, and of the same cardinality as SciPy's matching."""

import numpy as np
import pytest
import scipy.sparse

import matching
from matching.methods import INITS, METHODS

ON_CPU = [name for name, entry in METHODS.items() if entry.cpu]
NAMES = ["auto", *ON_CPU]


@pytest.mark.parametrize("method", NAMES)
def test_random_graphs(tools, method):
    rng = np.random.default_rng(1)
    inits = list(INITS)
    for trial in range(300):
        graph = tools.random_graph(rng)
        found = matching.maximum(graph, method=method, init=inits[trial % len(inits)])
        found.check()
        assert found.cardinality == tools.best_cardinality(graph), (trial, graph.toarray())


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("init", INITS)
def test_adversarial_graphs(tools, method, init):
    rng = np.random.default_rng(2)
    # The cardinality by construction; None: by SciPy
    for graph, size in (
        (tools.path(300), 300),
        (tools.ladder(40), 161),
        (tools.rope(40, rng), None),
        (tools.road(20, rng), None),
        (tools.uniform(300, 3, rng), None),
        (tools.pattern(np.arange(50), np.zeros(50, int), (50, 3)), 1),
        (tools.pattern(np.zeros(50, int), np.arange(50), (3, 50)), 1),
    ):
        size = tools.best_cardinality(graph) if size is None else size
        for one in (graph, tools.permuted(graph, rng)):
            found = matching.maximum(one, method=method, init=init)
            found.check()
            assert found.cardinality == size


@pytest.mark.parametrize("method", NAMES)
def test_larger_graphs(tools, method):
    rng = np.random.default_rng(3)
    for graph in (tools.road(50, rng), tools.uniform(3000, 3, rng), tools.uniform(3000, 6, rng)[:2500]):
        size = tools.best_cardinality(graph)
        for one in (graph, tools.permuted(graph, rng)):
            found = matching.maximum(one, method=method, init="cheap")
            found.check()
            assert found.cardinality == size


@pytest.mark.parametrize("method", ["auto", "hopcroft_karp", "hkdw", "push_relabel"])
def test_ladder_of_many_levels_is_not_exponential(tools, method):
    graph = tools.ladder(100_000)
    found = matching.maximum(graph, method=method, init="cheap")
    found.check()
    assert found.cardinality == graph.shape[0]


@pytest.mark.parametrize("method", NAMES)
def test_start_is_kept_and_completed(tools, method):
    rng = np.random.default_rng(4)
    for _ in range(40):
        graph = tools.random_graph(rng)
        full = matching.maximum(graph)
        start = np.where(rng.random(graph.shape[0]) < 0.5, full.row_match, -1)
        for init in INITS:
            found = matching.maximum(graph, method=method, init=init, start=start)
            found.check()
            assert found.cardinality == full.cardinality
            assert (found.row_match[start >= 0] >= 0).all()
            assert (found.col_match[start[start >= 0]] >= 0).all()
        again = matching.maximum(graph, method=method, start=full)
        assert again.cardinality == full.cardinality
        assert again.stats["augmentations"] == 0


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("method", NAMES)
def test_vertices_matched_in_start_stay_matched(tools, method, init):
    """Rows and columns, also if no maximum matching contains the given one."""
    rng = np.random.default_rng(10)
    for _ in range(150):
        graph = tools.random_graph(rng, 10)
        start = tools.random_start(graph, rng)
        found = matching.maximum(graph, method=method, init=init, start=start)
        found.check()
        assert (found.row_match[start >= 0] >= 0).all()
        assert (found.col_match[start[start >= 0]] >= 0).all()


def test_push_relabel_restores_columns():
    graph = scipy.sparse.csr_array([[1, 1, 1], [1, 1, 1]])
    found = matching.maximum(graph, method="push_relabel", init="none", start=[0, -1])
    found.check()
    assert found.cardinality == 2
    assert found.col_match[0] >= 0


@pytest.mark.parametrize(
    "parameters",
    [
        {"gap": False},
        {"frequency": 0.01},
        {"frequency": 1e9},
        {"order": "lifo"},
        {"order": "highest"},
        {"order": "lowest"},
    ],
    ids=str,
)
def test_push_relabel_restores_columns_with_any_parameters(tools, parameters):
    rng = np.random.default_rng(11)
    for _ in range(300):
        graph = tools.uniform(60, 2, rng) if rng.random() < 0.1 else tools.random_graph(rng, 8)
        start = tools.random_start(graph, rng)
        found = matching.maximum(graph, method="push_relabel", init="none", start=start, **parameters)
        found.check()
        assert (found.row_match[start >= 0] >= 0).all()
        assert (found.col_match[start[start >= 0]] >= 0).all()


@pytest.mark.parametrize("method", ON_CPU)
def test_stats(tools, method):
    graph = tools.permuted(tools.road(30, np.random.default_rng(5)), np.random.default_rng(6))
    found = matching.maximum(graph, method=method, init="cheap")
    stats = found.stats
    assert stats["augmentations"] == found.cardinality - stats["initial"] > 0
    assert stats["edges"] > 0
    assert stats["phases"] > 0
    assert stats["path_length"] >= stats["augmentations"]
    assert all(seconds >= 0 for seconds in stats["seconds"].values())


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("pothen_fan", {"fairness": False}),
        ("pothen_fan", {"lookahead": False}),
        ("ss_dfs", {"lookahead": False}),
        ("push_relabel", {"gap": False}),
        ("push_relabel", {"frequency": 0.01}),
        ("push_relabel", {"frequency": 1e9}),
    ],
)
def test_parameters(tools, method, parameters):
    rng = np.random.default_rng(7)
    for _ in range(150):
        graph = tools.random_graph(rng)
        found = matching.maximum(graph, method=method, init="none", **parameters)
        found.check()
        assert found.cardinality == tools.best_cardinality(graph)


def test_gap_heuristic(tools):
    """Many columns and few rows: most columns cannot be matched."""
    rng = np.random.default_rng(8)
    graph = scipy.sparse.block_diag(
        [tools.pattern(rng.integers(0, 60, 900), rng.integers(0, 300, 900), (60, 300)), tools.path(200)], "csr"
    )
    sizes = {matching.maximum(graph, method="push_relabel", init="none", gap=gap).cardinality for gap in (True, False)}
    assert sizes == {tools.best_cardinality(graph)}


def test_results_are_deterministic(tools):
    graph = tools.uniform(500, 3, np.random.default_rng(9))
    first, second = matching.maximum(graph), matching.maximum(graph)
    np.testing.assert_array_equal(first.row_match, second.row_match)
