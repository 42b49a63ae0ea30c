"""Match two images of one scene across a wide baseline: points, exact assignment, and a geometric model.

    points      SIFT points with RootSIFT descriptors
    first       matches by descriptors alone (`apps.point_matching.guided`)
    geometry    a homography or a fundamental matrix by MAGSAC [1]; rejected if its number of false alarms is high
    views       only with few inliers: points and first matches of simulated tilts (`apps.point_matching.views`)
    guided      matched again among pairs near the model, with the distance from it in the cost

Large images are reduced for matching, and the results are scaled back.

[1] Barath et al. "MAGSAC++, a fast, reliable and accurate robust estimator." CVPR 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import check_number
from apps.common.clock import Clock
from apps.common.images import InputError
from apps.motion.matches import Matches
from apps.motion.points import check_count, grey_frame
from apps.point_matching import INLIER_THRESHOLD, MODELS
from apps.point_matching.geometry import Geometry, epipolar_distance, fit_best, transfer_distance
from apps.point_matching.guided import first_matches, guided_by_lines, guided_by_plane, nearest_pairs
from apps.point_matching.views import image_points, tilted_points
from gridcut.device import DeviceName
from gridcut.device.result import Result

MAX_SIDE = 1600  # pixels; larger images are reduced to this side for matching
MAX_LOG10_NFA = -3.0  # maximum log10 of the number of false alarms
MIN_INLIERS = 16  # with fewer inliers, simulated views are matched as well
MIN_MATCHES = 10  # of a result


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WideMatches(Result):
    """Matches of two images and their geometry.

    Attributes
    ----------
    matches : Matches
        One-to-one, all within the inlier threshold of the geometry.
    residual : (N,) float64
        Distance of the second point from the mapped first point, or from the epipolar line, in pixels.
    model : {"homography", "fundamental"}
    matrix : (3, 3) float64
        Homography: maps (x, y, 1) of the first image to the second, up to scale.  Fundamental: second^T F first = 0.
    counts : dict
        Numbers of "points" of both images, "first" matches, "inliers" among those, and "matches".
    seconds : dict
        Seconds: "total", and "compile", those of compiling kernels.
    """

    matches: Matches
    residual: np.ndarray
    model: str
    matrix: np.ndarray
    counts: dict
    seconds: dict

    def to_pandas(self) -> Any:
        """The matches as a pandas.DataFrame, with their residuals; ImportError without pandas."""
        return self.matches.to_pandas().assign(residual=self.residual)


def match(
    first: ArrayLike,
    second: ArrayLike,
    *,
    model: str = MODELS[0],
    inlier_threshold: float = INLIER_THRESHOLD,
    device: DeviceName = "auto",
) -> WideMatches:
    """Match points of two images of one scene, and estimate their geometry.

    Parameters
    ----------
    first, second : (H, W) or (H, W, 3) uint8
        Grey or RGB images, of any sizes.
    model : {"auto", "homography", "fundamental"}
        "auto" selects a homography if it explains most inliers of the fundamental matrix, as for a planar scene or a
        rotating camera.
    inlier_threshold : float
        Maximum distance of a match from the model, in pixels; of the reduced image if a side is over MAX_SIDE pixels.
    device : {"auto", "cpu", "cuda"}
        Checked for availability; these sparse assignments are solved on the CPU on every device.

    Returns
    -------
    WideMatches

    Raises
    ------
    InputError
        If an image has no texture or too few points, or if too few matches are consistent with one model.
    """
    if model not in MODELS:
        raise InputError(f"model must be one of {', '.join(MODELS)}; got {model!r}")
    check_number(inlier_threshold, "inlier_threshold")
    if not 0 < inlier_threshold < np.inf:
        raise InputError(f"inlier_threshold must be above 0 pixels, got {inlier_threshold}")
    clock = Clock()
    full = grey_frame(first, "first image"), grey_frame(second, "second image")
    images, scales = zip(*(_reduced(grey) for grey in full), strict=True)
    points = image_points(images[0]), image_points(images[1])
    for detected, name in zip(points, ("first image", "second image"), strict=True):
        check_count(detected, name)
    pairs = nearest_pairs(*points)
    found = first_matches(*points, device, pairs)
    area = float(images[1].size)
    geometry = fit_best(found.first, found.second, model, area)
    if geometry is None or _is_chance(geometry) or geometry.inliers < MIN_INLIERS:
        tilted = tilted_points(images[0]), tilted_points(images[1])
        tilted_matches = first_matches(*tilted, device)
        tilted_geometry = fit_best(tilted_matches.first, tilted_matches.second, model, area)
        if _is_better(tilted_geometry, geometry):
            found, geometry = tilted_matches, tilted_geometry
    if geometry is None or _is_chance(geometry):
        inliers = 0 if geometry is None else geometry.inliers
        raise InputError(
            f"only {inliers} of {len(found)} matches are consistent with one geometry, no more than expected by "
            "chance; pass two images of the same scene"
        )
    inliers = geometry.inliers
    if geometry.model == "homography":
        matches, geometry = guided_by_plane(images, points, geometry, inlier_threshold, device)
    else:
        matches, geometry = guided_by_lines(points, pairs, found, geometry, inlier_threshold, area, device)
    if len(matches) < MIN_MATCHES:
        raise InputError(
            f"only {len(matches)} matches are within {inlier_threshold:g} pixels of the geometry; pass a larger inlier "
            "threshold, or two images of the same scene"
        )
    counts = {
        "points": [len(p) for p in points],
        "first": len(found),
        "inliers": inliers,
        "matches": len(matches),
    }
    matches, matrix = _scaled_back(matches, geometry, scales)
    measure = transfer_distance if geometry.model == "homography" else epipolar_distance
    residual = measure(matrix, matches.first, matches.second)
    return WideMatches(matches, residual, geometry.model, matrix, counts, clock.total())


def _is_chance(geometry: Geometry) -> bool:
    return geometry.log10_nfa > MAX_LOG10_NFA


def _is_better(new: Geometry | None, old: Geometry | None) -> bool:
    """Whether `new` is no chance and has more inliers than `old`."""
    if new is None or _is_chance(new):
        return False
    return old is None or _is_chance(old) or new.inliers > old.inliers


def _reduced(grey: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reduce an image to at most MAX_SIDE pixels a side; also return the width and height of its pixels."""
    height, width = grey.shape
    scale = max(height, width) / MAX_SIDE
    if scale <= 1:
        return grey, np.ones(2)
    size = max(1, round(width / scale)), max(1, round(height / scale))
    return cv2.resize(grey, size, interpolation=cv2.INTER_AREA), np.array([width / size[0], height / size[1]])


def _scaled_back(matches: Matches, geometry: Geometry, scales):
    """Convert matches and matrix of the reduced images to pixels of the given images."""
    # From pixels of the given image to those of the reduced one; pixel centres are integers in both.
    here, there = (np.array([[1 / sx, 0, 0.5 / sx - 0.5], [0, 1 / sy, 0.5 / sy - 0.5], [0, 0, 1]]) for sx, sy in scales)
    if geometry.model == "homography":
        matrix = np.linalg.inv(there) @ geometry.matrix @ here
    else:
        matrix = there.T @ geometry.matrix @ here
    return matches.scaled(*scales), matrix
