"""Points assigned to points: against the dense oracle on all distances, and the certificate over all pairs."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import assign
from assign.core import certificate_points
from assign.core.certificate_costs import DenseCosts
from assign.points import _prefer_gpu
from assign.sparse.nearest import BLOCK, METRICS, solve_points
from tests.assign.oracles import best_cost, proved


def some_points(rng, size, d, kind):
    if kind == "uniform":
        return rng.random((size, d))
    if kind == "clusters":
        return rng.integers(0, 3, (size, 1)) + 0.05 * rng.standard_normal((size, d))
    if kind == "lattice":
        return rng.integers(0, 4, (size, d)).astype(float)
    return np.full((size, d), 0.5)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["clusters", "lattice", "one place"])
def test_small_sets_agree_with_scipy(metric, kind):
    rng = np.random.default_rng(len(kind))
    for _ in range(10):
        n, d = int(rng.integers(1, 40)), int(rng.integers(1, 9))
        m = n + int(rng.choice([0, 0, 1, 10, 100]))
        x, y = some_points(rng, n, d, kind), some_points(rng, m, d, "uniform" if rng.random() < 0.3 else kind)
        few = int(rng.integers(1, 5))
        proved(cdist(x, y, metric), *solve_points(x, y, metric, neighbours=few)[:3])
        limit = rng.uniform(0, 1.5, n)
        proved(cdist(x, y, metric), *solve_points(x, y, metric, limit=limit, neighbours=few)[:3], limit)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("n", "m"), [(BLOCK, BLOCK), (BLOCK + 1, 2 * BLOCK - 1), (500, 520)])
def test_many_blocks(metric, n, m):
    rng = np.random.default_rng(n + m)
    x, y = rng.random((n, 2)), rng.random((m, 2)) + (0.3, 0)
    proved(cdist(x, y, metric), *solve_points(x, y, metric, neighbours=3)[:3])


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("start", [False, True])
def test_moved_points_need_few_searches(d, start):
    """Points that moved little: no auction, few rows that are searched again, and the optimum of the matrix."""
    rng = np.random.default_rng(d)
    x = rng.random((1500, d)) * 1500 ** (1 / d)
    x[:4] = x[0]
    y = x + rng.normal(0, 0.3, x.shape)
    prices = (-rng.random(1500), -rng.random(1500)) if start else None
    found = solve_points(x, y, start=prices)
    proved(cdist(x, y), *found[:3])
    assert found[3]["bids"] == 0
    assert start or found[3]["searched"] < 300


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("places", [None, 12, 40])
def test_points_that_did_not_move_need_one_round(metric, places):
    """All costs paid are 0, against which no price has digits; places: the side of a lattice with repeated points."""
    rng = np.random.default_rng(3)
    x = rng.random((400, 2)) if places is None else rng.integers(0, places, (400, 2)).astype(float)
    y = x[rng.permutation(400)]
    found = solve_points(x, y, metric)
    proved(cdist(x, y, metric), *found[:3])
    assert found[3]["rounds"] == 1


@pytest.mark.parametrize("far", [1e6, 1e15])
@pytest.mark.parametrize("metric", METRICS)
def test_points_far_away_hide_nothing_near_by(metric, far, monkeypatch):
    """One point of each set is far from all others: the distances to it must not make the others' coarse."""
    monkeypatch.setattr("assign.points.matrix_costs", lambda *_: 0)
    monkeypatch.setattr("assign.points.MAX_MATRIX_COSTS", 0)
    rng = np.random.default_rng(7)
    near_x, near_y = 0.01 * rng.random((60, 2)), rng.random((60, 2))
    x, y = np.concatenate((near_x, [[far, far]])), np.concatenate((near_y, [[far, far - 1]]))
    found = assign.solve_points(x, y, metric, device="cpu")
    found.check()
    assert found.cost == pytest.approx(best_cost(cdist(near_x, near_y, metric)) + 1, rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["uniform", "clusters", "lattice", "one place"])
def test_certificate_finds_every_cheaper_pair(metric, kind, monkeypatch):
    """The slacks of the search, with many, few and no negative ones, are those of the matrix."""
    monkeypatch.setattr(certificate_points, "MIN_COSTS", 0)
    rng = np.random.default_rng(len(kind))
    for size in (0, 1e-9, 0.01, 0.3):
        d = int(rng.integers(1, 7))
        x, y = (some_points(rng, int(rng.integers(1, 500)), d, kind) for _ in range(2))
        v = -size * rng.random(len(y))
        least = (cdist(x, y, metric) - v).min(axis=1)
        u = least + size * rng.normal(size=len(x))
        found = certificate_points.PointCosts(x, y, metric).slacks(u, v, 0.0)
        np.testing.assert_allclose(np.minimum(found, 0), np.minimum(least - u, 0), rtol=0, atol=1e-14)


def test_certificate_needs_no_matrix(monkeypatch):
    """Of 10^5 x 10^5 pairs, few are computed, and one price too high by a part of a distance is found."""
    monkeypatch.setattr(DenseCosts, "slacks", None)
    rng = np.random.default_rng(5)
    x = np.indices((300, 334)).reshape(2, -1).T.astype(float)
    y = x + 0.2 * rng.random(x.shape)
    apart = np.linalg.norm(x - y, axis=1)
    costs = certificate_points.PointCosts(x, y, "euclidean")
    assert (costs.slacks(apart, np.zeros(len(y)), 1e-12) >= -1e-12).all()
    apart[12345] *= 1.001
    assert np.flatnonzero(costs.slacks(apart, np.zeros(len(y)), 1e-12) < -1e-12).tolist() == [12345]


@pytest.mark.parametrize(
    ("count", "far", "metric", "all_matched", "expected"),
    [
        (5000, 0, "euclidean", True, True),
        (1000, 0, "euclidean", True, False),
        (5000, 0, "cityblock", True, False),
        (20_000, 0, "euclidean", True, False),
        (20_000, 9, "euclidean", True, True),
        (20_000, 9, "euclidean", False, False),
        (20_000, 9, "sqeuclidean", True, False),
    ],
)
def test_which_points_a_gpu_solves_by_default(count, far, metric, all_matched, expected):
    x = np.random.default_rng(4).random((count, 2))
    assert _prefer_gpu(x, x[::-1] + far, metric, all_matched) is expected
