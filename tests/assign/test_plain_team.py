"""The plain version of the batch kernel for GPUs: the same costs, with prices that certify them."""

import numpy as np
import pytest

import assign
from assign.batch.plain_team import solve

SHAPES = [(1, 1), (5, 5), (4, 9), (20, 20)]


def compare(shape, groups, device):
    for highest in (3, 10_000):
        cost = np.random.default_rng([615, *shape]).integers(-highest, highest, shape)
        col, u, v = solve(cost, groups)
        rows = np.arange(shape[0])
        reduced = cost - u[:, None] - v
        assert len(set(col.tolist())) == shape[0]
        assert (reduced >= 0).all()
        assert (reduced[rows, col] == 0).all()
        assert (v[np.setdiff1d(np.arange(shape[1]), col)] == v.max()).all()
        costs = cost[None] if device == "cpu" else cost[None].astype(np.int32)
        found = assign.solve_batch(costs, device=device)
        found.check()
        assert cost[rows, col].sum() == found.cost[0]


@pytest.mark.parametrize("groups", [1, 4, 100])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cost_is_that_of_solve_batch(shape, groups):
    compare(shape, groups, "cpu")


@pytest.mark.sim
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cost_is_that_of_the_kernel(shape):
    compare(shape, 4, "cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cost_is_that_of_the_gpu(shape):
    compare(shape, 4, "cuda")
