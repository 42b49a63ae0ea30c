"""The plain version of the GPU default: its labels are those of every method."""

import numpy as np
import pytest

import gridcut
from gridcut.tiles.plain_tiles import minimum_cut

AXES = [(0, 1), (1, 0)]
DIAGONALS = [*AXES, (1, 1), (1, -1)]


def draw(rng, shape, offsets):
    """A problem with both directions of each arc given."""
    source, sink = rng.integers(0, 20, (2, *shape))
    both = [o for offset in offsets for o in (offset, tuple(-i for i in offset))]
    return source, sink, {offset: rng.integers(0, 9, shape) for offset in both}


@pytest.mark.parametrize("offsets", [AXES, DIAGONALS], ids=["4", "8"])
@pytest.mark.parametrize("steps", [1, 32])
def test_labels_are_those_of_max_flow(offsets, steps):
    rng = np.random.default_rng(600)
    for shape in ((1, 1), (1, 7), (9, 4), (13, 17)):
        problem = draw(rng, shape, offsets)
        cut = gridcut.max_flow(*problem, device="cpu")
        cut.check()
        assert (minimum_cut(*problem, tile=4, steps=steps) == cut.labels).all()


@pytest.mark.gpu
def test_labels_are_those_of_the_gpu():
    problem = draw(np.random.default_rng(601), (70, 45), DIAGONALS)
    cut = gridcut.max_flow(*problem, device="cuda", method="tiles")
    cut.check()
    assert (minimum_cut(*problem) == cut.labels).all()
