"""Initial matchings: valid, maximal, and the guarantees of the Karp-Sipser matching."""

import numpy as np
import pytest
import scipy.sparse

import matching
from matching.core.certificate import certify_pairs
from matching.core.graph_input import bipartite_graph
from matching.initial import karp_sipser
from matching.methods import INITS, initialiser
from tests.matching import oracles

NAMES = [name for name, entry in INITS.items() if entry.cpu]


def run(graph, init, start=None, threads=1):
    graph = bipartite_graph(graph)
    row_match, col_match = np.full(graph.rows, -1, np.int32), np.full(graph.cols, -1, np.int32)
    if start is not None:
        row_match[:] = start
        rows = np.flatnonzero(row_match >= 0)
        col_match[row_match[rows]] = rows
    stats = initialiser(init, "cpu", threads)(graph, row_match, col_match)
    certify_pairs(graph, row_match, col_match)
    rows = np.repeat(np.arange(graph.rows), np.diff(graph.row_ptr))
    assert ((row_match[rows] >= 0) | (col_match[graph.row_adj] >= 0)).all(), "an edge is left between free vertices"
    return row_match, stats


@pytest.mark.parametrize("init", NAMES)
def test_is_maximal(init):
    rng = np.random.default_rng(1)
    for _ in range(100):
        run(oracles.random_graph(rng), init)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads(monkeypatch, threads):
    """Maximal matchings, which keep the given pairs; the searches from them end with as many pairs as from others."""
    monkeypatch.setattr(karp_sipser, "PARALLEL_MIN_EDGES", 1)
    monkeypatch.setattr(karp_sipser, "ALONE_ROWS", 4)
    rng = np.random.default_rng(4)
    for _ in range(60):
        graph = oracles.random_graph(rng, 40)
        start, _ = run(graph, "karp_sipser", threads=threads)
        start[rng.random(len(start)) < 0.5] = -1
        row_match, _ = run(graph, "karp_sipser", start, threads)
        np.testing.assert_array_equal(row_match[start >= 0], start[start >= 0])
        found = matching.maximum(graph, method="ms_bfs_graft", threads=threads)
        found.check()
        assert found.cardinality == oracles.best_cardinality(graph)


@pytest.mark.parametrize("length", [1, 2, 3, 400])
def test_two_sided_is_exact_on_forests(length):
    rng = np.random.default_rng(3)
    n = length
    parent = np.array([rng.integers(0, k) for k in range(1, 2 * n)], int)
    child = np.arange(1, 2 * n)
    depth = np.zeros(2 * n, int)
    for k in child:
        depth[k] = depth[parent[k - 1]] + 1
    even = depth % 2 == 0
    row = np.where(even[child], child, parent)
    col = np.where(even[child], parent, child)
    tree = oracles.pattern(row, col, (2 * n, 2 * n))
    row_match, stats = run(tree, "karp_sipser")
    assert (row_match >= 0).sum() == oracles.best_cardinality(tree) == stats["forced"]


def test_two_sided_is_nearly_maximum_on_random_graphs():
    graph = oracles.uniform(20_000, 3, np.random.default_rng(4))
    size = matching.maximum(graph).cardinality
    left = {init: size - (run(graph, init)[0] >= 0).sum() for init in NAMES}
    assert left["karp_sipser"] <= 20
    assert left["karp_sipser"] < left["karp_sipser_one_sided"] < left["cheap"]


@pytest.mark.parametrize("threads", [1, 2, 5, 16])
@pytest.mark.parametrize("kind", ["lattice", "random"])
def test_one_thread_picks_the_rows_of_a_mesh_in_its_own_order(threads, kind, monkeypatch):
    """Threads that pick rows next to each other would leave many, from which searches are long."""
    side, counts, run_threads = 60, [], karp_sipser.run_threads
    monkeypatch.setattr(karp_sipser, "PARALLEL_MIN_EDGES", 0)
    monkeypatch.setattr(karp_sipser, "ALONE_ROWS", 64)
    monkeypatch.setattr(karp_sipser, "run_threads", lambda work, n: counts.append(n) or run_threads(work, n))
    lattice = scipy.sparse.diags_array([1.0] * 4, offsets=[-side, -1, 1, side], shape=(side**2, side**2))
    matrix = lattice if kind == "lattice" else oracles.uniform(side**2, 5, np.random.default_rng(0))
    graph = bipartite_graph(scipy.sparse.csr_array(matrix))
    rows, cols = np.full(graph.rows, -1, np.int32), np.full(graph.cols, -1, np.int32)
    karp_sipser.initialise(graph, rows, cols, threads=threads)
    left = matching.maximum(graph, device="cpu").cardinality - np.count_nonzero(rows >= 0)
    assert left == 0 if kind == "lattice" else left < 40
    assert counts == [threads] * (4 + (kind == "random" and threads > 1))
