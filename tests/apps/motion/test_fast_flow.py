"""The fast flow on frames of known motion, against OpenCV's DIS, and the assignment of its seeds."""

import cv2
import numpy as np
import pytest

from apps import flow
from apps.optical_flow import fast_flow
from apps.optical_flow.frame import QUICK_LEVELS, Frame, quick_sizes


def dis(pair):
    grey = [cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in (pair.first, pair.second)]
    return cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM).calc(*grey, None)


@pytest.mark.parametrize("name", ["motorcycle", "smooth_pair", "disc_pair"])
def test_not_above_the_error_of_dis(name, request):
    pair = request.getfixturevalue(name)
    found = flow(pair.first, pair.second, fast=True)
    assert found.flow.shape == pair.flow.shape
    assert found.flow.dtype == np.float32
    assert pair.error(found.flow)[pair.known].mean() <= pair.error(dis(pair))[pair.known].mean()


def frames(pair):
    return [Frame(np.float32(frame) / 255) for frame in (pair.first, pair.second)]


def test_seeds_are_linked_one_to_one_where_motions_cancel(disc_pair):
    found = fast_flow.linked_seeds(*frames(disc_pair), "cpu")
    assert len(found) > 100
    assert len(np.unique(found.first, axis=0)) == len(found)
    assert (found.cost >= 0).all()
    assert (found.cost < fast_flow.MAX_RETURN**2).all()
    assert (found.margin >= 0).all()
    assert ((found.confidence > 0) & (found.confidence <= 1)).all()
    x, y = np.rint(found.first).astype(int).T
    off = np.linalg.norm(found.motion - disc_pair.flow[y, x], axis=1)
    assert (off < 4).mean() > 0.85


@pytest.mark.parametrize("shape", [(16, 16), (48, 48), (17, 90), (49, 300, 3)])
def test_tiny_frames(shape):
    frame = cv2.GaussianBlur(np.random.default_rng(2).uniform(0, 1, shape).astype(np.float32), (0, 0), 1.5)
    found = flow(frame, frame, fast=True)
    assert found.flow.shape == (*shape[:2], 2)
    assert found.valid.shape == shape[:2]
    assert np.abs(found.flow).mean() < 0.5


def test_levels_grow_to_the_finest():
    sizes = quick_sizes((480, 640))
    assert sizes[0] == (120, 160)
    assert sizes[-1] == (336, 448)
    assert len(sizes) == QUICK_LEVELS
    assert sizes == sorted(sizes)
    assert quick_sizes((32, 40))[0] == (22, 28), "a small frame starts at its finest level"
