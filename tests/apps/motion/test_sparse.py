"""The sparse pipeline against known motion: warps of photographs and a stereo pair with true disparity."""

import numpy as np

from apps.motion.points import corners, grey_pair
from apps.motion.sparse import find_points, match_points, seed_matches


def off(matches, pair):
    """Error of each match, in pixels, where the ground truth is known."""
    x, y = np.rint(matches.first).astype(int).T
    known = pair.known[y, x]
    return np.linalg.norm(matches.motion - pair.flow[y, x], axis=1)[known]


def test_a_smooth_motion_is_found(smooth_pair):
    error = off(match_points(smooth_pair.first, smooth_pair.second), smooth_pair)
    assert len(error) > 300
    assert (error < 3).mean() > 0.98
    assert np.median(error) < 0.2


def test_both_motions_of_a_disc_over_a_ground_are_found(disc_pair):
    matches = match_points(disc_pair.first, disc_pair.second)
    error = off(matches, disc_pair)
    assert (error < 3).mean() > 0.95
    x, y = matches.first.T
    on_disc = (x - 100) ** 2 + (y - 100) ** 2 < 36**2
    assert on_disc.sum() > 20
    assert np.median(np.linalg.norm(matches.motion[on_disc] - (30, -12), axis=1)) < 0.5


def test_a_turned_and_zoomed_frame_is_matched():
    """Too large for trackers from zero motion; the seeds provide it."""
    import cv2
    import skimage.data

    first = cv2.resize(skimage.data.astronaut(), (320, 320), interpolation=cv2.INTER_AREA)
    move = cv2.getRotationMatrix2D((160, 160), 20, 1.2)
    second = cv2.warpAffine(first, move, (320, 320), flags=cv2.INTER_CUBIC)
    matches = match_points(first, second)
    error = np.linalg.norm(matches.first @ move[:, :2].T + move[:, 2] - matches.second, axis=1)
    assert len(matches) > 300
    assert (error < 3).mean() > 0.97


def test_confidence_follows_the_odds_and_separates_right_from_wrong(disc_pair):
    first, second = grey_pair(disc_pair.first, disc_pair.second)
    seeds = seed_matches(first, second)
    which, matches = find_points(first, second, corners(first, 1000), seeds, unmatched_cost=9.0)
    assert (np.diff(which) > 0).all()
    assert np.allclose(matches.confidence, 1 / (1 + np.exp(matches.cost)))
    x, y = np.rint(matches.first).astype(int).T
    wrong = np.linalg.norm(matches.motion - disc_pair.flow[y, x], axis=1) > 3
    assert wrong.sum() > 5
    assert np.median(matches.confidence[wrong]) < 0.7
    assert np.median(matches.confidence[~wrong]) > 0.95
