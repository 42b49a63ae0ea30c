"""Stereo of large pairs: costs of parts, labels of halved images, refinement in tiles, memory."""

import numpy as np
import pytest

from apps import stereo as compute
from apps.common.images import to_rgb
from apps.stereo_matching import coarse_to_fine, disparities
from tests.apps.conftest import texture

NEAR, FAR = 18, 6


@pytest.fixture(scope="module")
def pair():
    """A square at disparity NEAR before a wall at FAR: left, right float32 (121, 181, 3), ground truth (121, 181)."""
    wall, square = (to_rgb(texture((*shape, 3), 2, seed)) for seed, shape in enumerate(((121, 240), (60, 60))))
    left, right = wall[:, :181].copy(), wall[:, FAR : 181 + FAR].copy()
    truth = np.full((121, 181), FAR, np.float32)
    left[30:90, 80:140] = square
    right[30:90, 80 - NEAR : 140 - NEAR] = square
    truth[30:90, 80:140] = NEAR
    return left, right, truth


@pytest.fixture
def small_tiles(monkeypatch):
    """Pairs of any size are halved twice or more, and refined in tiles of 24 pixels."""
    monkeypatch.setattr(disparities, "MAX_COSTS", 20_000)
    monkeypatch.setattr(coarse_to_fine, "TILE_SIDE", 24)
    monkeypatch.setattr(coarse_to_fine, "TILE_MARGIN", 5)


@pytest.mark.parametrize("settings", [{}, {"subpixel": True}], ids=str)
def test_large_pairs_find_the_square(pair, small_tiles, settings):
    left, right, truth = pair
    found = compute(left, right, max_disparity=24, device="cpu", **settings)
    assert found.disparity.shape == truth.shape
    assert (np.abs(found.disparity - truth) <= 1).mean() > 0.96
    assert not found.valid[40:80, 72:78].any(), "hidden left of the square"
    assert len(found.solved) == 2
    for one in found.solved:
        assert one.labels.size < truth.size / 3, "of the reduced images"
        one.check()


def test_tiles_agree_with_the_whole(pair, small_tiles, monkeypatch):
    left, right, _ = pair
    tiled = compute(left, right, max_disparity=24, device="cpu")
    monkeypatch.setattr(disparities, "MAX_COSTS", 10**9)
    whole = compute(left, right, max_disparity=24, device="cpu")
    assert (np.abs(tiled.disparity - whole.disparity) <= 1).mean() > 0.98
