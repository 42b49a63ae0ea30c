"""No public function of assign changes an argument: read-only, unsorted, repeated and shared arrays."""

import numpy as np
import pytest
import scipy.sparse

import assign
from tests.assign.oracles import SCALING

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


def call_all(call, arrays, locked):
    """Call with arrays that are locked or not, and compare them with copies."""
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = not locked
    call()
    for array, copy in zip(arrays, before, strict=True):
        assert array.dtype == copy.dtype
        assert array.tobytes() == copy.tobytes()


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("kind", ["sorted", "unsorted", "repeated"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, np.uint8])
def test_sparse_costs(kind, dtype, locked):
    rng = np.random.default_rng(3)
    indptr, indices, data = lists(rng, kind)
    data, other = data.astype(dtype), data[::-1].astype(dtype)
    matrix = scipy.sparse.csr_array((data, indices, indptr), shape=(8, 9))
    sibling = scipy.sparse.csr_array((other, matrix.indices, matrix.indptr), shape=(8, 9))  # shares the index arrays
    limits = np.full(8, 20)
    arrays = [data, other, indptr, indices, matrix.indices, matrix.indptr, limits]

    def call():
        for turned in (matrix, matrix.T, matrix.tocoo(), sibling, scipy.sparse.csr_matrix(matrix)):
            for method in METHODS:
                assign.solve(turned, method=method, device="cpu").check()
            assign.solve(turned, maximize=True, start=assign.solve(turned)).check()
            assign.min_weight_full_bipartite_matching(turned)
            assign.min_weight_full_bipartite_matching(turned, maximize=True)
        assign.solve(matrix, max_cost=limits).check()
        if kind == "sorted":
            for method in METHODS:
                assign.solve((indptr, indices, data, (8, 9)), method=method).check()

    call_all(call, arrays, locked)


@pytest.mark.parametrize("locked", [False, True])
def test_dense_costs_points_and_batches(locked):
    rng = np.random.default_rng(4)
    for dtype in (np.int16, np.int32, np.int64, np.float32, np.float64, np.uint8, bool):
        cost = rng.integers(0, 30, (7, 9)).astype(dtype)
        few, many = rng.random((7, 9)) < 0.05, rng.random((7, 9)) < 0.7
        np.fill_diagonal(few, True)
        np.fill_diagonal(many, True)
        limits = rng.integers(0, 30, 7).astype(np.float64)
        u, v = rng.normal(size=7) * 1e3, rng.normal(size=9) * 1e3
        x, y, items = rng.random((7, 2)), rng.random((9, 2)), rng.integers(0, 9, (3, 7, 9)).astype(dtype)
        rows, cols = np.array([7, 5, 0], np.int32), np.array([9, 4, 3], np.int32)

        def call(arguments=(cost, few, many, limits, u, v, x, y, items, rows, cols)):
            cost, few, many, limits, u, v, x, y, items, rows, cols = arguments
            for method in METHODS:
                for options in ({}, {"mask": few}, {"mask": many}, {"max_cost": limits}, {"start": (u, v)}):
                    assign.solve(cost, method=method, **options).check()
            for metric in ("euclidean", "sqeuclidean", "cityblock"):
                assign.solve_points(x, y, metric, start=(u, v)).check()
                assign.solve_points(y, x, metric, start=(v, u)).check()
                assign.solve_points(x, y, metric, max_cost=limits).check()
            assign.solve_batch(items, rows=rows, cols=cols).check()
            assign.solve_batch(items, maximize=True).check()
            assign.solve_batch(list(items)).check()
            assign.solve_batch(items, max_cost=5).check()
            assign.linear_sum_assignment(cost)
            assign.linear_sum_assignment(cost, maximize=True)

        call_all(call, [cost, few, many, limits, u, v, x, y, items, rows, cols], locked)


@pytest.mark.parametrize("locked", [False, True])
def test_k_best(locked):
    cost = np.random.default_rng(6).random((7, 4))
    call_all(lambda: assign.k_best(cost, 2).check(), [cost], locked)
