"""Every method from every initial matching: certified, and of the same cardinality as SciPy's matching."""

import numpy as np
import pytest

import matching
from matching.methods import INITS, METHODS
from tests.matching import oracles

ON_CPU = [name for name, entry in METHODS.items() if entry.cpu]
NAMES = ["auto", *ON_CPU]


@pytest.mark.parametrize("method", NAMES)
def test_larger_graphs(method):
    rng = np.random.default_rng(3)
    for graph in (oracles.road(50, rng), oracles.uniform(3000, 3, rng), oracles.uniform(3000, 6, rng)[:2500]):
        size = oracles.best_cardinality(graph)
        for one in (graph, oracles.permuted(graph, rng)):
            found = matching.maximum(one, method=method, init="cheap")
            found.check()
            assert found.cardinality == size


@pytest.mark.parametrize("method", ["auto", "hopcroft_karp", "hkdw", "push_relabel"])
def test_ladder_of_many_levels_is_not_exponential(method):
    graph = oracles.ladder(100_000)
    found = matching.maximum(graph, method=method, init="cheap")
    found.check()
    assert found.cardinality == graph.shape[0]


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("method", NAMES)
def test_vertices_matched_in_start_stay_matched(method, init):
    """Rows and columns, also if no maximum matching contains the given one."""
    rng = np.random.default_rng(10)
    for _ in range(40):
        graph = oracles.random_graph(rng, 10)
        start = oracles.random_start(graph, rng)
        found = matching.maximum(graph, method=method, init=init, start=start)
        found.check()
        assert (found.row_match[start >= 0] >= 0).all()
        assert (found.col_match[start[start >= 0]] >= 0).all()


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
def test_push_relabel_restores_columns_with_any_parameters(parameters):
    rng = np.random.default_rng(11)
    for _ in range(100):
        graph = oracles.uniform(60, 2, rng) if rng.random() < 0.1 else oracles.random_graph(rng, 8)
        start = oracles.random_start(graph, rng)
        found = matching.maximum(graph, method="push_relabel", init="none", start=start, **parameters)
        found.check()
        assert (found.row_match[start >= 0] >= 0).all()
        assert (found.col_match[start[start >= 0]] >= 0).all()


@pytest.mark.parametrize("method", ON_CPU)
def test_stats(method):
    graph = oracles.permuted(oracles.road(30, np.random.default_rng(5)), np.random.default_rng(6))
    found = matching.maximum(graph, method=method, init="cheap")
    stats = found.stats
    assert stats["augmentations"] == found.cardinality - stats["initial"] > 0
    assert stats["edges"] > 0
    assert stats["phases"] > 0
    assert stats["path_length"] >= stats["augmentations"]
    assert all(seconds >= 0 for seconds in stats["seconds"].values())
