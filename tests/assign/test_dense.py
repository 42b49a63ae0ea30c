"""The default solver of dense costs on the CPU: values against SciPy, and the certificate of every answer."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from assign.core.certificate import certify_pairs, certify_prices, tolerance
from assign.core.infeasible import InfeasibleError
from assign.core.problem import HandedOver
from assign.dense import cheap_columns as lists
from assign.dense import first_prices as prices
from assign.dense.dense import ELSEWHERE, solve
from assign.dense.sorting import seems_sortable
from gridcut.device import run_threads


def uniform(high):
    return lambda n, rng: rng.integers(0, high + 1, (n, n))


def distances(scale):
    def make(n, rng):
        a, b = rng.random((2, n, 2))
        return np.rint(np.hypot(*(a[:, None] - b[None]).transpose(2, 0, 1)) * scale).astype(np.int64)

    return make


def track(n, rng):
    a = rng.random((n, 2)) * 32 * np.sqrt(n)
    b = (a + rng.normal(0, 3, (n, 2)))[rng.permutation(n)]
    return np.rint(np.minimum(((a[:, None] - b[None]) ** 2).sum(-1), 10**4)).astype(np.int64)


def fixed(n, rng):
    return rng.integers(0, 10**6, (n, 1)) + rng.integers(0, 10**6, (1, n)) + rng.integers(0, 101, (n, n))


def twocost(n, rng):
    return np.where(rng.random((n, n)) < 4 / n, 0, 10**6) + rng.integers(0, 101, (n, n))


def product(n, rng):
    return np.multiply.outer(np.arange(1, n + 1), np.arange(1, n + 1))


def low_rank(rank):
    return lambda n, rng: rng.integers(0, 1000, (n, rank)) @ rng.integers(0, 1000, (rank, n))


FAMILIES = {
    "few levels": uniform(3),
    "u100": uniform(100),
    "u1e6": uniform(10**6),
    "geo": distances(1e3),
    "geofine": distances(1e6),
    "fixed": fixed,
    "twocost": twocost,
    "product": product,
    "rank 1": low_rank(1),
    "rank 2": low_rank(2),
    "rank 4": low_rank(4),
    "rank 8": low_rank(8),
    "track": track,
    "constant": lambda n, rng: np.full((n, n), 7),
    "negative": lambda n, rng: rng.integers(-(10**6), 10**6, (n, n)),
    "permuted diagonal": lambda n, rng: 1000 - 1000 * np.eye(n, dtype=np.int64)[rng.permutation(n)],
    "equal rows": lambda n, rng: np.repeat(rng.integers(0, 50, (1, n)), n, axis=0),
    "equal columns": lambda n, rng: np.repeat(rng.integers(0, 50, (n, 1)), n, axis=1),
    "one cheap column": lambda n, rng: rng.integers(100, 200, (n, n)) * (np.arange(n) > 0),
}


def verified(cost, limit=None, **options):
    """Solve, check everything, and return the value (unmatched rows at their limit)."""
    before = cost.copy()
    col_of, u, v, _ = solve(cost, limit=limit, **options)
    np.testing.assert_array_equal(cost, before)
    exact = cost.dtype.kind == "i"
    assert col_of.dtype == np.int32
    assert u.dtype == v.dtype == (np.int64 if exact else np.float64)
    assert (u.shape, v.shape) == ((cost.shape[0],), (cost.shape[1],))
    if not len(cost):
        return 0
    row = np.flatnonzero(col_of >= 0)
    col = col_of[row].astype(np.int64)
    wide = cost.astype(u.dtype)
    finite = np.abs(wide[np.isfinite(wide)])
    slack = 0 if exact else tolerance(cost.shape, max(finite.max(initial=0), 0 if limit is None else np.max(limit)))
    certify_pairs(cost.shape, row, col)
    certify_prices(
        cost.shape,
        row,
        col,
        u,
        v,
        pair_cost=wide[row, col],
        min_slack=(wide - u[:, None] - v).min(axis=1),
        limit=limit,
        slack=slack,
    )
    return wide[row, col].sum() + (0 if limit is None else limit[col_of < 0].sum())


def scipy_value(cost, limit=None):
    cost = cost.astype(np.int64 if cost.dtype.kind == "i" else np.float64)
    if limit is not None:
        own = np.full((len(cost), len(cost)), np.inf)
        np.fill_diagonal(own, limit)
        cost = np.hstack([cost.astype(np.float64), own])
    row, col = linear_sum_assignment(cost)
    return cost[row, col].sum()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [2, 17, 64, 129, 300])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_every_family_is_solved_to_the_optimum(family, n, dtype):
    cost = np.ascontiguousarray(FAMILIES[family](n, np.random.default_rng(n)), dtype=dtype)
    assert verified(cost) == pytest.approx(scipy_value(cost), abs=1e-6 if dtype is np.float64 else 0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "options",
    [
        {"auction": True},
        {"auction": True, "coarse_start": True},
        {"coarse_start": True},
        {"list_length": 2},
        {"list_length": 3, "auction": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_all_option_combinations_reach_the_optimum(family, options, dtype):
    cost = np.ascontiguousarray(FAMILIES[family](200, np.random.default_rng(1)), dtype=dtype)
    assert verified(cost, **options) == pytest.approx(scipy_value(cost), abs=1e-6 if dtype is np.float64 else 0)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("high", [1, 3, 20, 10**6])
def test_hundreds_of_small_matrices(dtype, high):
    rng = np.random.default_rng(high)
    for _ in range(400):
        n = int(rng.integers(1, 13))
        m = n + int(rng.integers(0, 5)) * int(rng.integers(0, 2))
        cost = rng.integers(-high, high + 1, (n, m)).astype(dtype)
        if dtype in (np.float32, np.float64):
            cost = (cost + rng.random((n, m))).astype(dtype)
        length = int(rng.choice([1, 2, 3, 16]))
        auction = (None, True)[int(rng.integers(2))]
        assert verified(cost, list_length=length, auction=auction) == pytest.approx(scipy_value(cost), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_hundreds_of_small_matrices_with_forbidden_pairs(seed):
    rng = np.random.default_rng(seed)
    refused = 0
    for _ in range(300):
        n = int(rng.integers(1, 12))
        m = n + int(rng.integers(0, 4)) * int(rng.integers(0, 2))
        cost = rng.integers(0, int(rng.choice([2, 10, 1000])), (n, m)).astype(np.float64)
        cost[rng.random((n, m)) < rng.random()] = np.inf
        auction = (None, True)[int(rng.integers(2))]
        try:
            value = scipy_value(cost)
        except ValueError:
            refused += 1
            with pytest.raises(InfeasibleError) as raised:
                solve(cost, auction=auction, list_length=int(rng.choice([1, 2, 16])))
            assert_deficient(cost, raised.value)
        else:
            assert verified(cost, auction=auction, list_length=int(rng.choice([1, 2, 16]))) == value
    assert refused > 30


def assert_deficient(cost, error):
    allowed = np.flatnonzero(np.isfinite(cost[error.rows]).any(axis=0))
    np.testing.assert_array_equal(error.cols, allowed)
    assert len(error.cols) < len(error.rows) == len(np.unique(error.rows))


def test_large_infeasible_matrix_reports_its_deficient_rows():
    cost = np.random.default_rng(0).random((400, 400))
    cost[np.ix_(range(100, 200), range(99, 400))] = np.inf
    with pytest.raises(InfeasibleError) as raised:
        solve(cost)
    np.testing.assert_array_equal(raised.value.rows, range(100, 200))
    np.testing.assert_array_equal(raised.value.cols, range(99))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
@pytest.mark.parametrize("seed", range(4))
def test_hundreds_of_small_matrices_with_limits(dtype, seed):
    rng = np.random.default_rng(seed)
    for _ in range(200):
        n = int(rng.integers(1, 12))
        m = n + int(rng.integers(0, 4))
        high = int(rng.choice([2, 10, 1000]))
        cost = rng.integers(-high, high + 1, (n, m)).astype(dtype)
        if dtype is np.float64:
            cost[rng.random((n, m)) < 0.3] = np.inf
        limit = rng.integers(-high, high + 1, n).astype(np.float64 if dtype is np.float64 else np.int64)
        assert verified(cost, limit=limit, list_length=int(rng.choice([1, 2, 16]))) == scipy_value(cost, limit)


@pytest.mark.parametrize("family", ["u100", "u1e6", "geo", "track", "rank 2", "product"])
@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_medium_rectangles_and_limits(family, share):
    full = FAMILIES[family](240, np.random.default_rng(5))
    cost = np.ascontiguousarray(full[: int(240 * share)], dtype=np.int64)
    assert verified(cost) == scipy_value(cost)
    limit = np.full(len(cost), int(np.quantile(cost, 0.01)), np.int64)
    assert verified(cost, limit=limit) == scipy_value(cost, limit)


@pytest.mark.parametrize("family", ["u100", "u1e6", "geo", "fixed", "product", "track"])
@pytest.mark.parametrize("kind", ["own", "other", "random", "too high"])
@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("limited", [False, True])
def test_start_prices_do_not_change_the_optimum(family, kind, share, limited):
    rng = np.random.default_rng(6)
    full = FAMILIES[family](150, rng)
    cost = np.ascontiguousarray(full[: int(150 * share)], dtype=np.int64)
    limit = np.full(len(cost), int(np.quantile(cost, 0.02)), np.int64) if limited else None
    n, m = cost.shape
    other = np.maximum(cost + rng.integers(-3, 4, cost.shape), 0).astype(np.int64)
    start = {
        "own": lambda: solve(cost, limit=limit)[1:3],
        "other": lambda: solve(other, limit=limit)[1:3],
        "random": lambda: (rng.integers(-1000, 1000, n), rng.integers(-1000, 1000, m)),
        "too high": lambda: (np.full(n, 10**7), np.full(m, 10**7)),
    }[kind]()
    assert verified(cost, limit=limit, start=start) == scipy_value(cost, limit)


def test_optimal_start_prices_need_few_searches():
    cost = distances(1e6)(300, np.random.default_rng(0)).astype(np.int64)
    _, u, v, cold = solve(cost)
    stats = solve(cost, start=(u, v))[3]
    assert stats["rows_reached"] < cold["rows_reached"] / 4 + 300
    assert stats["auction_bids"] == 0


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_integers_near_the_end_of_int64_are_exact(n):
    rng = np.random.default_rng(n)
    largest = (2**63 - 1) // (4 * (n + 1))
    cost = rng.integers(-largest, largest, (n, n), dtype=np.int64)
    small = cost.astype(object)
    col_of, u, v, _ = solve(cost)
    for i in range(n):
        assert min(small[i, j] - int(v[j]) for j in range(n)) == int(u[i]) == small[i, col_of[i]] - int(v[col_of[i]])


def test_floats_of_very_different_size():
    rng = np.random.default_rng(3)
    for _ in range(50):
        cost = rng.random((30, 30)) * 10.0 ** rng.integers(-12, 12, (30, 30))
        assert verified(cost) == pytest.approx(scipy_value(cost), rel=1e-9)


def test_nothing_to_match():
    assert verified(np.empty((0, 0), np.int64)) == 0
    assert verified(np.empty((0, 5), np.float64)) == 0


def test_one_by_one_and_one_by_many():
    assert verified(np.array([[3]], np.int64)) == 3
    assert verified(np.array([[-3.5]])) == -3.5
    assert verified(np.array([[5, 2, 9]], np.int64)) == 2
    with pytest.raises(InfeasibleError):
        solve(np.array([[np.inf]]))
    assert verified(np.array([[np.inf]]), limit=np.array([4.0])) == 4


def test_the_same_input_gives_the_same_answer():
    cost = distances(1e3)(200, np.random.default_rng(0)).astype(np.int64)
    first, second = solve(cost), solve(cost)
    for a, b in zip(first[:3], second[:3], strict=True):
        np.testing.assert_array_equal(a, b)


def test_start_prices_that_are_not_finite():
    cost = uniform(100)(20, np.random.default_rng(0)).astype(np.float64)
    for shape in (cost, cost[:10]):
        v = np.full(20, np.nan)
        v[3], v[5] = -np.inf, 1e300
        assert verified(np.ascontiguousarray(shape), start=(None, v)) == scipy_value(shape)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_passes_by_several_threads(dtype, monkeypatch):
    monkeypatch.setattr("assign.dense.cheap_columns.PARALLEL_MIN_COSTS", 1000)
    monkeypatch.setattr("assign.dense.first_prices.PARALLEL_MIN_COSTS", 1000)
    started = []
    for module in (lists, prices):
        monkeypatch.setattr(module, "thread_count", lambda: 3)
        monkeypatch.setattr(module, "run_threads", counted(module, started))
    for n in (33, 64, 200):
        cost = uniform(500)(n, np.random.default_rng(n)).astype(dtype)
        assert verified(cost) == scipy_value(cost)
        assert verified(cost[: n // 2].copy()) == scipy_value(cost[: n // 2])
    assert {module for module, count in started if count == 3} == {lists, prices}


def counted(module, started):
    """run_threads of a module, which records its calls."""

    def run(work, count):
        started.append((module, count))
        run_threads(work, count)

    return run


@pytest.mark.slow  # the dense solver for int32
@pytest.mark.parametrize("shape", [(40, 40), (30, 90), (150, 150)], ids=str)
def test_all_of_int32(shape):
    """Differences of costs need more than 31 bits, but lists are first built in 32."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        low, high = -(2**31), 2**31 - 1
        cost = rng.integers(low, high, shape, endpoint=True, dtype=np.int32)
        cost[rng.random(shape) < 0.1] = low
        cost[rng.random(shape) < 0.1] = high
        row, col = linear_sum_assignment(cost)
        best = cost[row, col].sum(dtype=np.int64)
        assert verified(cost) == best
        start = (np.zeros(shape[0], np.int64), rng.integers(low, high, shape[1]))
        assert verified(cost, start=start) == best


@pytest.mark.parametrize("family", ["u100", "u1e6", "track", "product", "permuted diagonal"])
def test_easy_costs_are_not_handed_over(family):
    cost = FAMILIES[family](400, np.random.default_rng(3))
    assert verified(cost, auction=ELSEWHERE) == scipy_value(cost)


@pytest.mark.parametrize("family", ["geo", "geofine", "fixed", "rank 2", "rank 8"])
def test_hard_costs_are_handed_over(family):
    with pytest.raises(HandedOver):
        solve(FAMILIES[family](400, np.random.default_rng(3)), auction=ELSEWHERE)


def test_long_searches_are_handed_over(monkeypatch):
    monkeypatch.setattr("assign.dense.dense.MAX_SHARE_TO_KEEP", 1.0)
    for family in ("geo", "rank 2"):  # the searches, and the bids, show it later
        with pytest.raises(HandedOver):
            solve(FAMILIES[family](400, np.random.default_rng(3)), auction=ELSEWHERE)


def test_samples_with_forbidden_pairs_are_not_sorted():
    cost = product(100, None).astype(float)
    assert seems_sortable(cost)
    cost[50, 50] = np.inf
    assert not seems_sortable(cost[::50, ::50])
