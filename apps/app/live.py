"""The images of one run of the app, those that are open, and the tabs that show them.

An image is shown as soon as it is read; its session, which may have to compile kernels first, follows.  Messages of the
tab that draws on it are queued as edits.  One thread, which all images share, applies them in the order in which they
arrived; parts of a stroke that waited are joined first.  A stroke is in the session's file before it is confirmed.
After an edit the session goes on computing in a thread of its own; whenever its labels have changed, the tab gets them.
In a pause the cut is certified.
"""

import asyncio
import contextlib
import itertools
import os
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from apps.app import MAX_OPEN_IMAGES, MAX_UPLOADS
from apps.app.image_sources import Image, Source, decoded_image
from apps.app.messages import StrokeMessage, encode_stroke, parse_action, parse_stroke, runs_of
from apps.app.saved_results import (
    DEFAULT,
    KINDS,
    adopt_results,
    cutout_of,
    export_approved,
    result_files,
    save_results,
    session_file,
)
from apps.app.tabs import Snapshot, Tab
from apps.common.clock import compiled_kernels
from apps.common.errors import InputError, OutputError, reason_of
from apps.common.figures import colour_of
from apps.common.file_kinds import stem_of
from apps.common.images import read_bytes
from apps.common.outputs import is_plain_name
from apps.segmentation.margins import STEPS
from apps.segmentation.volumes import read_volume_mask
from apps.session import Session
from apps.session.label_maps import values_in
from apps.session.record_checks import MAX_LABEL
from apps.session.session_records import Delete, Marks, MaskHint, Patch, Record, Stroke, common_length, objects_of
from apps.session.store import APPROVED, DONE, state_in
from apps.warmup import warmup_jobs

CERTIFY_PIXELS = 2_000_000  # cuts of at most this size are certified when the user pauses; others when they are saved
CERTIFY_DELAY = 0.6  # seconds without an edit
COUNT_DELAY = 0.5  # seconds between two counts of compiled kernels


class Edit(NamedTuple):
    """A change of the session: a stroke, or a call that returns a message for the tab, or None."""

    tab: Tab | None  # that sent it, and is answered; or None for the one that shows the image
    stroke: StrokeMessage | None
    call: Callable[[], dict | None] = lambda: None
    is_preview: bool = False  # only shown until the next one, and left out if that waits already


class LiveImage:
    """An open image or volume; `start` begins its tasks, and `close` ends them.

    item      number of the image
    open      function that returns its session
    chosen    options of the command; None if the session is another program's
    tell      sends a message to all tabs
    thread    applies edits, one after the other
    tab       that shows the image, if there is one
    session   set before the first edit is applied
    """

    session: Session
    snapshot: Snapshot | None = None
    tab: Tab | None = None

    def __init__(
        self,
        item: int,
        source: Source,
        image: Image,
        open: Callable[[], Session],
        chosen: Namespace | None,
        tell: Callable[[dict], None],
        thread: Executor,
    ):
        self.item, self.source, self.image = item, source, image
        self._open, self._chosen, self._tell, self._thread = open, chosen, tell, thread
        self._edits: asyncio.Queue[Edit] = asyncio.Queue()
        self._edit_count = self._look_count = 0
        self._looking = asyncio.Lock()  # held while margins are computed
        self._last_part: StrokeMessage | None = None  # of the stroke that is being drawn
        self._keys = itertools.count(1)
        self._encoded: list[tuple[int, bytes]] = []  # key and message of each of these records
        self._encoded_records: Sequence[Record] = ()
        self._labels: tuple[int, Any] = (-1, None)
        self._edited, self._changed = asyncio.Event(), asyncio.Event()
        self._tasks: list[asyncio.Task] = []
        self.error = ""  # why there is no session

    @property
    def is_volume(self) -> bool:
        return self.image.volume is not None

    def start(self) -> None:
        """Open the session, begin to apply edits, and to show what changes."""
        self.ready = asyncio.create_task(self._begin())

    async def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self.session = await asyncio.to_thread(self._open)
        except Exception as error:
            self.error = reason_of(error)
            if self.tab is not None:
                self.tab.send({"type": "unreadable", "item": self.item, "text": self.error})
            return
        self.session.listen(lambda: loop.call_soon_threadsafe(self._changed.set))
        await self._show()
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

    def edit(self, tab: Tab | None, call: Callable[[], dict | None], is_preview: bool = False) -> None:
        """Queue a call, in the thread of edits."""
        self._edits.put_nowait(Edit(tab, None, call, is_preview))

    def draw(self, tab: Tab, stroke: StrokeMessage) -> None:
        """Queue a stroke, or a part of the one being drawn."""
        self._edits.put_nowait(Edit(tab, stroke))

    def end_stroke(self, tab: Tab, remove: bool = False) -> None:
        """End the stroke that the tab is drawing, if there is one, or remove it."""
        self.edit(tab, partial(self._end_stroke, remove))

    def show_slice(self, tab: Tab, axis: int, index: int) -> None:
        """Show a slice of a volume in the tab; axis -1 for an image."""
        self._check_slice(axis, index)
        tab.show_slice(axis, index)

    def _check_slice(self, axis: int, index: int) -> None:
        shape = self.image.shape
        is_legal = 0 <= axis <= 2 and 0 <= index < shape[axis] if self.is_volume else axis == -1 and index == 0
        if not is_legal:
            raise InputError(f"there is no slice {index} along axis {axis}")

    async def look(self, tab: Tab, label: int, axis: int, index: int) -> None:
        """Send how unsure the pixels of the image, or of a slice, are: runs of levels, 0 for those that no cut changes.

        Edits go on meanwhile; of requests that wait, the last one is answered.
        """
        self._check_slice(axis, index)
        self._look_count = count = self._look_count + 1
        await self.ready
        async with self._looking:
            if count != self._look_count:
                return
            version = self.session.state["version"]
            found = await asyncio.to_thread(self.session.margins, label)
        least = found.least if axis < 0 else np.take(found.least, index, axis)
        runs = [one.tolist() for one in runs_of(len(STEPS) - np.searchsorted(STEPS, least, "right"))]
        about = {"item": self.item, "version": version, "axis": axis, "index": index}
        tab.send({"type": "look", "place": found.place, "runs": runs} | about)

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
                if (one := tab or self.tab) is not None:
                    (one.send_after_state if message["type"] == "confirmed" else one.send)(message)
            self._show_snapshot()
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
            except Exception as error:
                self._send_error(error)

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
        self._show_snapshot()

    def _show_snapshot(self) -> None:
        """Send what has changed in the image to its tab, and the state of its files to all tabs."""
        if self.tab is not None and self.snapshot is not None:
            self.tab.show(self.snapshot)
        if self._chosen is None or self.session.store is None:
            return
        if (state := state_of(self._chosen, self.source, self.session.store.state)) != self.source.state:
            self.source.state = state
            self._tell({"type": "item", "item": self.item, "state": state})

    def _send_error(self, error: Exception) -> None:
        if self.tab is not None:
            self.tab.send({"type": "error", "text": reason_of(error)})

    async def close(self) -> None:
        """Apply the edits that wait, end a stroke being drawn, and end the session's thread."""
        await self.ready
        if not self._tasks:
            return
        while not self._edits.empty():
            await asyncio.sleep(0.01)
        await self._run(self._close)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # In the thread of edits

    def _apply(self, edits: list[Edit]) -> list[tuple[Tab | None, dict]]:
        """Apply edits and take a snapshot; return messages for tabs."""
        answers: list[tuple[Tab | None, dict]] = []
        for tab, stroke, call, _ in edits:
            about = {"item": self.item} if stroke is None else {"item": self.item, "number": stroke.number}
            try:
                if stroke is None:
                    message = call()
                    answers += [] if message is None else [(tab, message | about)]
                else:
                    self._draw(stroke)
                    answers += [(tab, {"type": "confirmed"} | about)] if stroke.final else []
            except Exception as error:
                answers.append((tab, {"type": "error", "text": reason_of(error)} | about))
        try:
            self._take_snapshot()
        except Exception as error:  # such as MemoryError; the next edit tries again
            answers.append((None, {"type": "error", "item": self.item, "text": reason_of(error)}))
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
            if stroke.edit:
                edit = self.session.push if stroke.edit == "push" else self.session.solid
                edit(stroke.points, stroke.radius, stroke.label or 0, final=stroke.final, taken=stroke.taken)
            elif stroke.label is None:
                self.session.erase(stroke.points, stroke.radius, **form)
            else:
                self.session.stroke(stroke.points, stroke.radius, stroke.label, **form)
        except OutputError:  # it is not in the file, and so no part of it counts
            self._end_stroke(remove=True)
            raise
        self._last_part = None if stroke.final else stroke

    def _has(self, stroke: StrokeMessage) -> bool:
        """Whether this stroke is a record: it had arrived before its page lost the connection or the image."""
        where = stroke.label, stroke.axis, stroke.index
        return any(
            isinstance(one, Stroke)
            and (one.label, one.axis, one.slice) == where
            and len(one.points) == len(stroke.points)
            and np.allclose(one.points, stroke.points)
            for one in self.session.records
        )

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

    def save_results(self, chosen: Namespace, sources: Sequence[Source], kinds: list, state: str) -> dict:
        """Write results of these kinds, which makes the state DONE or APPROVED; return the message that says so."""
        if self._chosen is None or self.session.store is None:
            raise InputError("the widget cannot save; call session.export(path, kind) or session.save(path)")
        self._end_stroke()
        files = save_results(chosen, sources, self.source, self.image, self.session, kinds)
        self.session.store.mark(state)
        return {"type": "saved", "files": [path.name for path in files]}

    async def cutout(self) -> bytes:
        """The cut-out of an image as it would be saved."""

        def encoded() -> bytes:
            self._end_stroke()
            return cutout_of(self.source, self.image, self.session)

        await self.ready
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
            "boxes": {label: list(one.box) for label, one in objects_of(records).boxes.items()},
            "masks": any(isinstance(record, MaskHint | Marks | Patch) for record in records),
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
        return encode_stroke(self.item, key, record.points, record.radius, record.label, record.axis, record.slice)

    def _close(self) -> None:
        with contextlib.suppress(InputError):  # it was never confirmed
            self._end_stroke()
        self.session.close()


def joined(edits: list[Edit]) -> list[Edit]:
    """Edits with consecutive parts of the same stroke joined to one, without previews that others follow."""
    result: list[Edit] = []
    for edit in edits:
        if result and result[-1].is_preview:
            result.pop()
        last, stroke = result[-1] if result else None, edit.stroke
        before = None if last is None or last.tab is not edit.tab else last.stroke
        if stroke is None or before is None or before.final or before.number != stroke.number:
            result.append(edit)
        else:
            points = np.concatenate((before.points, stroke.points[1:]))
            whole = stroke._replace(points=points) if stroke.final else before._replace(points=points)
            result[-1] = edit._replace(stroke=whole)
    return result


def state_of(chosen: Namespace, source: Source, stored: str) -> str:
    """State of an image, of which that of its session is `stored`; done and approved only while it has results."""
    return (
        "started"
        if stored in (DONE, APPROVED) and not any(map(os.path.exists, result_files(chosen, source)))
        else stored
    )


class Live:
    """The images, those that are open, and the thread that applies edits to them.

    sources   the images
    chosen    options of the command: out, overwrite, device
    tabs      the connected pages
    """

    def __init__(self, sources: list[Source], chosen: Namespace):
        self.sources, self.chosen = sources, chosen
        self.tabs: list[Tab] = []
        self._images: dict[int, asyncio.Task[LiveImage]] = {}  # that read them; the image used last is the last
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cutmatch-edits")
        self._current = 0
        self._changing = asyncio.Lock()  # held while images are opened or closed
        self._tasks: set[asyncio.Task] = set()
        self._uploading = threading.Lock()  # names and numbers of uploads, which arrive in several threads
        self._uploaded: tuple[Source, Image] | None = None  # the last one, which the page opens next
        self._preparing = threading.Thread(target=self._prepare, name="cutmatch-kernels", daemon=True)

    def start(self) -> None:
        """Read the first image before a tab asks for it; called in the server's loop."""
        self._start_task(self._count_kernels())
        if self.sources:
            self._start_task(self.open(0))

    def prepare(self) -> None:
        """Compile, or load, the kernels of the first strokes in a thread."""
        self._preparing.start()

    def _prepare(self) -> None:
        for job in warmup_jobs.FIRST_STROKES:
            with contextlib.suppress(Exception):  # a stroke that raises it again says so
                job(self.chosen.device)

    async def _count_kernels(self) -> None:
        """Tell the tabs how many kernels were compiled, while some are, as the terminal does; 0 at the end."""
        shown, before = 0, compiled_kernels()
        while True:
            compiling = sys.modules.get("gridcut.device.kernel_store")
            is_compiling = compiling is not None and compiling.is_compiling()
            count = compiled_kernels() - before + 1 if is_compiling else 0
            if count != shown:
                shown = count
                self.send({"type": "compiling", "count": count})
            await asyncio.sleep(COUNT_DELAY)

    # Tabs

    def connect(self, tab: Tab) -> None:
        """Add a tab."""
        self.tabs.append(tab)
        tab.send(
            {
                "type": "hello",
                "items": self.items(),
                "current": self._current,
                "colours": [colour_of(label) for label in range(MAX_LABEL + 1)],
                "kinds": [[kind, shown] for kind, (shown, _) in KINDS.items()],
                "chosen": list(DEFAULT),
                "classes": list(self.chosen.classes.items()),
                "out": os.path.join(os.curdir, Path(self.chosen.out)),  # absolute paths stay
            }
        )

    def disconnect(self, tab: Tab) -> None:
        """Remove a tab that was closed."""
        self.tabs.remove(tab)
        self._leave(tab)

    def send(self, message: dict) -> None:
        """Send a message to all tabs."""
        for tab in self.tabs:
            tab.send(message)

    def items(self) -> list[dict]:
        """The images: name, and state of its files."""
        sources = self.sources[:]  # uploads add to it at any time
        for source in sources:
            if source.state is None:
                source.state = state_of(self.chosen, source, state_in(session_file(self.chosen, source)))
        return [{"name": source.path.name, "state": source.state} for source in sources]

    async def receive(self, tab: Tab, data: str | bytes) -> None:
        """Process a message of a tab; InputError if it cannot be used."""
        if isinstance(data, bytes):
            stroke = parse_stroke(data)
            self._image_of(tab, stroke.item).draw(tab, stroke)
            return
        action = parse_action(data)
        if action["do"] == "open":
            self._start_task(self._select(tab, action["item"]), tab)
            return
        image = self._image_of(tab, action["item"])
        if action["do"] == "slice":
            image.show_slice(tab, action["axis"], action["index"])
        elif action["do"] in ("save", "approve"):
            state = DONE if action["do"] == "save" else APPROVED
            image.edit(tab, lambda: image.save_results(self.chosen, self.sources, action["kinds"], state))
        elif action["do"] == "export_approved":
            image.edit(tab, self._export_approved)
        elif action["do"] == "look":
            self._start_task(image.look(tab, action["label"], action["axis"], action["index"]), tab)
        elif action["do"] == "cancel":
            image.end_stroke(tab, remove=True)
        else:
            image.edit(tab, lambda: image.change(action), action.get("final") is False)

    def _export_approved(self) -> dict:
        files = export_approved(self.chosen, self.sources)
        return {"type": "saved", "files": [f"{path.parent.name}/{path.name}" for path in files]}

    def _image_of(self, tab: Tab, item: int) -> LiveImage:
        """The image that a tab shows; InputError for another one."""
        image = self._opened(item)
        if image is None or tab.item != item:
            raise InputError("this image is not open; open it first")
        return image

    async def _select(self, tab: Tab, item: int) -> None:
        """Show an image in a tab, the only one that draws on it."""
        if not 0 <= item < len(self.sources):
            raise InputError(f"there is no image {item}; the images are 0 to {len(self.sources) - 1}")
        self._leave(tab)
        for other in self.tabs:
            if other.item == item and other is not tab:
                self._leave(other)
                other.send({"type": "taken", "item": item})
        tab.select(item)
        try:
            image = await self.open(item)
        except InputError as error:
            if item not in self._images or self._opened(item) is not None:
                raise  # not of this image: there was no room for it
            tab.send({"type": "unreadable", "item": item, "text": str(error)})
            return
        description = await asyncio.to_thread(image.describe)  # it reads all values of a volume
        if tab.item == item:  # otherwise another image has been requested meanwhile
            self._current = item
            image.tab = tab
            tab.describe(description, image.snapshot)
            if image.error:
                tab.send({"type": "unreadable", "item": item, "text": image.error})

    def _leave(self, tab: Tab) -> None:
        """End the stroke that a tab was drawing, and let it show no image."""
        if tab.item is not None and (image := self._opened(tab.item)) is not None:
            image.end_stroke(tab)
            image.tab = None if image.tab is tab else image.tab
        tab.select(None)

    def _start_task(self, work: Coroutine, tab: Tab | None = None) -> None:
        """Do work while further messages are received; its errors are sent to the tab."""

        async def reported():
            try:
                await work
            except Exception as error:
                if tab is not None:
                    tab.send({"type": "error", "text": reason_of(error)})

        task = asyncio.create_task(reported())
        self._tasks.add(task)  # the loop itself keeps no reference
        task.add_done_callback(self._tasks.discard)

    # Open images

    async def open(self, item: int) -> LiveImage:
        """An image, which is opened if it is not; images that no tab shows make room for it."""
        async with self._changing:
            if item not in self._images or _has_failed(self._images[item]):
                self._images.pop(item, None)
                await self._make_room()
                self._images[item] = asyncio.create_task(self._start_image(item))
            self._images[item] = self._images.pop(item)
        return await self.opened(item)

    async def opened(self, item: int) -> LiveImage:
        """An image that is open, or is being read; InputError if it is not."""
        if item not in self._images:
            raise InputError("this image is not open; open it first")
        return await asyncio.shield(self._images[item])

    async def _start_image(self, item: int) -> LiveImage:
        try:
            image = await asyncio.to_thread(self.read, item)
        except Exception as error:
            raise InputError(reason_of(error)) from None
        image.start()
        return image

    def read(self, item: int) -> LiveImage:
        """Read an image; its session continues the one in its file, if there is one."""
        source = self.sources[item]
        uploaded, self._uploaded = self._uploaded, None
        image = uploaded[1] if uploaded is not None and uploaded[0] is source else source.load()
        opening = partial(self._open_session, source, image)
        return LiveImage(item, source, image, opening, self.chosen, self.send, self._thread)

    def _open_session(self, source: Source, image: Image) -> Session:
        path, about = session_file(self.chosen, source), {"name": source.path.name, "option": "--out"}
        session = Session.open(path, image.pixels, image.spacing, device=self.chosen.device, **about)
        try:
            if session.records:
                adopt_results(self.chosen, source)
            elif source.start is not None and image.volume is not None:
                session.start_from(read_volume_mask(source.start, image.volume))
            elif source.start is not None:
                session.start_from(values_in(read_bytes(source.start, "--start"), source.start, "--start"))
        except BaseException:
            session.close()
            raise
        return session

    def _opened(self, item: int) -> LiveImage | None:
        """An image that is open; None while it is being read."""
        task = self._images.get(item)
        return task.result() if task is not None and task.done() and not _has_failed(task) else None

    async def _make_room(self) -> None:
        """Close images that no tab shows, the one used last at the end."""
        shown = {tab.item for tab in self.tabs}
        for item in [item for item, task in self._images.items() if item not in shown and task.done()]:
            if len(self._images) < MAX_OPEN_IMAGES:
                return
            if (image := self._opened(item)) is not None:
                await image.close()
            del self._images[item]

    # Uploads

    async def add_upload(self, name: str, data: bytes) -> int:
        """Add an uploaded image; return its number.  InputError if it cannot be used."""
        item = await asyncio.to_thread(self._add_source, name, data)
        self.send({"type": "items", "items": self.items()})
        return item

    def _add_source(self, name: str, data: bytes) -> int:
        if not is_plain_name(name) or not name.isprintable() or len(name) > 200:
            raise InputError("the name of the file cannot be used; rename it")
        image = decoded_image(data, repr(name))
        path = Path(name)
        stem = stem_of(path) or "image"
        with self._uploading:
            if sum(len(source.data or b"") for source in self.sources) + len(data) > MAX_UPLOADS:
                raise InputError(f"uploads exceed {MAX_UPLOADS >> 20} MiB; pass the files on the command line")
            taken = {source.name for source in self.sources}
            names = itertools.chain([stem], (f"{stem}-{count}" for count in itertools.count(2)))
            source, item = Source(next(one for one in names if one not in taken), path, data), len(self.sources)
            self.sources.append(source)
            self._uploaded = source, image
        return item

    async def start_from(self, item: int, name: str, data: bytes) -> None:
        """Add the start mask in an uploaded file to an open image."""
        values = await asyncio.to_thread(values_in, data, name, "mask")
        image = self._opened(item)
        if image is None or image.is_volume:
            raise InputError("a mask in a file needs an open image")
        image.edit(None, lambda: image.start_from(values))

    # The end

    async def close(self) -> None:
        """Close all images."""
        for item in list(self._images):
            if (image := self._opened(item)) is not None:
                await image.close()
            if self._images[item].done():  # otherwise the reader still runs
                del self._images[item]
        self.stop_edits()

    def unfinished(self) -> list[str]:
        """Names of the images that are open, or are being read; and the kernels, while they are compiled."""
        names = [self.sources[item].path.name for item in list(self._images)]
        return names + ["kernels"] * self._preparing.is_alive()

    def stop_edits(self) -> None:
        """End the thread of edits after those that wait; later edits raise RuntimeError."""
        for task in self._tasks:
            task.cancel()
        self._thread.shutdown(wait=False)


def _has_failed(task: asyncio.Task) -> bool:
    """Whether an image could not be read, or has no session."""
    if not task.done():
        return False
    return task.cancelled() or task.exception() is not None or bool(task.result().error)
