"""Candidate pairs: nearest descriptors against a full sort, and what trackers propose."""

import numpy as np
import pytest

from apps.motion import candidates
from apps.motion.candidates import nearest_descriptors, proposals
from apps.motion.points import corners, grey_frame


@pytest.mark.parametrize("block", [1 << 21, 500])
@pytest.mark.parametrize("count", [1, 4, 50])
def test_nearest_descriptors_are_those_of_a_full_sort(monkeypatch, block, count):
    monkeypatch.setattr(candidates, "MAX_PRODUCTS", block)
    rng = np.random.default_rng(count)
    first, second = (rng.normal(size=(n, 128)).astype(np.float32) for n in (40, 30))
    first, second = (d / np.linalg.norm(d, axis=1, keepdims=True) for d in (first, second))
    index, distance = nearest_descriptors(first, second, count)
    true = np.linalg.norm(first[:, None] - second, axis=2)
    assert index.shape == (40, min(count, 30))
    assert np.allclose(distance, np.sort(true, axis=1)[:, :count], atol=1e-3)
    assert np.allclose(np.take_along_axis(true, index, axis=1), distance, atol=1e-3)


def grey_of(pair):
    return grey_frame(pair.first), grey_frame(pair.second)


def test_trackers_propose_the_true_place(smooth_pair):
    first, second = grey_of(smooth_pair)
    points = corners(first, 300)
    x, y = points.astype(int).T
    true = points + smooth_pair.flow[y, x]
    position, found = proposals(first, second, points)
    close = (np.linalg.norm(position - true[:, None], axis=2) < 1) & found
    assert close.any(axis=1)[smooth_pair.known[y, x]].mean() > 0.8


def test_an_expected_motion_helps(smooth_pair):
    first, second = grey_of(smooth_pair)
    points = corners(first, 300)
    x, y = points.astype(int).T
    true = points + smooth_pair.flow[y, x]
    known = smooth_pair.known[y, x]
    position, found = proposals(first, second, points, smooth_pair.flow)
    close = (np.linalg.norm(position - true[:, None], axis=2) < 0.5) & found
    assert close[known][:, 1:].mean() > 0.95


@pytest.mark.parametrize("shape", [(24, 200), (28, 300), (200, 20), (16, 16)], ids=str)
def test_low_and_narrow_frames(shape):
    """OpenCV's dense search ends the process on some of them."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 256, shape, dtype=np.uint8)
    points = rng.random((20, 2)) * (shape[1] - 1, shape[0] - 1)
    position, found = proposals(first, first, points)
    assert position.shape == (20, 3, 2)
    assert np.abs(position[found] - np.repeat(points[:, None], 3, axis=1)[found]).max() < 0.5
