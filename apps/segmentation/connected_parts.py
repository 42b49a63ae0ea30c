"""Connected parts of objects and holes in them, in images and volumes: keep, drop or fill them.

Pixels of an object are connected to all 8 neighbours, as in the energy (apps.segmentation.segmentation), so a diagonal
line is one part.  Pixels of the background are therefore connected to 4.  Voxels of either are connected to 6.
"""

import numpy as np

from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN


def keep_parts(labels: np.ndarray, marks: np.ndarray, keep: str) -> np.ndarray:
    """Give the parts of objects that are not kept to the background; returns `labels`.

    labels   int8 or int16 (H, W) or (D, H, W), 0 for the background; changed in place
    marks    of apps.segmentation.marks, the same shape
    keep     "all", "touching": parts that touch a mark of their label, or "largest": one part, of a single object
    """
    if keep != "all":
        part, kept = _kept(labels, marks, keep)
        _drop(labels, part, kept)
    return labels


def fill_holes(mask: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Add the holes of an object to its mask, bool (H, W) or (D, H, W), except those with a mark of the background."""
    part, count = _connected(~mask, 4)
    held = marks == BACKGROUND
    for axis in range(mask.ndim):
        side = np.moveaxis(held, axis, 0)
        side[0] = side[-1] = True
    stays = _among(part[held], count)
    stays[0] = False
    return ~stays[part]


def tidied(
    labels: np.ndarray, marks: np.ndarray, size: int, share: float = 0.0, *, keep: str = "all", keep_one: bool = False
) -> np.ndarray:
    """Drop parts of objects that are not kept, or small without a mark; then fill such parts of the background.

    labels     as of `keep_parts`, C-contiguous; changed in place and returned
    marks      of apps.segmentation.marks, the same shape
    size       pixels below which a part is small
    share      of the largest part, below which a part of an object is small, too
    keep       as of `keep_parts`
    keep_one   of "all": drop no part of an object if all would be dropped

    A part of the background gets, row by row, the label to the left of its pixels there.  Where all pixels are of
    objects, what is dropped becomes part of others, and no background remains.
    """
    has_background = not labels.all()
    part, kept = _kept(labels, marks, keep, size, share)
    if keep != "all" or kept[1:].any() or not keep_one:
        _drop(labels, part, kept)
    part, count = _connected(labels == BACKGROUND, 4)
    kept = _among(part[marks == BACKGROUND], count) | (np.bincount(part.ravel(), minlength=count + 1) >= size)
    kept &= has_background
    kept[0] = True
    if kept.all():
        return labels
    flat, width = labels.reshape(-1), labels.shape[-1]
    places = np.flatnonzero(~kept[part])
    is_first = np.diff(places, prepend=-2) != 1
    is_first |= places % width == 0
    run = np.cumsum(is_first) - 1
    left, right = places[is_first], places[np.append(is_first[1:], True)[: len(places)]] + 1
    # Nothing is beside a run of a whole row.
    beside = np.where(left % width == 0, np.where(right % width == 0, left, right), left - 1)
    flat[places] = flat[beside][run]
    return labels


def strokes_of(marks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The flat indices of all marked pixels, ascending, and the number of the stroke of each: its part of the marks.

    marks   of apps.segmentation.marks, int8 or int16 (H, W) or (D, H, W)
    """
    places = np.flatnonzero(marks != OPEN)
    if not places.size:
        return places, places
    where = np.unravel_index(places, marks.shape)
    box = tuple(slice(int(one.min()), int(one.max()) + 1) for one in where)
    part, _ = _parts_of_objects(marks[box] - OPEN)
    return places, part[marks[box] != OPEN] - 1


def _kept(
    labels: np.ndarray, marks: np.ndarray, keep: str, size: int = 1, share: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The number of the part of each pixel, as `_parts_of_objects`, and whether each part is kept, bool."""
    part, count = _parts_of_objects(labels)
    kept = _among(part[marks == labels], count)
    if keep != "touching":
        sizes = np.bincount(part.ravel(), minlength=count + 1)
        sizes[0] = 0
        largest = np.arange(count + 1) == sizes.argmax()
        kept = largest if keep == "largest" else kept | (sizes >= max(size, share * sizes.max()))
    kept[0] = True
    return part, kept


def _drop(labels: np.ndarray, part: np.ndarray, kept: np.ndarray) -> None:
    """Give the parts of objects that are not kept to the background."""
    if not kept.all():
        labels *= kept[part]


def _parts_of_objects(labels: np.ndarray) -> tuple[np.ndarray, int]:
    """The number of the part of each pixel of an object, from 1, label by label; and how many there are."""
    from scipy import ndimage

    if labels.max(initial=0) <= OBJECT:
        return _connected(labels == OBJECT, 8)
    numbers, count = np.zeros(labels.shape, np.int32), 0
    for value, box in enumerate(ndimage.find_objects(labels), 1):
        if box is not None:
            inside = labels[box] == value
            part, more = _connected(inside, 8)
            np.copyto(numbers[box], part + np.int32(count), where=inside)
            count += more
    return numbers, count


def _connected(inside: np.ndarray, neighbours: int) -> tuple[np.ndarray, int]:
    """The number of the part of each True pixel, from 1, and how many there are; voxels have 6 neighbours."""
    import cv2
    from scipy import ndimage

    if inside.ndim == 3:
        return ndimage.label(inside)
    count, part = cv2.connectedComponents(inside.view(np.uint8), connectivity=neighbours)  # twice as fast
    return part, count - 1


def _among(numbers: np.ndarray, count: int) -> np.ndarray:
    """Whether each number, from 0 to `count`, is among some."""
    found = np.zeros(count + 1, bool)
    found[numbers] = True
    return found
