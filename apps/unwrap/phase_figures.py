"""Figures of phases, wrapped and unwrapped, each above a scale in radians."""

import cv2
import numpy as np

from apps.common.scales import coloured, side_by_side, with_scale
from apps.unwrap.phase_problem import CYCLE
from gridcut.device.figures import fullest_slice, plane


def phase_figure(phase: np.ndarray) -> np.ndarray:
    """Draw a phase (H, W), or the fullest slice of a volume (D, H, W), in colours from its minimum to its maximum.

    uint8 RGB of the size of the phase, NaN grey.
    """
    return coloured(*_parts(phase))


def both_figure(wrapped: np.ndarray, unwrapped: np.ndarray) -> np.ndarray:
    """Draw the wrapped phase in cyclic colours, next to the unwrapped one; uint8 RGB, NaN of the latter grey."""
    if unwrapped.ndim == 3:
        place = fullest_slice(unwrapped)
        wrapped, unwrapped = wrapped[place], unwrapped[place]
    values, low, high, colours, known = _parts(unwrapped)
    words = "", " rad"
    return side_by_side(
        with_scale(wrapped % CYCLE, 0, CYCLE, cv2.COLORMAP_TWILIGHT, known, words),
        with_scale(values, low, high, colours, known, words),
    )


def _parts(phase):
    """The arguments of `coloured` for a phase."""
    phase = plane(phase)
    return phase, float(np.nanmin(phase)), float(np.nanmax(phase)), cv2.COLORMAP_TURBO, ~np.isnan(phase)
