"""start= : whatever the prices are, the answer is that of a cold start, and as exact."""

import numpy as np
import pytest

import assign
from tests.assign import oracles

METHODS = ["auto", *oracles.SCALING]


def solve(cost, start, **options):
    return oracles.solve(cost, start=start, device="cpu", **options)


def test_a_row_without_columns_stays_infeasible():
    """Its least cost was inf, and inf <= inf made any column right for it."""
    inf = np.inf
    for cost in (np.array([[inf, inf]]), np.array([[inf], [inf]]), np.array([[1.0, 2.0, 3.0], [inf, inf, inf]])):
        n, m = cost.shape
        for scale in (0.0, -1.0, 1e3, -1e300):
            with pytest.raises(assign.InfeasibleError):
                assign.solve(cost, start=(np.full(n, scale), np.full(m, scale)), device="cpu")
    found = solve(np.array([[inf, inf]]), ([0.0], [0.0, 0.0]), max_cost=3.0)
    assert (found.cost, found.col.tolist()) == (0.0, [])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", ["dense", "inf", "sparse", "wide", "tall", "limit"])
def test_far_off_starts_lose_no_digits(method, form):
    rng = np.random.default_rng(2)
    for power in (0, 14, 300):
        for _ in range(2):
            n = int(rng.integers(2, 9))
            shape = {"wide": (n, n + 3), "tall": (n + 3, n)}.get(form, (n, n))
            cost = rng.random(shape)
            allowed = rng.random(shape) < 0.7
            allowed[np.arange(min(shape)), rng.permutation(min(shape))] = True
            given = cost
            if form == "inf":
                given = np.where(allowed, cost, np.inf)
            elif form == "sparse":
                given = oracles.sparse_of(cost, allowed)
            options = {"max_cost": 0.4} if form == "limit" else {}
            cold = solve(given, None, method=method, **options)
            for offset in (0.0, 1.0):
                start = [(rng.normal(size=size) + offset) * 10.0**power for size in shape]
                found = solve(given, start, method=method, **options)
                total = oracles.total_of(found, options.get("max_cost", 0))
                assert total == pytest.approx(oracles.total_of(cold, options.get("max_cost", 0)), rel=1e-13)
                # Prices are of the size that a cold start gives them, so they lose as few digits.
                assert max(np.abs(found.row_price).max(), np.abs(found.col_price).max()) <= 40 * sum(shape)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["int64", "uint64", "float64"])
def test_starts_beyond_all_integers(method, kind):
    """Where a cast, a sign or a sum of them would wrap."""
    rng = np.random.default_rng(3)
    ends = {"int64": [2**63 - 1, -(2**63)], "uint64": [2**64 - 1, 0], "float64": [1e300, -1e300]}[kind]
    for shape in ((4, 4), (3, 5), (5, 3)):
        cost = rng.integers(-50, 50, shape)
        for _ in range(5):
            start = [rng.choice(np.array(ends, kind), size) for size in shape]
            for options in ({}, {"maximize": True}, {"max_cost": 10}, {"max_cost": rng.integers(-50, 50, shape[0])}):
                limit = options.get("max_cost", 0)
                found = solve(cost, start, method=method, **options)
                oracles.verify_found(cost, found, None, options.get("max_cost"), options.get("maximize", False))
                expected = assign.solve(cost, **options)
                assert oracles.total_of(found, limit) == oracles.total_of(expected, limit)


def test_a_start_that_fits_is_used():
    """Prices of the problem itself leave nothing to do, also where their level is far from 0."""
    rng = np.random.default_rng(4)
    cost = rng.random((200, 200))
    cold = assign.solve(cost, device="cpu", method="shortest_paths")
    for level in (0.0, 1e6):
        warm = assign.solve(
            cost, start=(cold.row_price - level, cold.col_price + level), device="cpu", method="shortest_paths"
        )
        assert warm.cost == pytest.approx(cold.cost, rel=1e-12)
        assert warm.stats["bids"] < cold.stats["bids"] / 2


FAR = [("sqeuclidean", 1e8), ("sqeuclidean", 1e10), ("euclidean", 1e16), ("cityblock", 1e16)]


@pytest.mark.parametrize(("metric", "far"), FAR)
@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (6, 7), (6, 6)])
def test_points_from_prices_of_a_far_point(metric, far, shape):
    """Prices of the size of a distance that is not paid rounded the others away, where a point stays unmatched."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, y = (rng.random((size, 2)) for size in shape)
        (y if shape[0] <= shape[1] else x)[0] = far
        scale = far * far if metric == "sqeuclidean" else far
        start = tuple(rng.normal(size=size) * scale for size in shape)
        found = assign.solve_points(x, y, metric, start=start, device="cpu")
        found.check()
        assert found.cost == pytest.approx(assign.solve_points(x, y, metric, device="cpu").cost, rel=1e-12)


def test_start_prices_that_hide_the_cheapest_pair():
    found = assign.solve_points([[0.6]], [[0.3], [0.0], [1e8]], "sqeuclidean", start=([0.0], [-1e16, 0.0, 1e16]))
    found.check()
    assert (found.col.tolist(), found.cost) == ([0], pytest.approx(0.09))
    cost = oracles.sparse_of(np.array([[0.3, 0.1, 1e16]]), np.ones((1, 3), bool))
    assert solve(cost, ([0.0], [0.0, -1e16, 1e16])).cost == 0.1
