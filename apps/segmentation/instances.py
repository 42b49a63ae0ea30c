"""The objects in many boxes of one image: every box has its own label.

Each box is segmented as `segment(box=...)` segments it, in the part of the image around it (`around`): its colours
describe an object and its surroundings better than those of the whole image, and time depends on the boxes only.

Where several objects claim a pixel, the one of whose side its costs are most decides: (cost of the background - cost
of the object), of the last cut of each box.

Boxes and strokes of several objects are one problem with several labels (`with_boxes_found`): what is found in each box
alone is a mask that all objects can override, and no object extends beyond its box.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from apps.common.clock import Clock
from apps.common.images import to_rgb
from apps.common.rectangles import Rectangle, relative
from apps.common.row_blocks import in_parallel, on_one_thread
from apps.segmentation.fit import around, find_labels
from apps.segmentation.hints import Hints, Shares, part_of
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN, is_inside, labels_in
from apps.segmentation.model import ImageView
from apps.segmentation.strokes import box_inside, marks_of_box
from gridcut.device import DeviceName, resolve
from gridcut.device.result import GridResult


class Alone(NamedTuple):
    """What is found in a box alone: the object in a part of the image, and by how much its pixels prefer it."""

    part: Rectangle
    mask: np.ndarray
    preference: np.ndarray
    has_rival: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Instances(GridResult):
    """Result of `segment_boxes`: the object of every box in an image.

    Attributes
    ----------
    labels : ndarray of uint8 or uint16, (H, W)
        0 on the background, i on the object of the i-th box, from 1.
    boxes : dict
        The part inside the image of every box that has one, by label.
    seconds : dict
        Seconds: "total", and "compile", those of compiling kernels.
    device : str
        Device that solved the cuts.
    notes : tuple of str
        What was unusual: boxes without a pixel, objects that are empty, boxes that fit two objects about equally well.
    """

    labels: np.ndarray
    boxes: dict
    seconds: dict
    device: str
    notes: tuple

    @property
    def values(self) -> tuple[int, ...]:
        """The labels of the boxes that have a pixel in the image."""
        return tuple(self.boxes)


def with_boxes_found(
    view: ImageView,
    hints: Hints,
    device: DeviceName = "auto",
    check: Callable[..., None] | None = None,
    known: dict | None = None,
) -> Hints:
    """The hints of several objects, in which a mask shows what is found in each box alone.

    known   what was found, for the next call; it is changed
    """
    if hints.is_single or not hints.boxes:
        return hints
    known, earlier = {} if known is None else known, dict(known or {})
    known.clear()
    values = np.zeros(view.shape, np.int16)
    if hints.mask is not None:
        values[...] = hints.mask if hints.mask.dtype == np.int16 else is_inside(hints.mask)
    for label, box in sorted(hints.boxes.items(), key=lambda item: _area(item[1]), reverse=True):
        crop, alone, outside = _around(view, part_of(box, view.shape))
        given = hints.marks[crop]
        marks = np.where(given == OPEN, outside, given == label).astype(np.int16)
        key = label, box, *(sha256(one.tobytes()).digest() for one in (marks, alone.closed) if one is not None)
        if key not in earlier:
            found = find_labels(alone, Hints(marks, boxes={OBJECT: box}), device, check=check).mask
            earlier[key] = found if found.any() else marks != BACKGROUND
        known[key] = earlier[key]
        values[crop][known[key]] = label
    return replace(hints, mask=values)


def marks_outside(marks: np.ndarray, boxes: Mapping[int, Shares]) -> np.ndarray:
    """The marks, and those of the background outside of all boxes, unless an object that has none is marked."""
    if not boxes or {*labels_in(marks)} - {BACKGROUND, *boxes}:
        return marks
    is_outside = marks == OPEN
    for box in boxes.values():
        is_outside[part_of(box, marks.shape)] = False
    return np.where(is_outside, marks.dtype.type(BACKGROUND), marks)


def _area(box: Shares) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def segment_boxes(image: ArrayLike, boxes: ArrayLike, *, device: DeviceName = "auto") -> Instances:
    """Cut the object of every box out of an image.

    Parameters
    ----------
    image : array_like, shape (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA image; integers in [0, 255], uint16, or floats in [0, 1].
    boxes : array_like of int, shape (n, 4)
        Boxes x0, y0, x1, y1 around objects in pixels, half open; they may overlap.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where the cuts are solved.

    Returns
    -------
    Instances
        `labels` is i on the object of the i-th box.

    Raises
    ------
    InputError
        A box that is not four integers.

    Warns
    -----
    UserWarning
        Boxes that are empty or outside the image, which have no object, boxes in which no object was found, and boxes
        that fit two objects about equally well, of which one was taken.

    See Also
    --------
    segment : A single object, with all of its options.
    segment_labels : Several objects from strokes.

    Examples
    --------
    >>> import numpy as np
    >>> from apps import segment_boxes
    >>> image = np.zeros((20, 40), np.uint8)
    >>> image[5:15, 4:14] = image[6:16, 22:32] = 200
    >>> result = segment_boxes(image, [(2, 2, 17, 18), (20, 3, 35, 19)], device="cpu")
    >>> np.bincount(result.labels.ravel())
    array([600, 100, 100])
    """
    result = label_boxes(to_rgb(image), list(boxes), device)  # type: ignore[arg-type]
    for note in result.notes:
        warnings.warn(note, stacklevel=2)
    return result


def label_boxes(rgb: np.ndarray, boxes: Sequence[Sequence[int]], device: DeviceName = "auto") -> Instances:
    """As `segment_boxes` for RGB (H, W, 3), float32 in [0, 1] or uint8, without warnings."""
    clock, shape = Clock(), rgb.shape[:2]
    inside = {value: box_inside(box, shape) for value, box in enumerate(boxes, 1)}
    valid = {value: box for value, box in inside.items() if box is not None}
    whole = ImageView(lambda: rgb, shape)
    tasks = [partial(_segmented, whole, (slice(y0, y1), slice(x0, x1)), device) for x0, y0, x1, y1 in valid.values()]
    if len(tasks) > 1:
        tasks = [partial(on_one_thread, task) for task in tasks]
    found = dict(zip(valid, in_parallel(tasks), strict=True))
    labels = merged(found, shape, np.uint8 if len(boxes) < 256 else np.uint16)
    sizes = np.bincount(labels.ravel(), minlength=len(boxes) + 1)
    notes = [
        _note([value for value in inside if value not in valid], "{} empty or outside the image: {}"),
        _note([value for value in valid if not sizes[value]], "{} without an object: {}"),
        _note([one for one, alone in found.items() if alone.has_rival], "{} that two objects fit: {}"),
    ]
    return Instances(labels, valid, clock.total(), resolve(device), tuple(filter(None, notes)))


def _note(values: list[int], text: str) -> str:
    numbers = ", ".join(map(str, values))
    return text.format("box" if len(values) == 1 else "boxes", numbers) if values else ""


def _segmented(whole: ImageView, box: Rectangle, device: DeviceName) -> Alone:
    """Segment a box in the part of the image around it."""
    where, view, marks = _around(whole, box)
    found = find_labels(view, Hints(marks), device)
    as_background, as_object = view.costs(found.models).everywhere(np.full_like(marks, OPEN))
    return Alone(where, found.mask, as_background - as_object, found.rival is not None)


def _around(whole: ImageView, box: Rectangle) -> tuple[Rectangle, ImageView, np.ndarray]:
    """The part of an image in which a box is segmented, its view, and the marks of the box in it."""
    where = around(box, whole.shape)
    view, (rows, columns) = whole.part(where), relative(box, where)
    return where, view, marks_of_box((columns.start, rows.start, columns.stop, rows.stop), view.shape)


def merged(found: Mapping[int, Any], shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Labels of an image from objects found one by one; where several claim a pixel, the largest preference decides.

    found   by label; each with `part`, a rectangle of the image, and there its `mask`, bool, and `preference`
    """
    labels, best = np.zeros(shape, dtype), np.full(shape, -np.inf, np.float32)
    for value, each in found.items():
        wins = each.mask & (each.preference > best[each.part])
        labels[each.part][wins] = value
        best[each.part][wins] = each.preference[wins]
    return labels
