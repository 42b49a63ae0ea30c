"""The default method: its search, its choice of an initial matching, and the lists that it does not build."""

import numpy as np
import pytest

import matching
from matching.core.certificate import certify, certify_pairs
from matching.core.counts import new_counts
from matching.core.graph_input import bipartite_graph
from matching.initial import karp_sipser
from matching.portfolio import portfolio
from tests.matching import oracles


def empty_matching(graph):
    return np.full(graph.rows, -1, np.int32), np.full(graph.cols, -1, np.int32)


@pytest.mark.parametrize(("kind", "first"), [("uniform", "karp_sipser"), ("road", "cheap"), ("path", "cheap")])
def test_initial_matching(kind, first):
    rng = np.random.default_rng(5)
    make = {
        "uniform": lambda: oracles.uniform(20_000, 5, rng),
        "road": lambda: oracles.permuted(oracles.road(150, rng), rng),
        "path": lambda: oracles.path(30_000),
    }
    matrix = make[kind]()
    found = matching.maximum(matrix)
    found.check()
    assert found.method == "portfolio"
    assert found.stats["stages"] == (first, "search")
    assert found.cardinality == matching.maximum(matrix, method="push_relabel").cardinality


def test_unused_lists_are_not_built():
    matrix = oracles.road(150, np.random.default_rng(8))
    by_row, by_col = bipartite_graph(matrix), bipartite_graph(matrix.tocsc())
    sizes = set()
    for graph in (by_row, by_col, by_row.transposed):
        found = matching.maximum(graph)
        sizes.add(found.cardinality)
        assert graph.has_rows != (graph._by_col is not None)
        found.check()
    assert len(sizes) == 1


def test_search_ends_if_no_column_is_free():
    """Most of these rows have to stay free, and no search is needed to find out."""
    rng = np.random.default_rng(11)
    matrix = oracles.pattern(rng.integers(0, 30_000, 60_000), rng.integers(0, 50, 60_000), (30_000, 50))
    found = matching.maximum(matrix)
    found.check()
    assert found.cardinality == 50
    assert found.stats["edges"] <= matrix.nnz


def graphs_for_threads(rng):
    """More than one block of columns; wide and narrow levels, local and random numberings."""
    return (
        oracles.uniform(20_000, 2, rng),
        oracles.uniform(20_000, 5, rng)[:17_000],
        oracles.uniform(20_000, 5, rng)[:, :17_000],
        oracles.road(130, rng),
        oracles.permuted(oracles.road(130, rng), rng),
        oracles.rope(2500, rng),
        oracles.ladder(5000),
        oracles.path(15_000),
    )


@pytest.mark.parametrize("threads", [2, 3])
def test_threads(monkeypatch, threads):
    """Small and larger graphs, repeatedly."""
    monkeypatch.setattr(portfolio, "ONE_KERNEL_EDGES", 1)
    monkeypatch.setattr(portfolio, "PARALLEL_MIN_EDGES", 1)
    rng = np.random.default_rng(14)
    for matrix in [oracles.random_graph(rng, 40) for _ in range(60)]:
        found = matching.maximum(matrix, threads=threads)
        found.check()
        assert found.cardinality == oracles.best_cardinality(matrix)
    for matrix in graphs_for_threads(rng):
        size = matching.maximum(matrix, threads=1).cardinality
        for given in (matrix, matrix.tocsc()):
            for _ in range(4):
                found = matching.maximum(given, threads=threads)
                found.check()
                assert found.cardinality == size
        again = matching.maximum(matrix, threads=threads, start=found)
        assert again.cardinality == size
        assert again.stats["augmentations"] == 0


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_vertices_outside_the_core(threads):
    """Free vertices outside the core can stay free: the number of missing pairs does not depend on them."""
    rng = np.random.default_rng(15)
    for trial in range(60):
        matrix = oracles.uniform(3000, 2 + trial % 3, rng) if trial % 10 == 0 else oracles.random_graph(rng, 40)
        graph = bipartite_graph(matrix)
        row_match, col_match = empty_matching(graph)
        karp_sipser.match(graph, row_match, col_match, False, threads)
        certify_pairs(graph, np.maximum(row_match, -1), np.maximum(col_match, -1))
        missing = matching.maximum(matrix, method="push_relabel").cardinality - np.count_nonzero(row_match >= 0)
        assert missing <= min(np.count_nonzero(row_match == -1), np.count_nonzero(col_match == -1))
        portfolio.search_core(graph, row_match, col_match, new_counts(), threads)
        certify(graph, row_match, col_match)
