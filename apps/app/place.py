"""A place on the desk: an open image, the edits that wait for it, and the tasks that apply, publish and keep them."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from apps.app.messages import StrokeMessage
from apps.app.open_image import OpenImage, Snapshot
from apps.app.tabs import Tab
from apps.common.errors import InputError, reason_of
from apps.common.uncopied import Uncopied

CERTIFY_PIXELS = 2_000_000  # cuts of at most this size are certified when the user pauses; others when they are saved
CERTIFY_DELAY = 0.6  # seconds without an edit
STALL_DELAY = 5.0  # seconds without a further part after which a stroke ends, if other edits wait for its end
KEEP_DELAY = 2.0  # seconds without an edit until the session file is written; the journal has each edit before


class Around(Protocol):
    """What a place uses of the desk it is on."""

    tabs: list[Tab]

    def open_image(self, item: int, changed: Callable[[], None]) -> OpenImage: ...
    async def run(self, call: Callable[[], Any]) -> Any: ...
    def say_all(self, message: dict, item: int | None = None) -> None: ...
    def say_item_state(self, item: int) -> None: ...


class Place(Uncopied):
    """An open image on the desk: its edits, and tasks that apply, publish and keep them."""

    def __init__(self, desk: Around, item: int):
        self._desk, self.item = desk, item
        self.edits: asyncio.Queue = asyncio.Queue()
        self.parked: list = []  # edits of other tabs during a stroke
        self.drawing: Tab | None = None  # the tab that draws a stroke now
        self.part_time = 0.0  # when its last part arrived
        self.changed = asyncio.Event()
        self.edited = asyncio.Event()
        self.opening: asyncio.Future = asyncio.get_running_loop().create_future()
        self.snapshot: Snapshot | None = None
        self.edit_count = 0
        self.tasks = [asyncio.create_task(work()) for work in (self._apply, self._publish, self._keep)]

    @property
    def opened(self) -> OpenImage:
        return self.opening.result()

    @property
    def is_behind(self) -> bool:
        """Whether strokes could not be written."""
        return self.opening.done() and self.opening.exception() is None and self.opened.is_behind

    async def open(self) -> OpenImage:
        """The image, read if this has not been done; InputError if it cannot be used."""
        return await asyncio.shield(self.opening)

    async def load(self) -> None:
        """Read the image."""
        loop = asyncio.get_running_loop()

        def changed():
            loop.call_soon_threadsafe(self.changed.set)

        try:
            opened = await asyncio.to_thread(self._desk.open_image, self.item, changed)
            self.snapshot = await self._desk.run(opened.snapshot)
            self.opening.set_result(opened)
            self.edited.set()
        except Exception as error:
            self.opening.set_exception(InputError(reason_of(error)))
            self.opening.exception()  # retrieved, for a page that has left meanwhile

    def edit(self, tab: Tab | None, call: Callable[..., object], stroke: StrokeMessage | None = None) -> None:
        """Queue an edit; those of other tabs wait for the end of a stroke that is being drawn."""
        if self.drawing not in (None, tab):
            self.parked.append((tab, call, stroke))
            if len(self.parked) == 1:
                self._end_stalled_stroke()
            return
        self.drawing = tab if stroke is not None and not stroke.final else None
        self.part_time = asyncio.get_running_loop().time()
        self.edits.put_nowait((tab, call, stroke))
        if self.drawing is None:
            parked, self.parked = self.parked, []
            for one in parked:
                self.edit(*one)

    def leave(self, tab: Tab) -> None:
        """End the stroke that a tab was drawing which was closed, shows another image, or stalls."""
        if self.drawing is tab or any(one is tab for one, _, _ in self.parked):
            self.edit(tab, lambda opened: opened.end_stroke(False))

    def _end_stalled_stroke(self) -> None:
        """End the stroke for which edits are parked, or look again when it may have stalled."""
        loop = asyncio.get_running_loop()
        if self.parked and loop.time() < self.part_time + STALL_DELAY:
            loop.call_at(self.part_time + STALL_DELAY, self._end_stalled_stroke)
        elif self.parked and self.drawing is not None:
            self.leave(self.drawing)

    async def _apply(self) -> None:
        opened = await self.open()
        while True:
            batch = [await self.edits.get()]
            while not self.edits.empty():
                batch.append(self.edits.get_nowait())
            # One call for all, because each change of threads waits for the session's own.
            outcomes, snapshot = await self._desk.run(partial(_applied, opened, joined(batch)))
            self.snapshot = snapshot or self.snapshot
            self.edit_count += 1
            self._show_snapshot(opened)
            try:
                await self._desk.run(opened.note)
            except Exception as error:
                self._desk.say_all({"say": "error", "text": reason_of(error)}, self.item)
            # A confirmed stroke survives the process, so it is confirmed once it is in the journal.
            for tab, message in outcomes:
                if tab is not None:
                    (tab.say_after if message["say"] == "confirmed" else tab.say)(message | {"item": self.item})
            self._show_snapshot(opened)
            self.edited.set()

    async def _show(self, opened: OpenImage) -> None:
        try:
            self.snapshot = await self._desk.run(opened.snapshot)
        except Exception as error:  # the tasks go on, as it may succeed after the next edit
            self._desk.say_all({"say": "error", "text": reason_of(error)}, self.item)
        self._show_snapshot(opened)

    def _show_snapshot(self, opened: OpenImage) -> None:
        assert self.snapshot is not None
        for tab in self._desk.tabs:
            if tab.opened is opened:
                tab.show(opened, self.snapshot)

    async def _publish(self) -> None:
        """Show labels that the session computed in its own thread."""
        opened = await self.open()
        while True:
            await self.changed.wait()
            self.changed.clear()
            await self._show(opened)

    async def _keep(self) -> None:
        """After edits, wait for the session's thread; in a pause, certify its cut and write the session file."""
        opened = await self.open()
        size = int(np.prod(opened.image.shape))
        while True:
            await self.edited.wait()
            self.edited.clear()
            try:
                await asyncio.to_thread(opened.session.wait)
                await self._show(opened)
                if size <= CERTIFY_PIXELS and await self._is_pause(CERTIFY_DELAY):
                    await asyncio.to_thread(opened.session.result)
                    await self._show(opened)
                if await self._is_pause(KEEP_DELAY):
                    await asyncio.to_thread(opened.keep_in_pause)
            except Exception as error:
                self._desk.say_all({"say": "error", "text": reason_of(error)}, self.item)
            self._desk.say_item_state(self.item)

    async def _is_pause(self, seconds: float) -> bool:
        """Whether no edit comes for some seconds."""
        before = self.edit_count
        await asyncio.sleep(seconds)
        return self.edit_count == before and self.drawing is None and self.edits.empty()

    def rescue(self) -> Path:
        """Write the session to a folder for temporary files, after `close` has raised."""
        return self.opened.rescue()

    async def close(self) -> None:
        """Apply the edits that wait, and write the session file; if that raises, the place remains in use."""
        if self.opening.done() and self.opening.exception() is None:
            while not self.edits.empty():
                await asyncio.sleep(0.01)
            await self._desk.run(self.opened.close)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def _applied(opened: OpenImage, batch: list) -> tuple[list[tuple[Tab | None, dict]], Snapshot | None]:
    """Apply edits; return messages for their tabs, and what to show then, None if that cannot be computed."""
    outcomes: list[tuple[Tab | None, dict]] = []
    for tab, call, stroke in batch:
        number = {} if stroke is None else {"number": stroke.number}
        try:
            if stroke is None:
                call(opened)
            else:
                opened.stroke(stroke)
                if stroke.final:
                    outcomes.append((tab, {"say": "confirmed"} | number))
        except Exception as error:
            outcomes.append((tab, {"say": "error", "text": reason_of(error)} | number))
    try:
        return outcomes, opened.snapshot()
    except Exception as error:  # such as MemoryError; the next edit tries again
        tabs = dict.fromkeys(tab for tab, _, _ in batch)
        return [*outcomes, *((tab, {"say": "error", "text": reason_of(error)}) for tab in tabs)], None


def joined(batch: list) -> list:
    """Edits with consecutive parts of the same stroke joined to one."""
    result: list = []
    for tab, call, stroke in batch:
        before = result[-1][2] if result else None
        if (
            stroke is not None
            and before is not None
            and not before.final
            and (before.number, result[-1][0]) == (stroke.number, tab)
        ):
            points = np.concatenate((before.points, stroke.points[1:]))
            result[-1] = (tab, call, stroke._replace(points=points) if stroke.final else before._replace(points=points))
        else:
            result.append((tab, call, stroke))
    return result
