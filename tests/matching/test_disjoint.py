"""p_dbfs, p_pf and p_hk: concurrent searches, which must be vertex-disjoint."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_bipartite_matching

from matching.core.certificate import certify
from matching.core.graph_input import bipartite_graph
from matching.papers import disjoint, p_dbfs, p_hk, p_pf

FORMS = {
    "p_dbfs": (p_dbfs, {}),
    "p_dbfs, 3 threads": (p_dbfs, {"threads": 3}),
    "p_pf": (p_pf, {}),
    "p_pf, 3 threads": (p_pf, {"threads": 3}),
    "p_pf, not fair": (p_pf, {"threads": 2, "fairness": False}),
    "p_hk": (p_hk, {}),
    "p_hk, 3 threads": (p_hk, {"threads": 3, "wide": 1}),
    "p_hk, 2 threads": (p_hk, {"threads": 2, "wide": 9}),
}


def random_graph(rng, n, m, edges):
    return sp.csr_array((np.ones(edges, np.int8), (rng.integers(0, n, edges), rng.integers(0, m, edges))), shape=(n, m))


def path(n):
    return sp.diags_array([np.ones(n), np.ones(n - 1)], offsets=[0, -1], format="csr", dtype=np.int8)


def ladder(levels):
    """Layers of two rows, adjacent to both columns of the next layer, that are dead ends; and a long chain."""
    dead = sp.kron(sp.eye_array(levels + 1, k=1), np.ones((2, 2))) + sp.eye_array(2 * levels + 2)
    joined = sp.lil_array(sp.block_diag([sp.csr_array(dead)[:, 2:], path(levels)]))
    joined[0, joined.shape[1] - 1] = 1
    return joined.tocsr()


def shuffled(graph, rng):
    return sp.csr_array(graph)[rng.permutation(graph.shape[0])][:, rng.permutation(graph.shape[1])]


def graphs(count):
    rng = np.random.default_rng(13)
    for trial in range(count):
        n, m = (int(size) for size in rng.integers(1, 70, 2))
        kind = trial % 5
        if kind < 2:
            yield random_graph(rng, n, m, int(rng.integers(0, 4 * max(n, m))))
        elif kind == 2:
            yield shuffled(path(n), rng)
        elif kind == 3:
            yield shuffled(ladder(n // 6 + 1), rng)
        else:
            parts = [random_graph(rng, n, 5, 30), random_graph(rng, 4, m, 40), path(9), sp.csr_array((2, 3))]
            yield shuffled(sp.block_diag(parts, format="csr"), rng)


def empty_matching(graph):
    return np.full(graph.rows, -1, np.int32), np.full(graph.cols, -1, np.int32)


def solve(form, graph, start=None):
    """Solved and certified: (cardinality, stats)."""
    module, keywords = FORMS[form]
    row_match, col_match = empty_matching(graph)
    if start is not None:
        row_match[:], col_match[:] = start
    stats = module.solve(graph, row_match, col_match, **keywords)
    certify(graph, row_match, col_match)
    return np.count_nonzero(row_match >= 0), stats


@pytest.fixture
def threads_at_once(monkeypatch):
    """Use threads for any number of free rows."""
    monkeypatch.setattr(disjoint.run_phases, "__defaults__", (None, 1))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("threads_at_once")
def test_cardinality_certificate_and_counts(form):
    for matrix in graphs(60):
        graph = bipartite_graph(matrix)
        best = np.count_nonzero(maximum_bipartite_matching(matrix, perm_type="column") >= 0)
        found, stats = solve(form, graph)
        assert found == best
        assert stats["augmentations"] == best
        assert (stats["path_length"] - best) % 2 == 0
        assert stats["path_length"] >= best


@pytest.mark.parametrize("form", FORMS)
def test_larger_graphs(form):
    rng = np.random.default_rng(2)
    for matrix in (random_graph(rng, 20_000, 20_000, 60_000), random_graph(rng, 9_000, 20_000, 50_000)):
        best = np.count_nonzero(maximum_bipartite_matching(matrix) >= 0)
        for _ in range(3):
            assert solve(form, bipartite_graph(matrix))[0] == best


@pytest.mark.parametrize("form", FORMS)
def test_one_long_path_from_a_given_matching(form):
    n = 1000 if "wide" in FORMS[form][1] else 50_000  # a level on several threads takes 0.1 ms
    graph = bipartite_graph(path(n))
    start = empty_matching(graph)
    start[0][1:] = np.arange(n - 1)
    start[1][:-1] = np.arange(1, n)
    found, stats = solve(form, graph, start)
    assert (found, stats["augmentations"], stats["path_length"]) == (n, 1, 2 * n - 1)


@pytest.mark.parametrize("form", FORMS)
def test_dead_ends_are_searched_once(form):
    """A search without marks on visited vertices would take 2^levels steps."""
    matrix = ladder(2_000)
    graph = bipartite_graph(matrix)
    _, stats = solve(form, graph)
    assert stats["edges"] <= 4 * stats["phases"] * graph.edges


@pytest.mark.parametrize("form", FORMS)
def test_empty_sides_and_no_edges(form):
    for shape in [(0, 0), (0, 5), (5, 0), (4, 6)]:
        found, stats = solve(form, bipartite_graph(sp.csr_array(shape)))
        assert found == stats["edges"] == 0


def test_shortest_paths_first():
    """One thread: the Hopcroft-Karp algorithm has few phases, and its paths are shortest paths."""
    matrix = random_graph(np.random.default_rng(0), 3000, 3000, 9000)
    graph = bipartite_graph(matrix)
    lengths = {form: solve(form, graph)[1]["path_length"] for form in ("p_hk", "p_pf")}
    assert lengths["p_hk"] < lengths["p_pf"]


@pytest.mark.parametrize("module", [p_dbfs, p_pf, p_hk])
@pytest.mark.parametrize("threads", [0, -1, 1.5])
def test_invalid_threads(module, threads):
    graph = bipartite_graph(path(3))
    with pytest.raises(ValueError, match="threads must be an integer, 1 or more"):
        module.solve(graph, *empty_matching(graph), threads=threads)
