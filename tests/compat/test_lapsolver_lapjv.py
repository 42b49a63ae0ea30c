"""The faces of lapsolver and lapjv: plain tests, and the same results as these packages where they are installed."""

import numpy as np
import pytest
import scipy.optimize

from assign.compat import lapjv, lapsolver

SHAPES = [(1, 1), (6, 6), (4, 9), (9, 4), (40, 40)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("shape", SHAPES)
def test_solve_dense(shape, dtype):
    costs = (1000 * np.random.default_rng(0).random(shape)).astype(dtype)
    rows, cols = lapsolver.solve_dense(costs)
    expected = scipy.optimize.linear_sum_assignment(costs)
    assert rows.tolist() == expected[0].tolist()
    assert costs[rows, cols].sum() == pytest.approx(costs[expected].sum())


@pytest.mark.parametrize("missing", [np.nan, np.inf])
def test_missing_edges(missing):
    found = lapsolver.solve_dense([[5, 9, missing], [10, missing, 2], [8, 7, 4]])
    assert [part.tolist() for part in found] == [[0, 1, 2], [0, 2, 1]]
    found = lapsolver.solve_dense([[missing, missing], [3, missing]])
    assert [part.tolist() for part in found] == [[1], [0]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("n", [1, 7, 60, 700])
def test_dual_prices(n, dtype):
    cost = (1000 * np.random.default_rng(n).random((n, n))).astype(dtype)
    row_ind, col_ind, (total, u, v) = lapjv.lapjv(cost, verbose=True)
    assert row_ind.dtype == col_ind.dtype == np.int32
    assert (col_ind[row_ind] == np.arange(n)).all()
    assert total == pytest.approx(cost[np.arange(n), row_ind].sum(dtype=np.float64))
    assert total == pytest.approx(u.sum() + v.sum())
    assert (cost - u[:, None] - v >= -1e-6).all()


@pytest.mark.parametrize("cost", [np.ones((2, 3)), np.ones(3), np.empty((0, 0))])
def test_shapes_that_lapjv_rejects(cost):
    with pytest.raises(ValueError, match='"cost_matrix"'):
        lapjv.lapjv(cost)


@pytest.mark.parametrize("n", [1, 7, 60])
def test_results_of_lapjv(n):
    theirs = pytest.importorskip("lapjv", reason="lapjv is not installed")
    cost = np.random.default_rng(n).random((n, n))
    found, expected = lapjv.lapjv(cost), theirs.lapjv(cost, force_doubles=True)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].tolist() == expected[1].tolist()
    assert found[2][0] == pytest.approx(expected[2][0])
    assert [part.dtype for part in found[2][1:]] == [part.dtype for part in expected[2][1:]]


@pytest.mark.parametrize("shape", SHAPES)
def test_results_of_lapsolver(shape):
    theirs = pytest.importorskip("lapsolver", reason="lapsolver is not installed")
    costs = np.random.default_rng(1).random(shape)
    found, expected = lapsolver.solve_dense(costs), theirs.solve_dense(costs)
    assert sorted(zip(*map(list, found), strict=True)) == sorted(zip(*map(list, expected), strict=True))
    assert found[0].dtype == expected[0].dtype
