"""Points and descriptors: positions, distances, and rejected input."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from apps.motion.points import corners, keypoints, patches, sampled


@pytest.fixture(scope="module")
def camera():
    import skimage.data

    return skimage.data.camera()[::2, ::2].copy()


@pytest.fixture
def squares():
    """Bright squares on a dark ground, and their corners."""
    frame = np.full((96, 128), 40, np.uint8)
    places = [(x, y) for x in range(16, 112, 32) for y in range(16, 80, 32)]
    for x, y in places:
        frame[y : y + 12, x : x + 12] = 200
    return frame, np.array([(x + a, y + b) for x, y in places for a in (0, 11) for b in (0, 11)])


def test_keypoints_have_descriptors(camera):
    found = keypoints(camera, 300)
    assert 100 < len(found) <= 310
    assert found.descriptors.shape == (len(found), 128)
    assert found.descriptors.dtype == np.float32
    assert (found.xy >= 0).all()
    assert (found.xy < camera.shape[::-1]).all()
    assert np.allclose(np.linalg.norm(found.descriptors, axis=1), 1, atol=1e-5)


def test_corners_are_at_corners(squares):
    frame, true = squares
    found = corners(frame, 100)
    distance, nearest = cKDTree(true).query(found)
    assert distance.max() < 3
    assert set(nearest) == set(range(len(true)))


def test_corners_stay_within_the_budget_and_the_best_come_first(camera):
    few, many = corners(camera, 50), corners(camera, 400)
    assert len(few) == 50
    assert np.array_equal(few, many[:50])
    assert len(corners(camera, 0)) == 0


def test_samples_are_bilinear_however_many():
    y, x = np.mgrid[:20, :30].astype(np.float32)
    ramp = np.stack([2 * x, 3 * y], axis=2)
    rng = np.random.default_rng(0)
    at = rng.random((40000, 1)) * 29, rng.random((40000, 1)) * 19
    values = sampled(ramp, *at)
    assert values.shape == (40000, 1, 2)
    assert np.allclose(values[:, 0], np.hstack([2 * at[0], 3 * at[1]]), atol=0.15)  # OpenCV rounds places to 1 / 32


def test_patches_are_invariant_to_brightness_and_contrast(camera):
    points = corners(camera, 100)
    one, two = patches(camera, points), patches((camera // 2 + 30).astype(np.uint8), points)
    alike = (one * two).sum(axis=1)
    assert np.median(alike) > 0.99
    assert np.allclose((one**2).sum(axis=1), 1, atol=1e-4)
