"""Interest points and their descriptors.

Points are arrays (N, 2) of float64, x and y in pixels.  OpenCV detects and describes them:

    sift      blobs of all scales, with RootSIFT descriptors [1, 2], which are distinctive within the whole image
    corners   many corners [3] spread over the frame, for tracking

[1] Lowe. "Distinctive image features from scale-invariant keypoints." IJCV 60(2), 2004.
[2] Arandjelovic, Zisserman. "Three things everyone should know to improve object retrieval." CVPR 2012.
[3] Shi, Tomasi. "Good features to track." CVPR 1994.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from apps.common.arguments import pixels_of
from apps.common.images import InputError, check_same_size
from gridcut.device.result import Result

MIN_SIDE = 16  # pixels, required by pyramids and windows
MIN_POINTS = 4
MIN_CONTRAST = 0.015  # of SIFT; OpenCV's 0.04 keeps a third of the points, with similar precision
SPACING = 4  # pixels between corners
MIN_STRENGTH = 1e-5  # of a corner, by cv2.cornerMinEigenVal; noise of a tenth of a grey level is below it
BORDER = 4  # pixels along the frame border without corners
STRENGTH_SIDE = 81  # pixels: side of the square over which strengths are averaged
MAX_REMAP_ROWS = 32000  # cv2.remap accepts fewer than 32768


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Points(Result):
    """N points and their descriptors.

    Attributes
    ----------
    xy : ndarray of float64, (N, 2)
    descriptors : ndarray, (N, D)
        float32 of length 1, to be compared by Euclidean distance.
    """

    xy: np.ndarray
    descriptors: np.ndarray

    def __len__(self) -> int:
        return len(self.xy)


def grey_frame(frame, name: str = "frame") -> np.ndarray:
    """Convert a uint8 frame, grey (H, W) or RGB (H, W, 3), to uint8 grey.

    Raises InputError for anything else, and for one grey level throughout.
    """
    frame = pixels_of(frame, name)
    if frame.ndim not in (2, 3) or (frame.ndim == 3 and frame.shape[2] != 3):
        raise InputError(f"{name} must be grey (H, W) or RGB (H, W, 3), got shape {frame.shape}")
    if frame.dtype != np.uint8:
        raise InputError(f"{name} must be uint8, got {frame.dtype}; scale it to 0 to 255")
    if min(frame.shape[:2]) < MIN_SIDE:
        height, width = frame.shape[:2]
        raise InputError(f"{name} is {width} x {height} pixels; pass at least {MIN_SIDE} x {MIN_SIDE}")
    grey = np.ascontiguousarray(frame) if frame.ndim == 2 else cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
    if grey.min() == grey.max():
        raise InputError(f"the {name} has no texture: one grey level throughout; pass one with content")
    return grey


def check_count(points, name: str) -> None:
    """Raise InputError for fewer points, of a frame of this name, than can be matched."""
    if len(points) < MIN_POINTS:
        raise InputError(f"the {name} has {len(points)} points, too few to match; pass one with more texture")


def grey_pair(first, second) -> tuple[np.ndarray, np.ndarray]:
    """Convert both frames to uint8 grey; raise InputError if their sizes differ."""
    first, second = grey_frame(first, "first frame"), grey_frame(second, "second frame")
    check_same_size(second, first.shape, "the second frame", "the first is")
    return first, second


def keypoints(grey: np.ndarray, budget: int = 3000, contrast: float = MIN_CONTRAST) -> Points:
    """Return the `budget` strongest SIFT points of a uint8 grey frame with RootSIFT descriptors."""
    found, descriptors = cv2.SIFT_create(nfeatures=budget, contrastThreshold=contrast).detectAndCompute(grey, None)
    xy = np.array([point.pt for point in found], np.float64).reshape(-1, 2)
    descriptors = np.zeros((0, 128), np.float32) if descriptors is None else descriptors
    descriptors = np.sqrt(descriptors / np.maximum(descriptors.sum(axis=1, keepdims=True), 1e-9))
    return Points(xy, descriptors)


def corners(
    grey: np.ndarray, budget: int = 3000, spacing: int = SPACING, taken: np.ndarray | None = None
) -> np.ndarray:
    """Return up to `budget` corners (N, 2) of a uint8 grey frame, best first.

    Corners are at least `spacing` pixels from each other and from the points `taken` (K, 2).  They are ranked by
    strength over the square root of the mean strength around them, so that they do not concentrate in the most
    textured part of the frame.
    """
    strength = cv2.cornerMinEigenVal(grey, 3)
    square = np.ones((2 * spacing - 1, 2 * spacing - 1), np.uint8)
    peak = (strength == cv2.dilate(strength, square)) & (strength > MIN_STRENGTH)
    peak[:BORDER] = peak[-BORDER:] = peak[:, :BORDER] = peak[:, -BORDER:] = False
    if taken is not None and len(taken):
        x, y = np.rint(taken).astype(int).T
        taken_mask = np.zeros(grey.shape, np.uint8)
        taken_mask[np.clip(y, 0, grey.shape[0] - 1), np.clip(x, 0, grey.shape[1] - 1)] = 1
        peak &= cv2.dilate(taken_mask, square) == 0
    y, x = np.nonzero(peak)
    mean_strength = cv2.blur(strength, (STRENGTH_SIDE, STRENGTH_SIDE))[y, x]
    rank = -strength[y, x] / np.sqrt(np.maximum(mean_strength, MIN_STRENGTH))
    order = np.lexsort((x, y, rank))[: max(budget, 0)]
    return np.stack([x[order], y[order]], axis=1).astype(np.float64)


def sampled(field: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Sample a float32 field (H, W) or (H, W, C) at x, y (N, K), bilinearly, repeating the border."""
    x, y = np.ascontiguousarray(x, np.float32), np.ascontiguousarray(y, np.float32)
    values = np.empty((*x.shape, *field.shape[2:]), np.float32)
    for start in range(0, len(x), MAX_REMAP_ROWS):
        part = slice(start, start + MAX_REMAP_ROWS)
        found = cv2.remap(field, x[part], y[part], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        values[part] = found.reshape(values[part].shape)
    return values


def patches(grey: np.ndarray, xy: np.ndarray, radius: int = 4, linear: np.ndarray | None = None) -> np.ndarray:
    """Return normalised patches around points (N, 2), float32 (N, (2 * radius + 1) ** 2), with mean 0 and length 1.

    Patches are sampled bilinearly.  `linear` (N, 2, 2) maps offsets from the centre, to compensate for rotation and
    scaling between two frames.  The dot product of two patches is their normalised cross-correlation.  A patch without
    contrast is 0.
    """
    steps = np.arange(-radius, radius + 1, dtype=np.float32)
    offset = np.stack([np.tile(steps, len(steps)), np.repeat(steps, len(steps))])
    if linear is None:
        x, y = xy[:, :1] + offset[0], xy[:, 1:] + offset[1]
    else:
        rotated = linear @ offset
        x, y = xy[:, :1] + rotated[:, 0], xy[:, 1:] + rotated[:, 1]
    values = sampled(grey.astype(np.float32), x, y)
    values -= values.mean(axis=1, keepdims=True)
    length = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.maximum(length, 1.0)
