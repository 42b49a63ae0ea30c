"""Records of what a caller passes: each is checked first, and InputError names the argument that is wrong."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import array_of, check_number
from apps.common.images import InputError, check_same_size
from apps.segmentation.marks import OBJECT
from apps.segmentation.masks import box_of_rectangle, fitted, mask_of, volume_mask_of
from apps.segmentation.strokes import check_box, whole_numbers
from apps.session.session_records import Box, Describe, Lock, Marks, MaskHint, PackedMask, Stroke, locks_of

MAX_LABEL = 254  # so that marks are stored with 8 bits
MAX_NAME = 100  # characters
MAX_POINTS = 100_000  # of one stroke


def check_label(label, least: int = 1) -> int:
    """A checked label, of an object by default; InputError for anything else."""
    check_number(label, "label", integer=True)
    if not least <= label <= MAX_LABEL:
        values = f"1 to {MAX_LABEL} for an object"
        raise InputError(f"label must be {'' if least else '0 for the background or '}{values}, got {label}")
    return int(label)


def make_stroke(points: ArrayLike, radius, label, shape, axis=None, slice=None, is_part=False) -> Stroke:
    """A checked stroke on a grid of a shape; InputError names the argument that is wrong."""
    try:
        xy = np.asarray(points, float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"points must be numbers of shape (N, 2), x and y, got {points!r:.80}") from None
    if xy.ndim != 2 or xy.shape[1] != 2 or not 0 < len(xy) <= MAX_POINTS:
        raise InputError(f"points must have shape (N, 2) with 1 to {MAX_POINTS} points x, y, got shape {xy.shape}")
    if not np.isfinite(xy).all() or np.abs(xy).max() > 1e7:
        raise InputError("points hold NaN, infinity or numbers above 1e7; pass pixels of the image")
    check_number(radius, "radius")
    if not 0 < radius <= 1e6:  # also NaN
        raise InputError(f"radius must be above 0 and at most 1e6 pixels, got {radius}")
    label = None if label is None else check_label(label, 0)
    if len(shape) == 3:
        axis = _index(0 if axis is None else axis, 3, "axis")
        slice = _index(slice, shape[axis], "slice")
    elif axis is not None or slice is not None:
        raise InputError("axis and slice select a slice of a volume, but the session has an image; omit both")
    return Stroke(tuple(map(tuple, xy.tolist())), float(radius), label, axis, slice, bool(is_part))


def _index(value, count: int, name: str) -> int:
    check_number(value, name, integer=True)
    if not 0 <= value < count:
        raise InputError(f"{name} must be 0 to {count - 1}, got {value}")
    return int(value)


def make_box(box, shape, label: int = OBJECT) -> Box:
    """A checked box, clipped to the image or volume; InputError for an empty box, one outside, or one of all."""
    label = check_label(label)
    if len(shape) == 3 and label != OBJECT:
        raise InputError(f"a box in a volume finds object {OBJECT}; draw strokes for object {label}")
    values: Any = check_box(box) if len(shape) == 2 else whole_numbers(box, 6)
    if values is None:
        raise InputError(f"a box in a volume needs six integers x0, y0, z0, x1, y1, z1, got {box!r:.80}")
    sizes, what = shape[::-1], "image" if len(shape) == 2 else "volume"
    low = [max(start, 0) for start in values[: len(sizes)]]
    high = [min(stop, n) for stop, n in zip(values[len(sizes) :], sizes, strict=True)]
    if any(start >= stop for start, stop in zip(low, high, strict=True)):
        shown, size = ",".join(map(str, values)), "x".join(map(str, sizes))
        raise InputError(f"box {shown} contains no pixel of the {what} of size {size}; draw it around an object")
    if not any(low) and tuple(high) == tuple(sizes):
        raise InputError(f"box covers the whole {what}, so no background is left to learn from; draw it tighter")
    return Box((*low, *high), label)


def make_mask_hint(values: ArrayLike, shape) -> Box | MaskHint:
    """A checked start mask, or the box that it stands for in an image; InputError for another size, or no mask."""
    if len(shape) == 3:
        return MaskHint(PackedMask.of(volume_mask_of(values, shape)))
    mask = fitted(mask_of(values, "mask"), shape, "mask")
    if (box := box_of_rectangle(mask)) is not None:
        return make_box(box, shape)
    return MaskHint(PackedMask.of(mask))


def make_starts(start: ArrayLike, shape) -> list[Lock | MaskHint]:
    """Checked rough objects of an image by label, or the object of a volume, undone with the next record."""
    if len(shape) == 3:
        return [MaskHint(PackedMask.of(volume_mask_of(start, shape, "start")), is_part=True)]
    labels = _codes(start, shape, "start", "biu", 0)
    return [replace(lock, is_part=True) for lock in locks_of(labels, is_start=True)]


def make_marks(marks: ArrayLike, shape) -> Marks:
    """Checked marks of a grid: a label, or -1 where nothing is marked; InputError for anything else."""
    return Marks(PackedMask.of(_codes(marks, shape, "strokes", "iu", -1)))


def _codes(values: ArrayLike, shape, name: str, kinds: str, least: int) -> np.ndarray:
    """Checked integers of a grid, from `least` to MAX_LABEL, minus `least`; uint8."""
    values = array_of(values, name)
    if values.dtype.kind not in kinds:
        raise InputError(f"{name} must hold integers, got {values.dtype}")
    check_same_size(values, shape, name)
    low, high = int(values.min()), int(values.max())
    if low < least or high > MAX_LABEL:
        none = "-1 for none, " if least < 0 else ""
        meaning = f"{none}0 for the background or 1 to {MAX_LABEL} for an object"
        raise InputError(f"{name} must be {meaning}, got {low} to {high}")
    return (values.astype(np.int16) - least).astype(np.uint8)


def make_description(label, name, colour) -> Describe:
    """A checked name and colour; InputError names the argument that is wrong."""
    if not isinstance(name, str) or len(name) > MAX_NAME or not name.isprintable():
        raise InputError(f"name must be at most {MAX_NAME} characters that can be printed, got {name!r:.80}")
    if colour is not None:
        is_colour = isinstance(colour, Sequence) and len(colour) == 3
        if not is_colour or not all(type(one) is int and 0 <= one <= 255 for one in colour):
            raise InputError(f"colour must be None or R, G, B, integers of 0 to 255, got {colour!r:.80}")
        colour = (colour[0], colour[1], colour[2])
    return Describe(check_label(label), name, colour)
