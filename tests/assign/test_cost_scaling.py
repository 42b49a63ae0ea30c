"""The cost-scaling methods of the paper: values against SciPy, certificates on all, invariants after every Refine."""

import importlib

import numpy as np
import pytest

import assign
from assign.core.infeasible import InfeasibleError
from assign.papers.scaling.network import rows_of_dense
from tests.assign import oracles


@pytest.fixture(params=oracles.SCALING)
def name(request):
    return request.param


@pytest.fixture
def module(name):
    return importlib.import_module(f"assign.papers.{name}")


def solve_dense(module, cost, **options):
    return module.solve(*rows_of_dense(cost), cost.shape[1], **options)


def test_switches_do_something(name):
    rng = np.random.default_rng(5)
    cost = rng.integers(0, 10**6, (60, 60))
    options = {"cycle": 20} if name == "lock_free" else {}
    on = assign.solve(cost, method=name, device="cpu", **options).stats
    assert on["price_updates"] > 0
    assert on["arcs_fixed"] > 0
    fewer = assign.solve(cost, method=name, device="cpu", alpha=100, **options).stats
    assert fewer["refines"] < on["refines"]


def test_prices_out_of_range_are_refused(module):
    """Costs whose multiples leave int64, which the border refuses before."""
    cost = np.full((3, 3), 2**59)
    with pytest.raises(ValueError, match="too large for cost scaling, which accepts at most"):
        solve_dense(module, cost)


def test_rows_with_and_without_limit(module):
    """An infinite limit: that row must be matched."""
    cost = np.array([[5, 9], [1, 7]], np.float64)
    col, u, v, _ = solve_dense(module, cost, limit=np.array([np.inf, 3.0]))
    assert col.tolist() == [0, -1]
    assert u[1] == 3
    assert u[0] + v[0] == 5
    assert (cost - u[:, None] - v >= 0).all()
    with pytest.raises(InfeasibleError):
        solve_dense(module, np.array([[5, np.inf], [1, np.inf]]), limit=np.array([np.inf, np.inf]))


def test_warm_start(name):
    """Good prices save work."""
    rng = np.random.default_rng(9)
    cost = rng.integers(0, 10**6, (40, 45))
    cold = oracles.solve(cost, method=name, device="cpu")
    again = oracles.solve(cost, method=name, device="cpu", start=cold)
    assert again.cost == cold.cost
    assert again.stats["refines"] < cold.stats["refines"]


def test_callback(module):
    seen = []
    _, _, _, stats = solve_dense(module, np.arange(9).reshape(3, 3) ** 2, callback=seen.append)
    assert [s["refines"] for s in seen] == list(range(1, stats["refines"] + 1))
    assert seen[-1]["pushes"] == stats["pushes"]

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_dense(module, np.arange(9).reshape(3, 3), callback=stop)


@pytest.mark.parametrize("method", oracles.SCALING)
@pytest.mark.parametrize("limit", [2**31, 2**32, -(2**31) - 1])
def test_limits_beyond_the_dtype_of_the_costs(method, limit):
    """They wrapped around in int32, and a limit of 2^32 became 0."""
    for dtype in (np.int32, np.int16, np.uint8, np.int64):
        cost = np.array([[5, 9], [3, 7]], dtype)
        for maximize in (False, True):
            found = assign.solve(cost, max_cost=limit, maximize=maximize, method=method, device="cpu")
            found.check()
            wide = cost.astype(np.int64)
            assert found.cost == assign.solve(wide, max_cost=limit, maximize=maximize, device="cpu").cost
            each = assign.solve(cost, max_cost=[limit, 4], method=method, device="cpu")
            each.check()
