"""An RGBA cut-out: soft alpha on a narrow band of the mask's border, with the background's colour taken out.

Only pixels within BAND of the border can be mixed.  Outside the band the mask is right: alpha is 0 or 1.
Inside it the object's and the background's colours F, B are averages of the sure pixels nearby, and alpha is
the place of the pixel's colour I between them:

    I = alpha F + (1 - alpha) B      alpha = (I - B) . (F - B) / |F - B|^2, kept in [0, 1]

Where F and B hardly differ that says nothing, and alpha falls back to a smoothed mask; the two are blended by
how much F and B differ against MIN_COLOUR_DIFFERENCE.  Thin parts have no sure object pixels nearby: the band's own object
side then serves.
"""

import numpy as np

from apps.common.images import to_bytes

BAND = 2.0  # pixels on either side of the border
AVERAGING_SIGMA = 4.0  # standard deviation, in pixels, of the window that colours are averaged over
MIN_COLOUR_DIFFERENCE = 0.08  # difference of F and B, in [0, 1] RGB, below which colours say little


def cut_out(rgb: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """uint8 RGBA (H, W, 4) of the object; `rgb` float32 in [0, 1] (H, W, 3), `mask` bool (H, W)."""
    alpha, foreground = matte(rgb, mask)
    foreground = np.where(alpha[..., None] > 0, foreground, 0.0)
    return np.dstack([to_bytes(foreground), to_bytes(alpha)])


def matte(rgb: np.ndarray, mask: np.ndarray):
    """Alpha (H, W) and the object's colours (H, W, 3), float32 in [0, 1]."""
    import cv2

    if not mask.any() or mask.all():
        return mask.astype(np.float32), rgb
    inside = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 3)
    outside = cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 3)
    band = (inside <= BAND) & (outside <= BAND)
    sure_object = _average(rgb, mask & ~band, mask)
    sure_background = _average(rgb, ~mask & ~band, ~mask)
    axis = sure_object - sure_background
    square = (axis**2).sum(axis=2)
    from_colour = np.clip(((rgb - sure_background) * axis).sum(axis=2) / np.maximum(square, 1e-6), 0.0, 1.0)
    from_mask = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), BAND / 2)
    trust = square / (square + MIN_COLOUR_DIFFERENCE**2)
    alpha = np.where(band, trust * from_colour + (1 - trust) * from_mask, mask).astype(np.float32)
    # I = alpha F + (1 - alpha) B solved for F; the average where alpha is too small to divide by.
    solved = (rgb - (1 - alpha[..., None]) * sure_background) / np.maximum(alpha[..., None], 0.1)
    mixed = band & (alpha < 1)
    foreground = np.where(mixed[..., None], np.clip(solved, 0.0, 1.0), rgb)
    return alpha, foreground.astype(np.float32)


def _average(rgb, sure, likely):
    """Colours near each pixel averaged over the sure pixels, and faintly over the likely ones where none is
    sure.
    """
    import cv2

    weight = np.float32(1.0) * sure + np.float32(0.01) * likely + np.float32(1e-6)
    total = cv2.GaussianBlur(rgb * weight[..., None], (0, 0), AVERAGING_SIGMA)
    return total / cv2.GaussianBlur(weight, (0, 0), AVERAGING_SIGMA)[..., None]
