"""The sparse pipeline against known motion: warps of photographs and a stereo pair with true disparity."""

import numpy as np
import pytest

from apps.common.command import limited_threads
from apps.common.images import InputError
from apps.motion import sparse
from apps.motion.agreement import LocalMotion, agrees_with_neighbours
from apps.motion.odds import log_odds, nearest_other_proposal
from apps.motion.sparse import link_proposals, match_stages, seed_matches


def off(matches, pair):
    """Error of each match, in pixels, where the ground truth is known."""
    x, y = np.rint(matches.first).astype(int).T
    known = pair.known[y, x]
    return np.linalg.norm(matches.motion - pair.flow[y, x], axis=1)[known]


@pytest.fixture(scope="module")
def stages(smooth_pair):
    return match_stages(smooth_pair.first, smooth_pair.second)


def test_a_smooth_motion_is_found(stages, smooth_pair):
    error = off(stages.matches, smooth_pair)
    assert len(error) > 300
    assert (error < 3).mean() > 0.98
    assert np.median(error) < 0.2


def test_both_motions_of_a_disc_over_a_ground_are_found(disc_pair):
    matches = match_stages(disc_pair.first, disc_pair.second).matches
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
    matches = match_stages(first, second).matches
    error = np.linalg.norm(matches.first @ move[:, :2].T + move[:, 2] - matches.second, axis=1)
    assert len(matches) > 300
    assert (error < 3).mean() > 0.97


def test_a_stereo_pair_is_matched_along_its_rows():
    import skimage.data

    left, right, disparity = skimage.data.stereo_motorcycle()
    part = (slice(150, 400), slice(200, 600))
    matches = match_stages(left[part].copy(), right[part].copy()).matches
    x, y = np.rint(matches.first).astype(int).T
    true = disparity[part][y, x]
    known = np.isfinite(true) & (true > 0)
    error = np.hypot(matches.motion[:, 0] + np.where(known, true, 0), matches.motion[:, 1])[known]
    assert len(error) > 300
    assert (error < 3).mean() > 0.9


def test_no_two_matches_end_on_one_pixel(stages):
    for matches in (stages.matches, stages.seeds):
        for points in (matches.first, matches.second):
            assert len(np.unique(np.rint(points), axis=0)) == len(matches)


def test_confidence_follows_the_odds_and_separates_right_from_wrong(disc_pair, monkeypatch):
    stages = match_stages(disc_pair.first, disc_pair.second)
    monkeypatch.setattr(sparse, "UNMATCHED_COST", 9.0)
    matches = link_proposals(stages.points, stages.position, stages.odds)
    assert np.allclose(matches.confidence, 1 / (1 + np.exp(matches.cost)))
    x, y = np.rint(matches.first).astype(int).T
    wrong = np.linalg.norm(matches.motion - disc_pair.flow[y, x], axis=1) > 3
    assert wrong.sum() > 5
    assert np.median(matches.confidence[wrong]) < 0.7
    assert np.median(matches.confidence[~wrong]) > 0.95


def test_lower_unmatched_cost_gives_fewer_more_reliable_matches(smooth_pair, monkeypatch):
    found = []
    for cost in (-4.0, 0.0):
        monkeypatch.setattr(sparse, "UNMATCHED_COST", cost)
        found.append(match_stages(smooth_pair.first, smooth_pair.second).matches)
    few, many = found
    assert 0 < len(few) < len(many)
    assert few.cost.max() < -4.0
    assert (off(few, smooth_pair) < 3).mean() >= (off(many, smooth_pair) < 3).mean()


def test_results_of_the_stages(stages):
    assert set(stages.seconds) == {"seeds", "points", "proposals", "odds", "assignment", "agreement"}
    assert stages.odds.shape == stages.found.shape == stages.position.shape[:2]
    assert np.isinf(stages.odds[~stages.found]).all()
    assert {tuple(p) for p in stages.matches.first} <= {tuple(p) for p in stages.points}


def test_matches_repeat(stages, smooth_pair):
    again = match_stages(smooth_pair.first, smooth_pair.second).matches
    for name in ("first", "second", "cost", "margin", "confidence"):
        assert np.array_equal(getattr(again, name), getattr(stages.matches, name))


def test_grey_frames(smooth_pair):
    matches = match_stages(smooth_pair.first[..., 1].copy(), smooth_pair.second[..., 1].copy()).matches
    assert (off(matches, smooth_pair) < 3).mean() > 0.97


def test_trackers_alone_find_small_motion(smooth_pair, stages, monkeypatch):
    """Seeds without matches simulate frames without distinctive descriptors."""
    import cv2

    small = cv2.warpAffine(smooth_pair.first, np.float32([[1, 0, 2], [0, 1, -1]]), (256, 192))
    monkeypatch.setattr(sparse, "seed_matches", lambda *_, **__: stages.matches.select([]))
    matches = match_stages(smooth_pair.first, small).matches
    assert len(matches) > 200
    assert np.median(np.linalg.norm(matches.motion - (2, -1), axis=1)) < 0.1


def test_two_scenes_that_have_nothing_in_common_do_not_match():
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 256, (128, 128), dtype=np.uint8) for _ in range(2))
    assert len(match_stages(first, second).matches) == 0


@pytest.mark.parametrize("size", [16, 17, 24])
def test_smallest_frames(size, monkeypatch):
    import skimage.data

    first = skimage.data.camera()[200 : 200 + size, 200 : 200 + size].copy()
    points = np.array([[5.0, 5], [9, 6], [6, 10], [10, 10]])
    monkeypatch.setattr(sparse, "_points", lambda *_: points)  # such frames have too few corners
    matches = match_stages(first, np.roll(first, 1, axis=1)).matches
    assert np.isfinite(matches.second).all()


def test_bad_frames_are_rejected(smooth_pair, monkeypatch):
    first, second = smooth_pair.first, smooth_pair.second
    with pytest.raises(InputError, match="differ in size"):
        match_stages(first, second[1:])
    with pytest.raises(InputError, match="no texture"):
        match_stages(first, np.zeros_like(second))
    spot = np.full((64, 64), 100, np.uint8)
    spot[30:34, 30:34] = 200
    monkeypatch.setattr(sparse, "MIN_BUDGET", 3)
    monkeypatch.setattr(sparse, "MAX_BUDGET", 3)
    with pytest.raises(InputError, match="more texture"):
        match_stages(spot, np.roll(spot, 1, axis=0))


def test_seeds_are_right(smooth_pair):
    from apps.motion.points import grey_pair

    seeds = seed_matches(*grey_pair(smooth_pair.first, smooth_pair.second))
    error = off(seeds, smooth_pair)
    assert len(error) > 100
    assert (error < 3).mean() > 0.95
    assert ((seeds.confidence >= 0) & (seeds.confidence <= 1)).all()


def test_a_local_fit_is_exact_on_an_affine_motion():
    rng = np.random.default_rng(0)
    first = rng.random((200, 2)) * 300
    linear, shift = np.array([[0.1, -0.2], [0.05, 0.15]]), np.array([5.0, -3.0])
    motion = first @ linear.T + shift
    wrong = rng.random(200) < 0.15
    motion[wrong] += rng.normal(0, 40, (wrong.sum(), 2))
    local = LocalMotion(first, motion)
    inside = rng.random((50, 2)) * 200 + 50
    expected = local.at(inside)
    assert np.median(np.linalg.norm(expected.motion - (inside @ linear.T + shift), axis=1)) < 0.2
    assert np.allclose(np.median(expected.linear, axis=0), linear, atol=0.02)
    kept = agrees_with_neighbours(first, motion)
    assert kept[~wrong].mean() > 0.97
    assert kept[wrong & (np.linalg.norm(motion - first @ linear.T - shift, axis=1) > 25)].mean() < 0.1


def test_the_dense_motion_is_that_of_its_points():
    first = np.random.default_rng(1).random((300, 2)) * (90, 60)
    dense = LocalMotion(first, np.stack([first[:, 0] * 0.1, first[:, 1] * -0.2], axis=1)).dense((61, 91))
    y, x = np.mgrid[:61, :91]
    assert dense.shape == (61, 91, 2)
    assert np.abs(dense - np.dstack([0.1 * x, -0.2 * y]))[8:-8, 8:-8].max() < 0.3


def test_odds_increase_with_each_measurement():
    one = np.ones(1)
    surest = log_odds(0 * one, 0 * one, 0 * one, one)
    for doubted in ((one, 0 * one, 0 * one, one), (0 * one, one, 0 * one, one), (0 * one, 0 * one, one, one)):
        assert log_odds(*doubted) > surest
    assert log_odds(0 * one, 0 * one, 0 * one, 0.1 * one) > surest


def test_the_nearest_other_proposal():
    position = np.array([[[0.0, 0], [3, 4], [0, 1]], [[0, 0], [9, 9], [0, 2]]])
    found = np.array([[True, True, True], [True, False, False]])
    separation = nearest_other_proposal(position, found)
    assert separation[0].tolist() == pytest.approx([1, np.hypot(3, 3), 1])
    assert np.isinf(separation[1]).all()


def test_odds_do_not_depend_on_the_threads(smooth_pair, monkeypatch):
    monkeypatch.setattr(sparse, "MIN_POINTS_PER_THREAD", 16)
    found = []
    for threads in (1, 2):
        with limited_threads(threads):
            found.append(match_stages(smooth_pair.first, smooth_pair.second))
    assert np.isfinite(found[0].odds).sum() > 500
    np.testing.assert_array_equal(found[0].odds, found[1].odds)
    np.testing.assert_array_equal(found[0].matches.second, found[1].matches.second)
