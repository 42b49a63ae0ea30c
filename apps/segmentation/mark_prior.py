"""What few marks say about places: costs by location, trust in the colours, and initial labellings.

With s the share of the image that marks describe (`described_share`), and f = FEW / (FEW + s) * max(0, 1 - s / ENOUGH),

    trust       1 / (1 + CAUTION * f)    factor of all costs of a pixel, so that neighbours count more
    location    (1 + f) * g              g in [-1, 1]: the geodesic preference [1] of apps.segmentation.geodesic

Up to ENOUGH, the sides of the image are probably background.  Geodesic paths from the background start there too, with
an initial length that grows with s, and wherever the colours are rare along the sides, because an object may be
truncated.  A few dots describe the background hardly or not at all, so their location contains

    b * (1 - 2 depth + q),    b = BORDER / (BORDER + s),

unless b is below MIN_BORDER.  `depth` is the rank of a pixel by its minimum barrier distance from the background and
the sides [2], and q in [-1, 1] compares the barrier distances from the object's marks and from the background.

Colours of a few pixels are a poor first model, so the pixels that g assigns to either label serve as well.  For dots,
the pixels that q assigns and the marks alone are further initialisations, whose results
apps.segmentation.fit compares.

[1] Price, Morse, Cohen. "Geodesic graph cut for interactive image segmentation." CVPR 2010.
[2] Zhang et al. "Minimum barrier salient object detection at 80 FPS." ICCV 2015.
"""

from typing import NamedTuple

import numpy as np

from apps.common.figures import outline
from apps.segmentation.colour_models import COMPONENTS, TINY, fit_mixture
from apps.segmentation.geodesic import UNREACHED, barrier_distance, geodesic_preference, ranks_inside

FEW = 0.005  # share of the image at which half of the additional weight of the location is left
ENOUGH = 0.015  # share of the image from which marks describe the colours
USUAL_DEPTH = 0.0035  # mean distance of a marked pixel from the nearest other one, in sides of a square image
CAUTION = 0.75  # by how much the neighbours count more, for no mark at all
SIDE_SHARE = 0.001  # share of the image by which the initial length of paths from the sides grows by 1 Lab unit
BORDER = 0.0003  # share of the image at which half of the weight of the depth is left
MIN_BORDER = 0.05  # weight below which the depth is ignored; the share of the image is 0.6 % then
ONLY_BORDER = 0.25  # minimum weight of the depth without a mark of the background
CERTAIN = 0.3  # geodesic preference beyond which pixels serve the first of the initial models
RING = 4  # width in pixels of the ring around a box, or along the sides, whose colours are background
RARE_COLOUR_LENGTH = 5.0  # Lab units of path length per nat by which a colour is rarer in the ring than in the image


class MarkPrior(NamedTuple):
    """Costs by location, and initial labellings.

    trust      factor of all costs of a pixel, in (0, 1]
    location   nats, float32 (H, W), positive against the object
    initial    object and background, bool (H, W) each, in addition to the marks; may be empty
    alone      whether the marks alone are a further initialisation
    """

    trust: float
    location: np.ndarray
    initial: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    alone: bool = True


def mark_prior(view, is_object: np.ndarray, is_background: np.ndarray) -> MarkPrior:
    """Prior of an image with marks on an object, bool (H, W), and perhaps on the background.

    `view` is an ImageView.  Its paths have `scale` times the pixels of those in a reduced image, so the colours along
    them count as much more.  Time is linear in the pixels.
    """
    share = described_share(is_object, is_background)
    border = BORDER / (BORDER + share)
    if not is_background.any():
        border = max(border, ONLY_BORDER)
    elif share >= ENOUGH or not is_object.any():
        return MarkPrior(1.0, geodesic_preference(view.steps, is_object, is_background))
    few = FEW / (FEW + share) * max(0.0, 1 - share / ENOUGH)
    trust = 1 / (1 + CAUTION * few)
    sides = side_lengths(view, np.zeros(is_object.shape, bool))
    sides[is_object | is_background] = UNREACHED
    lengths = np.where(
        sides < UNREACHED, np.float32(view.scale) * (sides + np.float32(1 + share / SIDE_SHARE)), UNREACHED
    )
    geodesic = geodesic_preference(view.steps, is_object, is_background, lengths)
    location = np.float32(1 + few) * geodesic
    initial = [(geodesic < -CERTAIN, geodesic > CERTAIN)]
    if border >= MIN_BORDER:
        to_background = barrier_distance(view.lab, is_background, sides)
        to_object = barrier_distance(view.lab, is_object, np.full_like(sides, UNREACHED))
        compared = (to_object - to_background) / np.maximum(to_object + to_background, np.float32(1e-6))
        location += np.float32(border) * (1 - 2 * ranks_inside(to_background, is_background) + compared)
        initial += [(geodesic < 0, geodesic > 0), (compared < 0, compared > 0)]
    initial = [one for one in initial if one[0].any() and one[1].any()]
    return MarkPrior(trust, location, tuple(initial), not initial or bool(border >= MIN_BORDER))


def described_share(is_object: np.ndarray, is_background: np.ndarray) -> float:
    """The marked share of the image, as if no stroke was wider than usual once both sides are marked.

    The first stroke of a finger on the background covers as many pixels as ten of a pen, but tells as little of the
    other places of the image.
    """
    import cv2

    marked = is_object | is_background
    share = np.count_nonzero(marked) / marked.size
    if not (is_object.any() and is_background.any()):
        return share
    depth = cv2.distanceTransform(np.pad(marked, 1).astype(np.uint8), cv2.DIST_L2, 3)
    usual = max(1.0, USUAL_DEPTH * marked.size**0.5)
    return share * min(1.0, usual / float(depth[depth > 0].mean()))


def side_lengths(view, is_background: np.ndarray) -> np.ndarray:
    """Initial lengths of paths that start at the sides of the image, float32 (H, W); UNREACHED elsewhere.

    Pixels along a side are probably background if their colours are common in the ring around the pixels that are not
    `is_background`, bool (H, W), and otherwise part of a truncated object.
    """
    start = np.full(is_background.shape, UNREACHED, np.float32)
    frame = np.ones(is_background.shape, bool)
    frame[1:-1, 1:-1] = False
    frame &= ~is_background
    if not frame.any():
        return start
    wide = np.ones(is_background.shape, bool)
    wide[RING:-RING, RING:-RING] = False
    near = outline(~is_background, RING)
    ring = near | (wide & ~is_background)
    palette, whole = view.palette, view.whole
    common = fit_mixture(palette.colour, palette.counts(ring), COMPONENTS)
    rare = np.log(whole + TINY) - np.log(common.density(palette.colour) + TINY)
    start[frame] = RARE_COLOUR_LENGTH * np.maximum(rare, 0.0)[palette.index[frame]]
    return start
