"""Oracles and instances that all tests of assign share."""

import sys

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linear_sum_assignment

import assign


def best_cost(cost, maximize=False):
    """The optimal cost by SciPy; None if there is no assignment."""
    cost = np.asarray(cost, np.float64)
    try:
        row, col = linear_sum_assignment(cost, maximize)
    except ValueError:
        return None
    return cost[row, col].sum()


def best_partial(cost, max_cost):
    """The minimum of the pairs' costs plus `max_cost` per unmatched row, on a matrix twice as wide."""
    cost = np.asarray(cost, np.float64)
    n = len(cost)
    alone = np.full((n, n), np.inf)
    np.fill_diagonal(alone, max_cost)
    return best_cost(np.hstack([cost, alone]))


def solve(cost, **keywords):
    """assign.solve, certified."""
    found = assign.solve(cost, **keywords)
    found.check()
    return found


def check_prices(cost, found, max_cost=None, maximize=False):
    """Check the prices of an Assignment of a dense matrix of integers, without the library's code."""
    sign = -1 if maximize else 1
    cost, u, v = sign * np.asarray(cost), sign * found.row_price, sign * found.col_price
    n, m = cost.shape
    assert (u.shape, v.shape) == ((n,), (m,))
    slack = cost - u[:, None] - v
    assert slack.min(initial=0) >= 0
    assert not slack[found.row, found.col].any()
    alone_row, alone_col = found.col_of_row < 0, found.row_of_col < 0
    if max_cost is not None:
        limit = np.broadcast_to(sign * np.asarray(max_cost), n)
        assert (u <= limit).all()
        assert (u[alone_row] == limit[alone_row]).all()
    if max_cost is not None or n < m:
        assert v.max(initial=0) <= 0
        assert not v[alone_col].any()
    elif n > m:
        assert u.max(initial=0) <= 0
        assert not u[alone_row].any()


def total_of(found, max_cost):
    """The total that a partial assignment minimises."""
    alone = np.broadcast_to(np.asarray(max_cost), len(found.row_price))[found.col_of_row < 0]
    return found.cost + alone.sum()


def random_cost(rng, shape, kind=None):
    """A matrix of one of many kinds: few values, wide ones, negative, sorted, constant, structured."""
    n, m = shape
    kind = kind or rng.choice(["few", "wide", "negative", "product", "distance", "constant", "sums"])
    if kind == "few":
        return rng.integers(0, 4, shape)
    if kind == "wide":
        return rng.integers(0, 10**9, shape)
    if kind == "negative":
        return rng.integers(-50, 50, shape)
    if kind == "product":
        return np.multiply.outer(np.arange(1, n + 1), np.arange(1, m + 1))
    if kind == "distance":
        return np.rint(1000 * np.linalg.norm(rng.random((n, 1, 2)) - rng.random((1, m, 2)), axis=2)).astype(np.int64)
    if kind == "constant":
        return np.full(shape, int(rng.integers(-3, 4)))
    return rng.integers(0, 1000, (n, 1)) + rng.integers(0, 1000, (1, m)) + rng.integers(0, 3, shape)


def sparse_of(cost, allowed):
    """The allowed pairs of a matrix, zeros among them, as a SciPy sparse array."""
    row, col = np.nonzero(allowed)
    return scipy.sparse.csr_array((cost[row, col], (row, col)), shape=cost.shape)


@pytest.fixture
def tools():
    """The functions above; fixtures reach them without importing one test file from another."""
    return sys.modules[__name__]
