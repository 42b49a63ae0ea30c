"""Pictures of disparities: near is warm, far is cold, with the scale under them; and of their error."""

import numpy as np

from apps.common.figures import with_scale

MAX_ERROR = 4.0  # pixels of error in full colour


def disparity_figure(disparity: np.ndarray, max_disparity: float) -> np.ndarray:
    """Disparities (H, W) in colours from 0 to `most` pixels, uint8 RGB, with their scale."""
    import cv2

    return with_scale(disparity, max_disparity, cv2.COLORMAP_TURBO)


def error_figure(disparity: np.ndarray, truth: np.ndarray, known: np.ndarray) -> np.ndarray:
    """How far disparities are off, in colours up to MAX_ERROR pixels, uint8 RGB, with their scale; unknown is grey."""
    import cv2

    return with_scale(np.abs(disparity - truth), MAX_ERROR, cv2.COLORMAP_INFERNO, known)
