"""Tabs of browsers: what each has seen, and what it is sent next.

A slow tab misses intermediate states, never the last one: messages are composed when the connection is free.
"""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import numpy as np

from apps.app.messages import encode_mask

MAX_WAITING = 1000  # messages for a tab that does not read


class Snapshot(NamedTuple):
    """What tabs are shown: labels of the whole grid, the state, and every stroke as a message by its key."""

    item: int
    labels: np.ndarray
    state: dict
    strokes: dict[int, dict]

    def slice(self, axis: int, index: int) -> np.ndarray:
        """The image's labels, for axis -1, or those of a slice."""
        return self.labels if axis < 0 else np.take(self.labels, index, axis=axis)


class _Seen:
    """What a page has been sent of the image that it shows."""

    def __init__(self):
        self.is_described = False  # whether it has been sent the size, without which it can use nothing else
        self.slice: tuple[int, int] | None = None  # that it shows: axis and index
        self.labels: np.ndarray | None = None  # of that slice, and the snapshot's array they are from
        self.all_labels: np.ndarray | None = None
        self.keys: set[int] = set()  # of strokes
        self.state: dict | None = None


class Tab:
    """A connected page.

    item   number of the image that it shows, or None
    """

    def __init__(self, send_text: Callable[[str], Awaitable], send_bytes: Callable[[bytes], Awaitable]):
        self._send_text, self._send_bytes = send_text, send_bytes
        self._waiting: deque[dict] = deque()
        self._after_state: list[dict] = []
        self._has_news = asyncio.Event()
        self.item: int | None = None
        self._seen = _Seen()
        self._snapshot: Snapshot | None = None

    def send(self, message: dict) -> None:
        """Send a message as soon as possible."""
        if len(self._waiting) < MAX_WAITING:
            self._waiting.append(message)
        self._has_news.set()

    def send_after_state(self, message: dict) -> None:
        """Send a message after the next state."""
        self._after_state.append(message)

    def select(self, item: int | None) -> None:
        """Show another image, or the same again from the start: nothing of it has been seen; or none."""
        self.item, self._seen, self._snapshot = item, _Seen(), None
        self._after_state.clear()

    def describe(self, message: dict, snapshot: Snapshot | None) -> None:
        """Send the description of the selected image, and then what it shows, if that is known."""
        self._seen.is_described = True
        self.send(message)
        if snapshot is not None:
            self.show(snapshot)

    def show(self, snapshot: Snapshot) -> None:
        """Send what has changed in an image, if it is the one that is shown."""
        if snapshot.item == self.item and self._seen.is_described:
            self._snapshot = snapshot
            self._has_news.set()

    def show_slice(self, axis: int, index: int) -> None:
        """Show a slice; its labels are sent completely."""
        self._seen.slice, self._seen.labels, self._seen.all_labels = (axis, index), None, None
        self._has_news.set()

    async def run(self) -> None:
        """Send news until cancelled."""
        while True:
            await self._has_news.wait()
            self._has_news.clear()
            while self._waiting:
                await self._send_text(json.dumps(self._waiting.popleft()))
            if self._snapshot is not None:
                await self._send_snapshot(self._seen, self._snapshot)

    async def _send_snapshot(self, seen: _Seen, snapshot: Snapshot) -> None:
        """Send strokes, labels and state, and then the messages that follow them.

        Labels go before the state, so that a page which says that nothing is pending shows the last labels.  Another
        image may be selected meanwhile: then `seen` is no longer `self._seen`.
        """
        after, self._after_state = self._after_state, []
        for key, stroke in snapshot.strokes.items():
            if seen is self._seen and key not in seen.keys:
                seen.keys.add(key)
                await self._send_text(json.dumps(stroke))
        await self._send_labels(seen, snapshot)
        if seen is self._seen and snapshot.state != seen.state:
            seen.state = snapshot.state
            await self._send_text(json.dumps({"type": "state", "item": snapshot.item} | snapshot.state))
        for message in after:
            await self._send_text(json.dumps(message))

    async def _send_labels(self, seen: _Seen, snapshot: Snapshot) -> None:
        place, before = seen.slice, seen.labels
        if place is None or snapshot.labels is seen.all_labels:
            return
        labels = snapshot.slice(*place)
        message = await asyncio.to_thread(encode_mask, snapshot.item, *place, labels, before)
        if seen is not self._seen or place != seen.slice or before is not seen.labels:
            return  # another image or slice has been requested meanwhile
        seen.labels, seen.all_labels = labels, snapshot.labels
        if message is not None:
            await self._send_bytes(message)
