"""Figures of disparities (near is warm, far is cold) and of their error, each above a scale bar."""

import numpy as np

from apps.common.figures import with_scale

MAX_ERROR = 4.0  # pixels: error at the end of the colour scale


def disparity_figure(disparity: np.ndarray, max_disparity: float) -> np.ndarray:
    """Draw disparities (H, W) in colours from 0 to `max_disparity` pixels, above a scale bar; uint8 RGB."""
    import cv2

    return with_scale(disparity, max_disparity, cv2.COLORMAP_TURBO)


def error_figure(disparity: np.ndarray, truth: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Draw the absolute error in colours up to MAX_ERROR pixels, above a scale bar; uint8 RGB, unknown is grey."""
    import cv2

    return with_scale(np.abs(disparity - truth), MAX_ERROR, cv2.COLORMAP_INFERNO, known)
