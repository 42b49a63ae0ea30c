"""A picture as it would look from elsewhere, and the points found in it: for matching across viewpoints.

    tilted_points      of a picture under tilts, squeezed along many directions, as a plane looks from aslant [1]
    seen_from_first    of the second of two pictures as the first camera would see it, given a homography [2]

Points are returned where they lie in the picture that was given.

[1] Yu, Morel. "ASIFT: an algorithm for fully affine invariant comparison." IPOL 1, 2011.
[2] Mishkin, Matas, Perdoch. "MODS: fast and robust method for two-view matching." CVIU 141, 2015.
"""

import cv2
import numpy as np

from apps.match.geometry import apply, in_front
from apps.motion.points import Points, keypoints

MAX_POINTS = 10000  # points of a picture
MIN_CONTRAST = 0.005  # of a point, low: assignment and geometry sort out the poor ones
TILTS = (1.0, 2.0, 4.0)
DIRECTION_STEP = 72.0  # degrees between two directions of squeezing, divided by the tilt
MAX_POINTS_PER_VIEW = 800  # points of each tilted view
EDGE_SIDE = 9  # pixels of the border of a bent picture that are no content


def image_points(grey: np.ndarray) -> Points:
    """SIFT points of a uint8 grey picture, many."""
    return keypoints(grey, MAX_POINTS, "sift", MIN_CONTRAST)


def tilted_points(grey: np.ndarray) -> Points:
    """Points of a picture and of its views under tilts, where they lie in the picture.

    A tilt t is a squeeze to 1 / t along one direction; there are the more directions the greater the tilt.
    """
    found = []
    for tilt in TILTS:
        for direction in np.arange(0, 180, DIRECTION_STEP / tilt) if tilt > 1 else [0]:
            found.append(_tilted(grey, tilt, float(direction)))
    parts = zip(*((p.xy, p.descriptors, p.size, p.angle) for p in found), strict=True)
    return Points(*(np.concatenate(part) for part in parts))


def _tilted(grey, tilt: float, direction: float) -> Points:
    height, width = grey.shape
    if tilt == 1:
        return keypoints(grey, MAX_POINTS_PER_VIEW, "sift", MIN_CONTRAST)
    angle = np.deg2rad(direction)
    linear = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]) @ linear.T
    affine = np.column_stack([linear, -corners.min(axis=0)])
    size = np.ceil(np.ptp(corners, axis=0)).astype(int) + 1
    rotated = cv2.warpAffine(grey, affine, size.tolist(), borderMode=cv2.BORDER_REPLICATE)
    blurred = cv2.GaussianBlur(rotated, (0, 0), sigmaX=0.8 * np.sqrt(tilt**2 - 1), sigmaY=0.01)
    view = cv2.resize(blurred, (max(16, round(size[0] / tilt)), int(size[1])), interpolation=cv2.INTER_LINEAR)
    points = keypoints(view, MAX_POINTS_PER_VIEW, "sift", MIN_CONTRAST)
    squeeze = size[0] / view.shape[1]
    flat = np.column_stack([(points.xy[:, 0] + 0.5) * squeeze - 0.5, points.xy[:, 1]])
    xy = (flat - affine[:, 2]) @ np.linalg.inv(linear).T
    inside = ((xy >= 3) & (xy <= (width - 4, height - 4))).all(axis=1)
    return Points(xy[inside], points.descriptors[inside], points.size[inside], points.angle[inside])


def seen_from_first(shape, other: np.ndarray, matrix: np.ndarray) -> Points:
    """Points of the second picture found in its view from the first, where they lie in the second."""
    height, width = shape
    back = np.linalg.inv(matrix)
    view = cv2.warpPerspective(other, back, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    content = cv2.warpPerspective(np.full(other.shape, 255, np.uint8), back, (width, height))
    content[~in_front(matrix, shape)] = 0
    content = cv2.erode(
        content, np.ones((EDGE_SIDE, EDGE_SIDE), np.uint8), borderValue=255
    )  # the edge of the picture is no content
    points = image_points(view)
    column, line = np.rint(points.xy).astype(int).T
    seen = content[np.clip(line, 0, height - 1), np.clip(column, 0, width - 1)] > 0
    xy = apply(matrix, points.xy[seen])
    return Points(xy, points.descriptors[seen], points.size[seen], points.angle[seen])
