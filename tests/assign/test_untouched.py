"""No public function of assign changes an argument: read-only, unsorted, repeated and shared arrays."""

import numpy as np
import pytest
import scipy.sparse

import assign
from tests.assign.oracles import SCALING
from tests.untouched import untouched

METHODS = ["auto", *SCALING]


def lists(rng, kind, n=8, m=9):
    """Compressed rows of a feasible matrix: indptr, indices, data."""
    columns = [np.unique(np.append(rng.integers(0, m, 4), i)) for i in range(n)]
    if kind == "unsorted":
        columns = [rng.permutation(c) for c in columns]
    elif kind == "repeated":
        columns = [np.append(c, c[:2]) for c in columns]
    indptr = np.concatenate(([0], np.cumsum([len(c) for c in columns])))
    indices = np.concatenate(columns).astype(np.int32)
    return indptr.astype(np.int32), indices, rng.integers(1, 30, len(indices))


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("kind", ["sorted", "unsorted", "repeated"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, np.uint8])
def test_sparse_costs(kind, dtype, locked):
    rng = np.random.default_rng(3)
    indptr, indices, data = lists(rng, kind)
    data, other = data.astype(dtype), data[::-1].astype(dtype)
    matrix = scipy.sparse.csr_array((data, indices, indptr), shape=(8, 9))
    sibling = scipy.sparse.csr_array((other, matrix.indices, matrix.indptr), shape=(8, 9))  # shares the index arrays
    for turned in (matrix, matrix.T, matrix.tocoo(), sibling, scipy.sparse.csr_matrix(matrix)):
        for method in METHODS:
            found = untouched(assign.solve, turned, method=method, device="cpu", locked=locked)
        untouched(assign.solve, turned, maximize=True, start=found, locked=locked)
        for maximize in (False, True):
            untouched(assign.min_weight_full_bipartite_matching, turned, maximize=maximize, locked=locked)
    untouched(assign.solve, matrix, max_cost=np.full(8, 20), locked=locked)
    for method in METHODS if kind == "sorted" else ():
        untouched(assign.solve, (indptr, indices, data, (8, 9)), method=method, locked=locked)


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.float32, np.float64, np.uint8, bool])
def test_dense_costs_and_batches(dtype, locked):
    rng = np.random.default_rng(4)
    cost, items = (rng.integers(0, 30, shape).astype(dtype) for shape in ((7, 9), (3, 7, 9)))
    few, many = rng.random((7, 9)) < 0.05, rng.random((7, 9)) < 0.7
    np.fill_diagonal(few, True)
    np.fill_diagonal(many, True)
    start = rng.normal(size=7) * 1e3, rng.normal(size=9) * 1e3
    limits = rng.integers(0, 30, 7).astype(np.float64)
    for method in METHODS:
        for options in ({}, {"mask": few}, {"mask": many}, {"max_cost": limits}, {"start": start}):
            untouched(assign.solve, cost, method=method, locked=locked, **options)
    rows, cols = np.array([7, 5, 0], np.int32), np.array([9, 4, 3], np.int32)
    for options in ({"rows": rows, "cols": cols}, {"maximize": True}, {"max_cost": 5}):
        untouched(assign.solve_batch, items, locked=locked, **options)
    untouched(assign.solve_batch, list(items), locked=locked)
    for maximize in (False, True):
        untouched(assign.linear_sum_assignment, cost, maximize=maximize, locked=locked)


@pytest.mark.parametrize("locked", [False, True])
def test_points_and_rankings(locked):
    rng = np.random.default_rng(5)
    x, y, u, v = rng.random((7, 2)), rng.random((9, 2)), rng.normal(size=7) * 1e3, rng.normal(size=9) * 1e3
    for metric in ("euclidean", "sqeuclidean", "cityblock"):
        untouched(assign.solve_points, x, y, metric, start=(u, v), locked=locked)
        untouched(assign.solve_points, y, x, metric, start=(v, u), locked=locked)
        untouched(assign.solve_points, x, y, metric, max_cost=rng.random(7), locked=locked)
    untouched(assign.k_best, rng.random((7, 4)), 2, locked=locked)
