"""Scores against values worked out by hand."""

import numpy as np
import pytest

from apps.common.images import InputError
from apps.optical_flow.flow_scores import score_flow


def one(mine, true):
    return score_flow(np.full((1, 1, 2), mine, np.float32), np.full((1, 1, 2), true, np.float32))


def test_end_point_error_and_angle():
    assert one((3, 4), (0, 0)).epe == pytest.approx(5)
    assert one((1, 0), (0, 0)).aae == pytest.approx(45)
    assert one((1, 0), (-1, 0)).aae == pytest.approx(90)
    assert one((7, -2), (7, -2)).aae == pytest.approx(0, abs=1e-5)


def test_rates_and_the_two_conditions_of_fl():
    truth = np.zeros((1, 5, 2), np.float32)
    truth[0, 4] = 100, 0
    errors = [0.5, 2, 4, 6, 4]  # the last is off by more than 3 pixels, but by less than 5 % of 100
    flow = truth.copy()
    flow[0, :, 1] += errors
    scores = score_flow(flow, truth)
    assert (scores.r1, scores.r3, scores.r5, scores.fl) == pytest.approx((80, 60, 20, 40))
    assert scores.epe == pytest.approx(np.mean(errors))


def test_unknown_pixels_do_not_count():
    truth = np.zeros((2, 2, 2), np.float32)
    flow = truth.copy()
    flow[0, 0] = 50, 0
    truth[1, 1] = np.nan
    valid = np.array([[False, True], [True, False]])
    scores = score_flow(flow, truth, valid)
    assert (scores.epe, scores.pixels) == (0, 2)


def test_rejected_input():
    with pytest.raises(InputError, match=r"--truth is 3x2 pixels, but the frames are 2x2"):
        score_flow(np.zeros((2, 2, 2)), np.zeros((2, 3, 2)))
    with pytest.raises(InputError, match="every pixel is unknown"):
        score_flow(np.zeros((1, 1, 2)), np.zeros((1, 1, 2)), np.zeros((1, 1), bool))
