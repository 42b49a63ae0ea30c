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

from apps.common.arguments import array_of
from apps.common.images import InputError, as_integers, check_same_size
from apps.segmentation.image_sizes import interpolated
from apps.segmentation.marks import BACKGROUND, OBJECT, is_inside
from apps.segmentation.soft_masks import soft_masks_of, unrepeated
from apps.segmentation.soft_start import HELD, SoftMask, outline_distance, refined
from apps.segmentation.strokes import grey_levels

BAND_SHARE = 0.1  # of the square root of the mask's area
MIN_BAND = 3.0  # pixels
START_WEIGHT = 2.0  # nats; colours and neighbours can override it everywhere
CORE = 0.5  # bands on either side of the outline that the first colour models omit
SEEDS = 1.0  # bands on either side of the outline beyond which pixels count for the geodesic distances
DISTRUST = 4.0  # bands around a stroke that contradicts the mask
MEDIAN = 5  # pixels: side of the median filter
MIN_GRAIN = 1.5  # pixels: width of the soft edges of grey levels from which on they are a soft mask
MAX_GREY_SHARE = 0.3  # of pixels that are neither dark nor bright; a file with more is not a mask


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


def mask_of(values, name: str = "start") -> np.ndarray:
    """Convert a mask (H, W): booleans, 0 and another value, grey levels of 8 or 16 bits, probabilities or logits.

    A rough mask is returned as bool, a soft one as uint8, perhaps of a lower resolution: floats between 0 and 1, logits
    (floats below 0 or above 1), and grey levels with edges wider than MIN_GRAIN.  A rough mask in blocks is returned
    at the lower resolution at which it was found.  Further axes may have length 1.
    Raises InputError, starting with `name`, for other arrays, more than two labels, and a mask without an object or
    without a background.
    """
    values = array_of(values, name)
    if values.ndim > 2:
        values = values.reshape([side for side in values.shape if side > 1][:3] or (1, 1))
    if values.ndim != 2 or 0 in values.shape or values.dtype.kind not in "buif":
        raise InputError(f"{name} must be a mask of shape (H, W), got {values.dtype} {values.shape}")
    if values.dtype.kind == "f" and not (values == np.rint(values)).all():
        return _from_floats(values, name)
    if values.dtype == bool:
        mask = values
    else:
        mask = _from_integers(as_integers(values, name), name)
    inside = is_inside(mask)
    if not inside.any():
        raise InputError(f"{name} marks no object; its pixels must be bright, or not 0, on the object")
    if inside.all():
        raise InputError(f"{name} covers the whole image, so no background is left to learn from; pass another mask")
    small = unrepeated(mask[None])[0] if mask.dtype == bool else mask
    return small if _is_alike(small.shape, mask.shape) else mask


def volume_mask_of(values, shape: tuple[int, ...], name: str = "mask") -> np.ndarray:
    """Convert a mask of a volume to bool (D, H, W): booleans, integers above 0 on the object, or floats in [0, 1].

    Raises InputError, starting with `name`, for other arrays, and a mask without an object or without a background.
    """
    values = array_of(values, name)
    if values.dtype.kind not in "buif":
        raise InputError(f"{name} must hold booleans, integers or floats, got {values.dtype}")
    if values.shape != tuple(shape):
        raise InputError(f"{name} has shape {values.shape}, but the volume has {tuple(shape)}; make them the same size")
    if values.dtype.kind == "f":
        if not (values.min() >= 0 and values.max() <= 1):  # also NaN
            raise InputError(f"{name} holds floats outside [0, 1]; pass probabilities, booleans or integers")
        mask = values >= 0.5
    else:
        mask = values > 0
    if mask.all() or not mask.any():
        held = "covers the whole volume" if mask.all() else "marks no object"
        raise InputError(f"{name} {held}; its values must be above 0 on the object, and 0 elsewhere")
    return mask


def fitted(mask: np.ndarray, shape: tuple[int, ...], name: str) -> np.ndarray:
    """A mask at the size of its image; one of a lower resolution is enlarged, and then soft.

    Networks write squares for images of any shape.  InputError, starting with `name`, for masks of other proportions
    and larger ones.
    """
    if mask.shape == tuple(shape) or not _is_alike(mask.shape, shape):
        check_same_size(mask, shape, name)
        return mask
    levels = mask * np.uint8(255) if mask.dtype == bool else mask
    return interpolated(levels[None], shape)[0]


def _is_alike(small: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a size can be that of a mask of lower resolution."""
    (h, w), (height, width) = small, shape
    return h <= height and w <= width and (h == w or abs(h * width - w * height) <= max(height, width))


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


def box_of_rectangle(start: np.ndarray) -> tuple[int, int, int, int] | None:
    """The box (x0, y0, x1, y1), half open, of a rough mask that is a full rectangle; None for any other mask."""
    if start.dtype != bool:
        return None
    rows, columns = np.flatnonzero(start.any(axis=1)), np.flatnonzero(start.any(axis=0))
    x0, y0, x1, y1 = (int(v) for v in (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1))
    return (x0, y0, x1, y1) if start[y0:y1, x0:x1].all() else None


def _from_floats(values: np.ndarray, name: str) -> np.ndarray:
    """The mask of probabilities or logits: bool if there are only two values, else uint8."""
    soft = soft_masks_of(values, "levels", name)
    logits = soft.preference(0)
    return logits > 0 if soft.hard else np.rint(255 / (1 + np.exp(-logits))).astype(np.uint8)


def _from_integers(values: np.ndarray, name: str) -> np.ndarray:
    found = np.unique(values)
    if len(found) <= 2 and found[0] == 0:
        return values != 0
    levels = grey_levels(values, name)
    if levels.max() < 128:
        raise InputError(
            f"{name} holds {len(found)} values up to {int(found[-1])}; a mask has 0 and one other value, or grey "
            "levels of 0 to 255; save one object's mask"
        )
    if ((levels >= 32) & (levels < 224)).mean() > MAX_GREY_SHARE:
        raise InputError(f"{name} is not a mask: many of its pixels are grey; the object must be white, the rest black")
    inside = levels >= 128
    if not inside.any() or inside.all() or not ((levels > 0) & (levels < 255)).any():
        return inside
    is_soft = (
        SoftMask(soft_masks_of(levels, "levels", name).preference(0), False, levels.shape, None).grain >= MIN_GRAIN
    )
    return levels if is_soft else inside
