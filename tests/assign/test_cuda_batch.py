"""Batches on a GPU: certificates of all problems, and SciPy's costs; tiny batches also in numba's simulator.

The simulator warns when int32 wraps around, which the kernels rely on.
"""

import importlib.util

import numpy as np
import pytest
from numba import config

import assign
from tests.assign import oracles

SIMULATED = bool(config.ENABLE_CUDASIM)
pytestmark = [pytest.mark.filterwarnings("ignore:overflow encountered"), pytest.mark.filterwarnings("ignore:invalid")]
if importlib.util.find_spec("numba_cuda") is None and not SIMULATED:
    pytest.skip("numba-cuda is not installed", allow_module_level=True)

DTYPES = [np.int32, np.int64, np.float32, np.float64]
where = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("gpu", marks=pytest.mark.gpu)]


def solved(costs, limit=None, alone=None, **options):
    """Certified results: columns of the rows, prices, and where a problem is infeasible.

    alone   number of problems that are solved one by one, or None: any
    """
    found = assign.solve_batch(costs, max_cost=limit, device="cuda", **options)
    found.check()
    assert alone is None or found.stats["alone"] == alone
    return found.col_of_row, found.row_price, found.col_price, ~found.feasible


def prove(costs, result, rows=None, cols=None, limit=None, sample=20):
    """All problems are solved, which `solved` has certified; costs of some are compared with SciPy's."""
    col, u, v, status = result
    items, n, m = costs.shape
    assert not status.any()
    real = np.int64 if costs.dtype.kind == "i" else np.float64
    assert (col.dtype, u.dtype, v.dtype) == (np.int32, real, real)
    for k in np.unique(np.linspace(0, items - 1, sample).astype(int)):
        cost = costs[k, : n if rows is None else rows[k], : m if cols is None else cols[k]]
        row = np.flatnonzero(col[k] >= 0)
        alone = np.setdiff1d(np.arange(len(cost)), row)
        paid = cost[row, col[k][row]].sum(dtype=np.float64) + (0 if limit is None else limit[k][alone].sum())
        best = oracles.best_cost(cost) if limit is None else oracles.best_partial(cost, limit[k][: len(cost)])
        assert paid == pytest.approx(best, rel=1e-9, abs=1e-9)


def random_costs(rng, shape, dtype, high=100):
    if np.dtype(dtype).kind == "f":
        return rng.random(shape).astype(dtype)
    return rng.integers(-high, high + 1, shape).astype(dtype)


@pytest.mark.parametrize("where", where)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 6, 6), (2, 5, 9), (1, 3, 40), (1, 34, 34)], ids=str)
def test_small(shape, dtype, where):
    costs = random_costs(np.random.default_rng(shape), shape, dtype)
    prove(costs, solved(costs))


@pytest.mark.parametrize("where", where)
@pytest.mark.parametrize(("low", "high"), [(-(2**31), 2**31 - 1), (2**31 - 90, 2**31 - 1), (2**31 - 1, 2**31 - 1)])
def test_wide_integers(low, high, where):
    costs = np.random.default_rng(2).integers(low, high, (3, 7, 7), endpoint=True).astype(np.int32)
    prove(costs, solved(costs))
    rect = np.ascontiguousarray(costs[:, :4])
    prove(rect, solved(rect))


@pytest.mark.parametrize("where", where)
@pytest.mark.parametrize("dtype", DTYPES)
def test_ragged(dtype, where):
    """Sizes differ, some have more rows than columns or nothing at all; costs outside the true size are never read."""
    rng = np.random.default_rng(4)
    items, n, m = 8, 6, 7
    costs = random_costs(rng, (items, n, m), dtype)
    rows, cols = rng.integers(0, n + 1, items, dtype=np.int32), rng.integers(0, m + 1, items, dtype=np.int32)
    rows[0], cols[0] = 6, 3
    beyond = (np.arange(n)[:, None] >= rows[:, None, None]) | (np.arange(m) >= cols[:, None, None])
    costs[beyond] = np.nan if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min
    prove(costs, solved(costs, rows=rows, cols=cols), rows, cols)


@pytest.mark.parametrize("where", where)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 6, 6), (2, 4, 9), (2, 8, 5)], ids=str)
def test_limit(shape, dtype, where):
    rng = np.random.default_rng(5)
    costs = random_costs(rng, shape, dtype)
    real = np.float64 if costs.dtype.kind == "f" else np.int64
    limit = rng.choice(costs.reshape(-1), shape[:2]).astype(real)
    prove(costs, solved(costs, limit=limit), limit=limit)


@pytest.mark.parametrize("where", where)
@pytest.mark.parametrize("huge", [10**9, -(10**9)])
def test_limits_far_from_the_costs(huge, where):
    costs = np.random.default_rng(6).integers(0, 100, (2, 5, 5)).astype(np.int32)
    limit = np.full((2, 5), huge, np.int64)
    result = solved(costs, limit=limit)
    prove(costs, result, limit=limit)
    assert (result[0] >= 0).all() == (huge > 0)


@pytest.mark.parametrize("where", where)
def test_forbidden_pairs(where):
    rng = np.random.default_rng(7)
    costs = rng.random((8, 5, 5)).astype(np.float32)
    costs[rng.random(costs.shape) < 0.5] = np.inf
    costs[0] = np.inf
    costs[1, :, 2] = np.inf
    possible = np.array([oracles.best_cost(cost) is not None for cost in costs])
    col, u, v, status = solved(costs)
    assert 0 < possible.sum() < 8
    assert (status == ~possible).all()
    assert (col[~possible] == -1).all()
    assert not u[~possible].any()
    prove(costs[possible], [a[possible] for a in (col, u, v, status)])
    limit = np.full(costs.shape[:2], 0.7)
    prove(costs, solved(costs, limit=limit), limit=limit)


@pytest.fixture(params=["more columns per thread", "alone"])
def larger(request, monkeypatch):
    """Small problems solved as larger ones are."""
    from assign.batch import batch_team_cuda as batch_shape

    monkeypatch.setattr(batch_shape, "MAX_STAGED_BYTES", 0)
    monkeypatch.setattr(batch_shape, "MAX_THREADS", 16)
    if request.param == "alone":
        monkeypatch.setattr(batch_shape, "MAX_COLUMNS", 0)
        monkeypatch.setattr(batch_shape, "MAX_LIMITED_COLUMNS", 0)
    return request.param


@pytest.mark.parametrize("where", where)
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_larger(dtype, where, larger):
    for shape in ((1, 5, 9),) if larger == "alone" else ((3, 6, 6), (1, 20, 40)):
        test_small(shape, dtype, where)
    test_ragged(dtype, where)
    test_limit((2, 8, 5), dtype, where)


@pytest.mark.parametrize("where", where)
def test_larger_in_all_cases(where, larger):
    test_wide_integers(-(2**31), 2**31 - 1, where)
    test_limits_far_from_the_costs(10**9, where)
    test_forbidden_pairs(where)


@pytest.mark.parametrize("where", where)
def test_ranges_too_wide_for_int64(where):
    """Problems whose costs do not fit the integers of a block are solved alone, the others are not."""
    costs = np.random.default_rng(10).integers(0, 1000, (4, 5, 6)).astype(np.int64)
    costs[1::2] *= 2**47
    prove(costs, solved(costs, alone=2))
    prove(costs[:, :3] * 1.0, solved(costs[:, :3] * 1.0, alone=0))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    [(5000, 30, 30), (1000, 32, 32), (1000, 33, 33), (500, 64, 64), (100, 100, 150), (40, 256, 256), (6, 512, 512),
     (3, 300, 700), (2, 900, 900), (2, 97, 1100), (1, 400, 2100), (2, 2049, 2049), (1, 2500, 300)],
    ids=str,
)  # fmt: skip
def test_large(shape, dtype):
    rng = np.random.default_rng(shape)
    costs = random_costs(rng, shape, dtype)
    prove(costs, solved(costs), sample=5)
    items, n, m = shape
    costs = (np.hypot(*(rng.random((2, items, n, 1)) - rng.random((2, items, 1, m)))) * 1000).astype(dtype)
    prove(costs, solved(costs), sample=5)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("shape", [(2000, 40, 70), (200, 170, 150)], ids=str)
def test_large_ragged(shape, dtype, limited):
    rng = np.random.default_rng(8)
    items, n, m = shape
    costs = random_costs(rng, (items, n, m), dtype)
    rows, cols = rng.integers(0, n + 1, items, dtype=np.int32), rng.integers(0, m + 1, items, dtype=np.int32)
    real = np.float64 if costs.dtype.kind == "f" else np.int64
    limit = rng.choice(costs.reshape(-1), (items, n)).astype(real) if limited else None
    prove(costs, solved(costs, rows=rows, cols=cols, limit=limit), rows, cols, limit)
