"""Figures of disparities (near is warm, far is cold) and of their error, each above a scale."""

import cv2
import numpy as np

from apps.common.figures import with_scale

COLOURS = cv2.COLORMAP_TURBO
MAX_ERROR = 4.0  # pixels: error at the end of the colour scale
SHARE = 0.5  # percent of the disparities at each end that are beyond the scale, so that outliers do not stretch it


def disparity_figure(disparity: np.ndarray, ends: tuple[float, float] | None = None) -> np.ndarray:
    """Draw disparities (H, W) in colours, above a scale; uint8 RGB, NaN grey.

    ends   of the scale in pixels, by default those of nearly all disparities
    """
    low, high = ends_of(disparity) if ends is None else ends
    return with_scale(disparity, low, high, COLOURS, np.isfinite(disparity), (" (far)", " px (near)"))


def ends_of(disparity: np.ndarray) -> tuple[float, float]:
    """The ends of the scale of disparities (H, W), NaN where unknown."""
    low, high = np.nanpercentile(disparity, (SHARE, 100 - SHARE))
    return float(low), float(high)


def error_figure(disparity: np.ndarray, truth: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Draw the absolute error in colours up to MAX_ERROR pixels, above a scale; uint8 RGB, unknown is grey."""
    return with_scale(np.abs(disparity - truth), 0, MAX_ERROR, cv2.COLORMAP_INFERNO, known)
