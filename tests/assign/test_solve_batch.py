"""solve_batch as a caller sees it, on every device."""

import numpy as np
import pytest

import assign


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(6, 6), (5, 9), (9, 5), (1, 1), (40, 33)])
def test_costs_are_scipys(tools, device, dtype, shape):
    rng = np.random.default_rng(shape[0])
    costs = rng.integers(0, 90, (25, *shape)).astype(dtype)
    for maximize in (False, True):
        found = assign.solve_batch(costs, maximize=maximize, device=device)
        found.check()
        assert found.device == device
        assert found.feasible.all()
        assert found.cost.tolist() == [tools.best_cost(c, maximize) for c in costs]
        assert len(found) == 25


def test_matrices_of_different_sizes(tools, device):
    rng = np.random.default_rng(0)
    costs = [rng.random(rng.integers(1, 12, 2)) for _ in range(40)]
    found = assign.solve_batch(costs, device=device)
    found.check()
    for b, cost in enumerate(costs):
        assert found.cost[b] == pytest.approx(tools.best_cost(cost), rel=1e-12)
        assert (found.col_of_row[b, len(cost) :] == -1).all()


def test_costs_outside_the_true_size_are_not_read(tools, device):
    rng = np.random.default_rng(1)
    costs = np.full((30, 9, 8), np.nan)
    rows, cols = rng.integers(0, 10, 30), rng.integers(0, 9, 30)
    for cost, n, m in zip(costs, rows, cols, strict=True):
        cost[:n, :m] = rng.random((n, m))
    found = assign.solve_batch(costs, rows=rows, cols=cols, device=device)
    found.check()
    best = [tools.best_cost(c[:n, :m]) for c, n, m in zip(costs, rows, cols, strict=True)]
    assert found.cost == pytest.approx(best, rel=1e-12)


def test_infeasible_items_leave_the_others_alone(tools, device):
    rng = np.random.default_rng(2)
    costs = np.where(rng.random((60, 5, 6)) < 0.4, rng.random((60, 5, 6)), np.inf)
    found = assign.solve_batch(costs, device=device)
    found.check()
    best = [tools.best_cost(c) for c in costs]
    assert found.feasible.tolist() == [b is not None for b in best]
    assert 0 < found.feasible.sum() < 60
    assert found.cost == pytest.approx([b or 0 for b in best], rel=1e-12)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("shape", [(6, 6), (4, 7), (7, 4)])
def test_max_cost(tools, device, shape, maximize):
    rng = np.random.default_rng(3)
    costs = rng.integers(-20, 20, (30, *shape))
    sign = -1 if maximize else 1
    for limit in (3, -2.5, rng.integers(-9, 9, 30), rng.integers(-9, 9, (30, shape[0]))):
        found = assign.solve_batch(costs, max_cost=limit, maximize=maximize, device=device)
        found.check()
        by_row = np.broadcast_to(np.reshape(limit, (-1, 1)) if np.ndim(limit) < 2 else limit, (30, shape[0]))
        alone = np.where(found.col_of_row < 0, by_row, 0).sum(axis=1)
        best = [sign * tools.best_partial(sign * c, sign * row) for c, row in zip(costs, by_row, strict=True)]
        assert (found.cost + alone).tolist() == pytest.approx(best, rel=1e-12)


def test_nothing(device):
    for shape in ((0, 3, 4), (2, 0, 4), (2, 3, 0)):
        found = assign.solve_batch(np.zeros(shape), device=device)
        found.check()
        assert found.col_of_row.shape == shape[:2]
        assert (found.col_of_row == -1).all()
        assert found.cost.shape == shape[:1]
    assert len(assign.solve_batch([], device=device)) == 0


def test_certificate_names_the_item():
    rng = np.random.default_rng(4)
    found = assign.solve_batch(rng.random((5, 4, 4)), device="cpu")
    found.row_price[3, 1] += 1
    with pytest.raises(assign.CertificateError, match="item 3: a pair is cheaper"):
        found.check()
    found.row_price[3, 1] -= 1
    found.check()
    found.feasible[2] = False
    with pytest.raises(assign.CertificateError, match="item 2: it is infeasible, but a row or column is matched"):
        found.check()


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
