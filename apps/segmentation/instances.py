"""The objects in many boxes of one image: every box has its own label.

Each box is segmented as `segment(box=...)` segments it, in the part of the image around it (`around`): its colours
describe an object and its surroundings better than those of the whole image, and time depends on the boxes only.

Where boxes overlap, one cut with several labels decides.  For each connected set R of pixels that are in two boxes or
more, it minimises

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq [x_p != x_q]    over p in R, and all edges with an end in R,

    D_p(0) = 0
    D_p(i) = (cost of the object of box i  -  cost of its background) at p, infinite outside box i

with the labels of all other pixels fixed.  The costs are those of the last cut of each box; with a single box, E is its
own energy.  The labels are found by alpha-expansion, in which every move is an exact cut.

Boxes and strokes of several objects are one problem with several labels (`with_boxes_found`): what is found in each box
alone is a mask that all objects can override, and no object extends beyond its box.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

import numpy as np
from numpy.typing import ArrayLike

from apps.common.clock import Clock
from apps.common.images import to_rgb
from apps.common.rectangles import Rectangle, relative, widened
from apps.common.row_blocks import in_parallel, on_one_thread
from apps.segmentation.fit import Found, around, find_labels
from apps.segmentation.grid_cut import minimum
from apps.segmentation.hints import Hints, Shares, part_of
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN, is_inside, labels_in
from apps.segmentation.model import ImageView
from apps.segmentation.strokes import box_inside, marks_of_box
from apps.segmentation.terms import FORBIDDEN
from gridcut.device import DeviceName, resolve
from gridcut.device.result import GridResult


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
        crop = around(part_of(box, view.shape), view.shape)
        rows, columns = relative(part_of(box, view.shape), crop)
        given = hints.marks[crop]
        outside = marks_of_box((columns.start, rows.start, columns.stop, rows.stop), given.shape)
        marks = np.where(given == OPEN, outside, given == label).astype(np.int16)
        alone = view.part(crop)
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


@dataclass(frozen=True, slots=True)
class _Part:
    """A box in its crop: rectangles of the image, colours and edges of the crop, and the labels found there."""

    box: Rectangle
    crop: Rectangle
    view: ImageView
    found: Found


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
    parts = dict(zip(valid, in_parallel(tasks), strict=True))
    labels = np.zeros(shape, np.uint8 if len(boxes) < 256 else np.uint16)
    cover = np.zeros(shape, np.uint16)  # boxes that contain a pixel
    for value, part in parts.items():
        labels[part.crop][part.found.mask] = value
        cover[part.box] += 1
    for region, where in _regions(cover > 1):
        _decide(whole, labels, parts, region, where, device)
    sizes = np.bincount(labels.ravel(), minlength=len(boxes) + 1)
    notes = [
        _note([value for value in inside if value not in valid], "{} empty or outside the image: {}"),
        _note([value for value in valid if not sizes[value]], "{} without an object: {}"),
        _note([one for one, part in parts.items() if part.found.rival is not None], "{} that two objects fit: {}"),
    ]
    return Instances(labels, valid, clock.total(), resolve(device), tuple(filter(None, notes)))


def _note(values: list[int], text: str) -> str:
    numbers = ", ".join(map(str, values))
    return text.format("box" if len(values) == 1 else "boxes", numbers) if values else ""


def _segmented(whole: ImageView, box: Rectangle, device: DeviceName) -> _Part:
    """Segment a box in the part of the image around it."""
    where = around(box, whole.shape)
    view, (rows, columns) = whole.part(where), relative(box, where)
    hints = Hints(marks_of_box((columns.start, rows.start, columns.stop, rows.stop), view.shape))
    return _Part(box, where, view, find_labels(view, hints, device))


def _regions(several: np.ndarray) -> Iterator[tuple[Rectangle, np.ndarray]]:
    """The connected sets of pixels in bool (H, W): a rectangle that contains one and its neighbours, and its pixels."""
    import cv2

    if not several.any():
        return
    count, numbers, sizes, _ = cv2.connectedComponentsWithStats(several.view(np.uint8), connectivity=8)
    for number in range(1, count):
        left, top, width, height = sizes[number, :4].tolist()
        region = widened((slice(top, top + height), slice(left, left + width)), 1, several.shape)
        yield region, numbers[region] == number


def _decide(whole: ImageView, labels: np.ndarray, parts: dict[int, _Part], region: Rectangle, where, device) -> None:
    """Replace the labels of pixels in several boxes, `where` in a region, by those of minimum energy."""
    meeting = {value: shared for value, part in parts.items() if (shared := _shared(part.box, region))}
    fixed = labels[region]
    values = np.array(sorted({BACKGROUND, *meeting, *np.unique(fixed).tolist()}), np.int32)
    unary = np.full((len(values), *where.shape), FORBIDDEN, np.int32)
    unary[0] = 0
    for place, value in enumerate(values.tolist()):
        if value in meeting:
            part, shared = parts[value], meeting[value]
            at = relative(shared, part.crop)
            none = np.full(tuple(side.stop - side.start for side in shared), OPEN)
            as_background, as_object = part.view.costs(part.found.models).at(at, none)
            unary[place][relative(shared, region)] = as_object - as_background
        unary[place][~where] = np.where(fixed[~where] == value, 0, FORBIDDEN)
    scale = np.mean([parts[value].view.scale for value in meeting])
    edges = {o: np.rint(weight[region] * scale).astype(np.uint16) for o, weight in whole.edges(is_box=True).items()}
    solved = minimum(unary, edges, device, np.searchsorted(values, fixed))
    fixed[where] = values[solved.labels[where]]


def _shared(one: Rectangle, other: Rectangle) -> Rectangle | None:
    """The intersection of two rectangles; None if it is empty."""
    rows, columns = (slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, other, strict=True))
    return (rows, columns) if rows.start < rows.stop and columns.start < columns.stop else None
