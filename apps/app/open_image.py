"""An open image or volume: its session, the edits that wait for it, its files, and what tabs are shown of it.

Messages of tabs are queued as edits.  One thread, which all images share, applies them in the order in which they
arrived; parts of a stroke that waited are joined first.  A stroke is in the session's file before it is confirmed.
After an edit the session goes on computing in a thread of its own; whenever its labels have changed, the tabs get them.
In a pause the cut is certified, and the labels are added to the file.
"""

import asyncio
import contextlib
import itertools
from argparse import Namespace
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

import numpy as np

from apps.app.image_sources import Image, Source
from apps.app.messages import StrokeMessage, encode_stroke
from apps.app.saved_results import cutout_of, save_results, state_of
from apps.app.tabs import Snapshot, Tab, Tabs
from apps.common.errors import InputError, OutputError, reason_of
from apps.common.images import read_bytes
from apps.common.uncopied import Uncopied
from apps.segmentation.volumes import read_volume_mask
from apps.session import Session
from apps.session.label_maps import values_in
from apps.session.records import Delete, Marks, MaskHint, Record, Stroke, boxes_of, common_length

CERTIFY_PIXELS = 2_000_000  # cuts of at most this size are certified when the user pauses; others when they are saved
CERTIFY_DELAY = 0.6  # seconds without an edit
SAVE_DELAY = 2.0  # seconds without an edit until the labels are added to the file


class Edit(NamedTuple):
    """A change of the session: a stroke, or a call that returns a message for all tabs, or None."""

    tab: Tab | None  # that sent it; errors go there, or to all that show the image
    stroke: StrokeMessage | None
    call: Callable[[], dict | None] = lambda: None


class OpenImage(Uncopied):
    """An open image or volume; `start` begins its tasks, and `close` ends them.

    item      number of the image
    chosen    options of the command; None if the session is another program's
    tabs      all connected pages
    thread    applies edits, one after the other
    """

    def __init__(
        self,
        item: int,
        source: Source,
        image: Image,
        session: Session,
        chosen: Namespace | None,
        tabs: Tabs,
        thread: Executor,
    ):
        self.item, self.source, self.image, self.session = item, source, image, session
        self._chosen, self._tabs, self._thread = chosen, tabs, thread
        self._edits: asyncio.Queue[Edit] = asyncio.Queue()
        self._edit_count = 0
        self._last_part: StrokeMessage | None = None  # of the stroke that is being drawn
        self._keys = itertools.count(1)
        self._encoded: list[tuple[int, bytes]] = []  # key and message of each of these records
        self._encoded_records: Sequence[Record] = ()
        self._labels: tuple[int, np.ndarray] = (-1, session.labels)
        self.snapshot: Snapshot

    @property
    def is_volume(self) -> bool:
        return self.image.volume is not None

    async def start(self) -> None:
        """Begin to apply edits, and to show what changes."""
        loop = asyncio.get_running_loop()
        self._edited, self._changed = asyncio.Event(), asyncio.Event()

        def announce() -> None:
            loop.call_soon_threadsafe(self._changed.set)

        self.session.listen(announce)
        await self._run(self._take_snapshot)
        self._edited.set()
        works = (self._apply_edits, self._show_changes, self._work_in_pauses)
        self._tasks = [asyncio.create_task(work()) for work in works]

    def describe(self) -> dict:
        """What a tab has to know to show the image."""
        about = {"type": "document", "item": self.item, "name": self.source.path.name, "shape": list(self.image.shape)}
        if self.image.volume is not None:
            about |= {"spacing": list(self.image.spacing or ()), "range": self.image.range, "window": self.image.window}
            if (geometry := self.image.volume.geometry) is not None and (world := geometry.world()) is not None:
                about |= {"world": world.tolist(), "unit": geometry.unit or "", "letters": geometry.letters()}
        return about | {"address": f"image/{self.item}"}

    # Edits, as they arrive

    def edit(self, tab: Tab | None, call: Callable[[], dict | None]) -> None:
        """Queue a call, in the thread of edits."""
        self._edits.put_nowait(Edit(tab, None, call))

    def draw(self, tab: Tab | None, stroke: StrokeMessage) -> None:
        """Queue a stroke, or a part of the one being drawn."""
        self._edits.put_nowait(Edit(tab, stroke))

    def end_stroke(self, tab: Tab, remove: bool = False) -> None:
        """End the stroke that a tab is drawing, if there is one, or remove it."""
        self.edit(tab, partial(self._end_stroke, remove))

    # Tasks

    async def _run(self, call: Callable):
        """The result of a function, called in the thread of edits."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _apply_edits(self) -> None:
        while True:
            edits = [await self._edits.get()]
            while not self._edits.empty():
                edits.append(self._edits.get_nowait())
            # One call for all, because each change of threads waits for the session's own.
            answers = await self._run(partial(self._apply, joined(edits)))
            self._edit_count += 1
            for tab, message in answers:
                if tab is None:
                    self._tabs.send(message, self.item)
                elif message["type"] == "confirmed":
                    tab.send_after_state(message)
                else:
                    tab.send(message)
            self._tabs.show(self.snapshot)
            self._edited.set()

    async def _show_changes(self) -> None:
        """Show labels that the session computed in its own thread."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._show()

    async def _work_in_pauses(self) -> None:
        """After edits, wait for the session's thread; in a pause, certify its cut and store its labels."""
        size = int(np.prod(self.image.shape))
        while True:
            await self._edited.wait()
            self._edited.clear()
            try:
                await asyncio.to_thread(self.session.wait)
                await self._show()
                if size <= CERTIFY_PIXELS and await self._is_pause(CERTIFY_DELAY):
                    await asyncio.to_thread(self.session.result)
                    await self._show()
                if await self._is_pause(SAVE_DELAY):
                    await asyncio.to_thread(self.session.store_labels)
            except Exception as error:
                self._send_error(error)
            self._send_file_state()

    async def _is_pause(self, seconds: float) -> bool:
        """Whether no edit comes for some seconds."""
        before = self._edit_count
        await asyncio.sleep(seconds)
        return self._edit_count == before and self._last_part is None and self._edits.empty()

    async def _show(self) -> None:
        try:
            await self._run(self._take_snapshot)
        except Exception as error:  # the tasks go on, as it may succeed after the next edit
            self._send_error(error)
        self._tabs.show(self.snapshot)

    def _send_error(self, error: Exception) -> None:
        self._tabs.send({"type": "error", "text": reason_of(error)}, self.item)

    def _send_file_state(self) -> None:
        """Send the state of the image's files to all tabs, if it has changed."""
        if self._chosen is None or self.session.store is None:
            return
        if (state := state_of(self._chosen, self.source, self.session.store.state)) != self.source.state:
            self.source.state = state
            self._tabs.send({"type": "item", "item": self.item, "state": state})

    async def close(self) -> None:
        """Apply the edits that wait, end a stroke being drawn, and end the session's thread."""
        while not self._edits.empty():
            await asyncio.sleep(0.01)
        await self._run(self._close)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # In the thread of edits

    def _apply(self, edits: list[Edit]) -> list[tuple[Tab | None, dict]]:
        """Apply edits and take a snapshot; return messages for tabs, None for all that show the image."""
        answers: list[tuple[Tab | None, dict]] = []
        for tab, stroke, call in edits:
            number = {} if stroke is None else {"number": stroke.number}
            try:
                if stroke is None:
                    message = call()
                    answers += [] if message is None else [(tab, message | {"item": self.item})]
                else:
                    self._draw(stroke)
                    answers += [(tab, {"type": "confirmed", "item": self.item} | number)] if stroke.final else []
            except Exception as error:
                answers.append((tab, {"type": "error", "item": self.item, "text": reason_of(error)} | number))
        try:
            self._take_snapshot()
        except Exception as error:  # such as MemoryError; the next edit tries again
            message = {"type": "error", "item": self.item, "text": reason_of(error)}
            answers += [(tab, message) for tab in dict.fromkeys(edit.tab for edit in edits)]
        return answers

    def _draw(self, stroke: StrokeMessage) -> None:
        """Add a stroke, or a part of the one being drawn."""
        if stroke.again and self._has(stroke):
            return
        if (stroke.axis is not None) != self.is_volume:
            raise InputError("stroke has no slice" if self.is_volume else "stroke has a slice, but this is an image")
        form: dict = {} if stroke.axis is None else {"axis": stroke.axis, "slice": stroke.index}
        form["final"] = stroke.final
        try:
            if stroke.label is None:
                self.session.erase(stroke.points, stroke.radius, **form)
            else:
                self.session.stroke(stroke.points, stroke.radius, stroke.label, **form)
        except OutputError:  # it is not in the file, and so no part of it counts
            self._end_stroke(remove=True)
            raise
        self._last_part = None if stroke.final else stroke

    def _has(self, stroke: StrokeMessage) -> bool:
        """Whether the last record is this stroke: it had arrived before its page lost the connection."""
        records = self.session.records
        if not records or not isinstance(last := records[-1], Stroke):
            return False
        points = np.array(last.points)
        same = points.shape == stroke.points.shape and np.allclose(points, stroke.points)
        return same and last.label == stroke.label and last.slice == stroke.index

    def _end_stroke(self, remove: bool = False) -> None:
        """End the stroke that is being drawn, for a page that will not, or remove it."""
        if (part := self._last_part) is not None and remove:
            self._last_part = None
            self.session.undo()
        elif part is not None:
            self._draw(part._replace(points=part.points[-1:], final=True, again=False))

    def change(self, action: dict) -> None:
        """Call the method of the session that an action names."""
        self._end_stroke()
        arguments = {name: value for name, value in action.items() if name not in ("do", "item")}
        getattr(self.session, action["do"])(**arguments)

    def start_from(self, values: np.ndarray) -> None:
        """Add a start mask or a label map; InputError if it cannot be used."""
        self._end_stroke()
        self.session.start_from(values)

    def read_start(self) -> None:
        """Add the start mask of the source, if there is one; InputError if it cannot be used."""
        path, volume = self.source.start, self.image.volume
        if path is None:
            return
        if volume is None:
            values = values_in(read_bytes(path, "--start"), path, "--start")
        else:
            values = read_volume_mask(path, volume)
        self.session.start_from(values)

    def save_results(self, chosen: Namespace, sources: Sequence[Source], kinds: list) -> dict:
        """Write results of these kinds; return the message that says so."""
        if self._chosen is None or self.session.store is None:
            raise InputError("the widget cannot save; call session.export(path, kind) or session.save(path)")
        self._end_stroke()
        files = save_results(chosen, sources, self.source, self.image, self.session, kinds)
        self.session.store.mark_done()
        return {"type": "saved", "files": [path.name for path in files]}

    async def cutout(self) -> bytes:
        """The cut-out of an image as it would be saved."""

        def encoded() -> bytes:
            self._end_stroke()
            return cutout_of(self.source, self.image, self.session)

        return await self._run(encoded)

    def _take_snapshot(self) -> None:
        """Set `snapshot` to what is to be shown now."""
        records = self.session.records
        same = common_length(self._encoded_records, records)
        del self._encoded[same:]
        for record in records[same:]:
            key = next(self._keys)
            self._encoded.append((key, self._message_of(record, key)))
        self._encoded_records = records
        strokes = {key: message for key, message in self._encoded if message}
        state = self.session.state | {
            "order": self._order(records),
            "objects": [{"label": label} | about for label, about in self.session.objects.items()],
            "boxes": {label: list(one.box) for label, one in boxes_of(records).items()},
            "masks": any(isinstance(record, MaskHint | Marks) for record in records),
        }
        # A change between these two calls is announced by the callback.
        version = state["version"]
        if version != self._labels[0]:
            self._labels = (version, self.session.labels)
        self.snapshot = Snapshot(self.item, self._labels[1], state, strokes)

    def _order(self, records: Sequence[Record]) -> list[int]:
        """Keys of the strokes; the negative key of one whose object was deleted later, which only erases."""
        order, deleted = [], set()
        for (key, message), record in zip(reversed(self._encoded), reversed(records), strict=True):
            if isinstance(record, Delete):
                deleted.add(record.label)
            elif message:
                order.append(-key if isinstance(record, Stroke) and record.label in deleted else key)
        return order[::-1]

    def _message_of(self, record: Record, key: int) -> bytes:
        """The message of a stroke; empty for another record."""
        if not isinstance(record, Stroke):
            return b""
        place = record.axis, record.slice
        return encode_stroke(self.item, key, record.points, record.radius, record.label, *place)

    def _close(self) -> None:
        with contextlib.suppress(InputError):  # it was never confirmed
            self._end_stroke()
        self.session.close()


def joined(edits: list[Edit]) -> list[Edit]:
    """Edits with consecutive parts of the same stroke joined to one."""
    result: list[Edit] = []
    for edit in edits:
        last, stroke = result[-1] if result else None, edit.stroke
        before = None if last is None else last.stroke
        if (
            stroke is None or before is None or before.final or (before.number, last.tab) != (stroke.number, edit.tab)  # type: ignore[union-attr]
        ):
            result.append(edit)
        else:
            points = np.concatenate((before.points, stroke.points[1:]))
            whole = stroke._replace(points=points) if stroke.final else before._replace(points=points)
            result[-1] = edit._replace(stroke=whole)
    return result
