"""Figures of segmentations: the object outlined and the background dimmed, and the marks of the user."""

from collections.abc import Mapping

import numpy as np

from apps.common.images import to_bytes
from apps.segmentation.marks import BACKGROUND, OBJECT

OUTLINE_COLOUR = np.array([1.0, 0.85, 0.0], np.float32)
STROKE = {OBJECT: np.array([1.0, 0.1, 0.1], np.float32), BACKGROUND: np.array([0.2, 0.4, 1.0], np.float32)}
TINT = 0.3  # opacity of wide marks
DIMMED = 0.45  # brightness of the background
MIN_STROKE = 4  # pixels: half the least width above which marks are drawn as a tinted area


def overlay(rgb: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Image (H, W, 3), uint8 or in [0, 1], with the mask's background dimmed and its outline drawn; uint8 RGB."""
    import cv2

    rgb = to_bytes(rgb)
    shown = mixed(rgb, DIMMED / 2, DIMMED / 2)
    cv2.copyTo(rgb, mask.view(np.uint8), shown)
    shown[outline(mask, line_width(mask.shape))] = to_bytes(OUTLINE_COLOUR)
    return shown


def mixed(rgb: np.ndarray, colour: float, grey: float) -> np.ndarray:
    """The sum of shares of an image, uint8 (H, W, 3), and of the mean of its channels; uint8 RGB."""
    import cv2

    return cv2.transform(rgb, colour * np.eye(3) + grey / 3)


def line_width(shape: tuple[int, ...]) -> int:
    """Width in pixels of the outline in an overlay of this shape (H, W)."""
    return 1 + max(shape[:2]) // 1000


def outline(mask: np.ndarray, width: int = 1) -> np.ndarray:
    """Background pixels within `width` pixels of the mask, so that the line surrounds the object."""
    import cv2

    size = 2 * width + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    return (cv2.dilate(mask.astype(np.uint8), disc) > 0) & ~mask


def with_marks(rgb: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Image with the user's strokes painted over it, or the box's outline; uint8 RGB."""
    shown = rgb.copy()
    if (marks == OBJECT).any():
        for mark, colour in STROKE.items():
            shown[marks == mark] = colour
    else:
        shown[outline(marks != BACKGROUND, 1 + max(marks.shape) // 400)] = STROKE[OBJECT]
    return to_bytes(shown)


def strokes_figure(rgb: np.ndarray, marks: np.ndarray, colours: Mapping[int, np.ndarray] = STROKE) -> np.ndarray:
    """Image (H, W, 3), uint8 or in [0, 1], in dimmed grey, with the marks (H, W) in their colours; uint8 RGB.

    Far from what is not marked, as outside a box, the image is visible through the colours.
    """
    import cv2

    shown = mixed(to_bytes(rgb), 0, DIMMED)
    width = MIN_STROKE + max(marks.shape) // 60
    for mark, colour in colours.items():
        inside = (marks == mark).view(np.uint8)
        wide = cv2.distanceTransform(inside, cv2.DIST_L2, cv2.DIST_MASK_PRECISE) > width
        tinted = to_bytes(TINT * colour + (1 - TINT) / np.float32(255) * shown[wide])
        shown[inside > 0] = to_bytes(colour)
        shown[wide] = tinted
    return shown
