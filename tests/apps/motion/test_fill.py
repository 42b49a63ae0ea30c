"""Flow filling: exact for affine motion, stopped by edges, robust to outliers, stable under extrapolation."""

import numpy as np
import pytest

from apps.optical_flow.fill import fill_flow

FLAT = np.full((60, 80, 3), 50, np.float32)


def scattered(count, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.uniform(0, 79, count), rng.uniform(0, 59, count)], axis=1)


def test_affine_motion_is_filled_everywhere():
    points = scattered(150)
    matrix, shift = np.array([[0.05, -0.02], [0.03, 0.04]]), np.array([4.0, -7.0])
    flow = fill_flow(FLAT, points, points + points @ matrix.T + shift)
    y, x = np.mgrid[:60, :80]
    true = np.dstack([x, y]) @ matrix.T + shift
    assert np.abs(flow - true).max() < 0.5
    assert np.abs(flow - true).mean() < 0.08


def test_motion_stops_at_an_image_edge():
    lab = FLAT.copy()
    lab[:, 40:] = 80
    left, right = np.array([[10.0, 30.0], [12.0, 20.0]]), np.array([[75.0, 30.0], [73.0, 20.0]])
    first = np.concatenate([left, right])
    second = first + np.repeat([[6.0, 0.0], [-6.0, 0.0]], 2, axis=0)
    flow = fill_flow(lab, first, second)
    # The middle between the matches is at 42; the edge at 40 decides.
    assert (flow[25:35, :38, 0] > 3).all()
    assert (flow[25:35, 44:, 0] < -3).all()
    flow_without = fill_flow(FLAT, first, second)
    assert flow_without[30, 39, 0] != pytest.approx(flow[30, 39, 0], abs=1e-3)


def test_outliers_have_little_influence():
    points = scattered(200)
    moved = points + [3.0, 1.0]
    moved[::10] += 40.0
    flow = fill_flow(FLAT, points, moved)
    off = np.linalg.norm(flow - [3.0, 1.0], axis=2)
    assert np.median(off) < 0.3
    assert (off < 2).mean() > 0.95
