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


EXPANSIONS = gridcut.alpha_expansion, [(-1, label) for label in range(LABELS)], {"order": range(LABELS)}
# In the order of the default.
SWAPS = gridcut.alpha_beta_swap, [(a, b) for a in range(LABELS) for b in reversed(range(a + 1, LABELS))], {}


@pytest.mark.parametrize("kind", [EXPANSIONS, SWAPS], ids=["expansions", "swaps"])
@pytest.mark.parametrize(
    ("shape", "neighbours"),
    [((9, 11), 4)] + [pytest.param(*row, marks=pytest.mark.slow) for row in (((1, 1), 4), ((8, 7), 8), ((3, 4, 5), 6))],
)
def test_moves(shape, neighbours, kind, device):
    solve, moves, options = kind
    for seed in range(3):
        unary, weights = draw(seed, shape, neighbours)
        labels, energies = descend(unary, weights, APART, unary.argmin(axis=0), moves)
        found = solve(unary, weights, APART, restarts=0, device=device, **options)
        found.check()
        assert (labels == found.labels).all()
        assert energies[-1] == found.energy
        if device == "cpu" and solve is gridcut.alpha_expansion:
            assert energies == found.stats["energies"]
