"""The desk: the images of one run of the app, those that are open, and the tabs that show them.

Edits of an image are applied by one thread, in the order in which they arrived; parts of a stroke that waited are
joined first.  After an edit the session goes on computing in a thread of its own; whenever its labels have changed, all
tabs get them.  Session files are written behind the edits.
"""

import asyncio
import threading
from argparse import Namespace
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from apps.app import MAX_OPEN_IMAGES, MAX_TABS, MAX_UPLOADS, saving
from apps.app.image_sources import Image, Source, decoded_image
from apps.app.messages import parse_action, parse_stroke
from apps.app.open_image import OpenImage
from apps.app.place import Place
from apps.app.tabs import Tab
from apps.common.errors import InputError, OutputError, print_error, reason_of
from apps.common.ledgers import is_plain_name
from apps.common.stems import stem_of
from apps.common.uncopied import Uncopied
from apps.segment.label_figures import colour_of

SAVE_SECONDS = 1.0  # for which a server that ends tries to write strokes to a full disk
LABELS = 9  # offered by the page, one per number key


class Desk(Uncopied):
    """Images, tabs and the thread of edits.

    sources   the images
    chosen    options of the command: out, overwrite, device
    """

    def __init__(self, sources: list[Source], chosen: Namespace):
        self.sources, self.chosen = sources, chosen
        self.tabs: list[Tab] = []
        self._places: dict[int, Place] = {}  # the image used last is the last
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cutmatch-edits")
        self.current = 0
        self._moving = asyncio.Lock()  # held while a place is made or removed
        self._tasks: set[asyncio.Task] = set()
        self._states: list[str] = []
        self._uploading = threading.Lock()  # names and numbers of uploads, which arrive in several threads
        self._uploaded: tuple[Source, Image] | None = None  # the last one, which the page opens next
        self.unsaved = 0  # images whose strokes `close` could not write to --out
        self.hurry = False  # whether `close` is not to wait for space on the disk
        self._loop: asyncio.AbstractEventLoop

    def open_image(self, item: int, changed: Callable[[], None]) -> OpenImage:
        """Read an image; its session calls `changed` in a thread of its own."""
        source = self.sources[item]
        uploaded, self._uploaded = self._uploaded, None
        image = uploaded[1] if uploaded is not None and uploaded[0] is source else source.load()
        return OpenImage.read(item, source, image, saving.SessionFile(self.chosen, source), self.chosen.device, changed)

    async def run(self, call: Callable):
        """The result of a function, called in the thread of edits."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    # Tabs

    def join(self, tab: Tab) -> None:
        """Add a tab; InputError if there are too many."""
        if len(self.tabs) >= MAX_TABS:
            raise InputError(f"{MAX_TABS} tabs are open; close one")
        self.tabs.append(tab)
        tab.say(
            {
                "say": "hello",
                "items": self.items(),
                "current": self.current,
                "colours": [colour_of(label) for label in range(LABELS + 1)],
                "kinds": [[kind, shown] for kind, (shown, _) in saving.KINDS.items()],
                "chosen": list(saving.DEFAULT),
                "out": str(Path(self.chosen.out)),
            }
        )

    def leave(self, tab: Tab) -> None:
        """Remove a tab that was closed."""
        self.tabs.remove(tab)
        self._end_stroke(tab)

    def _end_stroke(self, tab: Tab) -> None:
        """End the stroke that a tab was drawing; it cannot end it itself once it shows another image."""
        for place in self._places.values():
            place.leave(tab)

    def items(self) -> list[dict]:
        """The images: name, and state of `saving.state_of`."""
        sources = self.sources[:]  # uploads add to it at any time
        for source in sources[len(self._states) :]:
            self._states.append(saving.state_of(self.chosen, source))
        names = (source.path.name for source in sources)
        return [{"name": name, "state": state} for name, state in zip(names, self._states, strict=True)]

    def say_item_state(self, item: int) -> None:
        """Send the list of images to all tabs, if the state of one has changed."""
        state = saving.state_of(self.chosen, self.sources[item])
        if item < len(self._states) and state != self._states[item]:
            self._states[item] = state
            self.say_all({"say": "items", "items": self.items()})

    def say_all(self, message: dict, item: int | None = None) -> None:
        """Send a message to all tabs, or to those that show an image."""
        for tab in self.tabs:
            if item is None or tab.item == item:
                tab.say(message)

    # Messages

    async def receive(self, tab: Tab, data: str | bytes) -> None:
        """Process a message of a tab; InputError if it cannot be used."""
        if isinstance(data, bytes):
            stroke = parse_stroke(data)
            place = self._place(tab, stroke.item)
            place.edit(tab, OpenImage.stroke, stroke)
            return
        action = parse_action(data)
        if action["do"] == "open":
            self._start_task(self._open(tab, action["item"]), tab)
            return
        place = self._place(tab, action["item"])
        if action["do"] == "look":
            self._look(tab, place.opened, action["axis"], action["index"])
        elif action["do"] == "save":
            place.edit(tab, lambda opened: self._save(opened, action["kinds"]))
        elif action["do"] == "cancel":
            if place.drawing is tab:
                place.edit(tab, lambda opened: opened.end_stroke(True))
        else:
            place.edit(tab, lambda opened: opened.edit(action))

    def _place(self, tab: Tab, item: int) -> Place:
        """The place of the image that a tab shows; InputError for another one."""
        place = self._places.get(item)
        if place is None or tab.item != item or not place.opening.done():
            raise InputError("this image is not open; open it first")
        return place

    def _look(self, tab: Tab, opened: OpenImage, axis: int, index: int) -> None:
        shape = opened.image.shape
        legal = axis == -1 and index == 0 if not opened.is_volume else 0 <= axis <= 2 and 0 <= index < shape[axis]
        if not legal:
            raise InputError(f"there is no slice {index} along axis {axis}")
        tab.look(axis, index)

    def _save(self, opened: OpenImage, kinds: list) -> None:
        """Save results; called in the thread of edits."""
        opened.end_stroke(False)
        opened.keep()
        files = saving.save_results(self.chosen, opened.source, opened.image, opened.session, kinds)
        message = {"say": "saved", "item": opened.item, "files": [path.name for path in files]}
        self._loop.call_soon_threadsafe(self.say_all, message, opened.item)

    def _start_task(self, work: Coroutine, tab: Tab | None = None) -> None:
        """Do work while further messages are received; its errors are sent to the tab."""

        async def reported():
            try:
                await work
            except Exception as error:
                if tab is not None:
                    tab.say({"say": "error", "text": reason_of(error)})

        task = asyncio.create_task(reported())
        self._tasks.add(task)  # the loop itself keeps no reference
        task.add_done_callback(self._tasks.discard)

    def start(self) -> None:
        """Read the first image before a tab asks for it; called in the server's loop."""
        self._loop = asyncio.get_running_loop()
        if self.sources:
            self._start_task(self.place(0))

    async def _open(self, tab: Tab, item: int) -> None:
        if not 0 <= item < len(self.sources):
            raise InputError(f"there is no image {item}; the images are 0 to {len(self.sources) - 1}")
        self._end_stroke(tab)
        tab.forget(item)
        place = await self.place(item)
        opened = await place.open()
        about = await asyncio.to_thread(opened.about, "image")  # it reads all values of a volume
        if tab.item != item:
            return  # another image has been requested meanwhile
        self.current = item
        tab.say({"say": "document"} | about)
        assert place.snapshot is not None
        tab.show(opened, place.snapshot)

    async def place(self, item: int) -> Place:
        """The place of an image, which is opened if it is not; images that no tab shows make room for it."""
        async with self._moving:
            place = self._places.pop(item, None)
            if place is not None and place.opening.done() and place.opening.exception() is not None:
                await place.close()
                place = None
            if place is None:
                await self._make_room()
                place = Place(self, item)
                self._start_task(place.load())
            self._places[item] = place
            return place

    async def _make_room(self) -> None:
        """Close images that no tab shows; InputError if a further one must not be opened.

        An image whose strokes cannot be written remains open, as they would be lost.
        """
        shown = {tab.item for tab in self.tabs}
        unused = [one for one in self._places.values() if one.item not in shown and one.opening.done()]
        excess, failed = len(self._places) + 1 - MAX_OPEN_IMAGES, None
        for one in unused:
            if excess <= 0:
                return
            if (error := await _closed(one)) is None:
                del self._places[one.item]
                excess -= 1
            failed = error or failed
        if excess > 0 and failed is not None:
            raise InputError(f"no further image can be opened, since strokes are not saved yet: {reason_of(failed)}")

    async def opened(self, item: int) -> OpenImage:
        """An open image; InputError if it is not open."""
        if item not in self._places:
            raise InputError("this image is not open; open it first")
        return await self._places[item].open()

    # Uploads

    def add(self, name: str, data: bytes) -> int:
        """Add an uploaded image; return its number.  InputError if it cannot be used."""
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
        self._loop.call_soon_threadsafe(lambda: self.say_all({"say": "items", "items": self.items()}))
        return item

    async def start_from(self, item: int, data: bytes) -> None:
        """Start an image from an uploaded mask."""
        mask = await asyncio.to_thread(decoded_image, data, "the mask")
        place = self._places.get(item)
        if place is None or not place.opening.done() or place.opened.is_volume:
            raise InputError("a start mask needs an open image")
        place.edit(None, lambda opened: self._start(opened, mask))

    def _start(self, opened: OpenImage, mask: Image) -> None:
        opened.end_stroke(False)
        try:
            opened.start_from(mask)
        except InputError as error:
            self._loop.call_soon_threadsafe(self.say_all, {"say": "error", "text": str(error)}, opened.item)

    async def close(self) -> None:
        """Write all session files.

        On a full disk this is tried again for a moment.  Strokes that cannot be written go to a folder for temporary
        files, and are counted in `unsaved`.
        """
        loop = asyncio.get_running_loop()
        places, deadline, first = list(self._places.values()), loop.time() + SAVE_SECONDS, True
        while True:
            failed = [(place, error) for place in places if (error := await _closed(place)) is not None]
            self.unsaved = len(failed)
            if first:
                for _, error in failed:
                    print_error(f"cutmatch app: {reason_of(error)}")
            if self.hurry or loop.time() > deadline or not any(isinstance(error, OutputError) for _, error in failed):
                break
            if first:
                print_error(f"cutmatch app: trying again for {SAVE_SECONDS} s; free some space to keep all strokes")
            places, first = [place for place, _ in failed], False
            await asyncio.sleep(0.1)
        for place, _ in failed:
            strokes = f"cutmatch app: the strokes on {place.opened.source.path.name!r}"
            try:
                print_error(f"{strokes} were written to {str(await self.run(place.rescue))!r}")
            except Exception as error:
                print_error(f"{strokes} are lost: {reason_of(error)}")
        for place in list(self._places.values()):
            if place.opening.done():  # otherwise the reader still runs
                del self._places[place.item]
        self.stop_edits()

    @property
    def has_unsaved(self) -> bool:
        """Whether confirmed strokes are in no file yet, as the last attempt to write them failed."""
        return self.unsaved > 0 or any(place.is_behind for place in list(self._places.values()))

    def unfinished(self) -> list[str]:
        """Names of the images that are open, or are being read."""
        return [self.sources[item].path.name for item in list(self._places)]

    def stop_edits(self) -> None:
        """End the thread of edits after those that wait; `run` raises RuntimeError from now on."""
        self._thread.shutdown(wait=False)


async def _closed(place: Place) -> Exception | None:
    """Close a place; the error that prevents it."""
    try:
        await place.close()
    except Exception as error:
        return error
    return None
