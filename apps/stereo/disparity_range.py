"""How far apart the two pictures see things: the range of disparities, guessed from a few points.

SIFT points of both pictures are matched along rows, mutually and by the ratio test.  A match counts if FRIENDS of its
NEIGHBOURS nearest ones move alike, for a wrong one moves alone.  The range ends MARGIN beyond the largest disparity
among those, since points are seldom found on the very nearest things.  Too few matches leave the usual guess of an
eighth of the width.
"""

import numpy as np

from apps.common.images import InputError, to_bytes

RATIO = 0.8  # Lowe's
ROW = 1.5  # pixels that a match may be off its row
FEW = 20  # matches below this say nothing
NEIGHBOURS, FRIENDS = 8, 3
ALIKE = 2.0  # pixels
MARGIN = 1.2
LEAST = 8


def guess_max_disparity(left: np.ndarray, right: np.ndarray) -> int:
    """Largest disparity to look for, in pixels; pictures are float32 RGB in [0, 1], (H, W, 3).

    Raises InputError when the matches say that the pictures are the wrong way round.
    """
    width = left.shape[1]
    steps = supported(*_row_matches(left, right))
    if len(steps) < FEW:
        return min(width - 1, max(LEAST, round(width / 8)))
    if np.mean(steps < -1) > 0.8:
        raise InputError("left and right seem to be swapped: things move to the right; pass them the other way round")
    return min(width - 1, max(LEAST, int(np.ceil(MARGIN * steps.max() + 1))))


def supported(points: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Of disparities (n,) at points (n, 2), those that enough of the points nearby agree with."""
    from scipy.spatial import cKDTree

    if len(steps) <= NEIGHBOURS:
        return np.empty(0)
    near = cKDTree(points).query(points, NEIGHBOURS + 1)[1][:, 1:]
    return steps[(np.abs(steps[near] - steps[:, None]) <= ALIKE).sum(axis=1) >= FRIENDS]


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
    apart = squares[0][:, None] + squares[1][None] - 2 * descriptors[0] @ descriptors[1].T
    apart[np.abs(points[0][:, None, 1] - points[1][None, :, 1]) > ROW] = np.inf
    if min(apart.shape) < 2:
        return np.empty((0, 2)), np.empty(0)
    here = np.arange(len(apart))
    best = apart.argmin(axis=1)
    two = np.partition(apart, 1, axis=1)[:, :2]
    kept = np.isfinite(two[:, 0]) & (apart.argmin(axis=0)[best] == here) & ~(two[:, 0] > RATIO**2 * two[:, 1])
    return points[0][kept], points[0][kept, 0] - points[1][best[kept], 0]
