"""Costs and limits at the ends of their ranges: integers near int64, floats written for "never", endless distances."""

import numpy as np
import pytest
import scipy.sparse

import assign
from gridcut.device.arguments import INT64_MAX
from tests.assign import oracles
from tests.assign.oracles import SCALING


@pytest.mark.parametrize("k", [15 * 10**16, 23 * 10**16, INT64_MAX // 20])
def test_sparse_integers_near_the_bound_end(k):
    """The first step of the auction passed 2^63, and it never ended."""
    cost = np.array([[-k, k], [k, k + 1 if 20 * (k + 1) <= INT64_MAX else k]])
    found = oracles.solve(scipy.sparse.csr_array(cost))
    oracles.verify_found(cost, found)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_integers_near_the_bound(n):
    """Sparse and masked, rectangular, with limits, with any start, feasible or not."""
    rng = np.random.default_rng(n)
    refused = 0
    for trial in range(24):
        m = n + int(rng.choice([0, 0, 1, 2]))
        bound = INT64_MAX // (4 * (n + m + 1))
        few = rng.choice([bound, bound - 1, -bound, 1 - bound, bound // 2, 0, 1], (n, m))
        cost = few if trial % 2 else rng.integers(-bound, bound, (n, m), endpoint=True)
        allowed = rng.random((n, m)) < rng.choice([0.4, 0.8, 1.0])
        start = [None, tuple(rng.choice([2**62, -(2**62), 0, 10**17], size) for size in (n, m))][trial % 3 == 0]
        for form in ("sparse", "mask"):
            given = (oracles.sparse_of(cost, allowed),) if form == "sparse" else (cost,)
            options = {} if form == "sparse" else {"mask": allowed}
            if oracles.best_cost(np.where(allowed, 0.0, np.inf)) is None:
                refused += 1
                with pytest.raises(assign.InfeasibleError) as caught:
                    assign.solve(*given, start=start, device="cpu", **options)
                assert len(caught.value.cols) < len(caught.value.rows)
                assert set(np.flatnonzero(allowed[caught.value.rows].any(axis=0))) == set(caught.value.cols)
            else:
                found = oracles.solve(*given, start=start, device="cpu", **options)
                oracles.verify_found(cost, found, allowed)
            limit = rng.choice([bound, -bound, 0, bound // 3], n)
            found = oracles.solve(*given, start=start, device="cpu", max_cost=limit, **options)
            oracles.verify_found(cost, found, allowed, limit)
    assert refused


@pytest.mark.parametrize("method", ["auto", *SCALING])
def test_dense_integers_near_the_bound_of_each_method(method):
    rng = np.random.default_rng(20)
    for n in range(2, 6):
        nodes = 2 * n + 1
        bound = INT64_MAX // (4 * nodes if method == "auto" else 4 * nodes * nodes)
        for start in (None, (np.full(n, 2**62), rng.choice([-(2**62), 2**62], n))):
            cost = rng.choice([bound, bound - 1, -bound, 1 - bound, 0], (n, n))
            found = oracles.solve(cost, method=method, start=start, device="cpu")
            oracles.verify_found(cost, found)


@pytest.mark.parametrize("method", ["auto", *SCALING])
@pytest.mark.parametrize("huge", [1e12, 1e17, 1e300])
def test_floats_written_for_never(method, huge):
    """They rounded all other costs away, and the check passed since its tolerance grew with them."""
    rng = np.random.default_rng(21)
    possible = 0
    for _ in range(25):
        n = int(rng.integers(2, 9))
        m = n + int(rng.choice([0, 0, 2]))
        cost = rng.random((n, m)) - rng.choice([0.0, 0.5])
        never = rng.random((n, m)) < 0.5
        best = oracles.best_cost(np.where(never, np.inf, cost))
        given = np.where(never, huge, cost)
        limits = [{}, {"max_cost": 0.3}] if best is not None else [{"max_cost": 0.3}]
        possible += best is not None
        for options in limits:
            found = oracles.solve(given, method=method, device="cpu", **options)
            expected = best if not options else oracles.best_partial(np.where(never, np.inf, cost), 0.3)
            assert oracles.total_of(found, options.get("max_cost", 0)) == pytest.approx(expected, rel=1e-13, abs=1e-13)
            assert not never[found.row, found.col].any()
            turned = oracles.solve(
                -given, method=method, device="cpu", maximize=True, **({"max_cost": -0.3} if options else {})
            )
            assert turned.cost == pytest.approx(-found.cost, rel=1e-13, abs=1e-13)
    assert possible > 8


def test_limits_written_for_never():
    """-2^63 has no absolute value in int64, and matched nothing."""
    for cost in ([[5]], [[5.0]], [[5, 3], [2, 7]], scipy.sparse.csr_array([[5, 3], [2, 7]])):
        best = assign.solve(cost, maximize=True).cost
        found = oracles.solve(cost, maximize=True, max_cost=-(2**63))
        assert found.cost == best
        assert oracles.solve(cost, max_cost=float(2**63)).cost == assign.solve(cost).cost
    for dtype in (np.int32, np.int64, np.float64):
        costs = np.array([[[5, 3], [2, 7]]], dtype)
        found = assign.solve_batch(costs, maximize=True, max_cost=-(2**63))
        found.check()
        assert found.cost.tolist() == [12]


def test_integers_that_floats_would_round_are_refused():
    """A limit with a fraction makes the costs floats."""
    cost = np.array([[2**53 + 1, 5]])
    for limit in (2.5, 2.0**62):
        with pytest.raises(ValueError, match="max_cost must be integers below 2.62 .* 9007199254740993"):
            assign.solve(cost, max_cost=limit)
        with pytest.raises(ValueError, match="max_cost must be integers below 2.62 .* 9007199254740993"):
            assign.solve_batch(cost[None], max_cost=limit)
    assert assign.solve(cost - 1, max_cost=2.5).cost == 0
    assert assign.solve_batch(cost[None], cols=[0], max_cost=2.5).cost.tolist() == [0]


def test_scipys_drop_in_takes_the_largest_integers():
    """As "forbidden"; SciPy computes in float64."""
    from scipy.optimize import linear_sum_assignment

    never = np.iinfo(np.int64).max
    for cost in ([[never, 1], [1, never]], [[-never - 1, 1], [1, 2]], np.array([[never, 1, 2], [1, never, never]])):
        for maximize in (False, True):
            expected = linear_sum_assignment(cost, maximize)
            found = assign.linear_sum_assignment(cost, maximize)
            assert [a.tolist() for a in found] == [a.tolist() for a in expected]


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock"])
def test_points_whose_distances_have_no_floats(metric):
    far = 1e308 if metric == "cityblock" else 1e200
    for x, y in (([[far, 0], [0, 0]], [[0, 1], [far, 1]]), ([[1e308, 0]], [[-1e308, 0]])):
        for limit in (None, 3.0):
            with pytest.raises(ValueError, match=r"x and y span .*divide the coordinates .* at most 1e\+140"):
                assign.solve_points(x, y, metric, max_cost=limit)
    x, y = np.array([[1e-200, 0], [3e-200, 0]]), np.array([[3e-200, 0], [5e-200, 0]])
    if metric == "cityblock":
        found = assign.solve_points(x, y, metric)
        found.check()
        assert found.cost == pytest.approx(4e-200)
    else:
        with pytest.raises(ValueError, match=r"span only 4e-200, .*multiply .* at least 1e-140"):
            assign.solve_points(x, y, metric)
    assert assign.solve_points(x[:1], x[:1], metric).cost == 0


def test_points_near_the_ends_of_that_range():
    rng = np.random.default_rng(24)
    x, y = rng.random((6, 2)), rng.random((6, 2))
    for metric in ("euclidean", "sqeuclidean", "cityblock"):
        expected = assign.solve_points(x, y, metric).cost
        for power in (-440, 440):
            found = assign.solve_points(x * 2.0**power, y * 2.0**power, metric)
            found.check()
            assert found.cost == pytest.approx(
                expected * 2.0 ** (power * (2 if metric == "sqeuclidean" else 1)), rel=1e-12
            )
