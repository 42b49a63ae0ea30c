"""The one encoding of marks, which say what the label of a pixel or voxel is:

    -1         OPEN: nothing is marked, the label is to be found
     0         BACKGROUND
     1         OBJECT
     2, 3, ... further objects

Marks are int8 or int16 arrays of the shape of an image or a volume.  Labels that are found have the same numbers.
Files and the interfaces of other programs have other encodings; their readers and writers convert.
"""

from collections.abc import Iterable

import numpy as np

from apps.common.images import InputError, as_integers, check_same_size
from apps.segmentation import KEEP

OPEN, BACKGROUND, OBJECT = -1, 0, 1
MAX_VALUES = 255
MAX_LABEL = 65535  # label maps are written with 16 bits


def labels_in(marks: np.ndarray) -> tuple[int, ...]:
    """The labels that the marks contain, ascending."""
    counts = np.bincount((marks.ravel() + 1).astype(np.intp))
    return tuple(int(value) - 1 for value in np.flatnonzero(counts) if value > 0)


def marks_of_labels(
    strokes: np.ndarray, shape, located: Iterable[int] = (), background: int | None = None
) -> tuple[tuple[int, ...], np.ndarray]:
    """The distinct values of strokes, 0 where there is none, and marks of as many objects, int16.

    The marks are 1, 2, ... in the order of the values, and 0 for the value of the background, if that is known.
    `located` are objects that need no stroke.  Raises InputError for strokes of another shape, fewer than two values,
    and if no pixel is left open.
    """
    if strokes.dtype.kind not in "iu":
        raise InputError(f"strokes must be integers, got {strokes.dtype}; round them")
    check_same_size(strokes, shape, "strokes")
    values = tuple(sorted(({int(value) for value in np.unique(strokes)} | {*located}) - {0, background}))
    if len(values) + (background is not None or bool(located)) < 2:
        held = f"only {values[0]}" if values else "no stroke"
        raise InputError(f"strokes hold {held}; mark at least two objects; the background counts as one")
    if len(values) > MAX_VALUES:
        raise InputError(
            f"strokes hold {len(values)} different values, one label each; at most {MAX_VALUES} are possible"
        )
    marks = np.full(strokes.shape, OPEN, np.int16)
    for label, value in enumerate(values, 1):
        marks[strokes == value] = label
    if background is not None:
        marks[strokes == background] = BACKGROUND
    check_open(marks, "strokes")
    return values, marks


def check_keep(keep: str, choices: tuple[str, ...] = KEEP) -> None:
    """Raise InputError unless the parts to keep are one of the choices."""
    if keep not in choices:
        raise InputError(f"keep must be one of {', '.join(choices)}, got {keep!r}")


def check_open(marks: np.ndarray, name: str) -> None:
    """Raise InputError unless a pixel is open."""
    if not (marks == OPEN).any():
        raise InputError(f"{name} marks every pixel, so there is nothing to segment; mark fewer pixels")


def is_inside(values: np.ndarray) -> np.ndarray:
    """The object of a mask, bool or uint8, or all objects of a label map, int16; bool."""
    return values if values.dtype == bool else values >= (128 if values.dtype == np.uint8 else OBJECT)


def has_both(mask: np.ndarray) -> bool:
    """Whether a mask, bool (H, W), has an object and a background."""
    return bool(mask.any()) and not mask.all()


def part_with(wrong: np.ndarray, changed: np.ndarray, thin: int = 1) -> np.ndarray:
    """Changed pixels or voxels, bool, in a part thicker than 2 `thin` with one that was wrong, and those beside it."""
    from scipy import ndimage

    box = ndimage.find_objects((wrong | changed).view(np.uint8))[0]
    parts, count = ndimage.label(ndimage.binary_opening(changed[box], iterations=thin) | wrong[box])
    is_wrong = np.zeros(count + 1, bool)
    is_wrong[parts[wrong[box]]] = True
    found = np.zeros_like(changed)
    found[box] = ndimage.binary_dilation(is_wrong[parts], iterations=thin)
    return found


def label_values(values: np.ndarray, name: str) -> np.ndarray:
    """Labels of any shape as uint8 or uint16, values unchanged; integers stored as floats are accepted.

    Raises InputError, with a message that starts with `name`, for NaN, fractions, negative values and values above
    65535.
    """
    values = as_integers(values, name)
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if low < 0:
        raise InputError(f"{name} holds the value {low}; labels are integers from 0 (no label) to {MAX_LABEL}")
    if high > MAX_LABEL:
        raise InputError(f"{name} holds values up to {high}; {MAX_LABEL} is the largest label")
    return values.astype(np.uint8 if high < 256 else np.uint16)
