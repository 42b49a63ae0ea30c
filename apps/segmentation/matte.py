"""RGBA cut-outs: soft alpha in a narrow band along the mask's outline, with the background's colour removed.

Only pixels within BAND pixels of the outline can be mixed.  Outside the band alpha is 0 or 1, as in the mask.  Inside
it, the colours F of the object and B of the background are averages of nearby certain pixels, and alpha is the position
of the pixel's colour I between them:

    I = alpha F + (1 - alpha) B      alpha = (I - B) . (F - B) / |F - B|^2, kept in [0, 1]

If F and B are similar, this estimate is unreliable, and alpha falls back to a smoothed mask.  The two are blended by
the difference of F and B relative to MIN_COLOUR_DIFFERENCE.  Thin parts have no certain object pixels nearby; the
object side of the band is used instead.

Only the parts of an image along the outline are computed, on all threads: on a photograph of 24 megapixels they take a
fraction of the time and memory of the whole.
"""

from functools import partial

import numpy as np

from apps.common.images import as_floats, to_bytes
from apps.common.rectangles import absolute, bounds, relative, widened
from apps.common.row_blocks import in_parallel
from apps.segmentation.image_sizes import tiles_along

BAND = 2.0  # pixels on either side of the outline
AVERAGING_SIGMA = 4.0  # standard deviation of the averaging window for colours, in pixels
MIN_COLOUR_DIFFERENCE = 0.08  # difference of F and B, in RGB units of [0, 1], below which alpha relies on the mask
REACH = 20  # pixels within which the mask and the image can affect a pixel: the band and half the averaging window


def cut_out(rgb: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """uint8 RGBA (H, W, 4) of the object; `rgb` (H, W, 3) float32 in [0, 1] or uint8, `mask` bool (H, W)."""
    import cv2

    out = np.zeros((*mask.shape, 4), np.uint8)
    cv2.copyTo(cv2.cvtColor(to_bytes(rgb), cv2.COLOR_RGB2RGBA), mask.view(np.uint8), out)

    def soften(tile):
        around = widened(tile, REACH, mask.shape)
        box = bounds(_near_outline(mask[around])[relative(tile, around)])
        if box is not None:
            box = absolute(box, tile)
            wide = widened(box, REACH, mask.shape)
            alpha, foreground = (one[relative(box, wide)] for one in matte(as_floats(rgb[wide]), mask[wide]))
            out[box] = np.dstack([to_bytes(np.where(alpha[..., None] > 0, foreground, 0.0)), to_bytes(alpha)])

    in_parallel([partial(soften, tile) for tile in tiles_along(mask, REACH)])
    return out


def matte(rgb: np.ndarray, mask: np.ndarray):
    """Alpha (H, W) and the object's colours (H, W, 3), float32 in [0, 1]; both the object and the background exist."""
    import cv2

    band = _near_outline(mask)
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


def _near_outline(mask: np.ndarray) -> np.ndarray:
    """Pixels within BAND pixels of the outline of a mask, bool (H, W)."""
    import cv2

    inside = cv2.distanceTransform(mask.view(np.uint8), cv2.DIST_L2, 3)
    outside = cv2.distanceTransform((~mask).view(np.uint8), cv2.DIST_L2, 3)
    return (inside <= BAND) & (outside <= BAND)


def _average(rgb, sure, likely):
    """Colours averaged over nearby certain pixels, with a small weight for likely ones in case there are none."""
    import cv2

    weight = np.float32(1.0) * sure + np.float32(0.01) * likely + np.float32(1e-6)
    total = cv2.GaussianBlur(rgb * weight[..., None], (0, 0), AVERAGING_SIGMA)
    return total / cv2.GaussianBlur(weight, (0, 0), AVERAGING_SIGMA)[..., None]
