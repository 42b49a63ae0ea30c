"""Edits of whole objects in a session: names, locks, removal, and label maps to start from.

The records are those of apps.session.object_records.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from apps.common.images import InputError
from apps.segmentation.connected_parts import tidied
from apps.segmentation.marks import BACKGROUND
from apps.session.answered_records import AnsweredRecords
from apps.session.canvas import Canvas, Change
from apps.session.object_records import (
    Delete,
    Describe,
    Lock,
    Unlock,
    check_label,
    hold_of,
    locks_of,
    make_description,
    objects_of,
    paste,
)
from apps.session.stroke_records import Record, Stroke, box_of

SMALL = 0.01  # share of an object's pixels: smaller parts of it, and holes in it, are cleaned up


class ObjectEdits(AnsweredRecords):
    """Answered records with edits of objects."""

    @property
    def objects(self) -> dict[int, dict]:
        """The objects that are marked, described or locked, by label.

        name     perhaps empty
        colour   R, G, B, or None for that of the label
        locked   whether it is
        """
        with self._lock:
            described, locked, *_ = objects_of(self._history.records)
            labels = sorted({*self._answers.present(), *described} - {0})
        plain = Describe(0, "", None)
        shown = ((label, described.get(label, plain)) for label in labels)
        return {label: {"name": one.name, "colour": one.colour, "locked": label in locked} for label, one in shown}

    def describe(self, label: int, name: str = "", colour: Sequence[int] | None = None) -> None:
        """Give an object a name, perhaps empty, and a colour R, G, B in 0 .. 255, by default that of its label.

        They are kept in `objects`, in files of the session and in exported annotations, also when strokes are removed.
        """
        self._add(make_description(label, name, colour))

    def lock(self, label: int) -> None:
        """Let an object of an image keep the pixels that it has when nothing is pending, whatever is marked later.

        Other objects are then cut without these pixels, exactly and as fast as if there were no further object.
        Strokes on them have no effect, and strokes with its label are rejected.  `clear` and `set_strokes` keep it.
        """
        self._lock_object(label, is_cleaned=False)

    def clean_up(self, label: int) -> None:
        """Lock an object of an image as `lock`, without its small parts and with its small holes.

        These are those of less than SMALL of its pixels.  Parts with a mark of the object, holes with one of the
        background, and pixels of other objects stay.  `undo` and `unlock` restore what was found before.
        """
        self._lock_object(label, is_cleaned=True)

    def _lock_object(self, label: int, is_cleaned: bool) -> None:
        self._check_open(check_label(label))
        self.wait()
        with self._lock:
            found = self.labels
            labels = np.where(found == label, found, np.int16(0))
            if labels.ndim != 2 or not labels.any():
                held = "is in a volume; objects of images" if labels.ndim != 2 else "has no pixels yet; marked objects"
                raise InputError(f"object {label} {held} can be locked")
            if is_cleaned:
                canvas = Canvas(self.shape, self.shape)
                canvas.change_to(self._history.records)
                marks = np.where((found == label) | (found == BACKGROUND), canvas.all_marks(), BACKGROUND)
                labels = tidied(labels, marks, int(SMALL * np.count_nonzero(labels)), keep_one=True)
            objects = objects_of(self._history.records)
            is_start = label in objects.opened or (label in objects.held and objects.held[label].is_start)
            self._add(*locks_of(labels, is_start))

    def unlock(self, label: int) -> None:
        """Let a locked object take part again, with its strokes or box; one of a label map starts from its pixels."""
        if check_label(label) not in objects_of(self._history.records).locked:
            raise InputError(f"object {label} is not locked")
        self._draw(Unlock(label))

    def delete(self, label: int) -> None:
        """Remove the strokes, the box and the name of an object; for the first one, also the start mask."""
        self._check_open(check_label(label))
        self._add(Delete(label))

    def _draw(self, record: Record, *, final: bool = True) -> None:
        """Add a record that draws on objects; what was found of the others stays.

        An object in a box is found alone.  So it is held when another one is drawn, and its box holds all others that
        were drawn before.  A held object takes part again, from its pixels or marks, when it is drawn, or a stroke
        covers some of its pixels.
        """
        pixels = self._pixels_under(record)
        if self._left_by(record, pixels):
            self.wait()  # the final answer is held
        with self._lock:
            left, held = self._left_by(record, pixels), objects_of(self._history.records).held
            holds = [hold_of(self.labels, label, label in self._answers.started) for label in sorted(left)]
            closed = held | {lock.label: lock for lock in holds}
            again = sorted(self._drawn_by(record, pixels, closed) & {*closed})
            self._add(*holds, *(Unlock(label, is_part=True) for label in again), record, final=final)

    def _left_by(self, record: Record, pixels: Change | None) -> set[int]:
        """The objects that a record leaves, to be held."""
        with self._lock:
            self._settle()
            records = self._history.records
            objects = objects_of(records)
            drawn = self._drawn_by(record, pixels, objects.held)
            box = box_of((*records, *(Unlock(label) for label in drawn & {*objects.held}), record))
            if box is None or len(self.shape) == 3:
                return set()
            live = {*self._answers.present()} - {BACKGROUND, *objects.closed}
            return live - drawn if drawn == {box.label} else live & {box.label} if drawn else set()

    def _pixels_under(self, record: Record) -> Change | None:
        """The pixels of a stroke, marked in a region of the image, if one may be of an object found in a box."""
        records = self._history.records
        is_first = box_of(records) is None and not objects_of(records).held
        if not isinstance(record, Stroke) or is_first or len(self.shape) == 3:
            return None
        return Canvas(self.shape, self.shape).change_to((replace(record, label=BACKGROUND),))

    def _drawn_by(self, record: Record, pixels: Change | None, held: dict[int, Lock]) -> set[int]:
        """The objects that a record draws: that of its label, and held ones of which a stroke covers pixels."""
        label = getattr(record, "label", None)
        drawn = {label} if label else set()
        if pixels is not None and held:
            labels = paste(np.zeros(self.shape, np.uint8), held.values())[pixels.region]
            drawn |= {*np.unique(labels[pixels.after == BACKGROUND]).tolist()} - {0}
        return drawn

    def _check_open(self, label: int) -> None:
        """Raise InputError for a locked object."""
        if label in objects_of(self._history.records).locked:
            raise InputError(f"object {label} is locked; unlock it first")

    def _lock_all(self, labels: np.ndarray) -> None:
        """Lock the objects of a label map (H, W), as a start, but for pixels of objects that are locked already."""
        locked = objects_of(self._history.records).locked.values()
        held = paste(np.zeros(self.shape, np.uint8), locked) > 0
        locks = locks_of(np.where(held, np.uint8(0), labels), is_start=True)
        for lock in locks:
            self._check_open(lock.label)
        self._add(*locks)
