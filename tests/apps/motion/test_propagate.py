"""Propagation of matches, and occlusion."""

import numpy as np

from apps.optical_flow.occlusion import hidden_pixels
from apps.optical_flow.propagate import described, propagate


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


def test_pixels_covered_by_the_disc_are_hidden(disc_pair):
    level = disc_pair.levels[0]
    found = hidden_pixels(level, disc_pair.flow)
    assert found[disc_pair.hidden].mean() > 0.9
    assert found[~disc_pair.hidden].mean() < 0.02
