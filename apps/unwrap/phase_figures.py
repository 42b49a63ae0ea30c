"""Figures of phases, wrapped and unwrapped, each above a scale bar in radians."""

import numpy as np

from apps.common.figures import side_by_side, with_scale

CYCLE = 2 * np.pi


def phase_figure(phase: np.ndarray) -> np.ndarray:
    """Draw a phase (H, W) in colours from its minimum, which is 0 of the scale, to its maximum; uint8 RGB, NaN grey."""
    import cv2

    known = ~np.isnan(phase)
    above = np.where(known, phase - np.nanmin(phase), 0)
    return with_scale(above, max(float(above.max()), 1e-6), cv2.COLORMAP_TURBO, known, "rad")


def both_figure(wrapped: np.ndarray, unwrapped: np.ndarray) -> np.ndarray:
    """Draw the wrapped phase in cyclic colours, next to the unwrapped one; uint8 RGB, NaN of the latter grey."""
    import cv2

    known = ~np.isnan(unwrapped)
    fraction = np.where(known, wrapped, 0) % CYCLE
    return side_by_side(with_scale(fraction, CYCLE, cv2.COLORMAP_TWILIGHT, known, "rad"), phase_figure(unwrapped))
