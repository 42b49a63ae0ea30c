"""An image or a volume that is open: its session, the strokes in the form that tabs receive, and its session file.

`OpenImage` is used by one thread at a time, except for `labels` and `wait`, which the session allows at any time.
"""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from apps.app.image_sources import Image, Source, decoded_image
from apps.app.messages import StrokeMessage, encode_stroke
from apps.app.saving import SessionFile
from apps.common.errors import InputError
from apps.common.uncopied import Uncopied
from apps.segment.volumes import read_start
from apps.session import Session
from apps.session.stroke_records import Box, Marks, Record, Start, Stroke, common_length

STARTS = (Start, Marks)


class Snapshot(NamedTuple):
    """What tabs are shown: labels of the whole grid, the state, and every stroke as a message by its key."""

    labels: np.ndarray
    state: dict
    strokes: dict[int, bytes]


class OpenImage(Uncopied):
    """An open image or volume, and its session.

    item       number of the image
    file       its session file; None if the session is kept elsewhere
    """

    def __init__(self, item: int, source: Source, image: Image, session: Session, file: SessionFile | None = None):
        self.item, self.source, self.image, self.session, self._file = item, source, image, session, file
        self._keys = itertools.count(1)
        self._known: list[tuple[int, bytes]] = []  # key and message of each of these records
        self._known_records: Sequence[Record] = ()
        self._last: StrokeMessage | None = None
        self._labels: tuple[int, np.ndarray] = (-1, self.session.labels)

    @classmethod
    def read(
        cls, item: int, source: Source, image: Image, file: SessionFile, device: str, callback: Callable[[], None]
    ) -> "OpenImage":
        """Open an image with its session file, if there is one.

        `callback` is called by the session's thread when its labels have changed.
        """
        session = file.open(image.pixels, spacing=_spacing_of(image), device=device, callback=callback)
        try:
            opened = cls(item, source, image, session, file)
            if source.start is not None and not session.records:
                if image.volume is None:
                    opened.start_from(decoded_image(source.start.read_bytes(), repr(str(source.start))))
                else:
                    session.start_from(read_start(source.start, image.volume))
        except BaseException:
            file.close()
            raise
        return opened

    @property
    def is_volume(self) -> bool:
        return self.image.volume is not None

    # Edits

    def stroke(self, stroke: StrokeMessage) -> None:
        """Add a stroke, or a part of the one being drawn."""
        if stroke.again and self._has(stroke):
            return
        if (stroke.axis is not None) != self.is_volume:
            raise InputError("stroke has no slice" if self.is_volume else "stroke has a slice, but this is an image")
        place = {} if stroke.axis is None else {"axis": stroke.axis, "slice": stroke.index}
        if stroke.label is None:
            self.session.erase(stroke.points, stroke.radius, **place, final=stroke.final)
        else:
            self.session.stroke(stroke.points, stroke.radius, stroke.label, **place, final=stroke.final)
        self._last = None if stroke.final else stroke

    def end_stroke(self, remove: bool) -> None:
        """End the stroke that is being drawn, for a page that will not; remove it if requested."""
        if self._last is None:
            return
        self.stroke(self._last._replace(points=self._last.points[-1:], final=True, again=False))
        if remove:
            self.session.undo()

    def start_from(self, mask: Image) -> None:
        """Start an image from a mask; InputError if it cannot be used."""
        self.session.start_from(mask.pixels[..., 0])

    def edit(self, action: dict) -> None:
        """Undo, redo, remove all strokes, or set a box."""
        self.end_stroke(False)
        if action["do"] == "box":
            self.session.box(action["box"])
        else:
            getattr(self.session, action["do"])()

    def _has(self, stroke: StrokeMessage) -> bool:
        """Whether the last record is this stroke: it had arrived before its page lost the connection."""
        records = self.session.records
        if not records or not isinstance(last := records[-1], Stroke):
            return False
        points = np.array(last.points)
        same = points.shape == stroke.points.shape and np.allclose(points, stroke.points)
        return same and last.label == stroke.label and last.slice == stroke.index

    # Results

    def slice_of(self, labels: np.ndarray, axis: int, index: int) -> np.ndarray:
        """Labels that a tab shows: the image's, or those of a slice."""
        return labels if axis < 0 else np.take(labels, index, axis=axis)

    def snapshot(self) -> Snapshot:
        """What to show now."""
        records = self.session.records
        same = common_length(self._known_records, records)
        del self._known[same:]
        for record in records[same:]:
            key = next(self._keys)
            self._known.append((key, self._encoded(record, key)))
        self._known_records = records
        boxes = [record.box for record in records if isinstance(record, Box)]
        strokes = {key: message for key, message in self._known if message}
        state = self.session.state | {
            "order": list(strokes),
            "box": list(boxes[-1]) if boxes else None,
            "start": any(isinstance(record, STARTS) for record in records),
        }
        # A change between these two calls is announced by the callback.
        version = state["version"]
        if version != self._labels[0]:
            self._labels = (version, self.session.labels)
        return Snapshot(self._labels[1], state, strokes)

    def note(self) -> None:
        """Keep the strokes, quickly; after every edit."""
        if self._file is not None:
            self._file.note(self.session)

    def _encoded(self, record: Record, key: int) -> bytes:
        """The message of a stroke; empty for another record."""
        if not isinstance(record, Stroke):
            return b""
        return encode_stroke(self.item, key, record.points, record.radius, record.label, record.axis, record.slice)

    def keep_in_pause(self) -> None:
        """Write the session file, if that is due."""
        if self._file is not None and self._file.is_due:
            self.keep()

    def keep(self) -> None:
        """Write the session file, if something has changed."""
        if self._file is not None:
            self._file.save(self.session)

    @property
    def is_behind(self) -> bool:
        """Whether strokes could not be written to the session file or the journal."""
        return self._file is not None and self._file.is_behind

    def about(self, address: str) -> dict:
        """What a tab has to know to show the image."""
        about = {"item": self.item, "name": self.source.path.name, "shape": list(self.image.shape)}
        if self.is_volume:
            spacing = list(_spacing_of(self.image) or ())
            about |= {"spacing": spacing, "range": self.image.range, "window": self.image.window}
        return about | {"address": f"{address}/{self.item}"}

    def rescue(self) -> Path:
        """Write the session to a folder for temporary files, if `close` could not."""
        assert self._file is not None
        return self._file.rescue(self.session)

    def close(self) -> None:
        """End the stroke being drawn, write the session file, and end the session's thread.

        If the file cannot be written, the image remains open.
        """
        self.end_stroke(False)
        self.keep()
        self.session.close()
        if self._file is not None:
            self._file.close()


def _spacing_of(image: Image) -> tuple[float, float, float] | None:
    return None if image.volume is None else image.spacing or (1.0, 1.0, 1.0)
