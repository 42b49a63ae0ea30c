"""Predict track positions from the images: pyramidal Lucas-Kanade [1] with a forward-backward check.

`Follower` is called once per frame with the points predicted in the previous frame.

[1] Bouguet. "Pyramidal implementation of the Lucas Kanade feature tracker." Intel, 2000.
"""

import cv2
import numpy as np

from apps.common.images import to_bytes
from apps.motion.points import patches
from apps.tracking.detect import to_grey

LUCAS_KANADE = {"winSize": (15, 15), "maxLevel": 4, "minEigThreshold": 1e-5}
RETURN_TOLERANCE = 1.0  # pixels: maximum forward-backward error
MIN_CORRELATION = 0.7  # of the patches around a point before and after
MAX_DEVIATION = 5.0  # pixels, plus half of the neighbours' motion
NEIGHBOURS = 8  # whose median motion replaces that of a lost point


class Follower:
    """Moves points with a sequence of frames; called with increasing frame numbers and points (n, 2)."""

    def __init__(self, sequence):
        self.frames = enumerate(sequence)
        self.number, self.grey = -1, None

    def __call__(self, number: int, points: np.ndarray) -> np.ndarray:
        """Track points of the frame of the previous call to frame `number`, through all frames in between."""
        while self.number < number:
            try:
                self.number, frame = next(self.frames)
            except StopIteration:
                return points
            grey = to_bytes(to_grey(frame))
            if self.grey is not None and len(points):
                points = _moved(self.grey, grey, points)
            self.grey = grey
        return points


def _moved(first, second, points) -> np.ndarray:
    from scipy.spatial import cKDTree

    start = points.astype(np.float32).reshape(-1, 1, 2)
    forward, seen, _ = cv2.calcOpticalFlowPyrLK(first, second, start, None, **LUCAS_KANADE)
    back, seen_back, _ = cv2.calcOpticalFlowPyrLK(second, first, forward, None, **LUCAS_KANADE)
    position = forward.reshape(-1, 2).astype(np.float64)
    good = (
        (seen.ravel() > 0)
        & (seen_back.ravel() > 0)
        & (np.linalg.norm((back - start).reshape(-1, 2), axis=1) < RETURN_TOLERANCE)
    )
    good[good] = (patches(first, points[good]) * patches(second, position[good])).sum(axis=1) > MIN_CORRELATION
    if not good.any():
        return points
    motion = (position - points)[good]
    count = min(NEIGHBOURS, len(motion))
    nearest = cKDTree(points[good]).query(points, count)[1].reshape(-1, count)
    neighbour_motion = np.median(motion[nearest], axis=1)
    deviates = np.linalg.norm(position - points - neighbour_motion, axis=1) > MAX_DEVIATION + 0.5 * np.linalg.norm(
        neighbour_motion, axis=1
    )
    # A lost point is usually occluded and may reappear where its neighbours move.
    return np.where((~good | deviates)[:, None], points + neighbour_motion, position)
