"""Points of simulated views of an image, for matching across viewpoints.

    tilted_points      points under simulated tilts: the image compressed along many directions [1]
    seen_from_first    points of the second image, detected after warping it to the first view by a homography [2]

Points are returned in the coordinates of the given image.

[1] Yu, Morel. "ASIFT: an algorithm for fully affine invariant comparison." IPOL 1, 2011.
[2] Mishkin, Matas, Perdoch. "MODS: fast and robust method for two-view matching." CVIU 141, 2015.
"""

import cv2
import numpy as np

from apps.motion.points import Points, keypoints
from apps.point_matching.geometry import apply, in_front

MAX_POINTS = 10000  # per image
MIN_CONTRAST = 0.005  # of SIFT; low, because assignment and geometry reject poor points
TILTS = (1.0, 2.0, 4.0)
DIRECTION_STEP = 72.0  # degrees between two directions of compression; divided by the tilt
MAX_POINTS_PER_VIEW = 800  # of each tilted view
EDGE_SIDE = 9  # pixels: side of the erosion that excludes the border of a warped image


def image_points(grey: np.ndarray) -> Points:
    """Return up to MAX_POINTS SIFT points of a uint8 grey image."""
    return keypoints(grey, MAX_POINTS, MIN_CONTRAST)


def tilted_points(grey: np.ndarray) -> Points:
    """Return points of an image and of its tilted views, in the coordinates of the image.

    A tilt t compresses the image to 1 / t along one direction; larger tilts have more directions.
    """
    found = []
    for tilt in TILTS:
        for direction in np.arange(0, 180, DIRECTION_STEP / tilt) if tilt > 1 else [0]:
            found.append(_tilted(grey, tilt, float(direction)))
    parts = zip(*((p.xy, p.descriptors) for p in found), strict=True)
    return Points(*(np.concatenate(part) for part in parts))


def _tilted(grey, tilt: float, direction: float) -> Points:
    height, width = grey.shape
    if tilt == 1:
        return keypoints(grey, MAX_POINTS_PER_VIEW, MIN_CONTRAST)
    angle = np.deg2rad(direction)
    linear = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]) @ linear.T
    affine = np.column_stack([linear, -corners.min(axis=0)])
    size = np.ceil(np.ptp(corners, axis=0)).astype(int) + 1
    rotated = cv2.warpAffine(grey, affine, size.tolist(), borderMode=cv2.BORDER_REPLICATE)
    blurred = cv2.GaussianBlur(rotated, (0, 0), sigmaX=0.8 * np.sqrt(tilt**2 - 1), sigmaY=0.01)
    view = cv2.resize(blurred, (max(16, round(size[0] / tilt)), int(size[1])), interpolation=cv2.INTER_LINEAR)
    points = keypoints(view, MAX_POINTS_PER_VIEW, MIN_CONTRAST)
    squeeze = size[0] / view.shape[1]
    flat = np.column_stack([(points.xy[:, 0] + 0.5) * squeeze - 0.5, points.xy[:, 1]])
    xy = (flat - affine[:, 2]) @ np.linalg.inv(linear).T
    inside = ((xy >= 3) & (xy <= (width - 4, height - 4))).all(axis=1)
    return Points(xy[inside], points.descriptors[inside])


def seen_from_first(shape, other: np.ndarray, matrix: np.ndarray) -> Points:
    """Return points of the second image detected in its warp to the first view, in coordinates of the second."""
    height, width = shape
    back = np.linalg.inv(matrix)
    view = cv2.warpPerspective(other, back, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    content = cv2.warpPerspective(np.full(other.shape, 255, np.uint8), back, (width, height))
    content[~in_front(matrix, shape)] = 0
    # Exclude points at the image border.
    content = cv2.erode(content, np.ones((EDGE_SIDE, EDGE_SIDE), np.uint8), borderValue=255)
    points = image_points(view)
    column, line = np.rint(points.xy).astype(int).T
    seen = content[np.clip(line, 0, height - 1), np.clip(column, 0, width - 1)] > 0
    xy = apply(matrix, points.xy[seen])
    return Points(xy, points.descriptors[seen])
