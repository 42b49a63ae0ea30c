"""Given points followed through frames of known motion."""

import numpy as np
import pytest
import skimage.data

from apps.common.images import InputError
from apps.tracking.follow import LEFT, LOST, OCCLUDED, SEEN, Follower, follow


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


def test_points_are_where_the_photograph_moved(frames, points):
    found = follow(frames, points)
    true = points + np.arange(5)[:, None, None] * (5, -3)
    seen = found.state == SEEN
    error = np.linalg.norm(found.position - true, axis=2)[seen]
    assert seen.mean() > 0.8
    assert (error < 1).mean() > 0.98
    assert np.median(error) < 0.1
    assert (found.confidence[seen] > 0.5).all()
    assert (found.confidence[~seen] == 0).all()


def test_a_covered_point_is_carried_and_seen_again(frames, points):
    frames[2] = frames[2].copy()
    covered = (np.abs(points + (10, -6) - (90, 74)) < 10).all(axis=1)
    assert covered.sum() > 2
    frames[2][56:92, 72:108] = 0.5
    found = follow(frames, points)
    assert (found.state[2, covered] == OCCLUDED).all()
    off = np.linalg.norm(found.position[2] - points - (10, -6), axis=1)
    assert off[covered].max() < 2
    assert (found.state[3, covered] == SEEN).mean() > 0.5
    assert (follow(frames, points, memory=0).state[2:, covered] == LOST).all()


def test_points_leave_the_frame(frames):
    points = np.array([[190.0, 80.0], [195, 20], [60, 100]])
    found = follow(frames, points)
    assert (found.state[-1] == [LEFT, LEFT, SEEN]).all()
    assert np.isnan(found.position[-1, :2]).all()
    tracks = found.tracks()
    assert (tracks.length == np.isfinite(found.position[..., 0]).sum(axis=0)).all()
    assert (tracks.link[:, 0] < tracks.link[:, 1]).all()


def test_plain_frames_carry_all_points():
    found = follow([np.full((40, 50), 0.5)] * 3, [[10, 10], [20.5, 30]], memory=1)
    assert found.state.tolist() == [[SEEN, SEEN], [OCCLUDED, OCCLUDED], [LOST, LOST]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[1, 2, 3]], "points must be"),
        ([[300, 10]], "outside the first frame"),
        ([[np.nan, 10]], "outside the first frame"),
        ("abc", "points must be numbers"),
    ],
)
def test_points_that_cannot_be_followed(frames, given, message):
    with pytest.raises(InputError, match=message):
        follow(frames, given)


def test_frames_that_cannot_be_followed(frames, points):
    with pytest.raises(InputError, match="frames is empty"):
        follow([], points)
    with pytest.raises(InputError, match="frame 1 is 100x160"):
        follow([frames[0], frames[1][:, :100]], points[:, :1] * [0, 0] + 20)
    with pytest.raises(InputError, match="memory must be 0 or more"):
        follow(frames, points, memory=-1)
