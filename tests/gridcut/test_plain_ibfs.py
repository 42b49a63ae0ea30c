"""The plain version of the CPU default: labels and flow of a minimum cut, and forests of shortest paths."""

import numpy as np
import pytest

import gridcut
from gridcut.ibfs.plain_ibfs import minimum_cut

AXES = [(0, 1), (1, 0)]
DIAGONALS = [*AXES, (1, 1), (1, -1)]
VOLUME = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]


def draw(rng, shape, offsets):
    """A problem with both directions of each arc given."""
    source, sink = rng.integers(0, 20, (2, *shape))
    both = [o for offset in offsets for o in (offset, tuple(-i for i in offset))]
    return source, sink, {offset: rng.integers(0, 9, shape) for offset in both}


@pytest.mark.parametrize(
    ("shape", "offsets"),
    [((13, 17), AXES)]
    + [
        pytest.param(*row, marks=pytest.mark.slow)
        for row in [((1, 1), AXES), ((1, 7), AXES), ((9, 4), DIAGONALS), ((13, 17), DIAGONALS), ((3, 4, 5), VOLUME)]
    ],
)
def test_labels_are_those_of_max_flow(shape, offsets):
    for seed in range(3):
        problem = draw(np.random.default_rng([608, seed]), shape, offsets)
        cut = gridcut.max_flow(*problem, device="cpu", method="ibfs")
        cut.check()
        assert (minimum_cut(*problem) == cut.labels).all()
