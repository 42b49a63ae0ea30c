"""Homography and fundamental matrix of matches, wrong ones among them: OpenCV's MAGSAC, then a careful fit.

Points are (N, 2) float64.  A homography maps the first picture's points to the second's; a fundamental matrix F
gives second^T F first = 0 for points (x, y, 1).

[1] Moisan, Stival. "A probabilistic criterion to detect rigid point matches between two images and estimate the
fundamental matrix." IJCV 57, 2004.
"""

from dataclasses import dataclass
from math import lgamma

import cv2
import numpy as np

NOISE = 1.5  # pixels, of SIFT points matched across viewpoints
REFIT_NOISE = 1.0  # the same once both are seen from one place
MAX_TRIALS = 20000
CONFIDENCE = 0.9999
PLANE_SHARE = 0.9  # share of a fundamental matrix's matches that a homography explains where it will do
NO_PLANE_SHARE = 0.6  # and below which it will not
MIN_INLIERS_FOR_SHARES = 60  # matches from which shares tell more than chance does
DEPTH_SHARE = 0.67  # share of the matches off the plane that then tell depth from wrong matches
MINIMAL_SAMPLE = {"homography": 4, "fundamental": 7}  # matches that any such matrix can be made to obey


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """What most matches agree on.

    Attributes
    ----------
    model : {"homography", "fundamental"}
    matrix : (3, 3) float64
    inliers : int
        Matches within twice the noise.
    log10_nfa : float
        Logarithm, base 10, of how many such agreements are to be expected among as many matches strewn at random [1].
    """

    model: str
    matrix: np.ndarray
    inliers: int
    log10_nfa: float


def fit(first, second, model: str, area: float, refit: bool = False) -> Geometry | None:
    """The geometry most matches agree on; None if there is none.  `area` of the second picture in square pixels.

    `careful`: points are of finer noise, and a homography is fitted again to what is nearest, since a scene of nearly
    one plane would else bend it.
    """
    if len(first) <= MINIMAL_SAMPLE[model]:
        return None
    noise = REFIT_NOISE if refit else NOISE
    setting = dict(ransacReprojThreshold=noise, confidence=CONFIDENCE, maxIters=MAX_TRIALS)
    try:
        if model == "homography":
            matrix, _ = cv2.findHomography(first, second, cv2.USAC_MAGSAC, **setting)
        else:
            matrix, _ = cv2.findFundamentalMat(first, second, cv2.USAC_MAGSAC, **setting)
    except cv2.error:  # points of one place, or on one line
        return None
    if matrix is None or matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        return None
    if model == "homography":
        matrix = _oriented(_refitted(matrix, first, second) if refit else matrix, first)
        if matrix is None:
            return None
    measure = transfer_distance if model == "homography" else epipolar_distance
    inliers = int((measure(matrix, first, second) < 2 * noise).sum())
    return Geometry(model, matrix, inliers, log10_nfa(len(first), inliers, model, 2 * noise, area))


def fit_best(first, second, model: str, area: float) -> Geometry | None:
    """The geometry of the model named; with "auto" a homography, or a fundamental matrix where that explains more."""
    if model != "auto":
        return fit(first, second, model, area)
    plane, lines = (fit(first, second, kind, area) for kind in ("homography", "fundamental"))
    if plane is None or lines is None:
        return plane or lines
    if lines.inliers < MIN_INLIERS_FOR_SHARES:  # so few obey some fundamental matrix too easily
        return min(plane, lines, key=lambda found: found.log10_nfa)
    share = plane.inliers / lines.inliers
    if share >= PLANE_SHARE or share < NO_PLANE_SHARE:
        return plane if share >= PLANE_SHARE else lines
    # A fundamental matrix always explains some wrong matches more.  Where there is depth it explains most of what the
    # plane leaves; where there is none, what is left is wrong, and agrees with neither.
    off_plane = transfer_distance(plane.matrix, first, second) >= 2 * NOISE
    explained = epipolar_distance(lines.matrix, first[off_plane], second[off_plane]) < 2 * NOISE
    return lines if explained.mean() > DEPTH_SHARE else plane


def log10_nfa(count: int, inliers: int, model: str, noise: float, area: float) -> float:
    """Expected number, as log10, of geometries that `inliers` of `count` matches strewn at random obey."""
    sample = MINIMAL_SAMPLE[model]
    if inliers <= sample:
        return np.inf
    if model == "homography":
        share = np.pi * noise**2 / area
    else:
        share = 2 * noise * np.sqrt(2 * area) / area  # a strip along a diagonal
    choices = _log_choose(count, inliers) + _log_choose(inliers, sample) + np.log10(count - sample)
    return choices + (inliers - sample) * np.log10(min(share, 1.0))


def _log_choose(n: int, k: int) -> float:
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / np.log(10)


def _oriented(matrix, first) -> np.ndarray | None:
    """The matrix with the sign that puts most points in front of the camera; None for one that is singular."""
    matrix = matrix / np.linalg.norm(matrix)
    if not np.linalg.cond(matrix) < 1e10:
        return None
    depth = np.column_stack([first, np.ones(len(first))]) @ matrix[2]
    return matrix if np.median(depth) > 0 else -matrix


def _refitted(matrix, first, second) -> np.ndarray:
    """Least squares over what is within 1.5 pixels, until that is the same set."""
    previous = None
    for _ in range(10):
        is_inlier = transfer_distance(matrix, first, second) < 1.5 * REFIT_NOISE
        if is_inlier.sum() < 8 or (previous is not None and (is_inlier == previous).all()):
            break
        refined, _ = cv2.findHomography(first[is_inlier], second[is_inlier], 0)
        if refined is None:
            break
        matrix, previous = refined, is_inlier
    return matrix


def apply(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points (N, 2) mapped by a homography of `fit`, or its inverse; inf for those behind the camera."""
    mapped = np.column_stack([points, np.ones(len(points))]) @ matrix.T
    front = mapped[:, 2:] > 1e-12
    return np.where(front, mapped[:, :2] / np.where(front, mapped[:, 2:], 1), np.inf)


def in_front(matrix: np.ndarray, shape) -> np.ndarray:
    """Pixels of a picture of this shape that a homography maps in front of the camera, (H, W) bool."""
    y, x = np.ogrid[: shape[0], : shape[1]]
    return matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2] > 1e-12


def transfer_distance(matrix, first, second) -> np.ndarray:
    """Pixels between where a homography puts the first points and the second ones, (N,)."""
    return np.linalg.norm(apply(matrix, first) - second, axis=1)


def epipolar_distance(matrix, first, second) -> np.ndarray:
    """Distance of pairs from obeying a fundamental matrix, in pixels, to first order (Sampson's), (N,)."""
    one = np.ones((len(first), 1))
    second_lines, first_lines = np.hstack([first, one]) @ matrix.T, np.hstack([second, one]) @ matrix
    off = (np.hstack([second, one]) * second_lines).sum(axis=1)
    slope = (second_lines[:, :2] ** 2).sum(axis=1) + (first_lines[:, :2] ** 2).sum(axis=1)
    return np.abs(off) / np.sqrt(np.maximum(slope, 1e-300))
