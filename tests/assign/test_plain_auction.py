"""The plain version of the auction on a GPU: prices with the same guarantee, and the cost of every solver."""

import numpy as np
import pytest

import assign
from assign.dense.plain_auction import solve


def check_slackness(cost, col_of, v, eps):
    """No row with a column could have another one for less than eps below what it pays; returns the number of rows."""
    rows = np.flatnonzero(col_of >= 0)
    cols = col_of[rows]
    assert len(set(cols.tolist())) == len(rows)
    keys = cost - v
    assert (keys[rows, cols] <= keys[rows].min(1) + eps).all()
    return len(rows)


@pytest.mark.parametrize("highest", [3, 1000])
@pytest.mark.parametrize("n", [1, 2, 9, 25])
def test_cost_is_that_of_solve(n, highest):
    cost = np.random.default_rng([611, n, highest]).integers(-highest, highest, (n, n))
    exact = cost * (n + 1)  # now n * eps is less than the difference of two costs
    col_of, v = solve(exact, first_eps=highest * n)
    assert check_slackness(exact, col_of, v, 1) == n
    found = assign.solve(cost, device="cpu")
    found.check()
    assert cost[np.arange(n), col_of].sum() == found.cost


def test_more_columns_than_rows():
    """One phase: columns that no row has bid for keep the price 0, which is the highest."""
    cost = np.random.default_rng(612).integers(0, 500, (12, 30))
    exact = cost * 13
    col_of, v = solve(exact, first_eps=1)
    assert check_slackness(exact, col_of, v, 1) == 12
    assert not v[np.setdiff1d(np.arange(30), col_of)].any()
    assert cost[np.arange(12), col_of].sum() == assign.solve(cost, device="cpu").cost


def test_a_truncated_phase_drops_rows():
    cost = np.outer(np.arange(1, 31), np.arange(1, 31))
    col_of, v = solve(cost, first_eps=100, stop_rows=4)
    assert 26 <= check_slackness(cost, col_of, v, 1) < 30


def fast(cost, **options):
    """Owners, prices and last eps of the auction on a GPU, without the searches that follow it."""
    from assign.dense.costs_cuda import Matrix
    from assign.dense.dense_cuda import Problem
    from gridcut.device.arrays import upload

    n, m = cost.shape
    problem = Problem(Matrix("i"), upload(cost.astype(np.int32).reshape(-1)), n, m)
    counts = problem.auction(timeout=60.0, threads=None, **options)
    v, row_of = problem.auctioned()
    assert not counts["timed_out"]
    col_of = np.full(n, -1)
    owned = np.flatnonzero(row_of >= 0)
    col_of[row_of[owned]] = owned
    return col_of, v, counts["last_eps"]


def check_same_guarantee(sizes):
    for n, m in sizes:
        cost = np.random.default_rng([613, n, m]).integers(0, 1000, (n, m))
        plain, v = solve(cost, first_eps=1000)
        assert check_slackness(cost, plain, v, 1) == n
        col_of, v, eps = fast(cost, first_eps=0.5, last_eps=1, alpha=5.0, stop_share=0.0)
        assert eps == 1
        matched = check_slackness(cost, col_of, v, eps)
        assert matched == n
        if n == m:  # both are at most n above the optimum
            paid = [cost[np.arange(n), pairs].sum() for pairs in (plain, col_of)]
            assert abs(paid[0] - paid[1]) <= n


@pytest.mark.sim
def test_guarantee_is_that_of_the_kernel():
    check_same_guarantee([(1, 1), (6, 6), (5, 9), (14, 14)])


@pytest.mark.gpu
def test_guarantee_is_that_of_the_gpu():
    check_same_guarantee([(1, 1), (60, 60), (50, 90)])
