"""Estimate the disparity range of a pair from a few matched points.

SIFT points of both images are matched along rows, mutually and with the ratio test.  A match is supported if at least
MIN_SUPPORT of its NEIGHBOURS nearest matches have a similar disparity; wrong matches rarely do.  The range is
RANGE_FACTOR times the largest supported disparity, since the nearest surfaces often have no points.  With too few
matches the range is an eighth of the width.  Large images are halved first: SIFT takes 200 bytes per pixel.
"""

import numpy as np

from apps.common.images import InputError, to_bytes
from apps.stereo_matching.coarse_to_fine import halved

RATIO = 0.8  # Lowe's
MAX_ROW_OFFSET = 1.5  # pixels between the rows of a match
MIN_MATCHES = 20  # below this the default range is used
NEIGHBOURS, MIN_SUPPORT = 8, 3
MAX_DEVIATION = 2.0  # pixels between similar disparities
RANGE_FACTOR = 1.2
MIN_RANGE = 8  # pixels
MAX_PIXELS = 3_000_000  # larger images are halved


def guess_max_disparity(left: np.ndarray, right: np.ndarray) -> int:
    """Return the largest disparity to search, in pixels; images are float32 RGB in [0, 1], (H, W, 3).

    Raises InputError if most matches have a negative disparity, i.e. if the images are exchanged.
    """
    width = left.shape[1]
    if left.shape[0] * width > MAX_PIXELS:
        return min(width - 1, 2 * guess_max_disparity(halved(left), halved(right)))
    steps = supported(*_row_matches(left, right))
    if len(steps) < MIN_MATCHES:
        return min(width - 1, max(MIN_RANGE, round(width / 8)))
    if np.mean(steps < -1) > 0.8:
        raise InputError(
            "left and right appear to be swapped: matched points move to the right; exchange the two images"
        )
    return min(width - 1, max(MIN_RANGE, int(np.ceil(RANGE_FACTOR * steps.max() + 1))))


def supported(points: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return those of the disparities (n,) at points (n, 2) that are supported by nearby points."""
    from scipy.spatial import cKDTree

    if len(steps) <= NEIGHBOURS:
        return np.empty(0)
    nearest = cKDTree(points).query(points, NEIGHBOURS + 1)[1][:, 1:]
    return steps[(np.abs(steps[nearest] - steps[:, None]) <= MAX_DEVIATION).sum(axis=1) >= MIN_SUPPORT]


def _row_matches(left, right):
    """Return points (n, 2) of the left image matched within their rows of the right image, and disparities (n,)."""
    import cv2

    points, descriptors = [], []
    for rgb in (left, right):
        found, described = cv2.SIFT_create(2000).detectAndCompute(cv2.cvtColor(to_bytes(rgb), cv2.COLOR_RGB2GRAY), None)
        if described is None:
            return np.empty((0, 2)), np.empty(0)
        points.append(np.array([p.pt for p in found]))
        descriptors.append(described)
    squares = [(d**2).sum(axis=1) for d in descriptors]
    distance = squares[0][:, None] + squares[1][None] - 2 * descriptors[0] @ descriptors[1].T
    distance[np.abs(points[0][:, None, 1] - points[1][None, :, 1]) > MAX_ROW_OFFSET] = np.inf
    if min(distance.shape) < 2:
        return np.empty((0, 2)), np.empty(0)
    here = np.arange(len(distance))
    best = distance.argmin(axis=1)
    best_two = np.partition(distance, 1, axis=1)[:, :2]
    kept = (
        np.isfinite(best_two[:, 0])
        & (distance.argmin(axis=0)[best] == here)
        & ~(best_two[:, 0] > RATIO**2 * best_two[:, 1])
    )
    return points[0][kept], points[0][kept, 0] - points[1][best[kept], 0]
