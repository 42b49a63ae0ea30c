"""The papers' methods for several threads, on one thread and on several: cardinalities, certificates, special cases.

ms_bfs and ms_bfs_graft grow forests, p_dbfs, p_pf and p_hk run vertex-disjoint searches concurrently.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from matching.core.certificate import certify
from matching.core.graph_input import bipartite_graph
from matching.papers import disjoint, ms_bfs_graft, p_dbfs, p_hk, p_pf
from matching.papers.ms_bfs_graft import ms_bfs
from tests.matching import oracles

FORESTS = {
    "plain": (ms_bfs, {}),
    "plain, both ways": (ms_bfs, {"direction_optimising": True}),
    "graft": (ms_bfs_graft.solve, {}),
    "graft, top-down": (ms_bfs_graft.solve, {"direction_optimising": False}),
    "graft, always": (ms_bfs_graft.solve, {"alpha": 1e9}),
    "graft, seldom": (ms_bfs_graft.solve, {"alpha": 0.5}),
    "from columns": (ms_bfs_graft.solve, {"side": "columns"}),
    "threads": (ms_bfs_graft.solve, {"threads": 2, "wide": 1}),
    "threads, top-down": (ms_bfs_graft.solve, {"threads": 3, "wide": 2, "direction_optimising": False}),
    "threads, wide levels only": (ms_bfs_graft.solve, {"threads": 2, "wide": 8, "alpha": 50}),
    "threads, plain": (ms_bfs, {"threads": 2, "wide": 1, "direction_optimising": True}),
}
SEARCHES = {
    "p_dbfs": (p_dbfs.solve, {}),
    "p_dbfs, 3 threads": (p_dbfs.solve, {"threads": 3}),
    "p_pf": (p_pf.solve, {}),
    "p_pf, 3 threads": (p_pf.solve, {"threads": 3}),
    "p_pf, not fair": (p_pf.solve, {"threads": 2, "fairness": False}),
    "p_hk": (p_hk.solve, {}),
    "p_hk, 3 threads": (p_hk.solve, {"threads": 3, "wide": 1}),
    "p_hk, 2 threads": (p_hk.solve, {"threads": 2, "wide": 9}),
}
FORMS = FORESTS | SEARCHES


@pytest.fixture(autouse=True)
def small_teams(monkeypatch):
    monkeypatch.setattr(ms_bfs_graft, "TEAM_ROWS", 1)


def random_graph(rng, n, m, edges):
    return sp.csr_array((np.ones(edges, np.int8), (rng.integers(0, n, edges), rng.integers(0, m, edges))), shape=(n, m))


def graphs(count):
    rng = np.random.default_rng(11)
    for trial in range(count):
        n, m = (int(size) for size in rng.integers(1, 70, 2))
        kind = trial % 7
        if kind < 2:
            yield random_graph(rng, n, m, int(rng.integers(0, 4 * max(n, m))))
        elif kind == 2:
            yield random_graph(rng, n, n, 2 * n)
        elif kind == 3:
            yield oracles.permuted(oracles.path(n), rng)
        elif kind == 4:
            yield oracles.rope(n // 8 + 1, rng)
        elif kind == 5:
            yield oracles.permuted(oracles.ladder(n // 8 + 1), rng)
        else:
            parts = [random_graph(rng, n, 5, 30), random_graph(rng, 4, m, 40), oracles.path(9), sp.csr_array((2, 3))]
            yield oracles.permuted(sp.block_diag(parts, format="csr"), rng)


def empty_matching(graph):
    return np.full(graph.rows, -1, np.int32), np.full(graph.cols, -1, np.int32)


def greedy_matching(graph, rng):
    """Rows in random order take their first free column."""
    row_match, col_match = empty_matching(graph)
    for r in rng.permutation(graph.rows):
        for c in graph.row_adj[graph.row_ptr[r] : graph.row_ptr[r + 1]]:
            if col_match[c] < 0:
                row_match[r], col_match[c] = c, r
                break
    return row_match, col_match


def shifted_path(n):
    """A path and a matching that misses one row and one column, at its two ends."""
    graph = bipartite_graph(oracles.path(n).T)
    row_match, col_match = empty_matching(graph)
    row_match[1:], col_match[:-1] = np.arange(n - 1), np.arange(1, n)
    return graph, row_match, col_match


def solve(form, graph, row_match, col_match, **more):
    """Solve in place and certify; returns stats."""
    solve, keywords = FORMS[form]
    stats = solve(graph, row_match, col_match, **keywords | more)
    certify(graph, row_match, col_match)
    return stats


@pytest.fixture
def threads_for_any_size(monkeypatch):
    """Use threads for any number of free rows."""
    monkeypatch.setattr(disjoint.run_phases, "__defaults__", (None, 1))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("threads_for_any_size")
def test_cardinality_certificate_and_counts(form):
    rng = np.random.default_rng(5)
    for matrix in graphs(42):
        graph = bipartite_graph(matrix)
        best = oracles.best_cardinality(matrix)
        for row_match, col_match in (empty_matching(graph), greedy_matching(graph, rng)):
            before = row_match.copy()
            stats = solve(form, graph, row_match, col_match)
            assert np.count_nonzero(row_match >= 0) == best
            assert np.all(row_match[before >= 0] >= 0)
            assert stats["augmentations"] == best - np.count_nonzero(before >= 0)
            assert stats["path_length"] >= stats["augmentations"]
            assert (stats["path_length"] - stats["augmentations"]) % 2 == 0
            if FORMS[form][0] is ms_bfs:
                assert stats["grafts"] == 0


@pytest.mark.parametrize("form", ["graft", "threads", "threads, top-down", *SEARCHES])
def test_larger_graphs(form):
    rng = np.random.default_rng(2)
    for matrix in (random_graph(rng, 20_000, 20_000, 60_000), random_graph(rng, 9_000, 20_000, 50_000)):
        graph = bipartite_graph(matrix)
        best = oracles.best_cardinality(matrix)
        for _ in range(2):
            row_match, col_match = empty_matching(graph)
            solve(form, graph, row_match, col_match)
            assert np.count_nonzero(row_match >= 0) == best


@pytest.mark.parametrize("form", ["graft", *SEARCHES])
def test_one_long_path_from_a_given_matching(form):
    n = 1000 if "wide" in FORMS[form][1] else 50_000  # each of its levels is a meeting of all threads
    graph, row_match, col_match = shifted_path(200_000 if form == "graft" else n)
    stats = solve(form, graph, row_match, col_match)
    assert np.all(row_match >= 0)
    assert (stats["augmentations"], stats["path_length"]) == (1, 2 * graph.rows - 1)
    assert form != "graft" or stats["phases"] == 1


@pytest.mark.parametrize("threads", [2, 7])
def test_few_trees_with_many_paths(threads):
    """Several threads find leaves of the same tree in one level: all of them except one are spare."""
    rng = np.random.default_rng(3)
    hubs = sp.hstack([sp.csr_array(np.ones((4, 3000))), sp.csr_array((4, 4000))])
    spokes = sp.hstack([sp.eye_array(3000), random_graph(rng, 3000, 4000, 9000)])
    matrix = sp.csr_array(sp.vstack([hubs, spokes]))
    graph = bipartite_graph(matrix)
    best = oracles.best_cardinality(matrix)
    for grafting in (True, False):
        row_match, col_match = empty_matching(graph)
        row_match[4:] = np.arange(3000)
        col_match[:3000] = np.arange(4, 3004)
        solve("graft, top-down", graph, row_match, col_match, threads=threads, wide=1, grafting=grafting)
        assert np.count_nonzero(row_match >= 0) == best


def test_example_of_figure_2():
    """Figure 2: T(x2) finds a path first, its columns are grafted onto T(x1), which finds one in the second phase.

    x2 is row 0 and x1 row 1; columns are numbered from y6, so that y3 comes before y2.
    """
    edges = [(1, 1), (1, 2), (2, 2), (2, 3), (3, 1), (3, 3), (4, 2), (4, 4), (5, 3), (5, 5), (6, 4), (6, 6)]
    row_of, pairs = {2: 0, 1: 1, 3: 2, 4: 3, 5: 4, 6: 5}, [(3, 1), (4, 2), (5, 3), (6, 4)]
    rows, cols = np.array([(row_of[x], 6 - y) for x, y in edges]).T
    graph = bipartite_graph(sp.csr_array((np.ones(len(edges)), (rows, cols)), shape=(6, 6)))
    row_match, col_match = empty_matching(graph)
    for x, y in pairs:
        row_match[row_of[x]], col_match[6 - y] = 6 - y, row_of[x]
    stats = solve("graft, top-down", graph, row_match, col_match)
    assert np.all(row_match >= 0)
    assert (stats["phases"], stats["grafts"], stats["augmentations"]) == (2, 1, 2)
    assert stats["path_length"] in (3 + 5, 3 + 9)  # y2 is grafted onto x1 as drawn, or onto x2 after y3
