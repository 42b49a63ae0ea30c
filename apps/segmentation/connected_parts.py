"""Connected parts of objects and holes in them, in images and volumes: keep, drop or fill them.

Pixels of an object are connected to all 8 neighbours, as in the energy (apps.segmentation.segmentation), so a diagonal
line is one part.  Pixels of the background are therefore connected to 4.  Voxels of either are connected to 6.

Parts are found from runs of equal labels.  A run is a longest stretch of one label above 0 in a row.  Runs of
neighbouring rows, in a volume also of neighbouring slices, that are connected belong to the same part.  An object has
far fewer runs than pixels: numbering the pixels of all parts, by OpenCV or scipy.ndimage, takes five times as long.
"""

from typing import NamedTuple

import numpy as np

from apps.segmentation.marks import BACKGROUND, OPEN


def keep_parts(labels: np.ndarray, marks: np.ndarray, keep: str) -> np.ndarray:
    """Give the parts of objects that are not kept to the background; returns `labels`.

    labels   int8 or int16 (H, W) or (D, H, W), C-contiguous, 0 for the background; changed in place
    marks    of apps.segmentation.marks, the same dtype and shape
    keep     "all", "touching": parts that touch a mark of their label, or "largest": one part, of a single object
    """
    if keep == "all":
        return labels
    runs = _Runs.of(labels, marks == labels, reach=1)
    kept = runs.marked
    if keep == "largest":
        kept = np.zeros(runs.sizes.size, bool)
        kept[np.argsort(-runs.sizes, kind="stable")[:1]] = True
    runs.drop(labels, kept)
    return labels


def fill_holes(mask: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Add the holes of an object to its mask, bool (H, W) or (D, H, W), except those with a mark of the background."""
    background = ~mask
    held = marks == BACKGROUND
    for axis in range(mask.ndim):
        side = np.moveaxis(held, axis, 0)
        side[0] = side[-1] = True
    runs = _Runs.of(background, held, reach=0)
    runs.drop(background, runs.marked)
    return ~background


def tidied(
    labels: np.ndarray, marks: np.ndarray, size: int, share: float = 0.0, *, keep_one: bool = False
) -> np.ndarray:
    """Drop parts of objects, then fill parts of the background, that are small and have no mark of their label.

    labels     as of `keep_parts`; changed in place and returned
    marks      of apps.segmentation.marks, the same dtype and shape
    size       pixels below which a part is small
    share      of the largest part, below which a part of an object is small, too
    keep_one   drop no part of an object if all would be dropped

    A part of the background gets the labels of the pixels beside its runs.  Where all pixels are of objects, what is
    dropped becomes part of others, and no background remains.
    """
    has_background = not labels.all()
    runs = _Runs.of(labels, marks == labels, reach=1)
    kept = runs.marked | (runs.sizes >= max(size, share * runs.sizes.max(initial=0)))
    if kept.any() or not keep_one:
        runs.drop(labels, kept)
    runs = _Runs.of(labels == BACKGROUND, marks == BACKGROUND, reach=0)
    dropped = ~((runs.marked | (runs.sizes >= size)) & has_background)[runs.part]
    left, right, width = runs.left[dropped], runs.right[dropped], labels.shape[-1]
    starts, ends = left % width == 0, right % width == 0
    beside = np.where(starts, np.where(ends, left, right), left - 1)  # a run of a whole row has nothing beside it
    flat = labels.reshape(-1)
    flat[_places(left, right)] = np.repeat(flat[beside], right - left)
    return labels


def strokes_of(marks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The flat indices of all marked pixels, ascending, and the number of the stroke of each: its part of the marks.

    marks   of apps.segmentation.marks, int8 or int16 (H, W) or (D, H, W)
    """
    places = np.flatnonzero(marks != OPEN)
    if not places.size:
        return places, places
    box = tuple(slice(int(one.min()), int(one.max()) + 1) for one in np.unravel_index(places, marks.shape))
    part = np.subtract(marks[box], OPEN, order="C")
    runs = _Runs.of(part, np.zeros(part.shape, bool), reach=1)
    return places, np.repeat(runs.part, runs.right - runs.left)


class _Runs(NamedTuple):
    """The runs of labels above 0 and their parts; see the module's docstring.

    left, right   flat places of the first pixel of each run, and of that behind the last one
    part          number of each run's part; parts are numbered in the order of their first pixels
    sizes         pixels of each part
    marked        whether each part has a pixel that is marked
    """

    left: np.ndarray
    right: np.ndarray
    part: np.ndarray
    sizes: np.ndarray
    marked: np.ndarray

    @classmethod
    def of(cls, labels: np.ndarray, is_marked: np.ndarray, reach: int) -> "_Runs":
        """The runs of labels, C-contiguous; `reach` is 1 if pixels may also be connected diagonally, else 0."""
        flat, width = labels.reshape(-1), labels.shape[-1]
        is_first = np.empty(flat.size, bool)
        np.not_equal(flat[1:], flat[:-1], out=is_first[1:])
        is_first[::width] = True
        left = np.flatnonzero(is_first)
        right = np.append(left[1:], flat.size)
        label = flat[left]
        has_mark = np.logical_or.reduceat(is_marked.reshape(-1), left)
        is_run = label > 0
        left, right, label, has_mark = left[is_run], right[is_run], label[is_run], has_mark[is_run]
        pairs = [_meeting(left, right, label, width, labels.shape[-2], reach if labels.ndim == 2 else 0, width)]
        if labels.ndim == 3:
            area = width * labels.shape[1]
            pairs.append(_meeting(left, right, label, area, labels.shape[0], 0, width))
        root = _roots(left.size, *np.concatenate(pairs, axis=1))
        is_root = root == np.arange(left.size)
        part = (np.cumsum(is_root) - 1)[root]
        count = np.count_nonzero(is_root)
        sizes = np.bincount(part, right - left, count).astype(np.int64)
        marked = np.bincount(part, has_mark, count) > 0
        return cls(left, right, part, sizes, marked)

    def drop(self, labels: np.ndarray, kept: np.ndarray) -> None:
        """Give the parts that are not kept to the background."""
        dropped = ~kept[self.part]
        labels.reshape(-1)[_places(self.left[dropped], self.right[dropped])] = BACKGROUND


def _meeting(left, right, label, step, count, reach, width):
    """Pairs of runs, (2, n), of one label that overlap if one is moved by `step`, along an axis of length `count`.

    With a `reach` of 1, runs that meet diagonally are pairs, too.
    """
    later = np.flatnonzero(left // step % count)
    before = left[later] - step
    row = before - before % width
    low = np.searchsorted(right, np.maximum(before - reach, row), side="right")
    high = np.searchsorted(left, np.minimum(right[later] - step + reach, row + width))
    met = np.maximum(high - low, 0)
    one, other = np.repeat(later, met), _places(low, low + met)
    is_same = label[one] == label[other]
    return np.stack([one[is_same], other[is_same]])


def _roots(count, one, other):
    """The first of the runs to which each one is connected by pairs.

    Every root is joined to the smallest one beside it until none has any beside it, which takes some rounds.
    """
    root = np.arange(count)
    while one.size:
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
        while np.any(root[root] != root):
            root = root[root]
        one, other = root[one], root[other]
        differ = one != other
        one, other = one[differ], other[differ]
    return root


def _places(left, right):
    """All places of runs, in their order."""
    lengths = right - left
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if ends.size else 0) + np.repeat(left - ends + lengths, lengths)
