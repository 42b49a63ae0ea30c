"""The plain version of the GPU default: its labels are those of every method."""

import numpy as np
import pytest

import gridcut
from gridcut.tiles.plain_tiles import UNREACHABLE, distances, minimum_cut, tiles_of

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


def test_distances_count_arcs():
    residual = {(0, 1): np.array([[5, 0, 5, 0]]), (0, -1): np.zeros((1, 4), int)}
    assert distances(np.array([[1, 0, 0, -2]]), residual).tolist() == [[UNREACHABLE, UNREACHABLE, 2, 1]]


def test_tiles_of_a_colour_do_not_touch():
    covered = np.zeros((9, 14), int)
    for colour in range(4):
        mine = np.zeros((12, 17), int)
        for rows, columns in tiles_of(colour, covered.shape, 3):
            covered[rows.start : rows.stop, columns.start : columns.stop] += 1
            around = mine[rows.start : rows.stop + 2, columns.start : columns.stop + 2]
            assert not around.any()
            mine[rows.start + 1 : rows.stop + 1, columns.start + 1 : columns.stop + 1] = 1
    assert (covered == 1).all()
