"""Points followed by Lucas-Kanade tracking."""

import numpy as np
import pytest
import skimage.data

from apps.tracking.follow import Follower


@pytest.fixture
def frames():
    """A photograph that slides by (5, -3) a frame."""
    photo = skimage.data.astronaut().astype(np.float32) / 255
    return [photo[100 + 3 * t :][:160, 200 - 5 * t :][:, :200] for t in range(5)]


@pytest.fixture
def points():
    return np.random.default_rng(0).uniform(30, 130, (80, 2))


def test_every_frame_a_step(frames, points):
    follow = Follower(frames)
    place = follow(0, points)
    assert (place == points).all()
    for t in range(1, 5):
        place = follow(t, place)
        off = np.linalg.norm(place - points - (5 * t, -3 * t), axis=1)
        assert np.median(off) < 0.1
        assert off.max() < 3, "a point on plain ground goes with its neighbours"


def test_frames_between_are_followed_through(frames, points):
    follow = Follower(frames)
    follow(0, points)
    off = np.linalg.norm(follow(4, points) - points - (20, -12), axis=1)
    assert np.median(off) < 0.2


def test_covered_points_go_with_their_neighbours(frames, points):
    frames[1] = frames[1].copy()
    hidden = (np.abs(points - (80, 80)) < 12).all(axis=1)
    assert hidden.any()
    frames[1][62:92, 70:100] = 0.5  # where the second frame shows them
    follow = Follower(frames)
    follow(0, points)
    off = np.linalg.norm(follow(1, points) - points - (5, -3), axis=1)
    assert off[hidden].max() < 1.5
