"""A rough mask to start from: read in the forms in which masks are stored, and converted to costs and colours.

The mask may come from a network, another program or an earlier run.  It is wrong mainly along its outline, so its
weight grows with the distance from the outline: with d the signed distance (positive inside the mask) and

    band = max(MIN_BAND, BAND_SHARE * sqrt(area of the mask)),

the cost against the label of the mask is START_WEIGHT * min(1, |d| / band) nats.  Pixels beyond the band count as
strokes for the geodesic distances (see apps.segment.geodesic), which divide the band along the edges of the image.  The
colour models are first fitted outside of CORE * band around the outline.  A median filter removes single wrong pixels
first.

Strokes are constraints, the mask is not.  Near a stroke that contradicts the mask, d is multiplied by a factor that
grows from 0 at the stroke to 1 at a distance of DISTRUST * band.
"""

import numpy as np

from apps.common.images import InputError, as_integers, pixels_in
from apps.segment.marks import BACKGROUND, OBJECT
from apps.segment.strokes import grey_levels

BAND_SHARE = 0.1  # of the square root of the mask's area
MIN_BAND = 3.0  # pixels
START_WEIGHT = 2.0  # nats; colours and neighbours can override it everywhere
CORE = 0.5  # bands on either side of the outline that the first colour models omit
SEEDS = 1.0  # bands on either side of the outline beyond which pixels count for the geodesic distances
DISTRUST = 4.0  # bands around a stroke that contradicts the mask
MEDIAN = 5  # pixels: side of the median filter
MAX_GREY_SHARE = 0.3  # of pixels that are neither dark nor bright; a file with more is not a mask
MAX_ODD_SHARE = 0.1  # of the bright pixels whose colour differs from the mask's; a file with more is not a mask


def start_in(data: bytes, path, name: str) -> np.ndarray:
    """The mask in the content of a file, bool (H, W), True on the object; `path` and `name` are for messages.

    Raises InputError for an unreadable file or one that is not a mask.  Accepts 0 and 255 (also from a JPEG, or 16
    bits), 0 and another value, booleans, palettes, one bright colour on black, and RGBA whose alpha is the mask.
    """
    return mask_of(plane_in(data, path, name), f"{name}: {str(path)!r}")


def plane_in(data: bytes, path, name: str) -> np.ndarray:
    """The values (H, W) of a mask image: grey, alpha, palette, or the brightness of one colour on black."""
    shown = f"{name}: {str(path)!r}"
    pixels = pixels_in(data, path, name)
    if pixels.ndim == 3 and pixels.shape[2] in (2, 4):
        alpha = pixels[..., -1]
        pixels = alpha if alpha.min() < alpha.max() else pixels[..., :-1]
    if pixels.ndim == 3 and not _is_grey(pixels):
        indices = pixels_in(data, path, name, indices=True)
        pixels = _from_palette(pixels, indices, shown) if indices.ndim == 2 else _brightest(pixels, shown)
    elif pixels.ndim == 3:
        pixels = pixels[..., 0]
    return pixels


def mask_of(values, name: str = "start") -> np.ndarray:
    """Convert a mask (H, W) to bool: booleans, floats in [0, 1], 0 and another value, or grey levels of 8 or 16 bits.

    Raises InputError, starting with `name`, for other arrays, more than two labels, and a mask without an object or
    without a background.
    """
    values = array_of(values, name)
    if values.ndim != 2 or 0 in values.shape or values.dtype.kind not in "buif":
        raise InputError(f"{name} must be a mask of shape (H, W), got {values.dtype} {values.shape}")
    if values.dtype.kind == "f" and 0 <= values.min() and values.max() <= 1:
        mask = values >= 0.5
    elif values.dtype == bool:
        mask = values
    else:
        mask = _from_integers(as_integers(values, name), name)
    if not mask.any():
        raise InputError(f"{name} marks no object; its pixels must be bright, or not 0, on the object")
    if mask.all():
        raise InputError(f"{name} covers the whole image, so no background is left to learn from; pass another mask")
    return mask


def array_of(values, name: str) -> np.ndarray:
    """Convert an argument to an array; InputError, starting with `name`, if it is none."""
    try:
        return np.asarray(values)
    except Exception as error:  # ragged lists, arrays on a GPU, ...
        raise InputError(f"{name} must be an array, got {type(values).__name__} ({error})") from None


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


def trusted_depth(start: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """The depth of `outline_depth`, reduced to 0 near the marks (H, W) that contradict the mask; float32 (H, W)."""
    depth = outline_depth(start)
    wrong = ((marks == OBJECT) & (depth < 0)) | ((marks == BACKGROUND) & (depth > 0))
    if wrong.any():
        depth *= np.minimum(1, _distance(~wrong) / (DISTRUST * band_of(start)))
    return depth


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
    return (_distance(smooth) - _distance(~smooth)) / np.float32(band_of(start))


def band_of(start: np.ndarray) -> float:
    """Width in pixels of the uncertain band on either side of the outline."""
    return max(MIN_BAND, BAND_SHARE * float(np.count_nonzero(start)) ** 0.5)


def box_of_rectangle(start: np.ndarray) -> tuple[int, int, int, int] | None:
    """The box (x0, y0, x1, y1), half open, of a mask that is a full rectangle; None for any other mask."""
    rows, columns = np.flatnonzero(start.any(axis=1)), np.flatnonzero(start.any(axis=0))
    x0, y0, x1, y1 = (int(v) for v in (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1))
    return (x0, y0, x1, y1) if start[y0:y1, x0:x1].all() else None


def _distance(inside: np.ndarray) -> np.ndarray:
    """Distance in pixels of each True pixel to the nearest False one, which must exist."""
    import cv2

    return cv2.distanceTransform(inside.view(np.uint8), cv2.DIST_L2, 5)


def _from_integers(values: np.ndarray, name: str) -> np.ndarray:
    found = np.unique(values)
    if len(found) <= 2 and found[0] == 0:
        return values != 0
    levels = grey_levels(values, name)
    if levels.max() < 128:
        raise InputError(
            f"{name} holds {len(found)} values up to {int(found[-1])}; a mask has 0 and one other value, or grey "
            "levels of 0 to 255; save one object's mask, or pass several objects with --labels"
        )
    if ((levels >= 32) & (levels < 224)).mean() > MAX_GREY_SHARE:
        raise InputError(f"{name} is not a mask: many of its pixels are grey; the object must be white, the rest black")
    return levels >= 128


def _from_palette(colours: np.ndarray, indices: np.ndarray, name: str) -> np.ndarray:
    """A palette image of two entries: black is the background, or else entry 0."""
    if (count := len(np.unique(indices))) > 2:
        raise InputError(
            f"{name} holds {count} colours of a palette; a mask has two; save one object's mask, or pass several "
            "objects with --labels"
        )
    black = (colours == 0).all(axis=2)
    return ~black if black.any() else indices != 0


def _brightest(colours: np.ndarray, name: str) -> np.ndarray:
    """The largest channel of each pixel; InputError unless the image is one bright colour on black."""
    high = colours.max(axis=2)
    half = np.iinfo(colours.dtype).max // 2 if colours.dtype.kind == "u" else 0.5
    bright = colours[high > half].astype(np.float64)
    if bright.size and (np.abs(bright - np.median(bright, axis=0)).max(axis=1) > half / 2).mean() > MAX_ODD_SHARE:
        raise InputError(f"{name} has several colours; a mask is white, or one colour, on black")
    return high


def _is_grey(colours: np.ndarray) -> bool:
    return bool((colours == colours[..., :1]).all())
