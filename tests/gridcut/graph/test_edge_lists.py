"""edge_lists against SciPy's conversion of the same edges, which adds parallel ones."""

import numpy as np
import pytest
import scipy.sparse

import gridcut
from gridcut.graph.graph_problem import edge_lists


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize(("nodes", "edges"), [(1, 0), (2, 1), (5, 40), (50, 20), (300, 900)])
def test_lists_are_those_of_scipy(nodes, edges, dtype):
    rng = np.random.default_rng(nodes)
    tail, head = rng.integers(0, nodes, (2, edges))
    forward, back = rng.integers(0, 9, (2, edges)).astype(dtype)
    kept = tail != head
    tail, head, forward, back = tail[kept], head[kept], forward[kept], back[kept]
    indptr, indices, capacity = edge_lists(nodes, tail, head, forward, back)
    ends = np.concatenate((tail, head)), np.concatenate((head, tail))
    expected = scipy.sparse.coo_array((np.concatenate((forward, back)), ends), shape=(nodes, nodes)).tocsr()
    expected.sort_indices()
    found = scipy.sparse.csr_array((capacity, indices, indptr), shape=(nodes, nodes))
    assert found.has_sorted_indices
    assert capacity.dtype == dtype
    found.sum_duplicates()
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.data, expected.data)


def test_sums_that_int64_does_not_hold_are_rejected_later():
    half = np.full(3, 2**62)
    ends = np.zeros(3, np.int64), np.ones(3, np.int64)
    indptr, indices, capacity = edge_lists(2, *ends, half, np.zeros(3, np.int64))
    assert capacity.tolist() == [2**62] * 3 + [0] * 3
    with pytest.raises(ValueError, match="too large: the capacities incident to a node"):
        gridcut.graph_max_flow((indptr, indices, capacity, (2, 2)), [2**62, 0], [0, 2**62])


def test_infinite_capacities_are_kept():
    *_, capacity = edge_lists(2, np.array([0, 0]), np.array([1, 1]), np.array([np.inf, 1.0]), np.array([2.0, 0.5]))
    assert sorted(capacity.tolist()) == [0.5, 1.0, 2.0, np.inf]
