"""The images of one run of the app, those that are open, and the messages of the tabs that show them."""

import asyncio
import contextlib
import os
import threading
from argparse import Namespace
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from apps.app import MAX_OPEN_IMAGES, MAX_UPLOADS
from apps.app.image_sources import Image, Source, decoded_image
from apps.app.messages import parse_action, parse_stroke
from apps.app.open_image import OpenImage
from apps.app.saved_results import DEFAULT, KINDS, adopt_results, session_file, state_of
from apps.app.tabs import Tab, Tabs
from apps.common.errors import InputError, reason_of
from apps.common.figures import colour_of
from apps.common.outputs import is_plain_name
from apps.common.stems import stem_of
from apps.common.uncopied import Uncopied
from apps.session import Session
from apps.session.label_maps import values_in
from apps.session.records import MAX_LABEL
from apps.session.store import state_in
from apps.warmup import warmup_jobs


class OpenImages(Uncopied):
    """The images, those that are open, and the thread that applies edits to them.

    sources   the images
    chosen    options of the command: out, overwrite, device
    tabs      the connected pages
    """

    def __init__(self, sources: list[Source], chosen: Namespace):
        self.sources, self.chosen, self.tabs = sources, chosen, Tabs()
        self._images: dict[int, asyncio.Task[OpenImage]] = {}  # that read them; the image used last is the last
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cutmatch-edits")
        self._current = 0
        self._changing = asyncio.Lock()  # held while images are opened or closed
        self._tasks: set[asyncio.Task] = set()
        self._uploading = threading.Lock()  # names and numbers of uploads, which arrive in several threads
        self._uploaded: tuple[Source, Image] | None = None  # the last one, which the page opens next
        self._preparing = threading.Thread(target=self._prepare, name="cutmatch-kernels", daemon=True)

    def start(self) -> None:
        """Read the first image before a tab asks for it; called in the server's loop."""
        if self.sources:
            self._start_task(self.open(0))

    def prepare(self) -> None:
        """Compile, or load, the kernels of the first strokes in a thread."""
        self._preparing.start()

    def _prepare(self) -> None:
        for job in warmup_jobs.FIRST_STROKES:
            with contextlib.suppress(Exception):  # a stroke that raises it again says so
                job(self.chosen.device)

    # Tabs

    def connect(self, tab: Tab) -> None:
        """Add a tab; InputError if there are too many."""
        self.tabs.add(tab)
        tab.send(
            {
                "type": "hello",
                "items": self.items(),
                "current": self._current,
                "colours": [colour_of(label) for label in range(MAX_LABEL + 1)],
                "kinds": [[kind, shown] for kind, (shown, _) in KINDS.items()],
                "chosen": list(DEFAULT),
                "out": os.path.join(os.curdir, Path(self.chosen.out)),  # absolute paths stay
            }
        )

    def disconnect(self, tab: Tab) -> None:
        """Remove a tab that was closed."""
        self.tabs.remove(tab)
        self._leave(tab)

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
            _show_slice(tab, image, action["axis"], action["index"])
        elif action["do"] == "save":
            image.edit(tab, lambda: image.save_results(self.chosen, self.sources, action["kinds"]))
        elif action["do"] == "cancel":
            image.end_stroke(tab, remove=True)
        else:
            image.edit(tab, lambda: image.change(action))

    def _image_of(self, tab: Tab, item: int) -> OpenImage:
        """The image that a tab shows; InputError for another one."""
        image = self._opened(item)
        if image is None or tab.item != item:
            raise InputError("this image is not open; open it first")
        return image

    async def _select(self, tab: Tab, item: int) -> None:
        """Show an image in a tab."""
        if not 0 <= item < len(self.sources):
            raise InputError(f"there is no image {item}; the images are 0 to {len(self.sources) - 1}")
        self._leave(tab)
        for other in self.tabs:
            if other.item == item and other is not tab:  # an image has one tab that draws on it
                self._leave(other)
                other.send({"type": "taken", "item": item})
        tab.select(item)
        try:
            image = await self.open(item)
        except InputError as error:
            if item not in self._images or not _has_failed(self._images[item]):
                raise  # not of this image: there was no room for it
            tab.send({"type": "unreadable", "item": item, "text": str(error)})
            return
        description = await asyncio.to_thread(image.describe)  # it reads all values of a volume
        if tab.item == item:  # otherwise another image has been requested meanwhile
            self._current = item
            tab.describe(description, image.snapshot)

    def _leave(self, tab: Tab) -> None:
        """End the stroke that a tab was drawing, and let it show no image."""
        if tab.item is not None and (image := self._opened(tab.item)) is not None:
            image.end_stroke(tab)
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

    async def open(self, item: int) -> OpenImage:
        """An image, which is opened if it is not; images that no tab shows make room for it."""
        async with self._changing:
            if item not in self._images or _has_failed(self._images[item]):
                self._images.pop(item, None)
                await self._make_room()
                self._images[item] = asyncio.create_task(self._read(item))
            self._images[item] = self._images.pop(item)
        return await self.opened(item)

    async def opened(self, item: int) -> OpenImage:
        """An image that is open, or is being read; InputError if it is not."""
        if item not in self._images:
            raise InputError("this image is not open; open it first")
        return await asyncio.shield(self._images[item])

    async def _read(self, item: int) -> OpenImage:
        try:
            image = await asyncio.to_thread(self.read, item)
            await image.start()
        except Exception as error:
            raise InputError(reason_of(error)) from None
        return image

    def read(self, item: int) -> OpenImage:
        """Read an image with its session, if there is one."""
        source = self.sources[item]
        uploaded, self._uploaded = self._uploaded, None
        image = uploaded[1] if uploaded is not None and uploaded[0] is source else source.load()
        path, about = session_file(self.chosen, source), {"name": source.path.name, "option": "--out"}
        session = Session.open(path, image.pixels, image.spacing, device=self.chosen.device, **about)
        try:
            opened = OpenImage(item, source, image, session, self.chosen, self.tabs, self._thread)
            if session.records:
                adopt_results(self.chosen, source)
            else:
                opened.read_start()
        except BaseException:
            session.close()
            raise
        return opened

    def _opened(self, item: int) -> OpenImage | None:
        """An image that is open; None while it is being read."""
        task = self._images.get(item)
        return task.result() if task is not None and task.done() and not _has_failed(task) else None

    def _all_opened(self) -> list[OpenImage]:
        return [image for item in list(self._images) if (image := self._opened(item)) is not None]

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
        self.tabs.send({"type": "items", "items": self.items()})
        return item

    def _add_source(self, name: str, data: bytes) -> int:
        if not is_plain_name(name) or not name.isprintable() or len(name) > 200:
            raise InputError("the name of the file cannot be used; rename it")
        image = decoded_image(data, repr(name))
        path, count = Path(name), 1
        stem = unique = stem_of(path) or "image"
        with self._uploading:
            if sum(len(source.data or b"") for source in self.sources) + len(data) > MAX_UPLOADS:
                raise InputError(f"uploads exceed {MAX_UPLOADS >> 20} MiB; pass the files on the command line")
            taken = {source.name for source in self.sources}
            while unique in taken:
                count += 1
                unique = f"{stem}-{count}"
            source, item = Source(unique, path, data), len(self.sources)
            self.sources.append(source)
            self._uploaded = source, image
        return item

    async def start_from(self, item: int, data: bytes) -> None:
        """Add the start mask in an uploaded file to an open image."""
        values = await asyncio.to_thread(values_in, data, "the file", "start")
        image = self._opened(item)
        if image is None or image.is_volume:
            raise InputError("a mask in a file needs an open image")
        image.edit(None, lambda: image.start_from(values))

    # The end

    async def close(self) -> None:
        """Close all images."""
        for image in self._all_opened():
            await image.close()
        for item, task in list(self._images.items()):
            if task.done():  # otherwise the reader still runs
                del self._images[item]
        self.stop_edits()

    def unfinished(self) -> list[str]:
        """Names of the images that are open, or are being read; and the kernels, while they are compiled."""
        names = [self.sources[item].path.name for item in list(self._images)]
        return names + ["kernels"] * self._preparing.is_alive()

    def stop_edits(self) -> None:
        """End the thread of edits after those that wait; later edits raise RuntimeError."""
        self._thread.shutdown(wait=False)


def _show_slice(tab: Tab, image: OpenImage, axis: int, index: int) -> None:
    shape = image.image.shape
    is_legal = 0 <= axis <= 2 and 0 <= index < shape[axis] if image.is_volume else axis == -1 and index == 0
    if not is_legal:
        raise InputError(f"there is no slice {index} along axis {axis}")
    tab.show_slice(axis, index)


def _has_failed(task: asyncio.Task) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)
