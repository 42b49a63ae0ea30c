"""The functions of lap and lapx: their values and exceptions, and what is better defined here."""

import itertools

import numpy as np
import pytest

from assign.compat import lap as ours

lap = pytest.importorskip("lap", reason="lapx is not installed (extra 'bench')")
SHAPES = [(1, 1), (3, 8), (8, 3), (40, 40), (170, 150)]


def same(found, expected, cost):
    """Equal totals, legal partners, and pairs whose costs sum to the total."""
    assert found[0] == pytest.approx(expected[0], rel=1e-9, abs=1e-12)
    _, x, y = found
    assert x.dtype == y.dtype == expected[1].dtype
    assert (x.shape, y.shape) == (expected[1].shape, expected[2].shape)
    row = np.flatnonzero(x >= 0)
    assert (y[x[row]] == row).all()
    assert (y >= 0).sum() == len(row)
    assert cost[row, x[row]].sum() == pytest.approx(found[0])


def pairs(found):
    """Pairs of a result of `lapjvx`; lap lists them by column if there are more rows than columns."""
    return list(zip(*(one.tolist() for one in found[1:]), strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_of_lapjv(shape, dtype):
    rng = np.random.default_rng(1)
    cost = (100 * rng.random(shape)).astype(dtype)
    same(ours.lapjv(cost, extend_cost=True), lap.lapjv(cost, extend_cost=True), cost)
    for limit in (-1, 0, 0.5, 7, 30, 1e9):
        found, expected = ours.lapjv(cost, cost_limit=limit), lap.lapjv(cost, cost_limit=limit)
        x, y = found[1:]
        matched = cost[x >= 0, x[x >= 0]]
        assert (matched <= limit).all()
        # Ties between a pair of exactly that cost and none: the sums of (cost - limit) are equal.
        theirs = cost[expected[1] >= 0, expected[1][expected[1] >= 0]]
        assert (matched.astype(float) - limit).sum() == pytest.approx((theirs.astype(float) - limit).sum(), abs=1e-4)
        assert found[0] == pytest.approx(matched.astype(float).sum())
        assert sorted(x[x >= 0]) == np.flatnonzero(y >= 0).tolist()


def test_partners_are_those_of_lap_if_unique():
    rng = np.random.default_rng(2)
    for shape in SHAPES:
        cost = rng.random(shape)
        for keywords in ({"extend_cost": True}, {"cost_limit": 0.2}, {"cost_limit": 0.02}):
            found, expected = ours.lapjv(cost, **keywords), lap.lapjv(cost, **keywords)
            assert (found[1] == expected[1]).all()
            assert (found[2] == expected[2]).all()
            assert pairs(ours.lapjvx(cost, **keywords)) == sorted(pairs(lap.lapjvx(cost, **keywords)))
            x, y = ours.lapjv(cost, return_cost=False, **keywords)
            assert (x == found[1]).all()
            assert (y == found[2]).all()


@pytest.mark.parametrize("shape", [(3, 3), (3, 4), (4, 3)])
def test_forbidden_pairs_are_never_returned(shape):
    """By trying all assignments: as many allowed pairs as possible, and of those the cheapest."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        cost = np.where(rng.random(shape) < 0.6, np.inf, rng.integers(1, 9, shape))
        wide = cost if shape[0] <= shape[1] else cost.T
        best = max(
            (sum(np.isfinite(wide[i, j]) for i, j in enumerate(chosen)),
             -sum(wide[i, j] for i, j in enumerate(chosen) if np.isfinite(wide[i, j])))
            for chosen in itertools.permutations(range(wide.shape[1]), wide.shape[0])
        )  # fmt: skip
        total, x, y = ours.lapjv(cost, extend_cost=True)
        matched = cost[x >= 0, x[x >= 0]]
        assert np.isfinite(matched).all()
        assert (len(matched), matched.sum()) == (best[0], -best[1])
        assert total == (matched.sum() if best[0] == min(shape) else np.inf)
        assert (y >= 0).sum() == len(matched)
        assert total == lap.lapjv(cost, extend_cost=True)[0]


@pytest.mark.parametrize(
    ("cost", "keywords"),
    [
        (np.zeros(3), {}),
        (np.zeros((2, 2, 2)), {}),
        (np.zeros((2, 3)), {}),
        (np.zeros((2, 2)), {"cost_limit": np.nan}),
        (np.zeros((2, 2)), {"cost_limit": -np.inf}),
    ],
)
def test_exceptions_of_lapjv(cost, keywords):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        lap.lapjv(cost, **keywords)
    with pytest.raises(theirs.type) as found:
        ours.lapjv(cost, **keywords)
    assert str(found.value) == str(theirs.value)


@pytest.mark.parametrize("dtype", [str, complex, object])
def test_costs_that_are_not_real(dtype):
    with pytest.raises(TypeError, match="cost must hold real numbers, got dtype"):
        ours.lapjv(np.eye(2).astype(dtype))


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("limit", [np.inf, 3])
def test_costs_that_are_no_numbers(value, limit):
    cost = np.ones((2, 5))
    cost[1, 1] = value
    with pytest.raises(ValueError, match="cost must not hold"):
        ours.lapjv(cost, extend_cost=True, cost_limit=limit)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3)])
def test_empty_matrices(shape):
    found, expected = ours.lapjv(np.empty(shape)), lap.lapjv(np.empty(shape))
    assert [np.asarray(part).tolist() for part in found] == [np.asarray(part).tolist() for part in expected]


def sparse_problem(n, rng, share=0.3):
    allowed = rng.random((n, n)) < share
    allowed[np.arange(n), rng.permutation(n)] = True
    row, col = np.nonzero(allowed)
    return n, rng.random(len(row)), np.concatenate(([0], np.cumsum(np.bincount(row, minlength=n)))), col


@pytest.mark.parametrize("n", [1, 50])
def test_values_of_lapmod(n):
    rng = np.random.default_rng(n)
    problems = [sparse_problem(n, rng) for _ in range(5)]
    for problem in problems:
        found, expected = ours.lapmod(*problem), lap.lapmod(*problem)
        assert found[0] == pytest.approx(expected[0])
        assert (found[1] == expected[1]).all()
        assert (found[2] == expected[2]).all()
        assert (ours.lapmod(*problem, return_cost=False)[0] == expected[1]).all()


def test_lapmod_without_an_assignment():
    n, costs, starts, columns = 3, np.array([1.0, 2, 3, 4, 5]), np.array([0, 2, 4, 5]), np.array([0, 1, 0, 1, 1])
    total, x, y = ours.lapmod(n, costs, starts, columns)
    assert total == lap.lapmod(n, costs, starts, columns)[0] == np.inf
    assert (x.tolist(), y.tolist()) == ([0, 1, -1], [0, 1, -1])  # two pairs at 1 + 4, the cheapest of any two


@pytest.mark.parametrize(
    "changed",
    [
        {"n": 2},
        {"kk": np.array([0, 1, 1, 2])},
        {"kk": np.array([1, 0, 1, 2, 2])},
        {"ii": np.array([0, 2, 1, 5])},
        {"cc": np.full(5, np.nan)},
        {"cc": np.full(5, np.inf)},
        {"n": 0, "ii": np.array([0]), "kk": np.empty(0, int), "cc": np.empty(0)},
    ],
)
def test_exceptions_of_lapmod(changed):
    given = {"n": 3, "cc": np.arange(5.0), "ii": np.array([0, 2, 4, 5]), "kk": np.array([0, 1, 1, 2, 2])} | changed
    with pytest.raises(ValueError, match=r".") as theirs:
        lap.lapmod(**given)
    with pytest.raises(ValueError, match=r".") as found:
        ours.lapmod(**given)
    assert str(found.value) == str(theirs.value)
