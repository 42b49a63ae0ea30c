"""Propagation of matches, and occlusion."""

import numpy as np

from apps.optical_flow.occlusion import fill_hidden, hidden_pixels, is_consistent, owners, reversed_flow
from apps.optical_flow.propagate import _described, described, propagate


def descriptors(frame):
    import cv2

    return described(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY).astype(np.float32))


def test_matches_of_a_smooth_motion(smooth_pair):
    first, second = propagate(descriptors(smooth_pair.first), descriptors(smooth_pair.second), (192, 256))
    assert len(first) > 600
    at = np.rint(first).astype(int).T[::-1]
    off = np.linalg.norm(second - first - smooth_pair.flow[tuple(at)], axis=1)
    assert np.median(off) < 0.8
    assert (off < 3).mean() > 0.95


def test_a_fast_disc_is_found_without_a_guess(disc_pair):
    first, second = propagate(descriptors(disc_pair.first), descriptors(disc_pair.second), (192, 256))
    x, y = np.rint(first).astype(int).T
    on_disc = disc_pair.disc[y, x]
    assert on_disc.sum() > 60
    off = np.linalg.norm(second - first - disc_pair.flow[y, x], axis=1)
    assert (off[on_disc] < 3).mean() > 0.85
    assert (off[~on_disc] < 3).mean() > 0.9


def test_descriptors_are_normalised_histograms_of_16_cells():
    import cv2

    frame = np.random.default_rng(2).uniform(0, 255, (14, 19)).astype(np.float32)
    slopes = [cv2.Scharr(frame, -1, *direction, scale=1 / 32) for direction in ((1, 0), (0, 1))]
    maps = []
    for angle in np.arange(8) * np.pi / 4:
        response = np.cos(angle) * slopes[0] + np.sin(angle) * slopes[1]
        maps.append(cv2.GaussianBlur(np.maximum(response, 0).astype(np.float32), (0, 0), 1.0))
    found = _described(frame)
    assert found.shape == (14, 19, 128)
    for y, x in ((0, 0), (7, 9), (13, 18), (2, 17)):
        rows, columns = (np.clip(c + np.arange(-4, 8, 3), 0, n - 1) for c, n in ((y, 14), (x, 19)))
        cells = np.array([[[plane[row, column] for plane in maps] for column in columns] for row in rows]).ravel()
        expected = np.minimum(512 * cells / np.sqrt(1 + (cells**2).sum()), 255)
        assert np.abs(found[y, x] - expected).max() < 1.001


def test_pixels_covered_by_the_disc_are_hidden(disc_pair):
    level = disc_pair.levels[0]
    found = hidden_pixels(level, disc_pair.flow)
    assert found[disc_pair.hidden].mean() > 0.9
    assert found[~disc_pair.hidden].mean() < 0.02


def test_hidden_pixels_take_the_motion_of_their_side(disc_pair):
    wrong = disc_pair.flow.copy()
    wrong[disc_pair.hidden] = (30, -12)  # the disc's
    filled = fill_hidden(disc_pair.levels[0], wrong, disc_pair.hidden)
    off = disc_pair.error(filled)
    assert (off[disc_pair.hidden] < 1).mean() > 0.6
    assert off[~disc_pair.hidden].mean() < 0.7
    np.testing.assert_array_equal(fill_hidden(disc_pair.levels[0], wrong, np.zeros((192, 256), bool)), wrong)


def test_reversed_flow_leads_back(smooth_pair):
    owner = owners(smooth_pair.levels[0], smooth_pair.flow)
    back = reversed_flow(smooth_pair.flow, owner)
    y, x = np.nonzero(owner >= 0)
    home = np.stack([x, y], axis=1) + back[y, x]
    start = np.stack([owner[y, x] % 256, owner[y, x] // 256], axis=1)
    assert np.abs(home - start).max() <= 0.51, "up to the rounding of the place"


def test_consistency(disc_pair):
    level = disc_pair.levels[0]
    valid = is_consistent(level, disc_pair.flow, owners(level, disc_pair.flow))
    assert valid[disc_pair.hidden].mean() < 0.1
    assert valid[~disc_pair.hidden].mean() > 0.85
    off = disc_pair.flow + np.float32([12, 5])
    assert is_consistent(level, off, owners(level, off))[~disc_pair.hidden].mean() < 0.3
