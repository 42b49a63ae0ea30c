"""The marks of a session's records on a grid: the image's own, or a reduced one.

    layer    label of the last stroke over each pixel, int16; OPEN without one
    marks    the layer, and BACKGROUND wherever it is open outside the boxes, if all objects have one; OPEN in locked
             objects, and for their labels
    closed   the pixels of locked objects, bool; None without one
    objects  what the records say besides

A pixel belongs to a stroke if its centre is within the radius of the polyline, or if it contains a corner of the
polyline.  A record changes only its own region; removing it paints the earlier ones in that region again.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from apps.common.rectangles import Rectangle, area, relative
from apps.segmentation.image_sizes import at_centres, reduced_marks
from apps.segmentation.marks import BACKGROUND, OPEN, labels_in
from apps.session.session_records import (
    Clear,
    Delete,
    Describe,
    Marks,
    Patch,
    Record,
    Stroke,
    after_clear,
    common_length,
    objects_of,
    paste,
)
from gridcut.device import kernel

MIN_RADIUS = 0.5  # pixels of the grid; thinner strokes would have gaps
FIRM = 512  # a power of two above all labels

Painter = Callable[[np.ndarray, Rectangle], None]  # changes the layer in a part of the grid
Placed = tuple[Rectangle, Painter]  # a record: the region that it may change, and what it does there


class Change:
    """A region of the grid, and its marks before and after, int16 arrays of the region's shape.

    Only what is used is computed: a box changes nearly all pixels of a grid, whose indices take ten times its memory.
    """

    def __init__(self, region: Rectangle, before: np.ndarray, after: np.ndarray):
        self.region, self.before, self.after = region, before, after

    @cached_property
    def changed(self) -> np.ndarray:
        """Which pixels of the region changed."""
        return self.before != self.after

    @cached_property
    def where(self) -> tuple[np.ndarray, ...]:
        """The pixels that changed, a tuple of index arrays of the grid."""
        places = np.nonzero(self.changed)
        return tuple(index + part.start for index, part in zip(places, self.region, strict=True))

    @property
    def marks(self) -> np.ndarray:
        """The new marks of the pixels that changed, in the order of `where`."""
        return self.after[self.changed]


class Canvas:
    """Marks of records on a grid.

    shape     of the grid
    full      shape of the image; records are in its pixels
    spacing   size of a voxel along z, y and x; None for an image
    """

    def __init__(self, shape, full, spacing=None):
        self.shape, self._full, self._spacing = tuple(shape), tuple(full), spacing
        self._whole: Rectangle = tuple(slice(0, n) for n in self.shape)
        self._clear()

    def _clear(self) -> None:
        self._layer = np.full(self.shape, OPEN, np.int16)
        self._boxes: list[Rectangle] = []  # outside of which all is background
        self._placed: list[Placed] = []  # the records
        self.objects = objects_of(())
        self._set_locks({})
        self.records: Sequence[Record] | None = ()  # None while they are being changed, and after an exception then

    def all_marks(self) -> np.ndarray:
        """The marks of the grid: a label, or OPEN; int16, a copy."""
        return self._marks(self._whole)

    def marks_in_slice(self, axis: int, index: int) -> np.ndarray:
        """The marks of a slice of a volume, two axes."""
        region = tuple(slice(index, index + 1) if k == axis else slice(0, n) for k, n in enumerate(self.shape))
        return self._marks(region).squeeze(axis)

    def change_to(self, records: Sequence[Record]) -> Change:
        """Replace the records; only the regions of records that are new, or no longer there, are painted.

        After an exception, the next call starts with an empty canvas.
        """
        if self.records is None:
            self._clear()
        before, self.records = self.records, None
        kept = common_length(before, records)
        added, removed = [self._place(record) for record in records[kept:]], self._placed[kept:]
        region = _hull([*removed, *added], self.shape)
        objects = objects_of(records)
        boxes, locks = objects.boxes, objects.locked
        if (boxes or self._boxes) and len(self.shape) == 2:  # what is outside of all may change everywhere
            region = self._whole
        marks = self._marks(region)
        del self._placed[kept:]
        if removed:  # paint the earlier ones again, from the last `Clear` on
            first, where = kept - len(after_clear(records[:kept])), _hull(removed, self.shape)
            self._layer[where] = OPEN
            for part, change in self._placed[first:]:
                self._apply(change, _both(where, part))
        for part, change in added:
            self._apply(change, part)
        self._placed += added
        if locks != self.objects.locked:
            self._set_locks(locks)
        self.objects = objects
        taking_part = [box for label, box in boxes.items() if label not in locks]
        is_around = len(self.shape) == 3 or not self._unboxed(records)
        self._boxes = [self.region_of_box(box.box) for box in taking_part] if is_around else []
        self.records = records
        return Change(region, marks, self._marks(region))

    def _unboxed(self, records: Sequence[Record]) -> bool:
        """Whether an object that has no box takes part."""
        objects = self.objects
        others = {BACKGROUND, *objects.boxes, *objects.locked}
        drawn: set[int] = set()
        for record in after_clear(records) if objects.boxes else ():
            if isinstance(record, Stroke):
                drawn.add(record.label or BACKGROUND)
            elif isinstance(record, Marks):
                drawn.update(labels_in(record.marks))
        return not {*objects.opened, *objects.locators} <= others or any(
            (self._layer == label).any() for label in drawn - others
        )

    def _set_locks(self, locks: dict) -> None:
        self.closed = None
        self._is_locked = np.isin(np.arange(256), [*locks]).view(np.uint8)  # by label, and 0 for OPEN
        if locks:
            self.closed = at_centres(paste(np.zeros(self._full, np.uint8), locks.values()), self.shape) > 0

    def _marks(self, region: Rectangle) -> np.ndarray:
        marks = self._layer[region].copy()
        if self._boxes:
            is_outside = marks == OPEN
            for box in self._boxes:
                common = _both(region, box)
                is_outside[relative(common, region)] = False
            marks[is_outside] = BACKGROUND
        if self.closed is not None and marks.size:
            import cv2

            is_locked = cv2.LUT(marks.astype(np.uint8), self._is_locked)  # several times as fast as an index
            np.copyto(marks, OPEN, where=self.closed[region] | is_locked.view(bool))
        return marks

    def _apply(self, change: Painter, region: Rectangle) -> None:
        if all(part.start < part.stop for part in region):
            change(self._layer[region], region)

    def _place(self, record: Record) -> Placed:
        """The region that a record may change, and what it does to the layer in a part of it."""
        if isinstance(record, Stroke):
            region, paint = placed(record, self.shape, self._full, self._spacing)
            return region, partial(paint, OPEN if record.label is None else record.label)

        def change(layer: np.ndarray, region: Rectangle) -> None:
            if isinstance(record, Marks):
                marks = reduced_marks(record.marks, self.shape)[region]
                np.copyto(layer, marks, where=marks != OPEN)
            elif isinstance(record, Clear | Delete):
                layer[(layer == record.label) if isinstance(record, Delete) else ...] = OPEN

        is_seen = not isinstance(record, Describe | Patch)
        return (self._whole if is_seen else tuple(slice(0, 0) for _ in self.shape)), change

    def region_of_box(self, box: tuple[int, ...]) -> Rectangle:
        """A box in pixels of this grid; pixels completely outside of the box are outside."""
        count = len(self.shape)
        scales = [n / m for n, m in zip(self.shape, self._full, strict=True)]
        ends = zip(box[count - 1 :: -1], box[: count - 1 : -1], scales, strict=True)  # the box starts with x
        return tuple(slice(int(start * scale), int(np.ceil(stop * scale))) for start, stop, scale in ends)


class Overlay(Canvas):
    """The pixels of an image that patches set; their layer holds FIRM more where strokes do not take them back."""

    def change_to(self, records: Sequence[Record]) -> Change:
        """As for a canvas; all other records have no effect."""
        return super().change_to([one for one in records if isinstance(one, Patch | Stroke | Delete | Clear)])

    def paste(self, labels: np.ndarray) -> None:
        """Write the pixels to labels (H, W), in place."""
        placed = zip(self._placed, self.records or (), strict=True)
        patches = [one for one, record in placed if isinstance(record, Patch)]
        parts, whole = [part for part, _ in patches], _hull(patches, self.shape)
        for part in parts if sum(map(area, parts)) < area(whole) else [whole]:
            layer = self._layer[part]
            np.copyto(labels[part], layer & (FIRM - 1), where=layer != OPEN)

    def is_firm(self, part: Rectangle) -> np.ndarray:
        """Pixels of a part of the image that only firm patches change."""
        return self._layer[part] >= FIRM

    def _place(self, record: Record) -> Placed:
        region, paint = super()._place(replace(record, label=None) if isinstance(record, Stroke) else record)
        if isinstance(record, Patch):
            x0, y0, x1, y1 = record.box
            region = slice(y0, y1), slice(x0, x1)

        def change(layer: np.ndarray, part: Rectangle) -> None:
            if isinstance(record, Patch):
                values = record.pixels.values()[relative(part, region)].astype(np.int16) - np.int16(1)
                taken = (values != OPEN) & (record.is_firm | (layer < FIRM))
                np.copyto(layer, values + np.int16(FIRM * record.is_firm), where=taken)
            elif isinstance(record, Delete):
                layer[layer % FIRM == record.label] = OPEN
            else:
                before = layer.copy()
                paint(layer, part)
                if isinstance(record, Stroke) and record.label is not None:
                    np.copyto(layer, before, where=before >= FIRM)

        return region, change


def placed(
    stroke: Stroke, shape: Sequence[int], full: Sequence[int], spacing=None
) -> tuple[Rectangle, Callable[[int, np.ndarray, Rectangle], None]]:
    """The region of a grid that a stroke may change, and a function that writes a value to its pixels of a part."""
    row, column = (axis for axis in range(len(shape)) if axis != stroke.axis)
    down, across = shape[row] / full[row], shape[column] / full[column]
    aspect = 1.0 if spacing is None else spacing[row] / spacing[column]
    x, y = np.multiply(stroke.points, (across, down)).T.copy()  # contiguous, or painting would be compiled once more
    radius = max(stroke.radius * across, MIN_RADIUS)
    sides = [slice(0, 0)] * len(shape)
    for axis, places, far in ((row, y, radius / aspect), (column, x, radius)):
        ends = np.floor(places.min() - far), np.floor(places.max() + far) + 1
        sides[axis] = slice(*(int(min(max(end, 0), shape[axis])) for end in ends))
    if stroke.axis is not None:
        sides[stroke.axis] = slice(stroke.slice, (stroke.slice or 0) + 1)

    def paint(value: int, layer: np.ndarray, region: Rectangle) -> None:
        plane = layer if stroke.axis is None else layer.squeeze(stroke.axis)
        paint_kernel(plane, region[row].start, region[column].start, x, y, radius, aspect, np.int16(value))

    return tuple(sides), paint


@kernel
def paint_kernel(plane, top, left, x, y, radius, aspect, value):
    """Write `value` to the pixels of a plane within the radius of a polyline; the plane starts at (top, left).

    Rows are `aspect` times as high as columns are wide.  What a segment covers of a row is one run of pixels, at the
    place of the row that is nearest to it.  The last run of each row is extended, and written when another one begins.
    """
    rows, columns = plane.shape
    begun, ended = np.zeros(rows, np.int64), np.full(rows, -1, np.int64)  # first and last column of the run
    for k in range(max(1, len(x) - 1)):
        last = min(k + 1, len(x) - 1)
        run, fall = x[last] - x[k], (y[last] - y[k]) * aspect
        first_row = int(np.floor(min(y[k], y[last]) - radius / aspect)) - top
        last_row = int(np.floor(max(y[k], y[last]) + radius / aspect)) - top
        if min(x[k], x[last]) - radius > left + columns or max(x[k], x[last]) + radius < left:
            continue
        for row in range(max(0, first_row), min(rows, last_row + 1)):
            down = (row + top + 0.5 - y[k]) * aspect
            column = int(np.floor(x[k] - 0.5 + run * _share(down / fall if fall != 0.0 else 0.0)))
            if not _is_near(column + 0.5 - x[k], down, run, fall, radius):
                column += 1
                if not _is_near(column + 0.5 - x[k], down, run, fall, radius):
                    continue
            if not begun[row] <= column <= ended[row]:
                _fill(plane[row], begun[row] - left, ended[row] - left, value)
                begun[row] = ended[row] = column
            begun[row] = _last_near(begun[row], -1, x[k], down, run, fall, radius)
            ended[row] = _last_near(ended[row], 1, x[k], down, run, fall, radius)
    for row in range(rows):
        _fill(plane[row], begun[row] - left, ended[row] - left, value)
    for k in range(len(x)):
        row, column = int(np.floor(y[k])) - top, int(np.floor(x[k])) - left
        if 0 <= row < rows and 0 <= column < columns:
            plane[row, column] = value


@kernel
def _fill(line, first, last, value):
    """Write a value to the columns of a row, as far as there are some."""
    for column in range(max(0, first), min(len(line), last + 1)):
        line[column] = value


@kernel
def _last_near(column, way, start, down, run, fall, radius):
    """The last column from this one on that is within the radius, or this one."""
    step = way
    while _is_near(column + step + 0.5 - start, down, run, fall, radius):
        column += step
        step *= 2
    while step != way:
        step //= 2
        if _is_near(column + step + 0.5 - start, down, run, fall, radius):
            column += step
    return column


@kernel
def _is_near(across, down, run, fall, radius):
    """Whether a place, relative to the start of a segment, is within the radius of it."""
    square = run * run + fall * fall
    along = _share((across * run + down * fall) / square) if square > 0.0 else 0.0
    return (across - along * run) ** 2 + (down - along * fall) ** 2 <= radius * radius


@kernel
def _share(value):
    """The nearest number of 0 to 1."""
    return min(1.0, max(0.0, value))


def _both(one: Rectangle, other: Rectangle) -> Rectangle:
    """The intersection of two regions, perhaps empty."""
    pairs = ((max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, other, strict=True))
    return tuple(slice(start, max(start, stop)) for start, stop in pairs)


def _hull(records: list[Placed], shape) -> Rectangle:
    """The smallest region that contains those of all records; an empty one for none."""
    if not records:
        return tuple(slice(0, 0) for _ in shape)
    sides = zip(*(region for region, _ in records), strict=True)
    return tuple(slice(min(p.start for p in parts), max(p.stop for p in parts)) for parts in sides)
