"""Tabs of browsers: what each has seen, and what it is sent next.

A slow tab misses intermediate states, never the last one: messages are composed when the connection is free.
"""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable

import numpy as np

from apps.app.messages import encode_mask
from apps.app.open_image import OpenImage, Snapshot

MAX_WAITING = 1000  # messages for a tab that does not read
SMALL_PIXELS = 500_000  # labels that are compared sooner than another thread is started


class Tab:
    """A connected page.

    item       number of the image that it shows, or None
    opened     the image, once the page has been told of it
    """

    def __init__(self, send_text: Callable[[str], Awaitable], send_bytes: Callable[[bytes], Awaitable]):
        self._send_text, self._send_bytes = send_text, send_bytes
        self._waiting: deque[dict] = deque()
        self._news = asyncio.Event()
        self._after: list[dict] = []
        self.item: int | None = None
        self._look: tuple[int, int] | None = None
        self.opened: OpenImage | None = None
        self._snapshot: Snapshot | None = None
        self._shown: np.ndarray | None = None
        self._shown_look: tuple[int, int] | None = None
        self._labels: np.ndarray | None = None
        self._keys: set[int] = set()
        self._state: dict | None = None

    def say(self, message: dict) -> None:
        """Send a message as soon as possible."""
        if len(self._waiting) < MAX_WAITING:
            self._waiting.append(message)
        self._news.set()

    def say_after(self, message: dict) -> None:
        """Send a message after the next state."""
        self._after.append(message)

    def show(self, opened: OpenImage, snapshot: Snapshot) -> None:
        """Send what has changed in the image shown."""
        self.opened, self._snapshot = opened, snapshot
        self._news.set()

    def forget(self, item: int | None) -> None:
        """Show another image, or the same again from the start: nothing of it has been seen."""
        self.item, self._look, self.opened, self._snapshot = item, None, None, None
        self._labels = self._shown = self._shown_look = self._state = None
        self._keys = set()
        self._after.clear()

    def look(self, axis: int, index: int) -> None:
        """Show a slice; its labels are sent completely."""
        self._look, self._shown_look = (axis, index), None
        self._news.set()

    async def run(self) -> None:
        """Send news until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                await self._send_text(json.dumps(self._waiting.popleft()))
            if self._snapshot is not None and self.opened is not None:
                await self._send_snapshot(self.opened, self._snapshot)

    async def _send_snapshot(self, opened: OpenImage, snapshot: Snapshot) -> None:
        """Send strokes, labels and state, and then what was to be said after them.

        Labels go before the state, so that a page which says that nothing is pending shows the last labels.
        """
        after, self._after = self._after, []
        for key, stroke in snapshot.strokes.items():
            if opened is self.opened and key not in self._keys:  # another image may have been requested meanwhile
                self._keys.add(key)
                await self._send_bytes(stroke)
        await self._send_labels(opened, snapshot)
        if opened is self.opened and snapshot.state != self._state:
            self._state = snapshot.state
            await self._send_text(json.dumps({"say": "state", "item": opened.item} | snapshot.state))
        for message in after:
            await self._send_text(json.dumps(message))

    async def _send_labels(self, opened: OpenImage, snapshot: Snapshot) -> None:
        look = self._look
        if look is None or (look == self._shown_look and snapshot.labels is self._labels):
            return
        before = self._shown if look == self._shown_look else None
        labels = opened.slice_of(snapshot.labels, *look)
        if labels.size <= SMALL_PIXELS:
            message = encode_mask(opened.item, *look, labels, before)
        else:
            message = await asyncio.to_thread(encode_mask, opened.item, *look, labels, before)
        if opened is not self.opened or look != self._look:
            return  # another image or slice has been requested meanwhile
        self._shown, self._shown_look, self._labels = labels, look, snapshot.labels
        if message is not None:
            await self._send_bytes(message)
