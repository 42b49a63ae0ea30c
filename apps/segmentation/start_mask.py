"""A mask to start from: converted to costs and colours.

A rough mask, bool, may come from another program, a person or an earlier run.  It is wrong mainly along its outline, so
its weight grows with the distance from the outline: with d the signed distance (positive inside the mask) and

    band = max(MIN_BAND, BAND_SHARE * sqrt(area of the mask)),

the cost against the label of the mask is START_WEIGHT * min(1, |d| / band) nats.  Pixels beyond the band count as
strokes for the geodesic distances (see apps.segmentation.geodesic), which divide the band along the edges of the image.
The  colour models are first fitted outside of CORE * band around the outline.  A median filter removes single wrong
pixels first.

A soft mask, uint8, is 255 times the probability of the object, as networks find it at a low resolution: its outline is
blurred as far as it may be off.  It is refined first (apps.segmentation.soft_start), and then holds.

Strokes are constraints, the mask is not.  Near a stroke that contradicts the mask, d is multiplied by a factor that
grows from 0 at the stroke to 1 at a distance of DISTRUST * band; a soft mask holds only where this factor is 1.
"""

from typing import NamedTuple

import numpy as np

from apps.segmentation.marks import BACKGROUND, OBJECT, is_inside
from apps.segmentation.masks import SoftMask, soft_masks_of
from apps.segmentation.soft_start import HELD, outline_distance, refined

BAND_SHARE = 0.1  # of the square root of the mask's area
MIN_BAND = 3.0  # pixels
START_WEIGHT = 2.0  # nats; colours and neighbours can override it everywhere
CORE = 0.5  # bands on either side of the outline that the first colour models omit
SEEDS = 1.0  # bands on either side of the outline beyond which pixels count for the geodesic distances
DISTRUST = 4.0  # bands around a stroke that contradicts the mask
MEDIAN = 5  # pixels: side of the median filter


class MaskPrior(NamedTuple):
    """What a mask says about an object (H, W).

    mask    the object, bool (H, W)
    costs   nats against the label object, float32 (H, W)
    seeds   object and background that count as marks for the geodesic distances, bool (H, W) each
    cores   object and background to which the first colour models are fitted, bool (H, W) each
    held    pixels whose costs alone decide, bool (H, W), or False
    """

    mask: np.ndarray
    costs: np.ndarray
    seeds: tuple[np.ndarray, np.ndarray]
    cores: tuple[np.ndarray, np.ndarray]
    held: np.ndarray | bool = False


def start_of(mask: np.ndarray, marks: np.ndarray, view) -> MaskPrior:
    """What a mask (H, W) says, also one of the labels of several objects.

    marks   of background and object, (H, W)
    view    an ImageView
    """
    is_soft = mask.dtype == np.uint8
    mask = refined_mask(mask, view) if is_soft else is_inside(mask)
    depth = outline_depth(mask)
    cores = cores_of(depth, CORE)
    trust = _trust(depth, marks, band_of(mask), is_soft)
    depth = depth * trust
    costs, held = costs_of(depth), is_soft & (trust >= 1)
    return MaskPrior(mask, np.where(held, np.where(mask, -HELD, HELD), costs), cores_of(depth, SEEDS), cores, held)


def refined_mask(levels: np.ndarray, view) -> np.ndarray:
    """A soft mask (H, W) of an image, refined; bool (H, W)."""
    soft = soft_masks_of(levels, "levels", "start")
    mask = SoftMask(soft.preference(0), soft.hard, view.shape, None)
    found = refined(view.lab, view.edges(), mask, mask.grain, "cpu")
    whole = np.zeros(view.shape, bool)
    whole[found.part] = found.mask
    return whole


def _trust(depth: np.ndarray, marks: np.ndarray, band: float, is_soft: bool = False) -> np.ndarray:
    """0 at marks that contradict a mask to 1 at a distance of DISTRUST bands, float32 (H, W).

    A soft mask was refined, so it is wrong as far as such a mark is from its outline.
    """
    import cv2

    wrong = ((marks == OBJECT) & (depth < 0)) | ((marks == BACKGROUND) & (depth > 0))
    if not wrong.any():
        return np.ones(depth.shape, np.float32)
    if is_soft:
        band = min(band, max(MIN_BAND, band * float(np.abs(depth[wrong]).max())))
    away = cv2.distanceTransform((~wrong).view(np.uint8), cv2.DIST_L2, 5)
    return np.minimum(1, away / np.float32(DISTRUST * band))


def costs_of(depth: np.ndarray) -> np.ndarray:
    """Costs in nats, float32 (H, W), of a depth in bands: positive against the label object."""
    return -START_WEIGHT * np.clip(depth, -1, 1)


def cores_of(depth: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Pixels at least `share` bands inside, and outside, of the outline, bool (H, W) each.

    A thin object or background has no such pixel; its deepest pixels then serve.
    """
    return depth > min(share, 0.5 * depth.max()), depth < max(-share, 0.5 * depth.min())


def outline_depth(start: np.ndarray) -> np.ndarray:
    """Signed distance from the outline of a mask, in bands: positive inside, negative outside; float32 (H, W)."""
    import cv2

    smooth = cv2.medianBlur(start.view(np.uint8), MEDIAN).view(bool)
    if smooth.all() or not smooth.any():  # lines of one pixel, or single pixels
        smooth = start
    return outline_distance(smooth) / np.float32(band_of(start))


def band_of(start: np.ndarray) -> float:
    """Width in pixels of the uncertain band on either side of the outline."""
    return max(MIN_BAND, BAND_SHARE * float(np.count_nonzero(start)) ** 0.5)
