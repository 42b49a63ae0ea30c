"""Refinement, the weighted median, warping and sizes."""

import numpy as np
import pytest

from apps.optical_flow.channels import resized
from apps.optical_flow.median import near_edges, weighted_median
from apps.optical_flow.refine import refine, variational, warp


def test_warp_samples_where_the_flow_leads():
    frame = np.arange(20, dtype=np.float32).reshape(4, 5)
    flow = np.zeros((4, 5, 2), np.float32)
    flow[..., 0], flow[..., 1] = 1.5, 1
    seen, inside = warp(frame, flow)
    assert seen[0, 0] == pytest.approx(0.5 * (frame[1, 1] + frame[1, 2]))
    assert inside.tolist() == [[True] * 3 + [False] * 2] * 3 + [[False] * 5]


def test_resizing_scales_the_vectors():
    flow = np.full((20, 30, 2), (6.0, -4.0), np.float32)
    small = resized(flow, (10, 10))
    assert small.shape == (10, 10, 2)
    np.testing.assert_allclose(small, np.broadcast_to([2.0, -2.0], small.shape), atol=1e-5)
    assert resized(flow, (20, 30)) is flow


def test_each_step_reduces_the_error(smooth_pair):
    levels = smooth_pair.levels
    start = smooth_pair.flow + np.float32([0.8, -0.6])
    known = smooth_pair.known
    before = smooth_pair.error(start)[known].mean()
    kept = start.copy()
    after = smooth_pair.error(variational(levels[0], start))[known].mean()
    np.testing.assert_array_equal(start, kept), "the flow passed is not changed"
    assert after < 0.5 * before
    assert smooth_pair.error(refine(levels, start, 2))[known].mean() < 0.35 * before


def brute_median(values, weights):
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return values[order][np.searchsorted(share, share[-1] / 2)]


def test_weighted_median_against_sorting():
    from apps.optical_flow import median

    rng = np.random.default_rng(5)
    lab = rng.uniform(0, 20, (30, 30, 3)).astype(np.float32)
    flow = rng.normal(0, 5, (30, 30, 2)).astype(np.float32)
    confidence = rng.uniform(0.1, 1, (30, 30)).astype(np.float32)
    assert near_edges(flow).all()
    filtered = weighted_median(flow, lab, confidence)
    for y, x in ((15, 15), (0, 0), (29, 3), (8, 28)):
        R = median.RADIUS
        rows = [j for j in range(y - R, y + R + 1) if 0 <= j < 30 and (j - y) % median.ROW_STEP == 0]
        if median.ROW_STEP > 1:
            rows = [j for j in rows if abs(j - y) <= R // median.ROW_STEP * median.ROW_STEP]
        columns = [i for i in range(x - R, x + R + 1) if 0 <= i < 30]
        where = np.ix_(rows, columns)
        square = ((lab[where] - lab[y, x]) ** 2).sum(axis=2)
        place = (np.array(rows)[:, None] - y) ** 2 + (np.array(columns) - x) ** 2
        alike = np.maximum(0, 1 - square / (4 * median.COLOUR_SCALE**2)) ** 2
        weight = alike * np.exp(-place / (2 * median.SPATIAL_SIGMA**2)) * confidence[where]
        for c in (0, 1):
            wanted = brute_median(flow[where][..., c].ravel(), weight.ravel())
            assert filtered[y, x, c] == pytest.approx(wanted, abs=0.05)


def test_median_moves_motion_edges_to_image_edges():
    lab = np.full((40, 40, 3), 30, np.float32)
    lab[:, 20:] = 70
    flow = np.zeros((40, 40, 2), np.float32)
    flow[:, 23:] = 8  # three columns late
    filtered = weighted_median(flow, lab, np.ones((40, 40), np.float32))
    assert (filtered[:, :20] < 0.1).all()
    assert (filtered[:, 20:] > 7.9).all()
