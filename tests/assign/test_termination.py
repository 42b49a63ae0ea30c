"""The sparse solver ends: float costs that are nearly sums of a row's and a column's value, of 20 orders of magnitude.

Where costs are nearly u[i] + v[j] at the current prices, all steps of an auction are of the size of rounding errors.
The callback counts the rounds of bids, and stops a solve that makes more than MAX_ROUNDS.  Results are certified and
compared with those for dense costs.  The longer form:  pytest -m thorough tests/assign/test_termination.py
"""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist

import assign
from assign import points
from assign.core.certificate import tolerance
from assign.sparse import sparse
from tests.assign import oracles

SEED = 20261124
SHORT, THOROUGH = 12, 400  # instances per family
MAX_ROUNDS = 2 * sparse.MAX_ROUNDS  # of bids per sparse problem: two phases at their limit, or many short ones
METRICS = ("euclidean", "sqeuclidean", "cityblock")


@pytest.fixture(autouse=True)
def no_matrix(monkeypatch):
    """Points are solved by rounds of near pairs, however few they are."""
    monkeypatch.setattr(points, "matrix_costs", lambda *_: 0)
    monkeypatch.setattr(points, "MAX_MATRIX_COSTS", 0)  # nor handed over to the matrix


class Rounds:
    """A callback that counts the rounds of bids, and raises after too many."""

    def __init__(self):
        self.most = 0

    def __call__(self, stats):
        self.most = max(self.most, stats["bid_rounds"] / max(stats.get("rounds", 0) + 1, 1))
        assert self.most <= MAX_ROUNDS, stats


def in_rounds(function, *arguments, **options):
    """The certified result of a call that may make MAX_ROUNDS rounds of bids, and the rounds it made."""
    rounds = Rounds()
    found = function(*arguments, **options, callback=rounds, device="cpu")
    assert found.stats["bid_rounds"] <= MAX_ROUNDS * found.stats.get("rounds", 1)
    found.check()
    return found, rounds.most


def agrees(found, cost, **options):
    """Whether the total is that of the dense solver, within the tolerance of both certificates."""
    other = assign.solve(cost, **options, device="cpu")
    paid = max(np.abs(cost[r.row, r.col]).max(initial=0.0) for r in (found, other))
    limit = np.abs(np.asarray(options.get("max_cost", 0.0))).max()
    value = [r.cost + limit_sum(r, cost, options.get("max_cost")) for r in (found, other)]
    return abs(value[0] - value[1]) <= 2 * sum(cost.shape) * tolerance(cost.shape, max(paid, limit))


def limit_sum(found, cost, limit):
    return 0.0 if limit is None else limit * (len(cost) - len(found.row))


def rank_one(rng, n, m):
    """Sums of a row's and a column's value, exactly, or with differences of a few units in the last place."""
    cost = rng.random((n, 1)) * 10.0 ** rng.integers(-3, 4) + rng.random(m) * 10.0 ** rng.integers(-3, 4)
    kind = rng.integers(4)
    if kind == 0:
        cost = np.abs(cost - cost.mean())
    elif kind == 1:
        cost = cost + cost * rng.normal(size=(n, m)) * 1e-15
    elif kind == 2:
        cost = rng.random((n, 1)).round(1) - rng.random(m).round(1)
    return cost


def lognormal(rng, n, m):
    """Up to 1e18, in rows, in columns, and by pair."""
    size = rng.choice([4.0, 12.0, 18.0])
    cost = 10.0 ** rng.uniform(0, size, (n, m))
    if rng.random() < 0.5:
        cost = np.rint(cost / 10.0 ** rng.uniform(0, size, m)) + 10.0 ** rng.uniform(0, size, (n, 1))
    return cost * rng.choice([1.0, -1.0])


def almost_all(rng, cost, square):
    """Sparse costs: most of the pairs, one perfect matching among them."""
    allowed = rng.random(cost.shape) < rng.choice([0.5, 0.9, 1.0])
    np.fill_diagonal(allowed, True)
    row, col = np.nonzero(allowed)
    return scipy.sparse.csr_array((cost[row, col], (row, col)), shape=cost.shape), np.where(allowed, cost, np.inf)


def repeat_sparse(rng, family, counts):
    """Cold; from its own prices; from those of slightly different costs; maximised; as float32; with limits."""
    n = int(rng.choice([2, 3, 4, 5, 10, 20, 40]))
    m = n + int(rng.choice([0, 0, 1, 5]))
    cost, dense = almost_all(rng, family(rng, n, m), n == m)
    found, rounds = in_rounds(assign.solve, cost)
    assert agrees(found, dense)
    other = cost.copy()
    other.data = other.data * (1 + rng.normal(size=other.nnz) * 1e-15)
    again = {
        "own prices": lambda: in_rounds(assign.solve, cost, start=found),
        "changed by 1e-15": lambda: in_rounds(assign.solve, other, start=found),
        "maximised": lambda: in_rounds(assign.solve, -cost, maximize=True, start=(-found.row_price, -found.col_price)),
        "float32": lambda: in_rounds(assign.solve, cost.astype(np.float32), start=found),
    }
    limit = float(np.median(cost.data))
    partly, more = in_rounds(assign.solve, cost, max_cost=limit)
    assert agrees(partly, dense, max_cost=limit)
    counts["most rounds"] = max(counts["most rounds"], rounds, more)
    for name, solve in again.items():
        counts["most rounds"] = max(counts["most rounds"], solve()[1])
        counts[name] += 1
    counts["cold"] += 2


def clusters(rng, n, m):
    """Two sets that are apart in all axes, or on a line, or of very different sizes."""
    d = int(rng.choice([1, 2, 3]))
    kind = rng.integers(4)
    if kind == 3:
        sigma = rng.choice([2.0, 8.0])
        return np.exp(sigma * rng.normal(size=(n, 1))), 10.0 ** rng.integers(0, 7) * np.exp(
            sigma * rng.normal(size=(m, 1))
        )
    x, y = rng.random((n, d)), rng.random((m, d))
    if kind == 1:
        x, y = x.round(1), y.round(1)
    elif kind == 2:
        x, y = x * [1.0, *np.zeros(d - 1)], y * [1.0, *np.zeros(d - 1)]
    return x, y + rng.choice([0.0, 2.0, 1000.0])


def repeat_points(rng, sizes, counts):
    """Cold, from their own prices, and with a limit, in every metric."""
    n = int(rng.choice(sizes))
    m = n + int(rng.choice([0, 0, n // 4]))
    x, y = clusters(rng, n, m)
    for metric in METRICS:
        dense = cdist(x, y, metric)
        found, rounds = in_rounds(assign.solve_points, x, y, metric)
        if n <= 500:
            assert agrees(found, dense)
        _, more = in_rounds(assign.solve_points, x, y, metric, start=found)
        limit = float(np.median(dense))
        partly, most = in_rounds(assign.solve_points, x, y, metric, max_cost=limit)
        if n <= 500:
            assert agrees(partly, dense, max_cost=limit)
        counts["most rounds"] = max(counts["most rounds"], rounds, more, most)
        counts[metric] += 3


def run(family, instances, sizes=(1, 2, 4, 5, 10, 13)):
    counts = Counter()
    for k in range(instances):
        rng = np.random.default_rng((SEED, k))
        try:
            if family is clusters:
                repeat_points(rng, sizes, counts)
            else:
                repeat_sparse(rng, family, counts)
        except Exception as error:
            raise AssertionError(f"{family.__name__} {k}: {type(error).__name__}: {error}") from error
    return counts


@pytest.mark.parametrize("family", [rank_one, lognormal, clusters])
def test_small(family):
    assert run(family, SHORT)["most rounds"] > 0


HIGH = [
    [1e14 + 70, 1e18, 1010, 20],
    [1e14 + 30, 1e18, 1030, 80],
    [1e14, 1e18, 1004, 18],
    [1e14, 1e18, 1000, 10.003],
]


def test_reduced_costs_of_the_size_of_rounding():
    """Rows that tie displaced each other endlessly, because eps was less than half a unit in the last place."""
    found, _ = in_rounds(assign.solve, scipy.sparse.csr_array(HIGH))
    assert found.cost == assign.solve(HIGH).cost
    cost = scipy.sparse.csr_array(np.array([2.5, 2.4, 2.1]) - np.array([[0.3], [0.5], [0.1]]))
    before = oracles.solve(cost)
    again, _ = in_rounds(assign.solve, cost, start=before)
    assert again.cost == before.cost == pytest.approx(6.1)


@pytest.mark.parametrize("metric", METRICS)
def test_clusters_of_many_points(metric):
    rng = np.random.default_rng(1)
    x, y = rng.random((500, 2)), rng.random((500, 2)) + 2
    found, _ = in_rounds(assign.solve_points, x, y, metric)
    in_rounds(assign.solve_points, x, y, metric, start=found)


@pytest.mark.parametrize("extreme", [1e300, -1e300, 5e-324])
def test_costs_at_the_ends_of_the_range_of_floats(extreme):
    """Sums of prices may overflow; the auction then ends, and the searches continue from prices 0."""
    rng = np.random.default_rng(4)
    for n in (2, 3, 6, 12):
        cost = rng.integers(1, 10, (n, n)) * extreme
        found, _ = in_rounds(assign.solve, scipy.sparse.csr_array(cost))
        assert np.isclose(found.cost, assign.solve(cost).cost, rtol=1e-12)


def test_the_auction_ends_with_rows_unmatched(monkeypatch):
    """The searches match them."""
    monkeypatch.setattr(sparse, "MAX_ROUNDS", 1)
    monkeypatch.setattr(sparse, "BIDS_PER_CHECK", 1)
    rng = np.random.default_rng(6)
    cost = np.multiply.outer(np.arange(1.0, 61), np.arange(1.0, 61)) + rng.random((60, 60))
    found = assign.solve(scipy.sparse.csr_array(cost))
    found.check()
    assert found.stats["bid_rounds"] == 1
    assert found.stats["searches"] > 10


@pytest.mark.thorough
@pytest.mark.parametrize("family", [rank_one, lognormal])
def test_sparse_families(family, capsys):
    counts = run(family, THOROUGH)
    with capsys.disabled():
        print(f"\n{family.__name__}, {THOROUGH} instances of seed {SEED}: {dict(counts)}")


@pytest.mark.thorough
@pytest.mark.parametrize("sizes", [(1, 2, 4, 5, 10, 13, 30), (100, 400, 500), (1000, 2000)])
def test_clusters(sizes, capsys):
    instances = THOROUGH if sizes[-1] < 100 else THOROUGH // (10 if sizes[-1] < 1000 else 40)
    counts = run(clusters, instances, sizes)
    with capsys.disabled():
        print(f"\nclusters of {sizes}, {instances} instances of seed {SEED}: {dict(counts)}")
