"""Coarse graphs: merged vertices and summed weights, compared with a triple matrix product."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from matching.general.coarsening import hierarchy
from matching.general.greedy_methods import GREEDY_METHODS


def grid(rows, columns):
    """Weights 1; in CSR throughout, since kron otherwise stores zeros, which would be edges."""
    across = scipy.sparse.kron(scipy.sparse.eye_array(rows), neighbours(columns), format="csr")
    return across + scipy.sparse.kron(neighbours(rows), scipy.sparse.eye_array(columns), format="csr")


def neighbours(n):
    return scipy.sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], shape=(n, n))


def merged(graph, label):
    """The coarse graph by a triple product."""
    k = label.max(initial=-1) + 1
    choose = scipy.sparse.csr_array(
        (np.ones(len(label), graph.dtype), label, np.arange(len(label) + 1)), (len(label), k)
    )
    dense = (choose.T @ graph @ choose).toarray()
    np.fill_diagonal(dense, 0)
    return dense


@pytest.mark.parametrize("method", GREEDY_METHODS)
@pytest.mark.parametrize("vertices", [1, 2, 7, 40, 1000])
def test_hierarchy_ends_at_the_number_of_vertices(method, vertices):
    graph = grid(12, 17)
    found = hierarchy(graph, vertices, method=method, seed=5)
    assert found.vertex_counts[-1] == min(vertices, 204)
    assert all(a > b for a, b in zip(found.vertex_counts, found.vertex_counts[1:], strict=False))
    label = found.labels()
    assert len(np.unique(label)) == found.vertex_counts[-1]
    for level, coarse in enumerate(found.levels):
        assert coarse.graph.shape[0] == found.vertex_counts[level + 1]
        assert coarse.vertex_weight.sum() == 204
        np.testing.assert_allclose(coarse.graph.toarray(), merged(graph, found.labels(level)), rtol=1e-12)
    # Every region is connected.
    for region in range(found.vertex_counts[-1]):
        inside = np.flatnonzero(label == region)
        assert connected_components(graph[inside][:, inside])[0] == 1


def test_hierarchy_stops_after_its_levels():
    found = hierarchy(grid(20, 20), levels=2)
    assert len(found.levels) == 2
    np.testing.assert_array_equal(found.labels(0), found.levels[0].labels)
    np.testing.assert_array_equal(found.labels(-1), found.labels(1))
    assert hierarchy(grid(3, 3), levels=0).levels == ()


def test_rating_decides_what_is_matched_next():
    graph = grid(8, 8)
    seen = []

    def light_first(coarse):
        seen.append(coarse.graph.shape[0])
        row = np.repeat(np.arange(coarse.graph.shape[0]), np.diff(coarse.graph.indptr))
        return 1.0 / (coarse.vertex_weight[row] + coarse.vertex_weight[coarse.graph.indices])

    found = hierarchy(graph, 8, rating=light_first)
    assert tuple(seen) == found.vertex_counts[:-1]
    assert found.levels[-1].vertex_weight.max() <= 16
    np.testing.assert_allclose(found.levels[-1].graph.toarray(), merged(graph, found.labels()))


def test_any_number_of_vertices_between_the_levels():
    rng = np.random.default_rng(2)
    graph = grid(9, 11)
    for join in (False, True):
        found = hierarchy(graph, 3, weight=symmetric_weight(rng, graph), join=join)
        last = np.arange(99)
        for vertices in range(99, 2, -4):
            label = found.labels_at(vertices)
            first = np.unique(label, return_index=True)
            np.testing.assert_array_equal(first[0], np.arange(vertices))
            assert (np.diff(first[1]) > 0).all()
            assert len(np.unique(np.stack([last, label]), axis=1).T) == len(np.unique(last))
            last = label
            for region in range(vertices):
                inside = np.flatnonzero(label == region)
                assert connected_components(graph[inside][:, inside])[0] == 1
        for level, vertices in enumerate(found.vertex_counts[1:]):
            np.testing.assert_array_equal(found.labels_at(vertices), found.labels(level))
        for wrong, kind, message in (
            (2, ValueError, "must be 3 or more, got 2"),
            (100, ValueError, "must be at most 99, got 100"),
            (5.0, TypeError, "must be an integer"),
            (True, TypeError, "must be an integer"),
        ):
            with pytest.raises(kind, match=f"vertices {message}"):
                found.labels_at(wrong)


def symmetric_weight(rng, graph):
    weight = rng.random(graph.shape)
    return (weight + weight.T)[graph.nonzero()]


def test_join_merges_a_star_in_one_level():
    star = scipy.sparse.coo_array((np.arange(1.0, 400), (np.zeros(399, int), np.arange(1, 400))), shape=(400, 400))
    star = scipy.sparse.csr_array(star + star.T)
    assert hierarchy(star, rating="weight", join=True).vertex_counts == (400, 1)
    found = hierarchy(star, 7, rating="weight", join=True)
    assert found.vertex_counts == (400, 7)
    assert found.labels().tolist() == [0, 1, 2, 3, 4, 5, 6] + [0] * 393
    assert len(hierarchy(star, 7, rating="weight").levels) == 393


@pytest.mark.parametrize("method", GREEDY_METHODS)
def test_dominance_requires_heavy_edges_at_both_ends(method):
    rng = np.random.default_rng(9)
    graph = grid(10, 10)
    weight = symmetric_weight(rng, graph)
    found = hierarchy(graph, 5, weight=weight, rating="weight", dominance=1.0, join=True, method=method)
    assert found.vertex_counts[-1] == 5
    if method in ("sorted", "locally_dominant"):
        values = scipy.sparse.csr_array((weight, graph.indices, graph.indptr), shape=graph.shape).toarray()
        label = found.labels(0)
        for v, w in zip(*np.nonzero(np.triu(label[:, None] == label[None], 1)), strict=True):
            assert values[v, w] == values[v].max() == values[w].max()
    # Weights increase along a path: only its last edge is the heaviest at both ends.
    path = scipy.sparse.diags_array([np.arange(1.0, 10), np.arange(1.0, 10)], offsets=[-1, 1], format="csr")
    once = hierarchy(path, levels=1, rating="weight", dominance=1.0, method="sorted")
    assert once.labels().tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]


def test_graphs_of_levels_can_be_dropped():
    found = hierarchy(grid(8, 8), 4, graphs=False)
    kept = hierarchy(grid(8, 8), 4)
    assert [level.graph is None for level in found.levels] == [True] * (len(found.levels) - 1) + [False]
    np.testing.assert_array_equal(found.labels(), kept.labels())
    np.testing.assert_array_equal(found.levels[-1].graph.toarray(), kept.levels[-1].graph.toarray())
