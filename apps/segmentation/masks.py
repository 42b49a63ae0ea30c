"""Masks as other programs write them, read from files and arrays: probabilities, logits, grey levels and label maps.

Images of files are 0 and 255 (also from a JPEG, or 16 bits), 0 and another value, booleans, one bright colour on black,
and RGBA whose alpha is the mask; .npy and .npz are arrays.

Masks of any resolution become logits with the sign of the mask (`SoftMasks`, and `SoftMask` for one object of an
image).  The absolute value is scaled so that the pixels that are typical of the object and of the background, the
medians of both, have CERTAIN nats.  Networks are hardly ever calibrated: the logits of one that was trained longer are
larger, but its outlines are not better.

A mask to start from (`mask_of`) is rough, bool, or soft, uint8: 255 times the probability of the object.
"""

import io
from dataclasses import dataclass

import numpy as np

from apps.common.arguments import array_of
from apps.common.file_kinds import ARRAYS
from apps.common.images import InputError, as_integers, check_same_size, pixels_in
from apps.common.rectangles import Rectangle, bounds, widened
from apps.segmentation.image_sizes import enlarged, means
from apps.segmentation.marks import is_inside
from apps.segmentation.strokes import grey_levels

MAX_ODD_SHARE = 0.1  # of the bright pixels whose colour differs from the mask's; a file with more is not a mask
CERTAIN = 3.0  # nats of a typical sure pixel: wrong in one of 20 cases
LEAST = 1e-4  # probabilities are clipped to it, so that no logit is infinite
MAX_LABELS = 65535
CONSTANT_SHARE = 0.5  # of the pixels between the extremes that equal the next one, from which on they are labels
RESAMPLED = 0.01  # by which probabilities may exceed 0 to 1 after a resampling
MIN_BLOCKS = 4  # edges between blocks of equal lines that show that a mask was enlarged
MIN_EDGES = 0.1  # share of the edges between the blocks that are used
SUM_TOLERANCE = 0.01  # of probabilities of the background and the object
MIN_GRAIN = 1.5  # pixels: width of the soft edges of grey levels from which on they are a soft mask
MAX_GREY_SHARE = 0.3  # of pixels that are neither dark nor bright; a file with more is not a mask
EDGE_WIDTH = 0.8  # a step blurred by a Gaussian of deviation s, from -1 to 1, has slope 0.8 / s at the middle
HARD_GRAIN = 0.01  # of the square root of the object's area, for masks of the image's size without any grey


@dataclass(frozen=True, slots=True)
class SoftMasks:
    """Masks of objects, either logits of each, or one label map.

    values   the objects' values, ascending
    planes   logits, float32 (K, h, w), or None
    labels   label map, int32 (h, w), or None
    hard     whether the masks have two values, so that nothing but their resolution says how exact they are
    notes    how the masks were read
    """

    values: tuple[int, ...]
    planes: np.ndarray | None
    labels: np.ndarray | None
    hard: bool
    notes: tuple[str, ...] = ()

    def preference(self, k: int) -> np.ndarray:
        """Logits of object number k against the background and all other objects, float32 (h, w)."""
        if self.labels is not None:
            return np.where(self.labels == self.values[k], np.float32(CERTAIN), np.float32(-CERTAIN))
        assert self.planes is not None
        best = np.zeros(self.planes.shape[1:], np.float32)  # of the background
        for other in range(len(self.values)):
            if other != k:
                np.maximum(best, self.planes[other], out=best)
        return self.planes[k] - best


def soft_masks_of(values, kind: str = "auto", name: str = "masks") -> SoftMasks:
    """Read an array of masks, as described in `apps.refinement.refinement.refine`.

    Raises InputError, starting with `name`, for other arrays, and for masks without an object or without a background.
    """
    values = _numbers(values, name)
    planes = unrepeated(_planes(values, kind, name))
    if planes.shape[0] == 1 and (labels := _label_map(planes[0], kind, name)) is not None:
        return labels
    logits, note = _logits(planes, name)
    for number, plane in enumerate(logits):
        check_both(plane > 0, f"{name}[{number}]" if len(logits) > 1 else name)
    hard = all(len(np.unique(plane)) == 2 for plane in logits)
    scaled = np.stack([_calibrated(plane) for plane in logits])
    return SoftMasks(tuple(range(1, len(scaled) + 1)), scaled, None, hard, note)


def _numbers(values, name: str) -> np.ndarray:
    values = array_of(values, name)
    if values.dtype.kind not in "buif":
        raise InputError(f"{name} must hold booleans, integers or floats, got {values.dtype}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError(f"{name} holds NaN or infinity; every pixel must be finite")
    return values


def _planes(values: np.ndarray, kind: str, name: str) -> np.ndarray:
    """Masks (K, h, w) of one object each."""
    shape = values.shape
    while values.ndim > 2 and values.shape[0] == 1:
        values = values[0]
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[..., 0]
    if values.ndim == 2:
        values = values[None]
    elif values.ndim == 3 and kind != "objects":
        if len(values) != 2 or values.dtype.kind != "f":
            remedy = "pass kind='objects' if the first axis is of objects, or one of them as (h, w)"
            raise InputError(f"{name} must be a mask of shape (h, w), got {shape}; {remedy}")
        values = _two_classes(values)
    if values.ndim != 3 or 0 in values.shape:
        raise InputError(f"{name} must be a mask of shape (h, w), or (K, h, w) of K objects, got {shape}")
    return values


def unrepeated(planes: np.ndarray) -> np.ndarray:
    """Masks (K, h, w) before they were enlarged, without interpolation, to twice their size or more."""
    for axis in (1, 2):
        lines = _middles_of_blocks((np.diff(planes, axis=axis) != 0).any(axis=(0, 3 - axis)))
        planes = planes if lines is None else planes.take(lines, axis)
    return planes


def _middles_of_blocks(differs: np.ndarray) -> np.ndarray | None:
    """The middle line of each of the blocks of equal lines to which a few lines were enlarged; None if they were not.

    `differs` tells whether each line but the first differs from the last one.  Some edges of blocks must be used: an
    object with few corners is not one of low resolution.
    """
    size, used = len(differs) + 1, np.count_nonzero(differs)
    number = np.append(0, np.cumsum(differs))
    for count in range(used + 1, min(size // 2, int(used / MIN_EDGES)) + 1) if used >= MIN_BLOCKS else ():
        for shift in (0, 1):  # the two ways of programs to find the nearest line
            block = (2 * np.arange(size) + shift) * count // (2 * size)
            first, end = np.searchsorted(block, (np.arange(count), np.arange(1, count + 1)))
            if (number[first] == number[end - 1]).all():
                return (first + end - 1) // 2
    return None


def _two_classes(values: np.ndarray) -> np.ndarray:
    """The object of a background and an object: probabilities that sum to 1, or two logits."""
    values = values.astype(np.float32)
    if values.min() >= 0 and np.abs(values.sum(axis=0) - 1).max() <= SUM_TOLERANCE:
        return values[1:]
    return values[1:] - values[:1]


def _label_map(values: np.ndarray, kind: str, name: str) -> SoftMasks | None:
    """The objects of a label map; None if the values are not labels."""
    if kind == "levels" or values.dtype == bool:
        return None
    integral = values.dtype.kind in "iu" or bool((values == np.rint(values)).all())
    found = np.unique(values)
    if kind != "labels" and (not integral or len(found) <= 2 or found[0] < 0 or not _is_constant(values, found)):
        return None
    if not integral or found[0] < 0 or found[-1] > MAX_LABELS:
        held = f"{found[0]:g} to {found[-1]:g}"
        raise InputError(f"{name} must hold labels of 0 to {MAX_LABELS}, got values of {held}; 0 is the background")
    objects = tuple(int(value) for value in found if value)
    if not objects:
        raise InputError(f"{name} marks no object; its pixels must be above 0 on the objects")
    count = f"{len(objects)} object{'s' * (len(objects) > 1)}"
    notes = (f"{name} was read as a label map of {count}; 0 is the background",) if kind == "auto" else ()
    return SoftMasks(objects, None, values.astype(np.int32), True, notes)


def _is_constant(values: np.ndarray, found: np.ndarray) -> bool:
    """Whether values between the extremes fill regions, as labels do, and not only the slopes of soft outlines."""
    between = (values != found[0]) & (values != found[-1])
    same = values[:, 1:] == values[:, :-1]
    return bool(same[between[:, 1:]].mean() > CONSTANT_SHARE) if between[:, 1:].any() else False


def _logits(planes: np.ndarray, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Logits of masks, float32, and notes."""
    kind = planes.dtype.kind
    if kind == "f" and (planes.min() < -RESAMPLED or planes.max() > 1 + RESAMPLED):
        note = f"{name} holds values of {planes.min():.3g} to {planes.max():.3g}, which were read as logits"
        return planes.astype(np.float32), (note,)
    if kind == "i" and planes.min() < 0:
        raise InputError(f"{name} holds negative integers; pass logits as floats, or labels of 0 and more")
    if kind in "iu":
        two = len(np.unique(planes)) <= 2
        full = planes.max() if two else 255 if planes.max() <= 255 else 65535
        planes = planes / max(1, full)
    share = np.clip(planes.astype(np.float32), LEAST, 1 - LEAST)
    return np.log(share / (1 - share)), ()


def check_both(inside: np.ndarray, name: str) -> None:
    """Raise InputError unless there are an object and a background in a mask, bool of any shape."""
    if not inside.any():
        raise InputError(f"{name} marks no object; its values must be bright, above 0.5 or not 0, on the object")
    if inside.all():
        what = "image" if inside.ndim == 2 else "volume"
        raise InputError(f"{name} covers the whole {what}, so no background is left to learn from; pass another mask")


def _calibrated(logits: np.ndarray) -> np.ndarray:
    """Logits whose medians on the object and on the background have a geometric mean of CERTAIN."""
    inside = logits > 0
    middle = float(np.median(logits[inside])) * float(np.median(-logits[~inside]))
    return logits * np.float32(CERTAIN / max(middle, LEAST) ** 0.5)


class SoftMask:
    """Logits (h, w) of an object against all else, for an image (H, W).

    grain   size in pixels of the image of the smallest detail that the mask can show, at least 1
    """

    def __init__(self, logits: np.ndarray, hard: bool, shape: tuple[int, ...], grain: float | None):
        self.logits, self.hard = logits, hard
        self.pixel = max(shape) / max(logits.shape)
        self.grain = self._grain() if grain is None else max(1.0, grain)

    def _grain(self) -> float:
        """The grain, from the size of the mask's pixels, and the width of its soft edges or the area of the object."""
        inside = self.logits > 0
        if self.hard:
            area = np.count_nonzero(inside) * self.pixel**2
            return max(1.0, self.pixel, HARD_GRAIN * area**0.5)
        gy, gx = slopes(self.logits)
        slope = np.hypot(gx, gy)[_beside_outline(inside)]
        return max(1.0, self.pixel, EDGE_WIDTH * CERTAIN / float(np.median(slope)) * self.pixel)

    def part(self, shape: tuple[int, ...], margin: int) -> Rectangle:
        """The object with a margin, at another size of the image."""
        box = bounds(self.logits > 0)
        assert box is not None
        rows, columns = (
            slice(side.start * n // m, -(-side.stop * n // m))
            for side, n, m in zip(box, shape, self.logits.shape, strict=True)
        )
        return widened((rows, columns), margin, shape)

    def at(self, part: Rectangle, shape: tuple[int, ...], offset: tuple[float, float]) -> np.ndarray:
        """Logits of a part of the image at a size, float32, moved back by an offset in pixels of that size."""
        is_larger = all(m > n for m, n in zip(self.logits.shape, shape, strict=True))
        return enlarged(means(self.logits, shape) if is_larger else self.logits, shape, part, offset)


def slopes(values: np.ndarray) -> list[np.ndarray]:
    """Derivatives along y and x of values (h, w); 0 along a side of one pixel."""
    return [np.gradient(values, axis=axis) if values.shape[axis] > 1 else np.zeros_like(values) for axis in (0, 1)]


def _beside_outline(inside: np.ndarray) -> np.ndarray:
    """Pixels with a neighbour on the other side of the outline."""
    import cv2

    codes, square = inside.view(np.uint8), np.ones((3, 3), np.uint8)
    return cv2.dilate(codes, square) != cv2.erode(codes, square)


# A mask to start from


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
    check_both(is_inside(mask), name)
    small = unrepeated(mask[None])[0] if mask.dtype == bool else mask
    return small if _is_alike(small.shape, mask.shape) else mask


def volume_mask_of(values, shape: tuple[int, ...], name: str = "mask") -> np.ndarray:
    """Convert a mask of a volume to bool (D, H, W): booleans, integers above 0 on the object, or floats in [0, 1].

    Raises InputError, starting with `name`, for other arrays, and a mask without an object or without a background.
    """
    values = _numbers(values, name)
    check_same_size(values, shape, name, "the volume is")
    if values.dtype.kind == "f":
        if values.min() < 0 or values.max() > 1:
            raise InputError(f"{name} holds floats outside [0, 1]; pass probabilities, booleans or integers")
        mask = values >= 0.5
    else:
        mask = values > 0
    check_both(mask, name)
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
    return enlarged(levels, shape)


def _is_alike(small: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a size can be that of a mask of lower resolution."""
    (h, w), (height, width) = small, shape
    return h <= height and w <= width and (h == w or abs(h * width - w * height) <= max(height, width))


def box_of_rectangle(start: np.ndarray) -> tuple[int, int, int, int] | None:
    """The box (x0, y0, x1, y1), half open, of a rough mask that is a full rectangle; None for any other mask."""
    box = bounds(start) if start.dtype == bool else None
    if box is None or not start[box].all():
        return None
    rows, columns = box
    return columns.start, rows.start, columns.stop, rows.stop


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
    logits = soft_masks_of(levels, "levels", name).preference(0)
    return levels if SoftMask(logits, False, levels.shape, None).grain >= MIN_GRAIN else inside


# Files


def values_in(data: bytes, path, name: str) -> np.ndarray:
    """The values in the content of a file; `path` and `name` are for messages.

    Raises InputError for an unreadable file, and an image that is not a mask.
    """
    array = array_in(data, path, name)
    return plane_in(data, path, name) if array is None else array


def array_in(data: bytes, path, name: str) -> np.ndarray | None:
    """The array in a file of numpy.save or numpy.savez; None for other files."""
    if not str(path).lower().endswith(ARRAYS):
        return None
    shown = f"{name}: {str(path)!r}"
    try:
        content = np.load(io.BytesIO(data), allow_pickle=False)
        if isinstance(content, np.ndarray):
            return content
        if len(content.files) != 1:
            names = ", ".join(content.files[:5])
            raise InputError(f"{shown} has {len(content.files)} arrays ({names}); save only the masks in it")
        return content[content.files[0]]
    except InputError:
        raise
    except Exception as error:  # truncated files, pickled objects, damaged archives
        raise InputError(f"{shown} cannot be read ({error}); save an array of numbers with numpy.save") from None


def plane_in(data: bytes, path, name: str) -> np.ndarray:
    """The values (H, W) of a mask image: grey, alpha, or the brightness of one colour on black."""
    shown = f"{name}: {str(path)!r}"
    pixels = pixels_in(data, path, name)
    if pixels.ndim == 3 and pixels.shape[2] in (2, 4):
        alpha = pixels[..., -1]
        pixels = alpha if alpha.min() < alpha.max() else pixels[..., :-1]
    if pixels.ndim == 3 and (pixels != pixels[..., :1]).any():
        pixels = _brightest(pixels, shown)
    elif pixels.ndim == 3:
        pixels = pixels[..., 0]
    return pixels


def _brightest(colours: np.ndarray, name: str) -> np.ndarray:
    """The largest channel of each pixel; InputError unless the image is one bright colour on black."""
    high = colours.max(axis=2)
    half = np.iinfo(colours.dtype).max // 2 if colours.dtype.kind == "u" else 0.5
    bright = colours[high > half].astype(np.float64)
    if bright.size and (np.abs(bright - np.median(bright, axis=0)).max(axis=1) > half / 2).mean() > MAX_ODD_SHARE:
        raise InputError(f"{name} has several colours; a mask is white, or one colour, on black")
    return high
