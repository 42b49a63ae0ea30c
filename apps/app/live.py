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
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from apps.app import MAX_OPEN_IMAGES, MAX_UPLOADS
from apps.app.image_sources import Image, Source, decoded_image
from apps.app.messages import DRAWN, parse_action, runs_of
from apps.app.saved_results import (
    DEFAULT,
    KINDS,
    adopt_results,
    cutout_of,
    export_approved,
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
from apps.segmentation.volume_object import read_volume_mask
from apps.session import Session
from apps.session.label_maps import values_in
from apps.session.record_checks import MAX_LABEL
from apps.session.session_records import Delete, Record, Stroke, common_length, objects_of
from apps.session.store import APPROVED, DONE, state_in
from apps.warmup import warmup_jobs

CERTIFY_PIXELS = 2_000_000  # cuts of at most this size are certified when the user pauses; others when they are saved
CERTIFY_DELAY = 0.6  # seconds without an edit
COUNT_DELAY = 0.5  # seconds between two counts of compiled kernels
NO_ACTION: dict = {}


class Edit(NamedTuple):
    """A change of the session, by a call that returns a message for the tab, or None."""

    tab: Tab | None  # that sent it, and is answered; or None for the one that shows the image
    call: Callable[[dict], dict | None]
    action: dict  # of the page, which is passed to the call


class LiveImage:
    """An image or volume that is open, or is being opened; `close` ends it.

    item      number of the image
    live      the images, whose thread applies edits, one after the other
    tab       that shows the image, if there is one
    loaded    a task that reads the image, and `ready` one that opens its session, too
    error     why there is no image, or no session
    image     set when it is read
    session   set before the first edit is applied
    """

    image: Image
    session: Session
    snapshot: Snapshot | None = None
    tab: Tab | None = None
    error = ""

    def __init__(self, item: int, source: Source, live: "Live"):
        self.item, self.source, self._live = item, source, live
        self._edits: asyncio.Queue[Edit] = asyncio.Queue()
        self._edit_count = self._look_count = 0
        self._looking = asyncio.Lock()  # held while margins are computed
        self._last_part: dict | None = None  # of the stroke that is being drawn
        self._keys = itertools.count(1)
        self._encoded: list[tuple[int, dict]] = []  # key and message of each of these records
        self._encoded_records: Sequence[Record] = ()
        self._labels: tuple[int, Any] = (-1, None)
        self._edited = asyncio.Event()
        self._tasks: list[asyncio.Task] = []
        self.loaded = asyncio.create_task(self._load())
        self.ready = asyncio.create_task(self._begin())

    @property
    def is_volume(self) -> bool:
        return self.image.volume is not None

    @property
    def is_open(self) -> bool:
        """Whether the image has been read, and nothing failed."""
        return self.loaded.done() and not self.error

    async def _load(self) -> None:
        try:
            self.image = await asyncio.to_thread(self._live.load, self.source)
        except Exception as error:
            self.error = reason_of(error)

    async def _begin(self) -> None:
        """Open the session, and begin to apply edits."""
        await self.loaded
        if self.error:
            return
        loop = asyncio.get_running_loop()
        try:
            self.session = await asyncio.to_thread(self._live.open_session, self.source, self.image)
        except Exception as error:
            self.error = reason_of(error)
            self.tell_error()
            return
        # What it computes in its own thread is shown by an edit that changes nothing.
        self.session.listen(lambda: loop.call_soon_threadsafe(self.edit, None, _nothing))
        self.edit(None, _nothing)
        self._edited.set()
        self._tasks = [asyncio.create_task(work()) for work in (self._apply_edits, self._work_in_pauses)]

    def tell_error(self) -> None:
        """Tell the tab why the image cannot be used, if it cannot."""
        if self.error and self.tab is not None:
            self.tab.send({"type": "unreadable", "item": self.item, "text": self.error})

    def describe(self) -> dict:
        """What a tab has to know to show the image."""
        about = {"type": "document", "item": self.item, "name": self.source.path.name, "shape": list(self.image.shape)}
        if self.image.volume is not None:
            about |= {"spacing": list(self.image.spacing or ()), "range": self.image.range, "window": self.image.window}
            if (geometry := self.image.volume.geometry) is not None and (world := geometry.world()) is not None:
                about |= {"world": world.tolist(), "unit": geometry.unit or "", "letters": geometry.letters()}
        return about | {"address": f"image/{self.item}"}

    # Edits, as they arrive

    def edit(self, tab: Tab | None, call: Callable[[dict], dict | None], action: dict = NO_ACTION) -> None:
        """Queue a call, in the thread of edits."""
        self._edits.put_nowait(Edit(tab, call, action))

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
        return await asyncio.get_running_loop().run_in_executor(self._live.thread, call)

    async def _apply_edits(self) -> None:
        while True:
            edits = [await self._edits.get()]
            while not self._edits.empty():
                edits.append(self._edits.get_nowait())
            # One call for all, because each change of threads waits for the session's own.
            answers = await self._run(partial(self._apply, joined(edits)))
            for tab, message in answers:
                if (one := tab or self.tab) is not None:
                    (one.send_after_state if message["type"] == "confirmed" else one.send)(message)
            if self.tab is not None and self.snapshot is not None:
                self.tab.show(self.snapshot)
            self._live.tell_state(self)
            if any(edit.call is not _nothing for edit in edits):
                self._edit_count += 1
                self._edited.set()

    async def _work_in_pauses(self) -> None:
        """After edits, wait for the session's thread; in a pause, certify its cut and store its labels."""
        size = int(np.prod(self.image.shape))
        while True:
            await self._edited.wait()
            self._edited.clear()
            try:
                await asyncio.to_thread(self.session.wait)
                self.edit(None, _nothing)
                if size > CERTIFY_PIXELS:
                    continue
                before = self._edit_count
                await asyncio.sleep(CERTIFY_DELAY)
                if self._edit_count == before and self._last_part is None and self._edits.empty():
                    await asyncio.to_thread(self.session.result)
                    self.edit(None, _nothing)
            except Exception as error:
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
        for tab, call, action in edits:
            about = {"item": self.item} | ({"number": action["number"]} if "number" in action else {})
            try:
                message = call(action)
                answers += [] if message is None else [(tab, message | about)]
            except Exception as error:
                answers.append((tab, {"type": "error", "text": reason_of(error)} | about))
        try:
            self._take_snapshot()
        except Exception as error:  # such as MemoryError; the next edit tries again
            answers.append((None, {"type": "error", "item": self.item, "text": reason_of(error)}))
        return answers

    def change(self, action: dict) -> dict | None:
        """Call the method of the session that an action names; return the confirmation of a stroke."""
        drawn, number, is_last = action["do"] in DRAWN, action.get("number"), action.get("final", True)
        if number not in self.source.confirmed:  # else it had arrived before its page lost the connection
            if not drawn:
                self.end_stroke()
            try:
                arguments = {name: value for name, value in action.items() if name not in ("do", "item", "number")}
                getattr(self.session, action["do"])(**arguments)
            except OutputError:  # it is not in the file, and so no part of it counts
                self.end_stroke({"do": "cancel"})
                raise
            self._last_part = action if drawn and not is_last else None
        if number is None or not is_last:
            return None
        self.source.confirmed.add(number)
        return {"type": "confirmed"}

    def end_stroke(self, action: dict = NO_ACTION) -> None:
        """End the stroke that is being drawn, for a page that will not, or let "cancel" remove it."""
        part, self._last_part = self._last_part, None
        if part is not None and action.get("do") == "cancel":
            self.session.undo()
        elif part is not None:
            self.change(part | {"number": None, "points": part["points"][-1:], "final": True})

    async def cutout(self) -> bytes:
        """The cut-out of an image as it would be saved."""

        def encoded() -> bytes:
            self.end_stroke()
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

    def _message_of(self, record: Record, key: int) -> dict:
        """The message of a stroke; empty for another record."""
        if not isinstance(record, Stroke):
            return {}
        axis, index = (-1, 0) if record.axis is None else (record.axis, record.slice)
        shown = {"do": "erase" if record.label is None else "stroke", "points": record.points, "radius": record.radius}
        place = {"label": record.label or 0, "axis": axis, "index": index}
        return {"type": "stroke", "item": self.item, "key": key} | shown | place

    def _close(self) -> None:
        with contextlib.suppress(InputError):  # it was never confirmed
            self.end_stroke()
        self.session.close()


def _nothing(action: dict) -> None:
    """An edit that changes nothing."""


def joined(edits: list[Edit]) -> list[Edit]:
    """Edits that change something: parts of a stroke as one, without previews that others follow."""
    result: list[Edit] = []
    for edit in [one for one in edits if one.call is not _nothing]:
        last = result[-1] if result else None
        if last is not None and last.action.get("final") is False:
            if last.action["do"] not in DRAWN:
                result.pop()
            elif (last.tab, last.action["number"]) == (edit.tab, edit.action.get("number")):
                points = result.pop().action["points"] + edit.action["points"][1:]
                edit = edit._replace(action=edit.action | {"points": points})
        result.append(edit)
    return result


class Live:
    """The images, those that are open, and the thread that applies edits to them.

    sources   the images
    chosen    options of the command: out, overwrite, device
    tabs      the connected pages
    thread    applies edits
    """

    def __init__(self, sources: list[Source], chosen: Namespace):
        self.sources, self.chosen = sources, chosen
        self.tabs: list[Tab] = []
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="cutmatch-edits")
        self._images: dict[int, LiveImage] = {}  # the image used last is the last
        self._current = 0
        self._changing = asyncio.Lock()  # held while images are opened or closed
        self._tasks: set[asyncio.Task] = set()
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
        """The images: name and state."""
        for source in self.sources:
            if source.state is None:
                source.state = state_in(session_file(self.chosen, source))
        return [{"name": source.path.name, "state": source.state} for source in self.sources]

    def tell_state(self, image: LiveImage) -> None:
        """Tell all tabs the state of an image's files, if it has changed."""
        store = image.session.store
        if store is not None and store.state != image.source.state:
            image.source.state = store.state
            self.send({"type": "item", "item": image.item, "state": store.state})

    async def receive(self, tab: Tab, text: str) -> None:
        """Process a message of a tab; InputError if it cannot be used."""
        action = parse_action(text)
        if action["do"] == "open":
            self._start_task(self._select(tab, action["item"]), tab)
            return
        image = self._image_of(tab, action["item"])
        if action["do"] == "slice":
            image.show_slice(tab, action["axis"], action["index"])
        elif action["do"] in ("save", "approve"):
            image.edit(tab, partial(self.save, image), action)
        elif action["do"] == "export_approved":
            image.edit(tab, self._export_approved)
        elif action["do"] == "look":
            self._start_task(image.look(tab, action["label"], action["axis"], action["index"]), tab)
        else:
            image.edit(tab, image.end_stroke if action["do"] == "cancel" else image.change, action)

    def _export_approved(self, _: dict) -> dict:
        files = export_approved(self.chosen, self.sources)
        return {"type": "saved", "files": [f"{path.parent.name}/{path.name}" for path in files]}

    def save(self, image: LiveImage, action: dict) -> dict:
        """Write results, in the thread of edits; return the message that says so."""
        image.end_stroke()
        files = save_results(self.chosen, self.sources, image.source, image.image, image.session, action["kinds"])
        if image.session.store is not None:
            image.session.store.mark(DONE if action["do"] == "save" else APPROVED)
        return {"type": "saved", "files": [path.name for path in files]}

    def _image_of(self, tab: Tab, item: int) -> LiveImage:
        """The image that a tab shows; InputError for another one."""
        image = self._images.get(item)
        if image is None or not image.is_open or tab.item != item:
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
        image = await self.open(item)
        await image.loaded
        description = {} if image.error else await asyncio.to_thread(image.describe)  # it reads all values of a volume
        if tab.item == item:  # otherwise another image has been requested meanwhile
            self._current = item
            image.tab = tab
            if description:
                tab.describe(description, image.snapshot)
            image.tell_error()

    def _leave(self, tab: Tab) -> None:
        """End the stroke that a tab was drawing, and let it show no image."""
        if tab.item is not None and (image := self._images.get(tab.item)) is not None:
            image.edit(tab, image.end_stroke)
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
            if item not in self._images or self._images[item].error:
                self._images.pop(item, None)
                await self._make_room()
                self._images[item] = LiveImage(item, self.sources[item], self)
            self._images[item] = self._images.pop(item)
            return self._images[item]

    async def opened(self, item: int) -> LiveImage:
        """An image that is open, or is being read; InputError if it is not."""
        if item not in self._images:
            raise InputError("this image is not open; open it first")
        image = self._images[item]
        await asyncio.shield(image.loaded)
        if image.error:
            raise InputError(image.error)
        return image

    def load(self, source: Source) -> Image:
        """Read an image, in any thread."""
        return source.load()

    def open_session(self, source: Source, image: Image) -> Session:
        """The session of an image, which continues the one in its file, if there is one; in any thread."""
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

    async def _make_room(self) -> None:
        """Close images that no tab shows, the one used last at the end."""
        shown = {tab.item for tab in self.tabs}
        for item, image in list(self._images.items()):
            if len(self._images) >= MAX_OPEN_IMAGES and item not in shown and image.loaded.done():
                await image.close()
                del self._images[item]

    # Uploads

    async def add_upload(self, name: str, data: bytes) -> int:
        """Add an uploaded image; return its number.  InputError if it cannot be used."""
        if not is_plain_name(name) or not name.isprintable() or len(name) > 200:
            raise InputError("the name of the file cannot be used; rename it")
        await asyncio.to_thread(decoded_image, data, repr(name))
        if sum(len(source.data or b"") for source in self.sources) + len(data) > MAX_UPLOADS:
            raise InputError(f"uploads exceed {MAX_UPLOADS >> 20} MiB; pass the files on the command line")
        path = Path(name)
        stem, taken = stem_of(path) or "image", {source.name for source in self.sources}
        names = itertools.chain([stem], (f"{stem}-{count}" for count in itertools.count(2)))
        self.sources.append(Source(next(one for one in names if one not in taken), path, data))
        self.send({"type": "items", "items": self.items()})
        return len(self.sources) - 1

    async def start_from(self, item: int, name: str, data: bytes) -> None:
        """Add the start mask in an uploaded file to an open image."""
        values = await asyncio.to_thread(values_in, data, name, "mask")
        image = self._images.get(item)
        if image is None or not image.is_open or image.is_volume:
            raise InputError("a mask in a file needs an open image")
        image.edit(None, image.change, {"do": "start_from", "mask": values})

    # The end

    async def close(self) -> None:
        """Close all images."""
        for item, image in list(self._images.items()):
            if image.loaded.done():  # otherwise the reader still runs
                await image.close()
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
        self.thread.shutdown(wait=False)
