"""Wide-baseline matches against warps of photographs by known homographies, and a stereo pair with true disparity."""

import cv2
import numpy as np
import pytest
import skimage.data

from apps.motion.candidates import nearest_descriptors
from apps.motion.points import keypoints
from apps.point_matching import wide_baseline as wide
from apps.point_matching.geometry import apply, fit, fit_best, in_front, transfer_distance
from apps.point_matching.wide_baseline import match

SLANTED = np.array([[0.76, -0.3, 130.0], [0.33, 1.0, -40.0], [4.5e-4, 0.0, 1.0]])  # about as graf 1 to 3, tilt 2


def warped(image, homography, seed=0):
    """The image as another camera would see it: three times finer first, for no jagged edges; darker, with noise."""
    height, width = image.shape[:2]
    finer = np.array([[3.0, 0, 1], [0, 3, 1], [0, 0, 1]])  # pixel centres, not corners, are whole numbers
    fine = cv2.warpPerspective(image, finer @ homography, (3 * width, 3 * height))
    seen = cv2.resize(fine, (width, height), interpolation=cv2.INTER_AREA)
    noise = np.random.default_rng(seed).normal(0, 3, seen.shape)
    return np.clip(255 * (seen / 255.0) ** 1.3 * 0.9 + noise, 0, 255).astype(np.uint8)


def corners_of(image):
    height, width = image.shape[:2]
    return np.array([[0.0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]])


def ratio_test(first, second):
    """The baseline without an assignment: ratio 0.8, mutual."""
    points = [keypoints(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), 2000, 0.04) for image in (first, second)]
    there, distance = nearest_descriptors(points[0].descriptors, points[1].descriptors, 2)
    back, _ = nearest_descriptors(points[1].descriptors, points[0].descriptors, 1)
    own = np.arange(len(there))
    good = (distance[:, 0] < 0.8 * distance[:, 1]) & (back[there[:, 0], 0] == own)
    return points[0].xy[good], points[1].xy[there[good, 0]]


def test_slanted_photograph():
    first = skimage.data.astronaut()
    second = warped(first, SLANTED)
    found = match(first, second)
    assert found.model == "homography"
    corners = corners_of(first)
    error = np.linalg.norm(apply(found.matrix, corners) - apply(SLANTED, corners), axis=1)
    assert error.mean() < 0.7
    right = transfer_distance(SLANTED, found.matches.first, found.matches.second) < 3
    assert right.mean() > 0.99
    baseline = transfer_distance(SLANTED, *ratio_test(first, second)) < 3
    assert right.sum() > 2 * baseline.sum()
    assert right.mean() >= baseline.mean()
    for points in (found.matches.first, found.matches.second):
        assert len(np.unique(np.rint(points), axis=0)) > 0.97 * len(points)
    assert found.residual.max() <= 3
    assert found.residual == pytest.approx(transfer_distance(found.matrix, found.matches.first, found.matches.second))
    assert ((found.matches.confidence >= 0) & (found.matches.confidence <= 1)).all()
    assert found.counts["matches"] == len(found.matches) == len(found.residual)
    assert 0 <= found.seconds["compile"] < found.seconds["total"]


@pytest.mark.parametrize("model", ["homography", "fundamental"])
def test_large_images_are_reduced(model, monkeypatch):
    """The same result, in pixels of the given images, which have different sizes."""
    first = skimage.data.astronaut()[:320, :400]
    second = cv2.resize(warped(first, SLANTED), None, fx=0.75, fy=0.75, interpolation=cv2.INTER_AREA)
    smaller = np.array([[0.75, 0, -0.125], [0, 0.75, -0.125], [0, 0, 1]])
    monkeypatch.setattr(wide, "MAX_SIDE", 200)
    found = match(first, second, model=model)
    assert found.matches.first.max() > 250
    right = transfer_distance(smaller @ SLANTED, found.matches.first, found.matches.second) < 4
    assert right.mean() > (0.97 if model == "homography" else 0.8)
    assert found.residual.max() < 3 * 400 / 200 * 1.2


@pytest.mark.slow
def test_stereo_pair_needs_a_fundamental_matrix():
    left, right, disparity = skimage.data.stereo_motorcycle()
    found = match(left, right)
    assert found.model == "fundamental"
    first, second = found.matches.first, found.matches.second
    truth = disparity[np.rint(first[:, 1]).astype(int), np.rint(first[:, 0]).astype(int)]
    known = np.isfinite(truth)
    off = np.hypot(first[:, 0] - truth - second[:, 0], first[:, 1] - second[:, 1])[known]
    assert (off < 3).mean() > 0.94  # part of the rest is next to a step of the disparity
    assert (off < 3).sum() > 1500
    # The cameras are displaced horizontally: epipolar lines are the rows.
    assert np.abs(first[:, 1] - second[:, 1]).max() < 6
    assert found.residual.max() <= 3
    plane = match(left, right, model="homography")
    assert plane.model == "homography"
    assert len(plane.matches) < len(found.matches)


class TestGeometry:
    rng = np.random.default_rng(2)
    points = rng.uniform(0, 400, (150, 2))

    def test_off_plane_matches_select_the_model(self):
        """Three quarters on one plane; the rest nearer: a fundamental matrix; the rest wrong: a homography."""
        second = self.points - (20.0, 0)
        nearer = second.copy()
        nearer[:38, 0] -= self.rng.uniform(10, 60, 38)
        wrong = second.copy()
        wrong[:38] = self.rng.uniform(0, 400, (38, 2))
        assert fit_best(self.points, nearer, "auto", 160000.0).model == "fundamental"
        assert fit_best(self.points, wrong, "auto", 160000.0).model == "homography"
        assert fit_best(self.points, wrong, "fundamental", 160000.0).model == "fundamental"

    def test_random_matches_are_no_better_than_chance(self):
        second = self.rng.uniform(0, 400, (150, 2))
        for model in ("homography", "fundamental"):
            found = fit(self.points, second, model, 160000.0)
            assert found is None or found.log10_nfa > -1

    def test_behind_the_camera(self):
        """A view so steep that the origin is beyond the horizon: the sign follows from the positions of the points."""
        steep = np.array([[1.0, 0, -150], [0, 1, 0], [0.01, 0, -1]])
        points = self.points[self.points[:, 0] > 150]
        found = fit(points, apply(steep, points), "homography", 1e5)
        assert transfer_distance(found.matrix, points, apply(steep, points)).max() < 0.01
        assert np.isinf(apply(found.matrix, np.array([[50.0, 50]]))).all()
        assert in_front(found.matrix, (5, 400))[0, [0, 99, 101, 399]].tolist() == [False, False, True, True]
