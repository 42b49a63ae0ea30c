"""Input validation of matching.greedy."""

import numpy as np
import pytest
import scipy.sparse

import matching
from matching.general import general_graph, locally_dominant
from matching.general.general_graph import check_graph
from matching.general.greedy_matching import greedy
from matching.general.greedy_methods import GREEDY_METHODS
from tests.matching.oracles import KINDS, random_weighted, weighted_path


def test_unsorted_and_duplicate_entries():
    ptr, adj = np.array([0, 3, 5, 6]), np.array([2, 1, 1, 0, 0, 0])
    twice = scipy.sparse.csr_array((np.array([5, 2, 2, 2, 2, 5]), adj, ptr), shape=(3, 3))
    before = twice.indices.copy(), twice.data.copy()
    found = greedy(twice)
    found.check()
    assert (found.weight, found.partner.tolist()) == (5, [2, -1, 0])
    np.testing.assert_array_equal(twice.indices, before[0])
    np.testing.assert_array_equal(twice.data, before[1])
    assert greedy((ptr, adj, (3, 3)), method="sorted").cardinality == 1


def test_invalid_input():
    graph = weighted_path([1, 2, 3])
    triple = (graph.indptr, graph.indices, graph.shape)
    one_way = scipy.sparse.csr_array(np.triu(graph.toarray()))
    two_weights = scipy.sparse.csr_array([[0, 1.0], [2.0, 0]])
    for arguments, kind, message in (
        ((scipy.sparse.csr_array((2, 3)),), ValueError, "square"),
        ((one_way,), ValueError, "must be symmetric, but only one of"),
        ((two_weights,), ValueError, "have different weights"),
        ((-graph,), ValueError, "negative weight"),
        ((graph * np.nan,), ValueError, "not finite"),
        ((graph * 1j,), TypeError, "real numbers"),
        ((graph * 2**61,), ValueError, "integer weights must be at most"),
        ((triple, np.full(6, 2**63, np.uint64)), ValueError, "integer weights must be at most"),
        ((triple, np.full(6, 1e308)), ValueError, "not finite, or whose sum is not"),
        ((graph, np.ones(5)), ValueError, "one value per stored entry"),
        ((graph.tocoo(), np.ones(6)), TypeError, "requires graph in CSR"),
        (((graph.indptr, graph.indices, (4, 5)),), ValueError, "square"),
    ):
        with pytest.raises(kind, match=message):
            greedy(*arguments)
    for parameters, kind, message in (
        ({"method": "blossom"}, ValueError, "method must be one of 'auto', 'random'"),
        ({"method": 3}, TypeError, "method must be a name"),
        ({"method": "sorted", "p": 0.5}, TypeError, "unexpected parameter 'p'; it accepts no parameters"),
        ({"method": "parallel", "q": 0.5}, TypeError, "unexpected parameter 'q'; it accepts p, select, rounds"),
        ({"method": "parallel", "select": "last"}, ValueError, "select must be"),
        ({"device": "tpu"}, ValueError, "device must be"),
        ({"device": "cuda", "method": "sorted"}, RuntimeError, "device='c"),
    ):
        with pytest.raises(kind, match=message):
            greedy(triple, **parameters)


def test_bool_weights_weigh_1_and_0():
    """Unlike the values of a bool matrix, which are no weights."""
    path = scipy.sparse.csr_array(([False, False, True, True], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    assert greedy(path).pairs.tolist() == [[0, 1]]
    for given in (path, (path.indptr, path.indices, path.shape)):
        found = greedy(given, path.data)
        found.check()
        assert (found.pairs.tolist(), found.weight) == ([[1, 2]], 1)


def test_negative_zeros_are_zeros():
    pairs = ([0, 1, 1, 2], [1, 0, 2, 1])
    for zeros in ([-0.0, -0.0, 1.0, 1.0], [0.0, -0.0, 1.0, 1.0], [-0.0, -0.0, -0.0, -0.0]):
        graph = scipy.sparse.csr_array((np.array(zeros), pairs), shape=(3, 3))
        assert not np.signbit(check_graph(graph).weight).any()
        for method in GREEDY_METHODS:
            found = greedy(graph, method=method)
            found.check()
            assert found.cardinality == 1
        assert greedy(graph).partner.tolist() == greedy(graph, method="sorted").partner.tolist()


def test_validation_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(general_graph, "PARALLEL_MIN_ENTRIES", 1)
    rng = np.random.default_rng(21)
    for trial in range(20):
        graph = random_weighted(rng, int(rng.integers(2, 60)), 0.3, KINDS[trial % len(KINDS)])
        for threads in (1, 2, 5):
            checked = check_graph(graph, threads=threads)
            np.testing.assert_array_equal(checked.adj, graph.indices)
            found = greedy(graph, threads=threads)
            found.check()
            assert found.weight == greedy(graph, threads=1).weight
        if graph.nnz:
            graph.data[0] += 1
            with pytest.raises(ValueError, match="have different weights"):
                check_graph(graph, threads=3)
            graph.indices[0] = len(graph.indptr)
            with pytest.raises(ValueError, match="neighbour outside"):
                check_graph(graph, threads=3)


def test_weights_chosen_to_cancel_in_the_checksum():
    """The checksum multiplied edges by a known constant, so one weight could make the bits of an edge 0."""
    golden, n = 0x9E3779B97F4A7C15, 8
    for v, w in ((0, 3), (1, 2), (5, 6)):
        for factor in (golden, 1, 0xBF58476D1CE4E5B9):
            weight = -((v << 32 | w) * factor) % 2**64
            if weight >= 2**63:
                continue
            graph = scipy.sparse.csr_array((np.array([weight], np.int64), ([v], [w])), shape=(n, n))
            for function in (greedy, matching.coarsen, matching.hierarchy):
                with pytest.raises(ValueError, match="symmetric"):
                    function(graph)
    # Two edges, one at its lower and one at its upper end, whose bits would be equal.
    for v, w, x, y in ((0, 3, 1, 2), (0, 1, 2, 5)):
        high = ((v << 32 | w) - (x << 32 | y)) * golden % 2**63
        entries = (np.array([1, (1 + high) % 2**63], np.int64), ([v, y], [w, x]))
        with pytest.raises(ValueError, match=r"symmetric|integer weights must be at most"):
            greedy(scipy.sparse.csr_array(entries, shape=(n, n)))


ASYMMETRIC = [
    ([0, 1, 1, 1, 1], [3], [5]),
    ([0, 1, 2, 3, 3], [1, 2, 0], [1, 2, 3]),
    ([0, 2, 4, 6, 6], [1, 2, 0, 2, 0, 1], [3, 1, 1, 3, 3, 1]),
    ([0, 1, 2, 3, 4], [1, 2, 3, 0], [7, 7, 7, 7]),
]


@pytest.mark.parametrize("number", range(len(ASYMMETRIC)))
def test_locally_dominant_matching_ends_for_any_graph(number):
    """Arrays that a caller changed after they were checked: an error, or any matching, but no endless walk."""
    ptr, adj, weight = (np.array(part) for part in ASYMMETRIC[number])
    graph = general_graph.GeneralGraph(ptr.astype(np.int64), adj.astype(np.int32), weight.astype(np.int64))
    assert not general_graph.is_sound(graph)
    with pytest.raises(ValueError, match="graph must be symmetric"):
        locally_dominant.solve(graph, np.full(4, -1, np.int32), threads=1)
