"""Constants of the energy of apps.segmentation.segmentation, and the weights of its edges."""

from functools import partial

import numpy as np

from apps.common.row_blocks import BLOCK_PIXELS, ONE_BLOCK_PIXELS, in_parallel

REDUCED_PIXELS = 250_000  # of the images that the constants were chosen for; larger ones are reduced to them
SMOOTHNESS = 20.0  # weight of an edge of length 1 between equal colours, in nats
BOX_SMOOTHNESS = 50.0  # a box provides less information about colours, so the cut relies more on image edges
CONTRAST = 0.7  # weight of an edge: exp(-CONTRAST * squared step / mean squared step)
BLUR = 2.0  # reduced pixels: standard deviation of the blurred image, whose steps count as much as others in a box
MIN_WIDE_STEP = 1e-3  # least mean squared step of the blurred image over that of the image; white noise has about this
GEODESIC_WEIGHT = 1.0  # nats: maximum cost from the geodesic distances to the strokes
STROKE_SHARE = 1.0  # weight of the strokes relative to the whole labelling when models are refitted
UNIT = 256
FORBIDDEN = 1 << 20  # exceeds the total weight of all edges of a pixel


def blend(labelled, strokes):
    """Counts of a labelling plus those of strokes, whose total weight is STROKE_SHARE of the labelling's."""
    total = strokes.sum()
    return labelled + strokes * (STROKE_SHARE * labelled.sum() / total) if total else labelled


def with_wide_steps(lab, blur):
    """Six channels whose squared step is the mean of that of an image and of its blurred copy, each over its mean.

    Texture disappears in the blurred copy; soft outlines keep their steps.  The mean squared step remains that of `lab`
    unless the steps of the blurred copy are mere rounding errors.
    """
    import cv2

    wide = cv2.GaussianBlur(lab, (0, 0), blur)
    mean = mean_squared_step(lab)
    gain = (mean / max(mean_squared_step(wide), MIN_WIDE_STEP * mean)) ** 0.5
    return np.concatenate((lab, np.float32(gain) * wide), axis=2) * np.float32(0.5**0.5)


def mean_squared_step(lab):
    """Mean squared difference of neighbours on every second line; 1 for a constant image."""
    height, width = lab.shape[:2]
    rows = height if height * width <= ONE_BLOCK_PIXELS else 2 * max(1, BLOCK_PIXELS // (2 * width))

    def of_rows(first):
        block = lab[first : first + rows + 1]
        across, down = block[:rows:2, 1:] - block[:rows:2, :-1], block[1:, ::2] - block[:-1, ::2]
        return float(np.vdot(across, across)) + float(np.vdot(down, down)), across.size + down.size

    totals, sizes = zip(*in_parallel([partial(of_rows, first) for first in range(0, height, rows)]), strict=True)
    total, edges = sum(totals), sum(sizes) / lab.shape[2]
    return total / edges if total > 0 else 1.0
