"""Stereo of large pairs: costs of parts, labels of halved images, refinement in tiles, memory."""

import cv2
import numpy as np
import pytest

import gridcut
from apps import stereo as compute
from apps.common.labelling import label_distances
from apps.stereo_matching import coarse_to_fine, disparities, disparity_range
from apps.stereo_matching.coarse_to_fine import beta_of, contrast_weights, enlarged, halved, refine
from apps.stereo_matching.costs import disparity_costs, mirrored_costs, region_costs
from apps.stereo_matching.disparities import neighbour_costs
from apps.stereo_matching.disparity_range import guess_max_disparity
from tests.apps.traced_memory import traced_peak

NEAR, FAR = 18, 6


def texture(shape, seed):
    rng = np.random.default_rng(seed)
    wide = cv2.GaussianBlur(rng.uniform(0, 255, (*shape, 3)), (0, 0), 2.0)
    return np.float32((wide - wide.min()) / np.ptp(wide))


@pytest.fixture(scope="module")
def pair():
    """A square at disparity NEAR before a wall at FAR: left, right float32 (121, 181, 3), ground truth (121, 181)."""
    wall, square = texture((121, 240), 0), texture((60, 60), 1)
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


@pytest.mark.parametrize("kind", ["birchfield-tomasi", "absolute"])
def test_costs_of_parts_are_those_of_the_whole(kind):
    left, right = texture((20, 31), 2), texture((20, 31), 3)
    whole = disparity_costs(left, right, 31, kind)
    parts = [
        (0, 20, 0, 31, 0, 31),
        (3, 9, 0, 5, 2, 20),
        (0, 4, 26, 31, 7, 31),
        (11, 20, 10, 17, 0, 1),
        (5, 6, 30, 31, 30, 31),
    ]
    for top, bottom, first, last, low, high in parts:
        where = (slice(top, bottom), slice(first, last))
        part = region_costs(left, right, True, *where, range(low, high), kind)
        np.testing.assert_array_equal(part, whole[(slice(low, high), *where)])
        part = region_costs(right, left, False, *where, range(low, high), kind)
        np.testing.assert_array_equal(part, mirrored_costs(whole)[(slice(low, high), *where)])


def test_costs_of_the_neighbours():
    left, right = texture((40, 31), 2), texture((40, 31), 3)
    labels = np.random.default_rng(0).integers(0, 8, (40, 31), np.int32)
    whole = disparity_costs(left, right, 8, "absolute")
    near = np.clip(labels + np.arange(-1, 2)[:, None, None], 0, 7)
    np.testing.assert_array_equal(neighbour_costs(labels, left, right, 7), np.take_along_axis(whole, near, axis=0))


def test_enlarged_labels_are_scaled():
    labels = np.array([[0, 1, 7], [2, 3, 4]], np.int32)
    assert enlarged(labels, (4, 6), 13).tolist() == [[0, 0, 2, 2, 13, 13]] * 2 + [[4, 4, 6, 6, 8, 8]] * 2
    assert enlarged(labels, (3, 5), 20).shape == (3, 5)
    assert halved(np.zeros((3, 5, 3), np.float32)).shape == (2, 3, 3)


def test_beta_is_that_of_the_whole_image():
    rgb = texture((30, 40), 4)
    for offset, weight in contrast_weights(rgb, 13.0).items():
        np.testing.assert_allclose(contrast_weights(rgb, 13.0, beta_of(rgb))[offset], weight, atol=1)
    assert beta_of(np.ones((4, 5, 3), np.float32)) == 0


@pytest.mark.slow  # the terms' other tests have small pairs
@pytest.mark.parametrize("term", ["linear", "potts", "quadratic"])
@pytest.mark.parametrize("is_left", [True, False])
def test_no_tile_raises_the_energy_of_the_whole(pair, small_tiles, monkeypatch, term, is_left):
    left, right = (image[:70, 60:150] for image in pair[:2])
    own, other = (left, right) if is_left else (right, left)
    costs = disparity_costs(left, right, 25)
    costs = costs if is_left else mirrored_costs(costs)
    differences = label_distances(25, term, 5)
    weights = contrast_weights(own, 13.0, beta_of(own))
    labels = np.random.default_rng(5).integers(0, 25, (9, 12), np.int32).repeat(8, 0).repeat(8, 1)[:70, :90].copy()
    energies = [gridcut.energy_of(labels, costs, weights, differences)]
    solve = coarse_to_fine.labelling

    def recorded(*arguments, **keywords):
        energies.append(gridcut.energy_of(labels, costs, weights, differences))
        found = solve(*arguments, **keywords)
        found.check()
        return found

    monkeypatch.setattr(coarse_to_fine, "labelling", recorded)
    refine(labels, own, other, is_left, "birchfield-tomasi", 13.0, differences, term != "quadratic")
    energies.append(gridcut.energy_of(labels, costs, weights, differences))
    assert len(energies) == 2 + 3 * 4
    assert (np.diff(energies) <= 0).all()
    assert energies[-1] < 0.8 * energies[0]


@pytest.mark.parametrize(
    "settings", [{}, {"smoothness_term": "quadratic"}, {"cost": "absolute", "subpixel": True}], ids=str
)
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


def test_range_of_large_images(monkeypatch):
    left = texture((240, 400), 3)
    monkeypatch.setattr(disparity_range, "MAX_PIXELS", 50_000)
    assert 24 <= guess_max_disparity(left, np.roll(left, -24, axis=1)) <= 40


@pytest.mark.slow  # allocates for seconds
@pytest.mark.parametrize("max_disparity", [49, 99, 299])
def test_memory_is_bounded_for_any_number_of_disparities(small_tiles, monkeypatch, max_disparity):
    """Of the arrays: at most 32 bytes per cost of the reduced pair and some per pixel, not 32 per pixel and disparity.

    The two images are labelled concurrently, so the peak of a run depends on their timing.
    """
    wall = texture((240, 500), 6)
    left, right = wall[:, :360].copy(), wall[:, 4:364].copy()
    pixels = 240 * 360
    monkeypatch.setattr(disparities, "MAX_COSTS", 16 * pixels)
    assert (
        traced_peak(lambda: compute(left, right, max_disparity=max_disparity, device="cpu")) < (32 * 16 + 150) * pixels
    )
