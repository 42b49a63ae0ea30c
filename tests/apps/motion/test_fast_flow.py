"""The fast flow on frames of known motion, against OpenCV's DIS, and the assignment of its seeds."""

import cv2
import numpy as np
import pytest

from apps import flow
from apps.optical_flow import fast_flow
from apps.optical_flow.frame import Frame


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
