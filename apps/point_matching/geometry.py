"""Robust estimation of homographies and fundamental matrices: OpenCV's MAGSAC, and an a-contrario test.

Points are (N, 2) float64.  A homography maps points of the first image to the second; a fundamental matrix F satisfies
second^T F first = 0 for points (x, y, 1).

[1] Moisan, Stival. "A probabilistic criterion to detect rigid point matches between two images and estimate the
fundamental matrix." IJCV 57, 2004.
"""

from dataclasses import dataclass
from math import lgamma

import cv2
import numpy as np

from gridcut.device.result import Result

NOISE = 1.5  # pixels: localisation noise of SIFT points matched across viewpoints
REFIT_NOISE = 1.0  # the same for points found in the warped second image
MAX_TRIALS = 20000
CONFIDENCE = 0.9999
PLANE_SHARE = 0.9  # homography's share of the fundamental matrix's inliers from which it is chosen
NO_PLANE_SHARE = 0.6  # the same share, below which the fundamental matrix is chosen
MIN_INLIERS_FOR_SHARES = 60  # with fewer inliers, the model with the smaller NFA is chosen
DEPTH_SHARE = 0.67  # in between: share of off-plane matches near their epipolar lines above which there is depth
MINIMAL_SAMPLE = {"homography": 4, "fundamental": 7}  # matches that determine the model


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Geometry(Result):
    """A geometric model of the matches, and its inliers.

    Attributes
    ----------
    model : {"homography", "fundamental"}
    matrix : (3, 3) float64
    inliers : int
        Number of matches within twice the noise.
    log10_nfa : float
        Logarithm, base 10, of the number of false alarms: the expected number of models with as many inliers among
        as many uniformly random matches [1].
    """

    model: str
    matrix: np.ndarray
    inliers: int
    log10_nfa: float


def fit(first, second, model: str, area: float, refit: bool = False) -> Geometry | None:
    """Estimate a model robustly; return None if there is none.  `area` is that of the second image, in square pixels.

    With `refit` the noise is REFIT_NOISE, and a homography is refitted to its closest matches, because the depth of an
    almost planar scene would otherwise distort it.
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
    except cv2.error:  # coincident or collinear points
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
    """Estimate the named model; "auto" selects a homography, or a fundamental matrix if that explains more matches."""
    if model != "auto":
        return fit(first, second, model, area)
    plane, lines = (fit(first, second, kind, area) for kind in ("homography", "fundamental"))
    if plane is None or lines is None:
        return plane or lines
    if lines.inliers < MIN_INLIERS_FOR_SHARES:  # a few matches fit some fundamental matrix too easily
        return min(plane, lines, key=lambda found: found.log10_nfa)
    share = plane.inliers / lines.inliers
    if share >= PLANE_SHARE or share < NO_PLANE_SHARE:
        return plane if share >= PLANE_SHARE else lines
    # A fundamental matrix always explains some additional wrong matches.  In a scene with depth it explains most
    # matches off the plane; in a planar scene those are wrong, and few of them are near their epipolar lines.
    off_plane = transfer_distance(plane.matrix, first, second) >= 2 * NOISE
    explained = epipolar_distance(lines.matrix, first[off_plane], second[off_plane]) < 2 * NOISE
    return lines if explained.mean() > DEPTH_SHARE else plane


def log10_nfa(count: int, inliers: int, model: str, noise: float, area: float) -> float:
    """Return the log10 of the expected number of models with `inliers` of `count` uniformly random matches."""
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
    """Return the matrix with the sign that puts most points in front of the camera; None if it is singular."""
    matrix = matrix / np.linalg.norm(matrix)
    if not np.linalg.cond(matrix) < 1e10:
        return None
    depth = np.column_stack([first, np.ones(len(first))]) @ matrix[2]
    return matrix if np.median(depth) > 0 else -matrix


def _refitted(matrix, first, second) -> np.ndarray:
    """Repeat a least-squares fit to the matches within 1.5 pixels until that set does not change."""
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
    """Map points (N, 2) by a homography of `fit`, or its inverse; inf for points behind the camera."""
    mapped = np.column_stack([points, np.ones(len(points))]) @ matrix.T
    front = mapped[:, 2:] > 1e-12
    return np.where(front, mapped[:, :2] / np.where(front, mapped[:, 2:], 1), np.inf)


def in_front(matrix: np.ndarray, shape) -> np.ndarray:
    """Mark pixels of an image of this shape that a homography maps in front of the camera, (H, W) bool."""
    y, x = np.ogrid[: shape[0], : shape[1]]
    return matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2] > 1e-12


def transfer_distance(matrix, first, second) -> np.ndarray:
    """Return the distances between the mapped first points and the second points, in pixels, (N,)."""
    return np.linalg.norm(apply(matrix, first) - second, axis=1)


def epipolar_distance(matrix, first, second) -> np.ndarray:
    """Return the Sampson distances (first-order geometric errors) of pairs, in pixels, (N,)."""
    one = np.ones((len(first), 1))
    second_lines, first_lines = np.hstack([first, one]) @ matrix.T, np.hstack([second, one]) @ matrix
    off = (np.hstack([second, one]) * second_lines).sum(axis=1)
    slope = (second_lines[:, :2] ** 2).sum(axis=1) + (first_lines[:, :2] ** 2).sum(axis=1)
    return np.abs(off) / np.sqrt(np.maximum(slope, 1e-300))
