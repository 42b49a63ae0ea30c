"""Shortest augmenting paths on a GPU, from any prices and owners: the matching and the prices are optimal."""

import numpy as np
import pytest

from tests.assign.oracles import proved
from tests.assign.test_cuda_dense import FAMILIES, instance, on_gpu, solved


def augmented(cost, prices=None, owners=None, timeout=60.0):
    """The search alone: pairs, prices, the number of unmatched rows, and counts."""
    from assign.dense.auction_cuda import SHIFT
    from assign.dense.costs_cuda import Matrix
    from assign.dense.dense_cuda import Problem
    from gridcut.device.arrays import download, upload

    n = len(cost)
    problem = Problem(Matrix("i"), on_gpu(cost.reshape(-1)), n, n)
    prices = np.zeros(n, np.int64) if prices is None else prices
    owners = np.full(n, -1) if owners is None else owners
    problem.word = upload((prices.astype(np.int64) << SHIFT) | (owners + 1))
    stats = problem.augment(timeout)
    col_of, u, v = (download(array) for array in problem.found)
    return col_of, u, v, stats


def check(cost, *given):
    col_of, u, v, stats = augmented(cost, *given)
    assert stats["rows_left"] == 0
    proved(cost, col_of, u, v)
    return stats


def check_from_anything(family, n):
    """From random prices, and owners of seven of ten columns."""
    rng = np.random.default_rng(5)
    cost = instance(family, n, n, 4)
    owners = np.where(rng.random(n) < 0.7, rng.permutation(n), -1)
    check(cost, rng.integers(-(10**6), 1, n), owners)


@pytest.mark.sim
@pytest.mark.parametrize(("n", "family"), [*((7, family) for family in FAMILIES), (1, "same"), (40, "points")])
def test_simulated_from_nothing(n, family):
    """No row is matched, and rows are longer than lists."""
    check(instance(family, n, n, 3))


@pytest.mark.sim
@pytest.mark.parametrize("family", FAMILIES)
def test_simulated_from_any_prices_and_owners(family):
    """Pairs that are not at the minimum of their row are given up, whatever the prices."""
    check_from_anything(family, 8)


@pytest.mark.sim
def test_simulated_from_the_optimum():
    """Nothing is left to be searched for."""
    cost = instance("points", 20, 20, 6)
    col_of, _, v, _ = augmented(cost)
    stats = check(cost, v, np.argsort(col_of))
    assert stats["searches"] == 0


@pytest.mark.sim
def test_simulated_out_of_time():
    """Whatever is left is matched on the CPU."""
    cost = instance("product", 15, 15, 1)
    *_, stats = augmented(cost, timeout=0.0)
    assert stats["rows_left"] > 0
    *_, stats = solved(cost, timeout=0)
    assert stats["rows_left"] > 0
    assert stats["augmentations"] > 0


@pytest.mark.gpu
@pytest.mark.parametrize("n", [1, 7, 100, 700])
@pytest.mark.parametrize("family", FAMILIES)
def test_from_nothing_on_gpu(family, n):
    check(instance(family, n, n, 3))


@pytest.mark.gpu
@pytest.mark.parametrize("family", FAMILIES)
def test_from_any_prices_and_owners_on_gpu(family):
    check_from_anything(family, 700)
