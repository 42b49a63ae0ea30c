"""Accepted forms of graphs, results, and rejected arguments."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import csgraph

import matching
from matching.core.certificate import certify
from matching.forest import team_search
from matching.portfolio import portfolio

DENSE = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_forms(form, kind):
    found = matching.maximum(kind(DENSE).asformat(form))
    found.check()
    assert found.cardinality == 3
    assert found.row_match.dtype == found.col_match.dtype == np.int32
    rows, cols = found.pairs
    assert DENSE[rows, cols].all()
    np.testing.assert_array_equal(found.col_match[cols], rows)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint16, ">i4"])
def test_tuples(dtype):
    matrix = scipy.sparse.csr_array(DENSE)
    graph = (matrix.indptr.astype(dtype), matrix.indices.astype(dtype), matrix.shape)
    assert matching.maximum(graph).cardinality == 3
    assert matching.maximum((list(matrix.indptr), list(matrix.indices), DENSE.shape)).cardinality == 3


def test_the_form_of_the_solvers():
    """Lists of both sides are sorted and without duplicates."""
    graph = matching.bipartite_graph((np.array([0, 5, 5, 7]), np.array([3, 1, 3, 0, 1, 2, 2]), (3, 4)))
    assert graph.row_ptr.tolist() == [0, 3, 3, 4]
    assert graph.row_adj.tolist() == [0, 1, 3, 2]
    assert graph.col_ptr.tolist() == [0, 1, 2, 3, 4]
    assert graph.col_adj.tolist() == [0, 0, 2, 0]
    assert graph.row_ptr.dtype == graph.col_ptr.dtype == np.int64
    assert graph.row_adj.dtype == graph.col_adj.dtype == np.int32
    assert matching.bipartite_graph(graph) is graph
    assert graph.transposed.shape == (4, 3)
    assert graph.edges == 4


def test_random_tuples(tools):
    rng = np.random.default_rng(1)
    for _ in range(100):
        n, m = (int(size) for size in rng.integers(1, 10, 2))
        k = int(rng.integers(0, 40))
        row, col = rng.integers(0, n, k), rng.integers(0, m, k)
        want = tools.pattern(row, col, (n, m))
        row_of_entry = np.sort(row)
        indptr = np.searchsorted(row_of_entry, np.arange(n + 1))
        parts = (indptr, col[np.argsort(row, kind="stable")], (n, m))
        coo = scipy.sparse.coo_array((np.zeros(k), (row, col)), shape=(n, m))
        for given in (parts, coo, scipy.sparse.csc_array(want)):
            graph = matching.bipartite_graph(given)
            np.testing.assert_array_equal(graph.row_ptr, want.indptr)
            np.testing.assert_array_equal(graph.row_adj, want.indices)
            np.testing.assert_array_equal(graph.col_ptr, want.tocsc().indptr)
            np.testing.assert_array_equal(graph.col_adj, want.tocsc().indices)


def test_stored_zeros_are_edges():
    graph = scipy.sparse.csr_array((np.zeros(2), ([0, 1], [0, 1])), shape=(2, 2))
    assert matching.maximum(graph).cardinality == 2
    assert (csgraph.maximum_bipartite_matching(graph) >= 0).sum() == 2


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (3, 4)])
def test_without_edges(shape):
    found = matching.maximum(scipy.sparse.csr_array(shape))
    found.check()
    assert found.cardinality == 0
    assert (found.row_match == -1).all()
    assert [len(part) for part in found.vertex_cover()] == [0, 0]


def test_vertex_cover(tools):
    rng = np.random.default_rng(2)
    for _ in range(100):
        graph = tools.random_graph(rng)
        found = matching.maximum(graph)
        rows, cols = found.vertex_cover()
        assert len(rows) + len(cols) == found.cardinality
        left = graph.toarray()
        left[rows] = 0
        left[:, cols] = 0
        assert not left.any()


def test_wrong_matching_is_detected():
    graph = matching.bipartite_graph(scipy.sparse.csr_array(DENSE))

    def pair(row_match, col_match):
        certify(graph, np.array(row_match, np.int32), np.array(col_match, np.int32))

    pair([0, 1, 2, -1], [0, 1, 2])
    for row_match, col_match, why in (
        ([0, 1, -1, -1], [0, 1, -1], "not maximum"),
        ([2, 1, -1, 0], [3, 1, 0], "no edge"),
        ([0, 0, 2, -1], [0, -1, 2], "row 1"),
        ([0, -1, 2, -1], [0, 1, 2], "column 1"),
        ([9, -1, 2, -1], [-1, -1, 2], "row 0"),
        ([0, 1, 2], [0, 1, 2], "shape"),
    ):
        with pytest.raises(matching.CertificateError, match=why):
            pair(row_match, col_match)


def test_as_scipy(tools):
    rng = np.random.default_rng(3)
    for _ in range(100):
        graph = tools.random_graph(rng)
        for perm_type, size in (("row", graph.shape[1]), ("column", graph.shape[0])):
            perm = matching.maximum_bipartite_matching(graph, perm_type=perm_type)
            assert perm.shape == (size,)
            assert perm.dtype == np.int32
            assert (perm >= 0).sum() == tools.best_cardinality(graph)
        if 0 not in graph.shape:
            assert matching.structural_rank(graph) == csgraph.structural_rank(graph)


@pytest.mark.parametrize(
    ("graph", "error", "says"),
    [
        (DENSE, TypeError, "csr_array"),
        ((1, 2), TypeError, "indptr, indices, shape"),
        (([0, 1], [0.5], (1, 1)), TypeError, "indices"),
        (([[0, 1]], [0], (1, 1)), TypeError, "indptr"),
        (([0, 1], [0], (1, 1.5)), TypeError, "shape"),
        (([0, 1], [0], (2**31, 1)), ValueError, "shape"),
        (([0, 1], [0], (2, 1)), ValueError, "3 entries"),
        (([0, 2, 1], [0, 0], (2, 1)), ValueError, "ascend"),
        (([0, 2], [0], (1, 1)), ValueError, "ascend"),
        (([1, 2], [0, 0], (1, 1)), ValueError, "ascend"),
        (([0, 1], [1], (1, 1)), ValueError, "indices"),
        (([0, 1], [-1], (1, 1)), ValueError, "indices"),
        (([0, 1], [2**32], (1, 1)), ValueError, "indices"),
    ],
)
def test_invalid_graphs(graph, error, says):
    with pytest.raises(error, match=says):
        matching.maximum(graph)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"method": "blossom"}, ValueError, "hopcroft_karp"),
        ({"method": 3}, TypeError, "method"),
        ({"init": "best"}, ValueError, "karp_sipser"),
        ({"device": "tpu"}, ValueError, "device"),
        ({"device": "cuda", "method": "ss_bfs"}, RuntimeError, "device='cuda'"),
        ({"device": "cpu", "method": "apfb"}, RuntimeError, "use device='cuda'"),
        ({"threads": 0}, ValueError, "threads"),
        ({"fairness": True}, TypeError, "auto"),
        ({"method": "pothen_fan", "gap": True}, TypeError, "fairness"),
        ({"method": "hopcroft_karp", "gap": True}, TypeError, "no parameters"),
        ({"method": "push_relabel", "frequency": 0}, ValueError, "frequency"),
        ({"start": [0, 1]}, ValueError, "start"),
        ({"start": [0.0, 1.0, 2.0, 3.0]}, TypeError, "start"),
        ({"start": [0, 1, 3, -1]}, ValueError, "start"),
        ({"start": [0, 0, 2, -1]}, ValueError, "start"),
        ({"start": [2, -1, -1, -1]}, ValueError, "start"),
    ],
)
def test_invalid_arguments(arguments, error, says):
    with pytest.raises(error, match=says):
        matching.maximum(scipy.sparse.csr_array(DENSE), **arguments)


@pytest.mark.parametrize("local", [True, False])
def test_cardinality_does_not_depend_on_threads(tools, monkeypatch, local):
    """The parallel stages of the default method, with their minimum sizes lowered."""
    monkeypatch.setattr(portfolio, "ONE_KERNEL_EDGES", 1)
    monkeypatch.setattr(portfolio, "PARALLEL_MIN_EDGES", 1)
    rng, used = np.random.default_rng(4), []

    def watch(module, name):
        step = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given: used.append((name, given[-1])) or step(*given))

    watch(team_search, "search_by_team")
    watch(portfolio, "match_cheap")
    graph = tools.road(130, rng) if local else tools.permuted(tools.road(130, rng), rng)
    sizes = set()
    for threads in (1, 2, 3):
        found = matching.maximum(graph, threads=threads, device="cpu")
        found.check()
        sizes.add(found.cardinality)
    assert sizes == {tools.best_cardinality(graph)}
    assert {count for name, count in used if name == "search_by_team"} == {2, 3}
    assert {count for name, count in used if name == "match_cheap"} == ({1} if local else {1, 2, 3})


def test_pickled_and_reused():
    graph = matching.bipartite_graph(scipy.sparse.csr_array(DENSE))
    first = matching.maximum(graph)
    assert matching.maximum(graph, start=first).stats["augmentations"] == 0
