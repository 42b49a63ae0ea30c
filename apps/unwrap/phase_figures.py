"""Figures of phases, wrapped and unwrapped, each above a scale bar in radians."""

import numpy as np

from apps.common.figures import side_by_side, with_scale
from apps.unwrap.phase_problem import CYCLE


def phase_figure(phase: np.ndarray) -> np.ndarray:
    """Draw a phase (H, W), or the middle slice of a volume (D, H, W), in colours; uint8 RGB, NaN grey.

    The scale is from its minimum to its maximum.
    """
    import cv2

    phase = middle_slice(phase)
    known = ~np.isnan(phase)
    low, high = float(np.nanmin(phase)), float(np.nanmax(phase))
    return with_scale(np.where(known, phase, low), high, cv2.COLORMAP_TURBO, known, "rad", low)


def both_figure(wrapped: np.ndarray, unwrapped: np.ndarray) -> np.ndarray:
    """Draw the wrapped phase in cyclic colours, next to the unwrapped one; uint8 RGB, NaN of the latter grey."""
    import cv2

    wrapped, unwrapped = middle_slice(wrapped), middle_slice(unwrapped)
    known = ~np.isnan(unwrapped)
    fraction = np.where(known, wrapped, 0) % CYCLE
    return side_by_side(with_scale(fraction, CYCLE, cv2.COLORMAP_TWILIGHT, known, "rad"), phase_figure(unwrapped))


def middle_slice(values: np.ndarray) -> np.ndarray:
    """An image (H, W) itself, or the middle slice of a volume (D, H, W)."""
    return values[len(values) // 2] if values.ndim == 3 else values
