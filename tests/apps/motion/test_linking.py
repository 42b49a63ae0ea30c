"""Links against full enumeration, and margins against solving again without each pair."""

import itertools

import numpy as np
import pytest

from apps.motion.linking import link


def problem(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, 2)
    row, col = np.nonzero(rng.random((n, m)) < 0.7)
    cost = rng.random(len(row)) * 10
    unmatched_cost = rng.random(n) * 8 if seed % 2 else 5.0
    return row, col, cost, (int(n), int(m)), unmatched_cost


def least_total(row, col, cost, shape, unmatched_cost):
    """By trying every one-to-one set of pairs."""
    full = np.full(shape, np.inf)
    full[row, col] = cost
    unmatched_cost = np.broadcast_to(unmatched_cost, shape[:1])
    columns = list(range(shape[1])) + [-1] * shape[0]
    best = np.inf
    for choice in set(itertools.permutations(columns, shape[0])):
        best = min(best, sum(unmatched_cost[i] if j < 0 else full[i, j] for i, j in enumerate(choice)))
    return best


@pytest.mark.parametrize("seed", range(40))
def test_assignment_has_minimum_total(seed):
    row, col, cost, shape, unmatched_cost = problem(seed)
    if shape[0] > 4 or shape[1] > 4:
        shape = (min(shape[0], 4), min(shape[1], 4))
        kept = (row < shape[0]) & (col < shape[1])
        row, col, cost = row[kept], col[kept], cost[kept]
        unmatched_cost = unmatched_cost if np.ndim(unmatched_cost) == 0 else unmatched_cost[: shape[0]]
    links = link(row, col, cost, shape, unmatched_cost)
    links.assignment.check()
    assert links.total == pytest.approx(least_total(row, col, cost, shape, unmatched_cost))


@pytest.mark.parametrize("seed", range(60))
def test_margin_is_the_increase_of_the_optimum_without_the_pair(seed):
    row, col, cost, shape, unmatched_cost = problem(seed)
    links = link(row, col, cost, shape, unmatched_cost)
    for pair, margin in zip(links.pair, links.margin, strict=True):
        others = np.arange(len(row)) != pair
        without = link(row[others], col[others], cost[others], shape, unmatched_cost)
        assert margin == pytest.approx(without.total - links.total, abs=1e-9)


def test_margin_from_the_prices_is_a_lower_bound():
    shares = []
    for seed in range(60):
        exact, bound = (link(*problem(seed), exact_margin=exact) for exact in (True, False))
        np.testing.assert_array_equal(bound.pair, exact.pair)
        assert (bound.margin >= 0).all()
        assert (bound.margin <= exact.margin + 1e-9).all()
        shares.append(bound.margin.sum() / max(exact.margin.sum(), 1e-9))
    assert np.median(shares) > 0.3, "the bound is not trivial"


@pytest.mark.parametrize("seed", range(10))
def test_pairs_are_candidates_below_the_unmatched_cost(seed):
    row, col, cost, shape, unmatched_cost = problem(seed)
    links = link(row, col, cost, shape, unmatched_cost)
    assert (np.diff(row[links.pair]) > 0).all()
    assert (cost[links.pair] < np.broadcast_to(unmatched_cost, shape[:1])[row[links.pair]]).all()
    assert (links.margin >= 0).all()
    assert len(set(col[links.pair])) == len(links.pair)


def test_a_pair_that_is_not_the_best_of_its_row_is_linked():
    """Row 0 is best with column 0, but row 1 has no other; row 2 is too expensive."""
    row, col, cost = np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 1.5, 9.0])
    assert link(row, col, cost, (3, 2), 4.0).pair.tolist() == [1, 2]


def test_cheaper_of_duplicate_pairs_is_used():
    row, col, cost = np.array([0, 0, 0]), np.array([1, 1, 0]), np.array([3.0, 2.0, 5.0])
    assert link(row, col, cost, (1, 2), 9.0).pair.tolist() == [1]


def test_no_candidates():
    none = np.zeros(0, np.int64)
    links = link(none, none, np.zeros(0), (3, 0), 2.0)
    assert len(links.pair) == 0
    assert links.total == 6.0


def test_negative_costs():
    row, col, cost = np.array([0, 1]), np.array([0, 0]), np.array([-3.0, -4.0])
    links = link(row, col, cost, (2, 1), -2.0)
    assert links.pair.tolist() == [1]
    assert links.total == -6.0
    assert links.margin.tolist() == pytest.approx([1.0])


def test_many_points_are_linked_as_they_moved():
    rng = np.random.default_rng(0)
    first = rng.random((3000, 2)) * 500
    order = rng.permutation(len(first))
    second = (first + rng.normal(0, 0.3, first.shape))[order]
    from scipy.spatial import cKDTree

    distance, index = cKDTree(second).query(first, k=5)
    row, col = np.repeat(np.arange(len(first)), 5), index.ravel()
    links = link(row, col, distance.ravel(), (len(first), len(second)), 3.0)
    links.assignment.check()
    assert (order[col[links.pair]] == row[links.pair]).mean() > 0.99


def test_gpu_must_be_available_and_gives_the_same_links(monkeypatch):
    pairs = [0, 0, 1], [0, 1, 0], [1.0, 2.0, 3.0]
    monkeypatch.setattr("gridcut.device.choose.cuda_is_available", lambda: True)
    assert link(*pairs, (2, 2), 9.0, device="cuda").total == link(*pairs, (2, 2), 9.0, device="cpu").total == 5.0
    monkeypatch.setattr("gridcut.device.choose.cuda_is_available", lambda: False)
    with pytest.raises(RuntimeError, match="device='cpu'"):
        link(*pairs, (2, 2), 9.0, device="cuda")
