"""Refinement, and the weighted median at edges."""

import numpy as np

from apps.optical_flow.median import weighted_median
from apps.optical_flow.refine import refine, variational


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


def test_median_moves_motion_edges_to_image_edges():
    lab = np.full((40, 40, 3), 30, np.float32)
    lab[:, 20:] = 70
    flow = np.zeros((40, 40, 2), np.float32)
    flow[:, 23:] = 8  # three columns late
    filtered = weighted_median(flow, lab, np.ones((40, 40), np.float32))
    assert (filtered[:, :20] < 0.1).all()
    assert (filtered[:, 20:] > 7.9).all()
