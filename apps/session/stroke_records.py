"""What a user did in a session, as records: strokes, boxes, masks; their form in JSON, and their history.

A session is the list of its records.  Everything else, marks, models and labels, is computed from them, so undo
removes a record, and a stored session is the list.  Masks inside records are compressed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import array_of, check_number
from apps.common.images import InputError
from apps.segmentation.marks import OBJECT
from apps.segmentation.start_mask import box_of_rectangle, fitted, mask_of, volume_mask_of
from apps.segmentation.strokes import check_box, whole_numbers
from apps.session.object_records import (
    LOCK_FLAGS,
    MAX_LABEL,
    Clear,
    Delete,
    Describe,
    Lock,
    ObjectRecord,
    Unlock,
    check_label,
    make_description,
    objects_of,
    read_lock,
)
from apps.session.packed_mask import PackedMask

MAX_POINTS = 100_000  # of one stroke


@dataclass(frozen=True, slots=True)
class Stroke:
    """A disc of a radius moved along a polyline.

    Attributes
    ----------
    points : tuple of (float, float)
        x, y of the corners in pixels of the image or of the slice; pixel (i, j) covers [i, i + 1) x [j, j + 1).
    radius : float
        In pixels; in the slices of a volume, in voxels along x of the slice.
    label : int or None
        0 background, 1 and above the objects, None: the marks below are erased.
    axis, slice : int or None
        Slice of a volume; None in an image.
    is_part : bool
        Whether the next stroke continues this one, so that both are undone together.
    is_filled : bool
        Whether the inside of the polygon with these corners is marked, too.
    """

    points: tuple[tuple[float, float], ...]
    radius: float
    label: int | None
    axis: int | None = None
    slice: int | None = None
    is_part: bool = False
    is_filled: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A box, half open, around an object, which is found alone; all outside is background.

    (x0, y0, x1, y1) in an image, (x0, y0, z0, x1, y1, z1) in a volume.
    """

    box: tuple[int, ...]
    label: int = OBJECT


@dataclass(frozen=True, slots=True)
class MaskHint:
    """A start mask of the first object of an image or volume, which colours override."""

    pixels: PackedMask
    label: ClassVar[int] = OBJECT


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks without the strokes that made them."""

    pixels: PackedMask  # 0 open, 1 background, 2 and above: label + 1

    @property
    def marks(self) -> np.ndarray:
        """A label, or -1 where open, int16."""
        return self.pixels.values().astype(np.int16) - np.int16(1)


Locator = Box | MaskHint  # a record that says where the object is, without marks of it
Record = Stroke | Locator | Marks | ObjectRecord


def after_clear(records: Sequence[Record]) -> Sequence[Record]:
    """The records after the last `Clear`."""
    for k in range(len(records) - 1, -1, -1):
        if isinstance(records[k], Clear):
            return records[k + 1 :]
    return records


def effective(records: Sequence[Record]) -> Sequence[Record]:
    """The records that have an effect: those after the last `Clear`, and what remains of those before it."""
    last = after_clear(records)
    if len(last) == len(records):
        return records
    return (*objects_of(records[: -len(last) or None]).lasting, *last)


def locator_of(records: Sequence[Record]) -> Locator | None:
    """The last box or mask of an object that takes part in cuts.

    A box replaces masks, but remains background outside if one follows.
    """
    return next(_locators(records), None)


def box_of(records: Sequence[Record]) -> Box | None:
    """The last box of an object that takes part in cuts, outside of which all is background."""
    return next((one for one in _locators(records) if isinstance(one, Box)), None)


def _locators(records: Sequence[Record]) -> Iterator[Locator]:
    """The boxes and masks in effect, the last one first."""
    replaced = {*objects_of(records).closed}
    for record in reversed(after_clear(records)):
        if isinstance(record, Locator) and record.label not in replaced:
            yield record
        elif isinstance(record, Delete) or (isinstance(record, Lock) and record.is_start):
            replaced.add(record.label)


def boxes_of(records: Sequence[Record]) -> dict[int, Box]:
    """The last box of each object, also of those that are locked or held."""
    boxes: dict[int, Box] = {}
    for record in after_clear(records):
        if isinstance(record, Box):
            boxes[record.label] = record
        elif isinstance(record, Delete):
            boxes.pop(record.label, None)
    return boxes


def common_length(some: Sequence, others: Sequence) -> int:
    """The number of first elements that two sequences share; the same objects, whose values need no comparison."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((k for k, (one, other) in pairs if one is not other), min(len(some), len(others)))


def make_stroke(
    points: ArrayLike, radius: float, label: int | None, shape, axis, slice, is_part=False, is_filled=False
) -> Stroke:
    """A checked stroke on a grid of a shape; InputError names the argument that is wrong."""
    try:
        xy = np.asarray(points, float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"points must be numbers of shape (N, 2), x and y, got {points!r:.80}") from None
    if xy.shape == (2,):
        xy = xy[None]
    if xy.ndim != 2 or xy.shape[1] != 2 or not 0 < len(xy) <= MAX_POINTS:
        raise InputError(f"points must have shape (N, 2) with 1 to {MAX_POINTS} points x, y, got shape {xy.shape}")
    if not np.isfinite(xy).all() or np.abs(xy).max() > 1e7:
        raise InputError("points hold NaN, infinity or numbers above 1e7; pass pixels of the image")
    check_number(radius, "radius")
    if not 0 < radius <= 1e6:  # also NaN
        raise InputError(f"radius must be above 0 and at most 1e6 pixels, got {radius}")
    if label is not None:
        label = check_label(label, 0)
    if len(shape) == 2:
        if axis is not None or slice is not None:
            raise InputError("axis and slice select a slice of a volume, but the session has an image; omit both")
    else:
        axis = 0 if axis is None else axis
        check_number(axis, "axis", integer=True)
        if not 0 <= axis < 3:
            raise InputError(f"axis must be 0, 1 or 2, got {axis}")
        if slice is None:
            raise InputError("slice is missing; a stroke in a volume needs the index of its slice along the axis")
        check_number(slice, "slice", integer=True)
        if not 0 <= slice < shape[axis]:
            raise InputError(f"slice must be 0 to {shape[axis] - 1} along axis {axis}, got {slice}")
        axis, slice = int(axis), int(slice)
    return Stroke(tuple(map(tuple, xy.tolist())), float(radius), label, axis, slice, bool(is_part), bool(is_filled))


def make_box(box, shape, label: int = OBJECT) -> Box:
    """A checked box, clipped to the image or volume; InputError for an empty box, one outside, or one of all."""
    label = check_label(label)
    if len(shape) == 3 and label != OBJECT:
        raise InputError(f"a box in a volume finds object {OBJECT}; draw strokes for object {label}")
    if len(shape) == 2:
        values: tuple[int, ...] = check_box(box)
        what, size = "image", f"{shape[1]} wide and {shape[0]} high"
    else:
        volume_box = whole_numbers(box, 6)
        if volume_box is None:
            raise InputError(f"a box in a volume needs six integers x0, y0, z0, x1, y1, z1, got {box!r:.80}")
        values = volume_box
        what, size = "volume", f"{shape[2]} wide, {shape[1]} high and {shape[0]} deep"
    sizes = shape[::-1]
    low = [max(start, 0) for start in values[: len(sizes)]]
    high = [min(stop, n) for stop, n in zip(values[len(sizes) :], sizes, strict=True)]
    unit = "pixel" if what == "image" else "voxel"
    if any(start >= stop for start, stop in zip(low, high, strict=True)):
        raise InputError(f"box {','.join(map(str, values))} contains no {unit} of the {what}, which is {size}")
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


def make_marks(marks: ArrayLike, shape) -> Marks:
    """Checked marks of a grid: a label, or -1 where nothing is marked; InputError for anything else."""
    values = array_of(marks, "strokes")
    if values.dtype.kind not in "iu":
        raise InputError(
            f"strokes must hold integers, got {values.dtype}; -1 is none, 0 the background, 1 and above the objects"
        )
    if values.shape != tuple(shape):
        raise InputError(f"strokes have shape {values.shape}, but the image has {shape}; make them the same size")
    low, high = int(values.min()), int(values.max())
    if low < -1 or high > MAX_LABEL:
        raise InputError(
            f"strokes must be -1 for none, 0 for the background or 1 to {MAX_LABEL} for an object, got {low} to {high}"
        )
    return Marks(PackedMask.of((values.astype(np.int16) + 1).astype(np.uint8)))


def as_json(record: Record) -> dict:
    """A record as JSON, without the values of its mask."""
    if isinstance(record, Stroke):
        content: dict = {"kind": "erase" if record.label is None else "stroke"}
        content |= {"points": [list(point) for point in record.points], "radius": record.radius}
        if record.label is not None:
            content["label"] = record.label
        content |= {name: True for name in ("is_part", "is_filled") if getattr(record, name)}
        return content | ({} if record.axis is None else {"axis": record.axis, "slice": record.slice})
    if isinstance(record, Box):
        return {"kind": "box", "box": list(record.box), "label": record.label}
    if isinstance(record, Clear):
        return {"kind": "clear"} | ({"is_part": True} if record.is_part else {})
    if isinstance(record, Lock):
        content = {"kind": "lock", "label": record.label, "box": list(record.box)}
        return content | {name: True for name in LOCK_FLAGS if getattr(record, name)}
    if isinstance(record, Unlock):
        return {"kind": "unlock", "label": record.label} | ({"is_part": True} if record.is_part else {})
    if isinstance(record, Describe):
        return {"kind": "describe", "label": record.label, "name": record.name, "colour": record.colour}
    if isinstance(record, Delete):
        return {"kind": "delete", "label": record.label}
    if isinstance(record, Marks):
        return {"kind": "strokes"}
    return {"kind": "start"} | ({"is_soft": True} if record.pixels.dtype != np.dtype(bool).str else {})


def from_json(content: dict, shape: tuple[int, ...], pixels) -> Record:
    """The record of `as_json` with the compressed values of its mask, if there is one.

    Raises ValueError, also InputError, or TypeError for anything else.
    """
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind in ("stroke", "erase"):
        if kind == "stroke" and not isinstance(content.get("label"), int):
            raise ValueError("label")
        label = content["label"] if kind == "stroke" else None
        place = content.get("axis"), content.get("slice")
        flags = content.get("is_part") is True, content.get("is_filled") is True
        return make_stroke(content.get("points"), content.get("radius"), label, shape, *place, *flags)
    if kind == "box":
        return make_box(content.get("box"), shape, content.get("label", OBJECT))
    if kind == "clear":
        return Clear(content.get("is_part") is True)
    if kind == "describe":
        return make_description(content.get("label"), content.get("name"), content.get("colour"))
    if kind == "lock":
        return read_lock(content, shape, pixels)
    if kind == "unlock":
        return Unlock(check_label(content.get("label")), content.get("is_part") is True)
    if kind == "delete":
        return Delete(check_label(content.get("label")))
    if kind not in ("strokes", "start"):
        raise ValueError("kind")
    if kind == "strokes":
        return Marks(PackedMask.of_data(pixels, shape, np.uint8))
    return MaskHint(PackedMask.of_data(pixels, shape, np.uint8 if content.get("is_soft") is True else bool))


def has_pixels(record: Record) -> bool:
    """Whether a record holds the values of a grid, which the page does not list."""
    return isinstance(record, MaskHint | Marks)


def is_part(record: Record) -> bool:
    """Whether the next record is undone together with this one."""
    return isinstance(record, Stroke | Clear | Lock | Unlock) and record.is_part


class RecordHistory(NamedTuple):
    """The records, and those that were undone and can be repeated; an edit replaces it as a whole.

    Parts of a stroke, and what precedes a record as its part, are undone and repeated together with it.

    records     in order
    undone      the first one to be repeated is the last
    is_final    whether the last edit is complete: no part of a stroke that is still being drawn
    """

    records: tuple[Record, ...] = ()
    undone: tuple[Record, ...] = ()
    is_final: bool = True

    def with_added(self, *records: Record, is_final: bool = True) -> "RecordHistory":
        """The history after records were added; what was undone is kept until an edit is complete."""
        return RecordHistory((*self.records, *records), () if is_final else self.undone, is_final)

    def with_undone(self) -> "RecordHistory | None":
        """The history without the last record and its parts; None if there is none.

        A stroke that is still being drawn is given up, not kept to be repeated.
        """
        count = len(self.records) - 1
        while count > 0 and is_part(self.records[count - 1]):
            count -= 1
        if count < 0:
            return None
        return RecordHistory(self.records[:count], self.undone + (self.records[count:][::-1] if self.is_final else ()))

    def with_repeated(self) -> "RecordHistory | None":
        """The history with the record that was undone last; None if there is none, or a stroke is being drawn."""
        count = len(self.undone) - 1 if self.is_final else -1
        while count > 0 and is_part(self.undone[count]):
            count -= 1
        return None if count < 0 else RecordHistory(self.records + self.undone[count:][::-1], self.undone[:count])
