"""Pictures of a segmentation: the object in its colours, the rest dimmed, the border drawn."""

import numpy as np

from apps.images import to_bytes
from apps.strokes import BACKGROUND, OBJECT

BORDER = np.array([1.0, 0.85, 0.0], np.float32)
STROKE = {OBJECT: np.array([1.0, 0.1, 0.1], np.float32), BACKGROUND: np.array([0.2, 0.4, 1.0], np.float32)}
DIMMED = 0.45  # brightness left to the background


def overlay(rgb: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Picture (H, W, 3) in [0, 1], all but the mask (H, W) dimmed, its border drawn; uint8 RGB."""
    shown = rgb.copy()
    grey = rgb.mean(axis=2, keepdims=True)
    shown[~mask] = (DIMMED * (0.5 * rgb + 0.5 * grey))[~mask]
    shown[border(mask, 1 + max(mask.shape) // 1000)] = BORDER
    return to_bytes(shown)


def border(mask: np.ndarray, width: int = 1) -> np.ndarray:
    """Background within `width` of the mask: the border is drawn round the object, not over it."""
    import cv2

    size = 2 * width + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    return (cv2.dilate(mask.astype(np.uint8), disc) > 0) & ~mask


def with_marks(rgb: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Picture with the user's strokes painted over it, or the box's outline; uint8 RGB."""
    shown = rgb.copy()
    if (marks == OBJECT).any():
        for mark, colour in STROKE.items():
            shown[marks == mark] = colour
    else:
        shown[border(marks != BACKGROUND, 1 + max(marks.shape) // 400)] = STROKE[OBJECT]
    return to_bytes(shown)


def side_by_side(*pictures: np.ndarray) -> np.ndarray:
    """uint8 RGB pictures of one height next to each other, a thin white line between them."""
    line = np.full((pictures[0].shape[0], 4, 3), 255, np.uint8)
    row = [part for picture in pictures for part in (line, picture)]
    return np.concatenate(row[1:], axis=1)
