"""The default solver of dense costs on the CPU: values against SciPy, and the certificate of every answer."""

import numpy as np
import pytest

from assign.core.infeasible import InfeasibleError
from assign.core.problem import HandedOver
from assign.dense import cheap_columns as lists
from assign.dense.dense import ELSEWHERE, solve
from assign.dense.sorting import seems_sortable
from benchmarks.assign_instances import DENSE
from gridcut.device import run_threads
from tests.assign.oracles import best_cost, solved

FAMILIES = DENSE | {
    "few levels": lambda n, rng: rng.integers(0, 4, (n, n)),
    "constant": lambda n, rng: np.full((n, n), 7),
    "negative": lambda n, rng: rng.integers(-(10**6), 10**6, (n, n)),
    "permuted diagonal": lambda n, rng: 1000 - 1000 * np.eye(n, dtype=np.int64)[rng.permutation(n)],
    "equal rows": lambda n, rng: np.repeat(rng.integers(0, 50, (1, n)), n, axis=0),
    "equal columns": lambda n, rng: np.repeat(rng.integers(0, 50, (n, 1)), n, axis=1),
    "one cheap column": lambda n, rng: rng.integers(100, 200, (n, n)) * (np.arange(n) > 0),
}


OPTIONS = [
    {},
    {"auction": True},
    {"auction": True, "coarse_start": True},
    {"coarse_start": True},
    {"list_length": 2},
    {"list_length": 3, "auction": True},
]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_with_all_options(family, dtype):
    for n in (17, 129):
        solved(FAMILIES[family](n, np.random.default_rng(n)).astype(dtype))
    for options in OPTIONS:
        solved(FAMILIES[family](200, np.random.default_rng(1)).astype(dtype), **options)


def test_large_infeasible_matrix_reports_its_deficient_rows():
    cost = np.random.default_rng(0).random((400, 400))
    cost[np.ix_(range(100, 200), range(99, 400))] = np.inf
    with pytest.raises(InfeasibleError) as raised:
        solve(cost)
    np.testing.assert_array_equal(raised.value.rows, range(100, 200))
    np.testing.assert_array_equal(raised.value.cols, range(99))


def test_optimal_start_prices_need_few_searches():
    cost = FAMILIES["geometric 1e6"](300, np.random.default_rng(0)).astype(np.int64)
    cold = solved(cost)
    stats = solved(cost, start=cold).stats
    assert stats["rows_reached"] < cold.stats["rows_reached"] / 4 + 300
    assert stats["auction_bids"] == 0


def test_start_prices_that_are_not_finite():
    cost = FAMILIES["u100"](20, np.random.default_rng(0)).astype(np.float64)
    for given in (cost, cost[:10].copy()):
        v = np.full(20, np.nan)
        v[3], v[5] = -np.inf, 1e300
        col_of, u, v, _ = solve(given, start=(None, v))
        assert (
            given[np.arange(len(given)), col_of].sum() == best_cost(given) == pytest.approx(u.sum() + v[col_of].sum())
        )


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_passes_by_several_threads(dtype, monkeypatch):
    monkeypatch.setattr("assign.dense.cheap_columns.PARALLEL_MIN_COSTS", 1000)
    started = []
    monkeypatch.setattr(lists, "thread_count", lambda: 3)
    monkeypatch.setattr(lists, "run_threads", counted(started))
    for n in (33, 64, 200):
        cost = FAMILIES["u[0,10n]"](n, np.random.default_rng(n)).astype(dtype)
        solved(cost)
        solved(cost[: n // 2].copy())
    assert set(started) == {3}


def counted(started):
    """run_threads, which records its numbers of threads."""

    def run(work, count):
        started.append(count)
        run_threads(work, count)

    return run


@pytest.mark.parametrize("family", ["u100", "u1e6", "tracking", "Machol-Wien", "permuted diagonal"])
def test_easy_costs_are_not_handed_over(family):
    cost = FAMILIES[family](400, np.random.default_rng(3)).astype(np.int64)
    col_of, *_ = solve(cost, auction=ELSEWHERE)
    assert cost[np.arange(400), col_of].sum() == best_cost(cost)


@pytest.mark.parametrize("family", ["geometric 1e3", "geometric 1e6", "fixed-charge", "low rank 2", "low rank 8"])
def test_hard_costs_are_handed_over(family):
    with pytest.raises(HandedOver):
        solve(FAMILIES[family](400, np.random.default_rng(3)).astype(np.int64), auction=ELSEWHERE)


def test_long_searches_are_handed_over(monkeypatch):
    monkeypatch.setattr("assign.dense.dense.MAX_SHARE_TO_KEEP", 1.0)
    for family in ("geometric 1e3", "low rank 2"):  # the searches, and the bids, show it later
        with pytest.raises(HandedOver):
            solve(FAMILIES[family](400, np.random.default_rng(3)).astype(np.int64), auction=ELSEWHERE)


def test_products_are_solved_by_sorting():
    *_, stats = solve(FAMILIES["Machol-Wien"](600, None).astype(np.int64))
    assert stats["sorted"] == 1


def test_samples_with_forbidden_pairs_are_not_sorted():
    cost = FAMILIES["Machol-Wien"](100, None).astype(float)
    assert seems_sortable(cost)
    cost[50, 50] = np.inf
    assert not seems_sortable(cost[::50, ::50])
