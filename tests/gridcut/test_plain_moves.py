"""The plain version of expansions and swaps: its labels and energies are those of the defaults, and of the GPU."""

import numpy as np
import pytest

import gridcut
from gridcut.multilabel.plain_moves import descend

LABELS = 4
APART = np.minimum(np.abs(np.subtract.outer(np.arange(LABELS), np.arange(LABELS))), 2)


def draw(seed, shape, neighbours):
    rng = np.random.default_rng(seed)
    unary = rng.integers(0, 40, (LABELS, *shape))
    return unary, {offset: rng.integers(0, 9, shape) for offset in gridcut.neighbourhood(neighbours)}


@pytest.mark.parametrize(("shape", "neighbours"), [((1, 1), 4), ((9, 11), 4), ((8, 7), 8), ((3, 4, 5), 6)])
def test_expansions(shape, neighbours, device):
    for seed in range(3):
        unary, weights = draw(seed, shape, neighbours)
        moves = [(-1, label) for label in range(LABELS)]
        labels, energies = descend(unary, weights, APART, unary.argmin(axis=0), moves)
        found = gridcut.alpha_expansion(unary, weights, APART, order=range(LABELS), restarts=0, device=device)
        found.check()
        assert (labels == found.labels).all()
        assert energies[-1] == found.energy
        if device == "cpu":
            assert energies == found.stats["energies"]


@pytest.mark.parametrize(("shape", "neighbours"), [((9, 11), 4), ((8, 7), 8)])
def test_swaps(shape, neighbours, device):
    for seed in range(3):
        unary, weights = draw(seed, shape, neighbours)
        moves = [(a, b) for a in range(LABELS) for b in reversed(range(a + 1, LABELS))]  # in the order of the default
        labels, energies = descend(unary, weights, APART, unary.argmin(axis=0), moves)
        found = gridcut.alpha_beta_swap(unary, weights, APART, restarts=0, device=device)
        found.check()
        assert (labels == found.labels).all()
        assert energies[-1] == found.energy
