"""The smallest threshold against trying every threshold, its certificate against tampering, and invalid input."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse

import matching

DRAWN = scipy.sparse.csr_array([[4, 2, 9], [5, 0, 0], [0, 3, 1]])


def weighted(tools, seed):
    """A small graph with weights, integers with ties or floats."""
    rng = np.random.default_rng(seed)
    graph = scipy.sparse.coo_array(tools.random_graph(rng, 11))
    weight = rng.integers(-3, 6, graph.nnz) if seed % 2 else rng.normal(size=graph.nnz)
    return scipy.sparse.coo_array((weight, (graph.row, graph.col)), shape=graph.shape)


def by_trying(tools, graph, required):
    """The smallest threshold that suffices, from the lowest weight up."""
    for threshold in np.unique(graph.data):
        kept = graph.data <= threshold
        if tools.best_cardinality(tools.pattern(graph.row[kept], graph.col[kept], graph.shape)) >= required:
            return threshold
    raise AssertionError("no threshold suffices")


@pytest.mark.parametrize("seed", range(120))
def test_no_smaller_threshold_suffices(tools, seed):
    graph = weighted(tools, seed)
    largest = tools.best_cardinality(tools.pattern(graph.row, graph.col, graph.shape))
    found = matching.bottleneck(graph)
    found.check()
    assert found.cardinality == found.required == largest
    if not largest:
        assert found.threshold == -np.inf
        return
    assert found.threshold == by_trying(tools, graph, largest)
    rows, cols = found.matching.pairs
    assert graph.toarray()[rows, cols].max() == found.threshold
    required = 1 + seed % largest
    found = matching.bottleneck(graph, cardinality=required)
    found.check()
    assert found.threshold == by_trying(tools, graph, required)
    assert found.cardinality >= required


@pytest.mark.parametrize("method", ["ss_bfs", "hopcroft_karp", "push_relabel", "ms_bfs_graft"])
def test_by_any_method(tools, method):
    rng = np.random.default_rng(5)
    graph = tools.uniform(400, 4, rng).astype(float)
    graph.data = rng.random(graph.nnz)
    found = matching.bottleneck(graph, method=method, threads=1)
    found.check()
    assert found.threshold == matching.bottleneck(graph).threshold
    assert found.matching.method == method


def test_first_threshold_is_usually_the_answer():
    """On dense random weights; at most as many thresholds as bisection over the weights tries."""
    rng = np.random.default_rng(0)
    tried = [matching.bottleneck(scipy.sparse.csr_array(rng.random((60, 60)))).stats["thresholds"] for _ in range(20)]
    assert np.median(tried) <= 1
    assert max(tried) <= 12


def test_relations():
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 1000, (30, 20))
    threshold = matching.bottleneck(scipy.sparse.csr_array(weight)).threshold
    assert matching.bottleneck(scipy.sparse.csr_array(weight.T)).threshold == threshold
    assert matching.bottleneck(scipy.sparse.csr_array(3 * weight + 5)).threshold == 3 * threshold + 5
    assert matching.bottleneck(scipy.sparse.csr_array(weight.astype(float))).threshold == threshold


def test_zeros_are_edges_and_the_smallest_duplicate_counts():
    graph = scipy.sparse.coo_array(([0, 7, 2], ([0, 1, 1], [0, 1, 1])), shape=(2, 2))
    found = matching.bottleneck(graph)
    assert (found.threshold, found.cardinality) == (2, 2)
    graph = scipy.sparse.csr_array(([7, 2], [0, 0], [0, 2]), shape=(1, 1))
    assert matching.bottleneck(graph).threshold == 2


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_forms(form):
    found = matching.bottleneck(DRAWN.asformat(form))
    found.check()
    assert found.threshold == 5


def test_integers_stay_exact():
    large = 2**62 + np.array([[1, 3], [2, 4]], np.int64)
    found = matching.bottleneck(scipy.sparse.csr_array(large))
    assert found.threshold == 2**62 + 3


def test_tampered_results_fail():
    found = matching.bottleneck(DRAWN)
    found.check()
    for change, message in [
        ({"threshold": 4}, "row 1 is matched along no edge"),
        ({"threshold": 4.5}, "threshold must be of type int"),
        ({"threshold": 6}, "an entry below the threshold is not covered"),
        ({"threshold": 9}, "an entry below the threshold is not covered"),
        ({"required": 2}, "not covered by fewer vertices|more pairs than the required ones"),
        ({"required": 4}, "but 4 are required"),
        ({"_cover": tuple(np.ones(3, bool) for _ in range(2))}, "not covered by fewer vertices"),
        ({"_largest": tuple(np.zeros(3, bool) for _ in range(2))}, "more pairs than the required ones"),
    ]:
        with pytest.raises(matching.CertificateError, match=message):
            dataclasses.replace(found, **change).check()


INVALID = {
    "dense": (np.ones((2, 2)), {}, TypeError, "graph must be a SciPy sparse matrix"),
    "complex": (DRAWN * 1j, {}, TypeError, "must be integers or floats, got complex128"),
    "NaN": (DRAWN * np.nan, {}, ValueError, "graph holds NaN"),
    "too many": (
        DRAWN,
        {"cardinality": 4},
        ValueError,
        "cardinality must be 1 to 3, the maximum for this graph; got 4",
    ),
    "none": (DRAWN, {"cardinality": 0}, ValueError, "cardinality must be 1 or more, got 0"),
    "a share": (DRAWN, {"cardinality": 0.5}, TypeError, "cardinality must be an integer, got 0.5"),
    "method": (DRAWN, {"method": "best"}, ValueError, "method must be one of"),
    "keyword": (DRAWN, {"method": "ss_bfs", "speed": 1}, TypeError, "unexpected parameter 'speed'"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_input(case):
    graph, how, kind, message = INVALID[case]
    with pytest.raises(kind, match=message):
        matching.bottleneck(graph, **how)
