"""Candidate pairs: for each point of the first frame, a few possible positions in the second.

    nearest_descriptors   the points of the second frame with the most similar descriptors
    proposals             the results of three trackers: Lucas-Kanade [1, 2] from zero motion; dense inverse search [3]
                          from the expected motion; Lucas-Kanade starting at the result of that search

To track from an expected motion, the second frame is first warped by it.  Only the remaining motion is tracked, and
rotated or scaled surfaces look as in the first frame.  Descriptor products are computed in blocks to limit memory.

[1] Lucas, Kanade. "An iterative image registration technique." IJCAI 1981.
[2] Bouguet. "Pyramidal implementation of the Lucas Kanade feature tracker." Intel, 2000.
[3] Kroeger et al. "Fast optical flow using dense inverse search." ECCV 2016.
"""

import cv2
import numpy as np

from apps.motion.points import sampled

MAX_PRODUCTS = 1 << 23  # entries of a block of descriptor products
TRACKERS = 3
PADDED_SIDE = 48  # pixels: OpenCV's DIS reads beyond its arrays on low, wide frames, so frames are padded to this
WINDOW = (15, 15)  # pixels, of Lucas-Kanade
LEVELS = 4
TERMINATION = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 20, 0.03)
MAX_REFINEMENT = 3.0  # pixels: a larger refinement is rejected


def nearest_descriptors(first: np.ndarray, second: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `count` nearest of second (m, D) for each of first (n, D): indices and distances (n, k), ascending.

    Descriptors, float32, have length 1 and are compared by Euclidean distance.
    """
    n, m = len(first), len(second)
    count = min(count, m)
    index, product = np.empty((n, count), np.int64), np.empty((n, count), np.float32)
    step = max(1, MAX_PRODUCTS // max(m, 1))
    for start in range(0, n if count else 0, step):
        part = slice(start, start + step)
        similarity = first[part] @ second.T
        rows = np.arange(len(similarity))
        for k in range(count):  # faster than sorting or partitioning for a few
            best = similarity.argmax(axis=1)
            index[part, k], product[part, k] = best, similarity[rows, best]
            similarity[rows, best] = -np.inf
    return index, np.sqrt(np.maximum(2 - 2 * product.astype(np.float64), 0))


def proposals(first: np.ndarray, second: np.ndarray, points: np.ndarray, expected: np.ndarray | None = None):
    """Track points (N, 2) of the first uint8 grey frame into the second, with TRACKERS trackers.

    Parameters
    ----------
    first, second : ndarray of uint8, (H, W)
    points : ndarray (N, 2)
    expected : ndarray (H, W, 2), optional
        Expected motion of every pixel; zero by default.

    Returns
    -------
    position : ndarray of float64, (N, TRACKERS, 2)
    found : ndarray of bool, (N, TRACKERS)
        False where a tracker failed or left the frame.
    """
    if not len(points):
        return np.zeros((0, TRACKERS, 2)), np.zeros((0, TRACKERS), bool)
    points32 = np.ascontiguousarray(points, np.float32).reshape(-1, 1, 2)
    from_rest, from_rest_found = _lucas_kanade(first, second, points32, None, LEVELS)
    warped_back = second if expected is None else _warped_back(second, expected)
    dense = points32 + _sampled(_inverse_search(first, warped_back), points32)
    fine, fine_found = _lucas_kanade(first, warped_back, points32, dense, 0)
    fine_found &= np.linalg.norm(fine - dense, axis=2).ravel() < MAX_REFINEMENT
    if expected is not None:
        dense, fine = dense + _sampled(expected, dense), fine + _sampled(expected, fine)
    position = np.concatenate([from_rest, dense, fine], axis=1).astype(np.float64)
    height, width = first.shape
    inside = ((position >= 0) & (position <= (width - 1, height - 1))).all(axis=2)
    return position, inside & np.stack([from_rest_found, np.ones(len(points), bool), fine_found], axis=1)


def _inverse_search(first, second):
    """Return the dense motion (H, W, 2) estimated by DIS."""
    height, width = first.shape
    search = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
    motion = search.calc(padded(first), padded(second), None)
    return np.ascontiguousarray(motion[:height, :width])


def padded(frame):
    """Pad a frame below and on the right to at least PADDED_SIDE pixels a side, repeating its border."""
    height, width = frame.shape[:2]
    below, right = max(0, PADDED_SIDE - height), max(0, PADDED_SIDE - width)
    return cv2.copyMakeBorder(frame, 0, below, 0, right, cv2.BORDER_REPLICATE) if below or right else frame


def _lucas_kanade(first, second, points, start, levels):
    flags = 0 if start is None else cv2.OPTFLOW_USE_INITIAL_FLOW
    start = None if start is None else start.copy()  # OpenCV overwrites it
    position, found, _ = cv2.calcOpticalFlowPyrLK(
        first, second, points, start, None, None, WINDOW, levels, TERMINATION, flags, minEigThreshold=1e-5
    )
    return position, found.ravel() > 0


def _warped_back(second, motion):
    """Warp the second frame by the expected motion of the first."""
    height, width = second.shape
    x = np.arange(width, dtype=np.float32) + motion[..., 0]
    y = np.arange(height, dtype=np.float32)[:, None] + motion[..., 1]
    return cv2.remap(second, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def _sampled(field, points):
    """Sample a field (H, W, 2) at points (N, 1, 2)."""
    return sampled(field, points[..., 0], points[..., 1])
