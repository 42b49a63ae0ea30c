"""Dense flow on frames of known motion, against OpenCV's DIS, and its input validation."""

import cv2
import numpy as np
import pytest

from apps.optical_flow import frame
from apps.optical_flow.dense_flow import flow
from tests.apps.conftest import texture


def dis(pair):
    grey = [cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in (pair.first, pair.second)]
    return cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM).calc(*grey, None)


@pytest.fixture(scope="module")
def on_motorcycle(motorcycle):
    return flow(motorcycle.first, motorcycle.second)


def test_real_stereo_pair(motorcycle, on_motorcycle):
    mine = motorcycle.error(on_motorcycle.flow)[motorcycle.known]
    theirs = motorcycle.error(dis(motorcycle))[motorcycle.known]
    assert mine.mean() < 1.25
    assert mine.mean() < 0.8 * theirs.mean()
    assert (mine > 3).mean() < 0.1


def test_smooth_motion(smooth_pair):
    result = flow(smooth_pair.first, smooth_pair.second)
    error = smooth_pair.error(result.flow)
    assert error[smooth_pair.known].mean() < 0.4
    assert np.median(error[smooth_pair.known]) < 0.25
    assert result.valid[smooth_pair.known].mean() > 0.9
    assert result.valid[~smooth_pair.known].mean() < 0.1


def test_a_fast_disc_over_a_slow_ground(disc_pair):
    result = flow(disc_pair.first, disc_pair.second)
    error = disc_pair.error(result.flow)
    assert error[disc_pair.disc].mean() < 1
    assert error[~disc_pair.disc & ~disc_pair.hidden].mean() < 0.3
    assert np.median(error[disc_pair.hidden]) < 5
    assert result.valid[disc_pair.hidden].mean() < 0.1
    assert error.mean() < 0.5 * disc_pair.error(dis(disc_pair)).mean()


@pytest.mark.slow
def test_windows(smooth_pair):
    result = flow(smooth_pair.first, smooth_pair.second, linker="windows")
    assert len(result.matches) > 60
    assert smooth_pair.error(result.flow)[smooth_pair.known].mean() < 0.5


@pytest.mark.parametrize("shape", [(16, 16), (24, 200), (130, 20)])
def test_small_and_narrow_frames(shape):
    frame = texture(shape)
    result = flow(frame, frame)
    assert result.flow.shape == (*shape, 2)
    assert np.isfinite(result.flow).all()


def test_large_frames_are_reduced(disc_pair, monkeypatch):
    monkeypatch.setattr(frame, "MAX_PIXELS", 192 * 256)
    big = [cv2.resize(f, (768, 576), interpolation=cv2.INTER_CUBIC) for f in (disc_pair.first, disc_pair.second)]
    small, large = flow(disc_pair.first, disc_pair.second), flow(*big)
    assert large.flow.shape == (576, 768, 2)
    assert large.valid.shape == (576, 768)
    error = np.linalg.norm(large.flow[1::3, 1::3] - 3 * disc_pair.flow, axis=2)
    assert error[small.valid].mean() < 3 * disc_pair.error(small.flow)[small.valid].mean() + 0.5
    off = np.linalg.norm(large.matches.motion, axis=1).max()
    assert 3 * 28 < off < 3 * 40, "of pixels of the large frames"
