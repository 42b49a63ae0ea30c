"""The marks of a session's records on a grid: the image's own, or a reduced one.

    layer    label of the last stroke over each pixel, int16; OPEN without one
    marks    the layer, and BACKGROUND wherever it is open outside the box; OPEN in locked objects, and for their labels
    locked   labels of locked and held objects, int16, 0 elsewhere; None without one
    closed   their pixels, bool; None without one

A pixel belongs to a stroke if its centre is within the radius of the polyline, or if it contains a corner of the
polyline; to a filled one also if its centre is inside the polygon.  A record changes only its own region; removing it
paints the earlier ones in that region again.  The layer of an image is kept from time to time, so that these are few.
"""

import zlib
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from apps.segmentation.image_sizes import at_centres, reduced_marks
from apps.segmentation.marks import BACKGROUND, OPEN
from apps.session.object_records import Clear, Delete, Describe, Lock, objects_of, paste
from apps.session.stroke_records import Marks, Record, Stroke, after_clear, box_of, common_length
from gridcut.device import inlined_kernel, kernel

MIN_RADIUS = 0.5  # pixels of the grid; thinner strokes would have gaps
KEPT_EVERY = 32  # records after which the layer is kept, so that an undo paints fewer than these again
MAX_KEPT_PIXELS = 4_000_000  # of a layer that is kept, as compression takes time
BLOCK = 4096  # segments that are painted in one call
CORNER_BITS = 6  # of the fraction of a polygon's coordinates
ROUNDING = 1e-12  # bound of the relative errors of the distances, with a wide margin

Region = tuple[slice, ...]


class Change:
    """A region of the grid, and its marks before and after, int16 arrays of the region's shape.

    Only what is used is computed: a box changes nearly all pixels of a grid, whose indices take ten times its memory.
    """

    def __init__(self, region: Region, before: np.ndarray, after: np.ndarray):
        self.region, self.before, self.after = region, before, after

    @cached_property
    def _changed(self) -> np.ndarray:
        return self.before != self.after

    def any(self) -> bool:
        """Whether a pixel changed."""
        return bool(self._changed.any())

    @cached_property
    def where(self) -> tuple[np.ndarray, ...]:
        """The pixels that changed, a tuple of index arrays of the grid."""
        places = np.nonzero(self._changed)
        return tuple(index + part.start for index, part in zip(places, self.region, strict=True))

    @property
    def marks(self) -> np.ndarray:
        """The new marks of the pixels that changed, in the order of `where`."""
        return self.after[self._changed]


class Kept(NamedTuple):
    """The layer after a number of records, compressed."""

    count: int  # type: ignore[assignment]  # hides tuple.count
    layer: bytes


class Canvas:
    """Marks of records on a grid.

    shape     of the grid
    full      shape of the image; records are in its pixels
    spacing   size of a voxel along z, y and x; None for an image
    """

    def __init__(self, shape, full, spacing=None):
        self.shape, self._full, self._spacing = tuple(shape), tuple(full), spacing
        self._whole: Region = tuple(slice(0, n) for n in self.shape)
        self._clear()

    def _clear(self) -> None:
        self._layer = np.full(self.shape, OPEN, np.int16)
        self._box: Region | None = None
        self._regions: list[Region] = []  # that the records may change
        self._kept: list[Kept] = []
        self._set_locks({})
        self.records: Sequence[Record] | None = ()  # None while they are being changed, and after an exception then

    def all_marks(self) -> np.ndarray:
        """The marks of the grid: a label, or OPEN; int16, a copy."""
        return self._marks(self._whole)

    def marks_now(self) -> np.ndarray:
        """As `all_marks`, but not to be changed, nor to be read after the records have changed: no copy if possible."""
        return self._marks(self._whole) if self._box or self._locks else self._layer

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
        marks = self._marks(region)
        if removed:
            self._take_back(records[:kept], _hull(removed, self.shape))
        for record, part in added:
            self._add(record, part)
        box = box_of(records)
        self._box = None if box is None else self.region_of_box(box.box)
        locks = objects_of(records).closed
        if locks != self._locks:
            self._set_locks(locks)
        self.records = records
        return Change(region, marks, self._marks(region))

    def _set_locks(self, locks: dict[int, Lock]) -> None:
        self._locks, self.locked, self.closed = locks, None, None
        self._is_locked = np.isin(np.arange(256), [*locks]).view(np.uint8)  # by label, and 0 for OPEN
        if locks:
            self.locked = at_centres(paste(np.zeros(self._full, np.int16), locks.values()), self.shape)
            self.closed = self.locked > 0

    def _add(self, record: Record, region: Region) -> None:
        """Apply a record."""
        if isinstance(record, Clear):
            self._layer[:] = OPEN
        self._apply(record, region)
        self._regions.append(region)
        if len(self._regions) % KEPT_EVERY == 0 and self._layer.size <= MAX_KEPT_PIXELS:
            self._kept.append(Kept(len(self._regions), zlib.compress(self._layer, 1)))

    def _marks(self, region: Region) -> np.ndarray:
        marks = self._layer[region].copy()
        if self._box is not None:
            common = _both(region, self._box)
            inside = tuple(slice(a.start - b.start, a.stop - b.start) for a, b in zip(common, region, strict=True))
            kept = marks[inside].copy()
            np.maximum(marks, BACKGROUND, out=marks)  # OPEN is the only mark below
            marks[inside] = kept
        if self.closed is not None and marks.size:
            import cv2

            is_locked = cv2.LUT(marks.astype(np.uint8), self._is_locked)  # several times as fast as an index
            np.copyto(marks, OPEN, where=self.closed[region] | is_locked.view(bool))
        return marks

    def _take_back(self, records: Sequence[Record], region: Region) -> None:
        """Remove the records after these; the region contains all that they changed."""
        del self._regions[len(records) :]
        while self._kept and self._kept[-1].count > len(records):
            self._kept.pop()
        first = len(records) - len(after_clear(records))
        if self._kept and self._kept[-1].count >= first:
            first, layer = self._kept[-1]
            self._layer[region] = np.frombuffer(zlib.decompress(layer), np.int16).reshape(self.shape)[region]
        else:
            self._layer[region] = OPEN
        for record, part in zip(records[first:], self._regions[first:], strict=True):
            self._apply(record, _both(region, part))

    def _region_of(self, record: Record) -> Region:
        """The region that a record may change."""
        if isinstance(record, Describe):
            return tuple(slice(0, 0) for _ in self.shape)
        if not isinstance(record, Stroke):
            return self._whole
        rows, columns, x, y, radius, aspect = self._plane(record)
        parts = [
            _range(y.min() - radius / aspect, y.max() + radius / aspect, rows),
            _range(x.min() - radius, x.max() + radius, columns),
        ]
        if record.axis is not None:
            parts.insert(record.axis, slice(record.slice, record.slice + 1))
        return tuple(parts)

    def _plane(self, stroke: Stroke):
        """Rows and columns of the stroke's plane, its points and radius in them, and the height of their pixels."""
        x, y = np.array(stroke.points).T.copy()  # contiguous, or painting would be compiled once more
        if stroke.axis is None:
            across, down = self.shape[1] / self._full[1], self.shape[0] / self._full[0]
            return *self.shape, x * across, y * down, max(stroke.radius * across, MIN_RADIUS), 1.0
        row, column = (axis for axis in range(3) if axis != stroke.axis)
        aspect = 1.0 if self._spacing is None else self._spacing[row] / self._spacing[column]
        return self.shape[row], self.shape[column], x, y, max(stroke.radius, MIN_RADIUS), aspect

    def _apply(self, record: Record, region: Region) -> None:
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
            *shape, x, y, radius, aspect = self._plane(record)
            plane = self._layer[region]
            rows, columns = region[-2], region[-1]
            if record.axis is not None:
                plane = plane.squeeze(record.axis)
                rows, columns = (part for axis, part in enumerate(region) if axis != record.axis)
            value = OPEN if record.label is None else record.label
            paint(plane, rows.start, columns.start, x, y, radius, aspect, np.int16(value))
            if record.is_filled:
                plane[inside_of(shape, x, y)[rows, columns]] = value

    def region_of_box(self, box: tuple[int, ...]) -> Region:
        """A box in pixels of this grid; pixels completely outside of the box are outside."""
        count = len(self.shape)
        scales = [n / m for n, m in zip(self.shape, self._full, strict=True)]
        ends = zip(box[count - 1 :: -1], box[: count - 1 : -1], scales, strict=True)  # the box starts with x
        return tuple(slice(int(start * scale), int(np.ceil(stop * scale))) for start, stop, scale in ends)


def inside_of(shape, x, y) -> np.ndarray:
    """The pixels of a plane whose centre is inside a polygon, bool; those on its line may be on either side.

    It is always that of the whole plane, because a clipped line has other pixels.
    """
    import cv2

    inside = np.zeros(shape, np.uint8)
    corners = np.rint(2**CORNER_BITS * np.stack((x - 0.5, y - 0.5), axis=1)).astype(np.int32)
    cv2.fillPoly(inside, [corners], 1, shift=CORNER_BITS)
    return inside > 0


def paint(plane, top, left, x, y, radius, aspect, value) -> None:
    """Write `value` to the pixels of a plane within the radius of a polyline; the plane starts at (top, left).

    Rows are `aspect` times as high as columns are wide.  Segments are painted in blocks, between which the caller can
    be interrupted.
    """
    painted = np.zeros((len(plane), 2), np.int64)
    for first in range(0, max(1, len(x) - 1), BLOCK):
        block = slice(first, first + BLOCK + 1)
        paint_kernel(plane, painted, top, left, x[block], y[block], radius, aspect, value)


@kernel
def paint_kernel(plane, painted, top, left, x, y, radius, aspect, value):
    """Write `value` to the pixels of a plane within the radius of a polyline, each of them about once.

    A row meets the disc moved along a segment in one run of pixels, whose ends are computed for two radii that differ
    by the errors of rounding.  What is inside for the smaller one is written at once; only for pixels between the two,
    usually none, the distance decides.

    painted   begin and end of a run of each row that is painted already, so that a slow thick stroke writes only what
              each segment adds
    """
    rows, columns = plane.shape
    furthest = max(radius, np.abs(x).max(), aspect * np.abs(y).max(), left + columns, aspect * (top + rows))
    tolerance = ROUNDING * furthest
    far, near = radius + tolerance, radius - tolerance
    for k in range(max(1, len(x) - 1)):
        last = min(k + 1, len(x) - 1)
        x0, y0, x1, y1 = x[k], y[k], x[last], y[last]
        run, fall = x1 - x0, (y1 - y0) * aspect
        square = run * run + fall * fall
        slope = run / np.sqrt(square) if square > 0.0 else 0.0
        first_row = int(max(0.0, np.floor(min(y0, y1) - far / aspect) - top))
        last_row = int(min(rows - 1.0, np.floor(max(y0, y1) + far / aspect) - top))
        widest_begin, widest_end = max(0.0, min(x0, x1) - far - left), min(columns, max(x0, x1) + far - left)
        for row in range(first_row, last_row + 1):
            old_begin, old_end = painted[row]
            if old_begin <= widest_begin and widest_end <= old_end:
                continue
            down = (row + top + 0.5 - y0) * aspect
            begin = max(0.0, np.ceil(x0 + _end_of_run(down, run, fall, slope, far, -1.0) - left - 0.5))
            end = min(columns - 1.0, np.floor(x0 + _end_of_run(down, run, fall, slope, far, 1.0) - left - 0.5)) + 1.0
            if begin >= end or (old_begin <= begin and end <= old_end):
                continue
            first, stop = int(begin), int(end)
            inner_first = inner_stop = stop
            if near > 0.0:
                begin = max(0.0, np.ceil(x0 + _end_of_run(down, run, fall, slope, near, -1.0) - left - 0.5))
                end = min(columns - 1.0, np.floor(x0 + _end_of_run(down, run, fall, slope, near, 1.0) - left - 0.5))
                if begin <= end:
                    inner_first, inner_stop = int(begin), int(end) + 1
            for column in range(first, inner_first):
                if _is_near(column + left + 0.5 - x0, down, run, fall, square, radius):
                    plane[row, column] = value
            for column in range(inner_stop, stop):
                if _is_near(column + left + 0.5 - x0, down, run, fall, square, radius):
                    plane[row, column] = value
            if inner_first == inner_stop:
                continue
            if inner_first <= old_end and old_begin <= inner_stop:
                plane[row, inner_first:old_begin] = value
                plane[row, old_end:inner_stop] = value
                painted[row, 0], painted[row, 1] = min(inner_first, old_begin), max(inner_stop, old_end)
            else:
                plane[row, inner_first:inner_stop] = value
                painted[row, 0], painted[row, 1] = inner_first, inner_stop
    for k in range(len(x)):
        row, column = int(np.floor(y[k])) - top, int(np.floor(x[k])) - left
        if 0 <= row < rows and 0 <= column < columns:
            plane[row, column] = value


@inlined_kernel
def _end_of_run(down, run, fall, slope, radius, side):
    """The left (-1) or right (1) end of the run in which a row meets a disc moved along a segment.

    Without a run, the left end is at infinity, and the right one opposite.

    The end belongs to the circle around the point of the segment from which it reaches furthest in this row.  There the
    vertical distance of the row and the point is the radius times the slope of the segment.  `down` is the row's
    distance below the start of the segment, and the result is relative to that start.
    """
    along = 0.0
    if fall != 0.0:
        furthest = -side * radius * slope if fall > 0.0 else side * radius * slope
        along = min(1.0, max(0.0, (down - furthest) / fall))
    elif side * run > 0.0:
        along = 1.0
    rest = down - along * fall
    square = radius * radius - rest * rest
    return along * run + side * (np.sqrt(square) if square >= 0.0 else -np.inf)


@inlined_kernel
def _is_near(dx, dy, run, fall, square, radius):
    """Whether a pixel, relative to the start of a segment, is within the radius of the segment."""
    along = 0.0
    if square > 0.0:
        along = min(1.0, max(0.0, (dx * run + dy * fall) / square))
    dx -= along * run
    dy -= along * fall
    return dx * dx + dy * dy <= radius * radius


def _range(low: float, high: float, count: int) -> slice:
    start = min(max(int(np.floor(low)), 0), count)
    return slice(start, max(start, min(int(np.floor(high)) + 1, count)))


def _both(one: Region, other: Region) -> Region:
    """The intersection of two regions, perhaps empty."""
    pairs = ((max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, other, strict=True))
    return tuple(slice(start, max(start, stop)) for start, stop in pairs)


def _hull(regions: list[Region], shape) -> Region:
    """The smallest region that contains all; an empty one for none."""
    if not regions:
        return tuple(slice(0, 0) for _ in shape)
    return tuple(slice(min(p.start for p in parts), max(p.stop for p in parts)) for parts in zip(*regions, strict=True))
