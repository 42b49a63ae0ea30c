"""Where points of one frame go in the next, by what the frames show: pyramidal Lucas-Kanade [1], there and back.

Meant as a prediction for linking: `Follower` is called once a frame with the points expected in the frame before.

[1] Bouguet. "Pyramidal implementation of the Lucas Kanade feature tracker." Intel, 2000.
"""

import cv2
import numpy as np

from apps.common.images import to_bytes
from apps.motion.points import patches
from apps.track.detect import to_grey

LUCAS_KANADE = {"winSize": (15, 15), "maxLevel": 4, "minEigThreshold": 1e-5}
RETURN_TOLERANCE = 1.0  # pixels that following a point back may miss it by
MIN_CORRELATION = 0.7  # correlation of a point's surroundings before and after
MAX_DEVIATION = 5.0  # pixels, and half of their motion, that a point may move otherwise than its neighbours
NEIGHBOURS = 8  # whose median motion a point takes that cannot be followed


class Follower:
    """Moves points along with a sequence of frames; called with each frame's number, rising, and (n, 2) points."""

    def __init__(self, sequence):
        self.frames = enumerate(sequence)
        self.number, self.grey = -1, None

    def __call__(self, number: int, points: np.ndarray) -> np.ndarray:
        """The points, of the frame this was last called for, where they lie in frame `number`; frames between are
        followed through as well.
        """
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
    # Most often covered by something: where its neighbours go it may show again.
    return np.where((~good | deviates)[:, None], points + neighbour_motion, position)
