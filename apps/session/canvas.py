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
from functools import cached_property

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
BLOCK = 4096  # segments that are painted in one call, so that the caller can be interrupted between blocks


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

    def any(self) -> bool:
        """Whether a pixel changed."""
        return bool(self.changed.any())

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
        self._regions: list[Rectangle] = []  # that the records may change
        self.objects = objects_of(())
        self._set_locks({})
        self.records: Sequence[Record] | None = ()  # None while they are being changed, and after an exception then

    def all_marks(self) -> np.ndarray:
        """The marks of the grid: a label, or OPEN; int16, a copy."""
        return self._marks(self._whole)

    def marks_now(self) -> np.ndarray:
        """As `all_marks`, but not to be changed, nor to be read after the records have changed: no copy if possible."""
        return self._marks(self._whole) if self._boxes or self.objects.locked else self._layer

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
        added = [(record, self._region_of(record)) for record in records[kept:]]
        removed = self._regions[kept:]
        region = _hull([*removed, *(part for _, part in added)], self.shape)
        objects = objects_of(records)
        boxes, locks = objects.boxes, objects.locked
        if (boxes or self._boxes) and len(self.shape) == 2:  # what is outside of all may change everywhere
            region = self._whole
        marks = self._marks(region)
        if removed:
            self._take_back(records[:kept], _hull(removed, self.shape))
        for record, part in added:
            self._add(record, part)
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

    def _add(self, record: Record, region: Rectangle) -> None:
        """Apply a record."""
        if isinstance(record, Clear):
            self._layer[:] = OPEN
        self._apply(record, region)
        self._regions.append(region)

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

    def _take_back(self, records: Sequence[Record], region: Rectangle) -> None:
        """Remove the records after these; the region contains all that they changed."""
        del self._regions[len(records) :]
        first = len(records) - len(after_clear(records))
        self._layer[region] = OPEN
        for record, part in zip(records[first:], self._regions[first:], strict=True):
            self._apply(record, _both(region, part))

    def _region_of(self, record: Record) -> Rectangle:
        """The region that a record may change."""
        if isinstance(record, Describe | Patch):
            return tuple(slice(0, 0) for _ in self.shape)
        return placed(record, self.shape, self._full, self._spacing)[0] if isinstance(record, Stroke) else self._whole

    def _apply(self, record: Record, region: Rectangle) -> None:
        """Apply a stroke, marks or a removal to a region; other records change no marks."""
        if any(part.start >= part.stop for part in region):
            return
        if isinstance(record, Marks):
            marks = reduced_marks(record.marks, self.shape)[region]
            np.copyto(self._layer[region], marks, where=marks != OPEN)
        elif isinstance(record, Delete):
            layer = self._layer[region]
            layer[layer == record.label] = OPEN
        elif isinstance(record, Stroke):
            _, paint = placed(record, self.shape, self._full, self._spacing)
            paint(self._layer[region], region, OPEN if record.label is None else record.label)

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
        parts = [part for part, one in zip(self._regions, self.records or (), strict=True) if isinstance(one, Patch)]
        whole = _hull(parts, self.shape)
        for part in parts if sum(map(area, parts)) < area(whole) else [whole]:
            layer = self._layer[part]
            np.copyto(labels[part], layer & (FIRM - 1), where=layer != OPEN)

    def _region_of(self, record: Record) -> Rectangle:
        if not isinstance(record, Patch):
            return super()._region_of(record)
        x0, y0, x1, y1 = record.box
        return slice(y0, y1), slice(x0, x1)

    def _apply(self, record: Record, region: Rectangle) -> None:
        layer = self._layer[region]
        if isinstance(record, Patch):
            values = record.pixels.values()[relative(region, self._region_of(record))].astype(np.int16) - np.int16(1)
            taken = (values != OPEN) & (record.is_firm | (layer < FIRM))
            np.copyto(layer, values + np.int16(FIRM * record.is_firm), where=taken)
        elif isinstance(record, Delete):
            layer[layer % FIRM == record.label] = OPEN
        elif isinstance(record, Stroke):
            before = layer.copy()
            super()._apply(replace(record, label=2 * FIRM), region)
            is_kept = (layer != 2 * FIRM) | ((before >= FIRM) & (record.label is not None))
            layer[...] = np.where(is_kept, before, np.int16(OPEN))


def placed(
    stroke: Stroke, shape: Sequence[int], full: Sequence[int], spacing=None
) -> tuple[Rectangle, Callable[[np.ndarray, Rectangle, int], None]]:
    """The region of a grid that a stroke may change, and a function that writes a value to its pixels of a region."""
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

    def paint(layer: np.ndarray, region: Rectangle, value: int) -> None:
        plane, start = layer if stroke.axis is None else layer.squeeze(stroke.axis), (region[row], region[column])
        for first in range(0, max(1, len(x) - 1), BLOCK):
            part = slice(first, first + BLOCK + 1)
            paint_kernel(plane, start[0].start, start[1].start, x[part], y[part], radius, aspect, np.int16(value))

    return tuple(sides), paint


@kernel
def paint_kernel(plane, top, left, x, y, radius, aspect, value):
    """Write `value` to the pixels of a plane within the radius of a polyline; the plane starts at (top, left).

    Rows are `aspect` times as high as columns are wide.  Of each row, the columns near the part of the segment that is
    within the radius of the row are visited.
    """
    rows, columns = plane.shape
    for k in range(max(1, len(x) - 1)):
        last = min(k + 1, len(x) - 1)
        run, fall = x[last] - x[k], (y[last] - y[k]) * aspect
        square = run * run + fall * fall
        first_row = int(np.floor(min(y[k], y[last]) - radius / aspect)) - top
        last_row = int(np.floor(max(y[k], y[last]) + radius / aspect)) - top
        for row in range(max(0, first_row), min(rows, last_row + 1)):
            down = (row + top + 0.5 - y[k]) * aspect
            ends = (0.0, run)
            if fall != 0.0:
                ends = run * _share((down - radius) / fall), run * _share((down + radius) / fall)
            first = int(np.floor(x[k] + min(ends) - radius)) - left
            stop = int(np.floor(x[k] + max(ends) + radius)) + 1 - left
            for column in range(max(0, first), min(columns, stop)):
                if plane[row, column] != value:
                    across = column + left + 0.5 - x[k]
                    along = _share((across * run + down * fall) / square) if square > 0.0 else 0.0
                    if (across - along * run) ** 2 + (down - along * fall) ** 2 <= radius * radius:
                        plane[row, column] = value
    for k in range(len(x)):
        row, column = int(np.floor(y[k])) - top, int(np.floor(x[k])) - left
        if 0 <= row < rows and 0 <= column < columns:
            plane[row, column] = value


@kernel
def _share(value):
    """The nearest number of 0 to 1."""
    return min(1.0, max(0.0, value))


def _both(one: Rectangle, other: Rectangle) -> Rectangle:
    """The intersection of two regions, perhaps empty."""
    pairs = ((max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, other, strict=True))
    return tuple(slice(start, max(start, stop)) for start, stop in pairs)


def _hull(regions: list[Rectangle], shape) -> Rectangle:
    """The smallest region that contains all; an empty one for none."""
    if not regions:
        return tuple(slice(0, 0) for _ in shape)
    return tuple(slice(min(p.start for p in parts), max(p.stop for p in parts)) for parts in zip(*regions, strict=True))
