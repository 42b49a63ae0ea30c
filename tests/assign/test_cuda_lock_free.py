"""Lock-free cost scaling on CUDA: tiny problems in numba's simulator, larger ones on a GPU."""

import importlib

import numpy as np
import pytest

import assign
from assign.core.infeasible import InfeasibleError
from assign.papers.scaling.network import rows_of_dense
from tests.assign import oracles

sim = pytest.mark.sim
gpu = pytest.mark.gpu


def lock_free():
    return importlib.import_module("assign.papers.lock_free_cuda")


def solved(cost, *, limit=None, rows=None, **keywords):
    """Cost of the pairs and of rows left alone, and stats; certified, and compared with SciPy."""
    options = {"block": 32, **keywords}
    given = (*rows_of_dense(cost), cost.shape[1]) if rows is None else rows
    col, u, v, stats = lock_free().solve(*given, limit=limit, **options)
    assert cost.dtype.kind == "f" or u.dtype == v.dtype == np.int64
    return oracles.proved(cost, col, u, v, limit), stats


@sim
@pytest.mark.parametrize("shape", [(0, 2), (1, 1), (3, 5), (6, 6)])
def test_values(shape):
    rng = np.random.default_rng(shape[1])
    for kind in ("few", "wide", "negative"):
        cost = oracles.random_cost(rng, shape, kind)
        _, stats = solved(cost)
        assert stats["launches"] == (stats["refines"] if shape[1] else 0)


@sim
@pytest.mark.parametrize(
    ("alpha", "price_updates", "arc_fixing"), [(2, False, True), (5, True, True), (10, True, False)]
)
def test_switches_and_short_launches(alpha, price_updates, arc_fixing):
    rng = np.random.default_rng(alpha)
    cost = rng.integers(0, 100, (5, 6))
    options = {"alpha": alpha, "price_updates": price_updates, "arc_fixing": arc_fixing}
    _, stats = solved(cost, cycle=2, **options)
    assert stats["launches"] > stats["refines"]
    assert (stats["price_updates"] > 0) == price_updates
    assert (stats["arcs_fixed"] > 0) == arc_fixing


@sim
def test_floats_limits_forbidden_pairs_and_sparse():
    rng = np.random.default_rng(1)
    solved(rng.random((4, 5)))
    solved(rng.integers(0, 20, (5, 5)), limit=rng.integers(0, 12, 5))
    allowed = rng.random((4, 6)) < 0.6
    allowed[np.arange(4), np.arange(4)] = True
    cost = np.where(allowed, rng.integers(0, 50, (4, 6)), np.inf)
    solved(cost)
    graph = oracles.sparse_of(np.where(allowed, cost, 0), allowed)
    rows = (graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data, 6)
    solved(cost, rows=rows)
    with pytest.raises(InfeasibleError):
        solved(np.array([[1, np.inf], [2, np.inf]]))


@sim
def test_costs_on_the_gpu_give_results_there():
    from gridcut.device.arrays import on_device, to_host
    from gridcut.device.cuda import cuda

    cost = np.random.default_rng(7).integers(0, 50, (4, 5)).astype(np.int32)
    found = assign.solve(cuda.to_device(cost), method="lock_free", device="cuda", block=32)
    assert all(map(on_device, (found.row, found.col, found.row_price, found.col_price)))
    col, u, v = map(to_host, (found.col, found.row_price, found.col_price))
    assert cost[np.arange(4), col].sum() == oracles.best_cost(cost) == u.sum() + v.sum()
    assert (cost - u[:, None] - v >= 0).all()


@gpu
@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (40, 55), (300, 300), (100, 160)])
@pytest.mark.parametrize("kind", ["few", "wide", "distance", "sums"])
def test_on_a_gpu(shape, kind):
    cost = oracles.random_cost(np.random.default_rng(5), shape, kind)
    solved(cost, block=512)
    solved(cost, block=64, cycle=100)


@gpu
def test_sparse_partial_floats_on_a_gpu():
    rng = np.random.default_rng(6)
    cost, limit = rng.random((200, 230)), rng.random(200) / 50
    solved(cost, limit=limit)
    solved(cost)


@sim
@pytest.mark.parametrize("huge", [1e15, 1e300])
def test_floats_written_for_never(huge):
    """All is done again with a lower ceiling, on a network of its own."""
    rng = np.random.default_rng(12)
    done = again = 0
    while done < 3:
        n = int(rng.integers(2, 5))
        cost, never = rng.random((n, n)), rng.random((n, n)) < 0.5
        best = oracles.best_cost(np.where(never, np.inf, cost))
        if best is None or not never.any():
            continue
        done += 1
        value, stats = solved(np.where(never, huge, cost))
        assert value == pytest.approx(best, rel=1e-13)
        again += stats["unit"] < 1e-13
    assert again
