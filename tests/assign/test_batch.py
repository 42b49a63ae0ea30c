"""Batches on the CPU: thousands of small problems against SciPy, and the proof of each."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from assign.batch import batch
from assign.batch.batch import INFEASIBLE, SOLVED
from assign.core.certificate import certify_pairs, certify_prices, tolerance

DTYPES = [np.int32, np.int64, np.float32, np.float64]


def certify(cost, col, u, v, limit=None):
    """The proof of one problem, of its true size."""
    row = np.flatnonzero(col >= 0)
    integers = cost.dtype.kind == "i"
    exact = cost.astype(object if integers and abs(cost).max(initial=0) > 2**50 else u.dtype)
    reduced = exact - u[:, None].astype(exact.dtype) - v[None, :].astype(exact.dtype)
    largest = float(np.abs(cost[np.isfinite(cost)]).max(initial=0)) if not integers else 0
    if limit is not None and not integers:
        largest = max(largest, float(np.abs(limit).max(initial=0)))
    certify_pairs(cost.shape, row, col[row])
    certify_prices(
        cost.shape,
        row,
        col[row],
        u,
        v,
        pair_cost=exact[row, col[row]],
        min_slack=reduced.min(axis=1, initial=0),
        limit=limit,
        slack=0 if integers else tolerance(cost.shape, largest),
    )


def total(cost, col):
    row = np.flatnonzero(col >= 0)
    return cost[row, col[row]].sum(dtype=np.float64)


def check(costs, result, rows=None, cols=None, limit=None, compare=True):
    """Every problem is solved and proved; its cost is SciPy's."""
    col, u, v, status, _ = result
    items, n, m = costs.shape
    assert (col.shape, u.shape, v.shape, status.shape) == ((items, n), (items, n), (items, m), (items,))
    assert col.dtype == np.int32
    assert u.dtype == v.dtype == (np.int64 if costs.dtype.kind == "i" else np.float64)
    for b in range(items):
        r = n if rows is None else rows[b]
        c = m if cols is None else cols[b]
        assert status[b] == SOLVED
        assert (col[b, r:] == -1).all()
        assert not u[b, r:].any()
        assert not v[b, c:].any()
        cost = costs[b, :r, :c]
        certify(cost, col[b, :r], u[b, :r], v[b, :c], None if limit is None else limit[b, :r])
        if compare and limit is None:
            i, j = linear_sum_assignment(cost)
            assert total(cost, col[b]) == pytest.approx(cost[i, j].sum(dtype=np.float64), rel=1e-12, abs=1e-12)


def random_costs(rng, shape, dtype, high=100):
    if np.dtype(dtype).kind == "f":
        return rng.random(shape).astype(dtype)
    return rng.integers(-high, high + 1, shape).astype(dtype)


def geometric(rng, items, n, m, dtype, scale=1000):
    x, y = rng.random((2, items, n, 1)), rng.random((2, items, 1, m))
    return (np.hypot(*(x - y)) * scale).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("items", "n", "m"),
    [(2000, 5, 5), (500, 30, 30), (1, 1, 1), (300, 1, 7), (300, 17, 33), (40, 64, 64), (6, 130, 130), (10, 31, 100)],
    ids=str,
)
def test_costs_of_scipy(items, n, m, dtype):
    rng = np.random.default_rng([items, n, m])
    costs = random_costs(rng, (items, n, m), dtype)
    check(costs, batch.solve(costs))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [30, 90])
def test_geometric_costs(size, dtype):
    costs = geometric(np.random.default_rng(size), 60, size, size, dtype)
    check(costs, batch.solve(costs))


@pytest.mark.parametrize("high", [0, 1, 3])
def test_ties(high):
    costs = np.random.default_rng(high).integers(0, high + 1, (500, 12, 12))
    check(costs, batch.solve(costs))


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        *(pytest.param(np.int32, low, 2**31 - 1, marks=pytest.mark.slow) for low in (-(2**31), 2**31 - 50)),
        (np.int64, -(10**6), 10**6),
        (np.int64, -(2**40), 2**40),
        (np.int64, -(2**56), 2**56),
        (np.int64, 2**56 - 9, 2**56),
    ],
)
def test_numbers_of_all_sizes(dtype, low, high):
    """Packed in int32, packed in int64, and not packed: all are exact."""
    rng = np.random.default_rng(1)
    costs = rng.integers(low, high, (50, 20, 20), endpoint=True).astype(dtype)
    rect = np.ascontiguousarray(costs[:, :9])
    check(costs, batch.solve(costs), compare=high <= 2**40)
    check(rect, batch.solve(rect), compare=high <= 2**40)


def test_the_largest_costs_the_border_lets_through():
    for n in (1, 2, 3, 8):
        most = (2**63 - 1) // (4 * (n + 1))
        costs = np.random.default_rng(n).choice([-most, most, 0, most - 1], (200, n, n + 1)).astype(np.int64)
        check(costs, batch.solve(costs), compare=False)
        check(costs[:, :, :n].copy(), batch.solve(costs[:, :, :n].copy()), compare=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ragged(dtype):
    """Sizes differ, some have more rows than columns; costs outside the true size are never read."""
    rng = np.random.default_rng(5)
    items, n, m = 800, 12, 18
    costs = random_costs(rng, (items, n, m), dtype)
    rows, cols = rng.integers(0, n + 1, items, dtype=np.int32), rng.integers(0, m + 1, items, dtype=np.int32)
    beyond = (np.arange(n)[:, None] >= rows[:, None, None]) | (np.arange(m) >= cols[:, None, None])
    poison = np.nan if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min
    costs[beyond] = poison
    result = batch.solve(costs, rows=rows, cols=cols)
    check(costs, result, rows, cols)
    assert (rows > cols).any()


def with_limit(cost, limit):
    """The least cost of matching some rows and leaving the others: a private column for each row."""
    private = np.where(np.eye(len(cost), dtype=bool), limit, np.inf)
    wide = np.hstack([cost.astype(np.float64), private])
    i, j = linear_sum_assignment(wide)
    return wide[i, j].sum()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(12, 12), (8, 20), (1, 1), (30, 30)], ids=str)
def test_limit(shape, dtype):
    rng = np.random.default_rng(7)
    costs = random_costs(rng, (300, *shape), dtype)
    real = np.float64 if costs.dtype.kind == "f" else np.int64
    limit = rng.choice(costs.reshape(-1), (300, shape[0])).astype(real)
    result = batch.solve(costs, limit=limit)
    check(costs, result, limit=limit)
    left = np.where(result[0] < 0, limit, 0).sum(axis=1)
    for b in range(len(costs)):
        assert total(costs[b], result[0][b]) + left[b] == pytest.approx(with_limit(costs[b], limit[b]), abs=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
def test_limit_of_ragged_problems(dtype):
    """With more rows than columns some rows must stay unmatched."""
    rng = np.random.default_rng(8)
    items, n, m = 500, 14, 14
    costs = random_costs(rng, (items, n, m), dtype)
    rows, cols = rng.integers(0, n + 1, items, dtype=np.int32), rng.integers(0, m + 1, items, dtype=np.int32)
    real = np.float64 if costs.dtype.kind == "f" else np.int64
    limit = (rng.random((items, n)) * 3000 - 500).astype(real)
    result = batch.solve(costs, rows=rows, cols=cols, limit=limit)
    check(costs, result, rows, cols, limit)


@pytest.mark.parametrize("huge", [10**9, -(10**9), 2**61, -(2**61)])
def test_limits_far_from_the_costs(huge):
    costs = np.random.default_rng(9).integers(0, 100, (50, 10, 10))
    limit = np.full((50, 10), huge, np.int64)
    result = batch.solve(costs, limit=limit)
    check(costs, result, limit=limit)
    assert (result[0] >= 0).all() == (huge > 0)


@pytest.mark.parametrize("form", ["scalar", "item", "row"])
def test_forms_of_limit(form):
    costs = np.random.default_rng(10).random((20, 6, 6))
    limit = {"scalar": 0.3, "item": np.full(20, 0.3), "row": np.full((20, 6), 0.3)}[form]
    result = batch.solve(costs, limit=limit)
    check(costs, result, limit=np.full((20, 6), 0.3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forbidden_pairs(dtype):
    """Some problems have no assignment; their neighbours are solved all the same."""
    rng = np.random.default_rng(11)
    costs = rng.random((600, 8, 8)).astype(dtype)
    costs[rng.random(costs.shape) < 0.75] = np.inf
    col, u, v, status, stats = batch.solve(costs)
    possible = np.ones(600, bool)
    for b, cost in enumerate(costs):
        try:
            linear_sum_assignment(cost)
        except ValueError:
            possible[b] = False
    assert 50 < possible.sum() < 550
    assert (status == np.where(possible, SOLVED, INFEASIBLE)).all()
    assert (col[~possible] == -1).all()
    assert not u[~possible].any()
    assert not v[~possible].any()
    check(costs[possible], (col[possible], u[possible], v[possible], status[possible], stats))


@pytest.mark.parametrize("shape", [(8, 8), (5, 9), (9, 5)], ids=str)
def test_limit_makes_everything_feasible(shape):
    costs = np.random.default_rng(12).random((200, *shape))
    costs[np.random.default_rng(13).random(costs.shape) < 0.8] = np.inf
    limit = np.full(costs.shape[:2], 0.7)
    check(costs, batch.solve(costs, limit=limit), limit=limit)
    costs[:] = np.inf
    check(costs, batch.solve(costs, limit=limit), limit=limit)


def test_infinite_limits_are_none():
    costs = np.random.default_rng(14).random((100, 7, 7))
    col, *_ = batch.solve(costs, limit=np.full((100, 7), np.inf))
    assert (col >= 0).all()


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 4), (3, 0, 0), (0, 0, 0)], ids=str)
@pytest.mark.parametrize("limit", [None, 1])
def test_nothing_to_do(shape, limit):
    col, u, v, status, _ = batch.solve(np.zeros(shape, int), limit=limit)
    assert (col.shape, u.shape, v.shape, status.shape) == (shape[:2], shape[:2], (shape[0], shape[2]), shape[:1])
    assert not status.any()


def test_rows_without_columns_stay_unmatched_at_their_limit():
    _, u, _, status, _ = batch.solve(np.zeros((2, 3, 0)), limit=np.arange(6.0).reshape(2, 3))
    assert (u == np.arange(6.0).reshape(2, 3)).all()
    assert not status.any()


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_give_the_same(threads):
    costs = np.random.default_rng(15).integers(0, 1000, (400, 30, 30))
    result = batch.solve(costs, threads=threads)
    assert result[4]["threads"] == threads
    check(costs, result)
    for ours, theirs in zip(result[:4], batch.solve(costs, threads=1)[:4], strict=True):
        assert (ours == theirs).all()


def test_more_rows_than_columns_everywhere():
    costs = np.random.default_rng(16).random((50, 20, 8))
    check(costs, batch.solve(costs))
