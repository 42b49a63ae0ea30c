"""The face of gco-wrapper and pygco: plain tests, and energies not above gco's where it is installed."""

import itertools

import numpy as np
import pytest

from gridcut.compat import gco as ours
from tests.tiers import in_quick_tier

METRIC = np.minimum(abs(np.subtract.outer(range(4), range(4))), 2)
# name of the weights -> where the two pixels of an edge are
ENDS = {
    "cost_v": (np.s_[:-1, :], np.s_[1:, :]),
    "cost_h": (np.s_[:, :-1], np.s_[:, 1:]),
    "cost_dr": (np.s_[:-1, :-1], np.s_[1:, 1:]),
    "cost_dl": (np.s_[:-1, 1:], np.s_[1:, :-1]),
}


def energy(unary, pairwise, weights, labels):
    labels = labels.reshape(unary.shape[:2])
    edges = sum((w * pairwise[labels[ENDS[name][0]], labels[ENDS[name][1]]]).sum() for name, w in weights.items())
    return np.take_along_axis(unary, labels[..., None], -1).sum() + edges


def problem(shape, names, labels, dtype, seed=0):
    rng = np.random.default_rng(seed)
    unary = rng.integers(0, 50, (*shape, labels)).astype(dtype)
    weights = {name: (10 * rng.integers(0, 4, np.empty(shape)[ENDS[name][0]].shape)).astype(dtype) for name in names}
    return unary, METRIC[:labels, :labels].astype(dtype), weights


@pytest.mark.parametrize("count", in_quick_tier([2, 4], (2).__eq__))
@pytest.mark.parametrize("algorithm", ["expansion", "swap"])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_two_labels_are_optimal(dtype, algorithm, count):
    unary, pairwise, weights = problem((3, 4), list(ENDS)[:count], 2, dtype)
    labels = ours.cut_grid_graph(unary, pairwise, **weights, algorithm=algorithm)
    assert (labels.shape, labels.dtype) == ((12,), np.int32)
    tried = (np.array(one) for one in itertools.product(range(2), repeat=12))
    assert energy(unary, pairwise, weights, labels) == min(energy(unary, pairwise, weights, one) for one in tried)


@pytest.mark.parametrize("algorithm", in_quick_tier(["expansion", "swap"], "expansion".__eq__))
def test_the_four_functions_agree(algorithm):
    unary, pairwise, weights = problem((6, 7), ENDS, 4, np.int32)
    ones = {name: np.ones_like(weight) for name, weight in weights.items()}
    first = dict(itertools.islice(ones.items(), 2))
    four = ours.cut_grid_graph(unary, pairwise, **first, algorithm=algorithm)
    assert (ours.cut_grid_graph_simple(unary, pairwise, algorithm=algorithm) == four).all()
    assert (ours.cut_simple(unary, pairwise, n_iter=-1, algorithm=algorithm).ravel() == four).all()
    eight = ours.cut_grid_graph(unary, pairwise, **ones, algorithm=algorithm)
    assert (ours.cut_grid_graph_simple(unary, pairwise, connect=8, algorithm=algorithm) == eight).all()
    full = np.pad(weights["cost_v"], ((0, 1), (0, 0))), np.pad(weights["cost_h"], ((0, 0), (0, 1)))
    found = ours.cut_simple_vh(unary, pairwise, *full, n_iter=-1, algorithm=algorithm)
    assert found.shape == (6, 7)
    expected = ours.cut_grid_graph(unary, pairwise, weights["cost_v"], weights["cost_h"], algorithm=algorithm)
    assert (found.ravel() == expected).all()


def test_invalid_arguments():
    unary, pairwise, weights = problem((3, 4), ENDS, 3, np.int32)
    with pytest.raises(ValueError, match="connect must be 4 or 8"):
        ours.cut_grid_graph_simple(unary, pairwise, connect=6)
    with pytest.raises(ValueError, match="algorithm should be"):
        ours.cut_grid_graph_simple(unary, pairwise, algorithm="trws")
    with pytest.raises(ValueError, match=r"cost_h must have the shape \(3, 3\), got \(2, 4\)"):
        ours.cut_grid_graph(unary, pairwise, weights["cost_v"], weights["cost_v"])
    with pytest.raises(ValueError, match="not a metric"):
        ours.cut_grid_graph_simple(unary, pairwise**2)


@pytest.mark.parametrize("algorithm", ["expansion", "swap"])
@pytest.mark.parametrize("names", [["cost_v", "cost_h"], list(ENDS)])
def test_energies_of_gco(names, algorithm):
    """Both end in local minima, so single energies may be higher, but not their sum."""
    theirs = pytest.importorskip("gco", reason="gco-wrapper is not installed")
    energies = []
    for seed in range(8):
        unary, pairwise, weights = problem((9, 11), names, 4, np.int32, seed)
        labels = [one.cut_grid_graph(unary, pairwise, **weights, algorithm=algorithm) for one in (ours, theirs)]
        assert labels[0].dtype == labels[1].dtype
        energies.append([energy(unary, pairwise, weights, one) for one in labels])
    found, expected = np.sum(energies, axis=0)
    assert found <= 1.005 * expected
