"""solve_batch as a caller sees it, on every device."""

import numpy as np
import pytest

import assign
from assign.batch.batch import solve_shares
from gridcut.device import thread_count
from tests.assign import oracles


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(6, 6), (4, 7), (7, 4)])
def test_max_cost(device, shape, maximize):
    rng = np.random.default_rng(3)
    costs = rng.integers(-20, 20, (30, *shape))
    sign = -1 if maximize else 1
    for limit in (3, -2.5, rng.integers(-9, 9, 30), rng.integers(-9, 9, (30, shape[0]))):
        found = assign.solve_batch(costs, max_cost=limit, maximize=maximize, device=device)
        found.check()
        by_row = np.broadcast_to(np.reshape(limit, (-1, 1)) if np.ndim(limit) < 2 else limit, (30, shape[0]))
        alone = np.where(found.col_of_row < 0, by_row, 0).sum(axis=1)
        best = [sign * oracles.best_partial(sign * c, sign * row) for c, row in zip(costs, by_row, strict=True)]
        assert (found.cost + alone).tolist() == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        pytest.param(np.int32, -(2**31), 2**31 - 1, marks=pytest.mark.slow),
        (np.int64, -(10**6), 10**6),
        (np.int64, -(2**40), 2**40),
        (np.int64, 2**55 - 9, 2**55),
    ],
)
def test_numbers_of_all_sizes(dtype, low, high):
    """Packed in int32, packed in int64, and not packed: all are exact."""
    costs = np.random.default_rng(1).integers(low, high, (50, 20, 20), endpoint=True).astype(dtype)
    for given in (costs, costs[:, :9], costs[:, :, :7]):
        found = assign.solve_batch(given, device="cpu")
        found.check()
        if high <= 2**40:
            assert found.cost.tolist() == [oracles.best_cost(c) for c in given]


def test_the_largest_costs_the_border_lets_through():
    for n in (1, 2, 3, 8):
        most = (2**63 - 1) // (4 * (2 * n + 2))
        costs = np.random.default_rng(n).choice([-most, most, 0, most - 1], (200, n, n + 1)).astype(np.int64)
        assign.solve_batch(costs, device="cpu").check()
        assign.solve_batch(costs[:, :, :n], device="cpu").check()


@pytest.mark.parametrize("huge", [10**9, -(10**9), 2**56, -(2**56)])
def test_limits_far_from_the_costs(huge):
    costs = np.random.default_rng(9).integers(0, 100, (50, 10, 10))
    found = assign.solve_batch(costs, max_cost=huge, device="cpu")
    found.check()
    assert (found.col_of_row >= 0).all() == (huge > 0)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_give_the_same(threads):
    costs = np.random.default_rng(15).integers(0, 1000, (400, 30, 30))
    found, alone = (assign.solve_batch(costs, threads=count, device="cpu") for count in (threads, 1))
    found.check()
    assert found.stats["threads"] == min(threads, thread_count())
    for name in ("col_of_row", "row_price", "col_price"):
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))


@pytest.mark.parametrize(
    ("costs", "options", "error", "message"),
    [
        (np.zeros((3, 3)), {}, ValueError, r"costs must have 3 axes, \(B, n, m\), got shape \(3, 3\)"),
        (np.full((1, 1, 1), np.nan), {}, ValueError, "must not hold NaN"),
        (np.full((1, 1, 1), -np.inf), {}, ValueError, "must not hold -inf"),
        (np.zeros((1, 1, 1), complex), {}, TypeError, "costs must be int32"),
        (np.zeros((2, 1, 1)), {"rows": [1]}, ValueError, "rows must be 2 integers in 0 ... 1"),
        (np.zeros((1, 1, 1)), {"cols": [2]}, ValueError, "cols must be 1 integers in 0 ... 1"),
        (np.zeros((1, 1, 1)), {"rows": [0.5]}, TypeError, "rows must be integers"),
        (np.zeros((1, 1, 1)), {"max_cost": [[1, 2]]}, ValueError, "max_cost must be a number, or one per matrix"),
        (np.zeros((1, 1, 1)), {"maximize": None}, TypeError, "maximize must be True or False"),
        (np.zeros((1, 1, 1)), {"threads": 0}, ValueError, "threads must be 1 or more"),
        (np.zeros((1, 1, 1)), {"threads": "two"}, TypeError, "threads must be an integer"),
        ([np.zeros((1, 2)), np.zeros((2, 1))], {"rows": [1, 2]}, ValueError, "rows and cols follow from"),
    ],
)
def test_bad_input(costs, options, error, message):
    with pytest.raises(error, match=message):
        assign.solve_batch(costs, device="cpu", **options)


def test_read_only_costs_have_no_kernels_of_their_own():
    costs = np.random.default_rng(1).random((3, 4, 4))
    limit = np.full((3, 4), 0.5)
    assign.solve_batch(costs, max_cost=limit, device="cpu", threads=1).check()
    before = set(solve_shares.overloads)
    costs.flags.writeable = limit.flags.writeable = False
    assign.solve_batch(costs, max_cost=limit, device="cpu", threads=1).check()
    assert set(solve_shares.overloads) == before
