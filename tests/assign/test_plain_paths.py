"""The plain version of the dense default: the same cost, with prices that certify it."""

import numpy as np
import pytest

import assign
from assign.dense.plain_paths import solve


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (4, 9), (40, 40), (30, 50)])
@pytest.mark.parametrize("highest", [3, 10_000])
def test_cost_is_that_of_solve(shape, highest):
    cost = np.random.default_rng(603).integers(-highest, highest, shape)
    col, u, v = solve(cost)
    rows = np.arange(shape[0])
    reduced = cost - u[:, None] - v
    assert len(set(col.tolist())) == shape[0]
    assert (reduced >= 0).all()
    assert (reduced[rows, col] == 0).all()
    assert (v <= 0).all()
    assert not v[np.setdiff1d(np.arange(shape[1]), col)].any()
    found = assign.solve(cost, device="cpu")
    found.check()
    assert cost[rows, col].sum() == found.cost


def test_floats():
    cost = np.random.default_rng(604).random((30, 30))
    col, _, _ = solve(cost)
    assert cost[np.arange(30), col].sum() == pytest.approx(assign.solve(cost, device="cpu").cost, rel=1e-12)


@pytest.mark.gpu
def test_cost_is_that_of_the_gpu():
    cost = np.random.default_rng(605).integers(0, 1000, (60, 60))
    col, _, _ = solve(cost)
    found = assign.solve(cost, device="cuda")
    found.check()
    assert cost[np.arange(60), col].sum() == found.cost
