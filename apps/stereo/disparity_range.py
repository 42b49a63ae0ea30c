"""How far apart the two pictures see things: the range of disparities, guessed from a few points.

SIFT points of both pictures are matched along rows, mutually and by the ratio test.  A match counts if MIN_SUPPORT of its
NEIGHBOURS nearest ones move alike, for a wrong one moves alone.  The range ends RANGE_FACTOR beyond the largest disparity
among those, since points are seldom found on the very nearest things.  Too few matches leave the usual guess of an
eighth of the width.
"""

import numpy as np

from apps.common.images import InputError, to_bytes

RATIO = 0.8  # Lowe's
MAX_ROW_OFFSET = 1.5  # pixels that a match may be off its row
MIN_MATCHES = 20  # matches below this say nothing
NEIGHBOURS, MIN_SUPPORT = 8, 3
MAX_DEVIATION = 2.0  # pixels
RANGE_FACTOR = 1.2
MIN_RANGE = 8


def guess_max_disparity(left: np.ndarray, right: np.ndarray) -> int:
    """Largest disparity to look for, in pixels; pictures are float32 RGB in [0, 1], (H, W, 3).

    Raises InputError when the matches say that the pictures are the wrong way round.
    """
    width = left.shape[1]
    steps = supported(*_row_matches(left, right))
    if len(steps) < MIN_MATCHES:
        return min(width - 1, max(MIN_RANGE, round(width / 8)))
    if np.mean(steps < -1) > 0.8:
        raise InputError("left and right seem to be swapped: things move to the right; pass them the other way round")
    return min(width - 1, max(MIN_RANGE, int(np.ceil(RANGE_FACTOR * steps.max() + 1))))


def supported(points: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Of disparities (n,) at points (n, 2), those that enough of the points nearby agree with."""
    from scipy.spatial import cKDTree

    if len(steps) <= NEIGHBOURS:
        return np.empty(0)
    nearest = cKDTree(points).query(points, NEIGHBOURS + 1)[1][:, 1:]
    return steps[(np.abs(steps[nearest] - steps[:, None]) <= MAX_DEVIATION).sum(axis=1) >= MIN_SUPPORT]


def _row_matches(left, right):
    """Points of the left picture (n, 2) that match one in the same row of the right, and their disparities (n,)."""
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
