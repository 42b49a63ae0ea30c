"""The session of an image, used in a thread; only the latest strokes count.

`SessionWorker.work` is a generator for a thread: it answers a task, yields, and yields again after the work of the
session in the background.  A task that arrives in between ends the waiting.
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from apps import Session
from napari_cutmatch.layer_values import marks_of

POLL_SECONDS = 0.03  # until a newer task is noticed


class Source(NamedTuple):
    """What a session is made for; another source needs another session."""

    pixels: object  # of the layer, compared by identity
    image: np.ndarray
    spacing: tuple[float, ...] | None
    keep: str
    device: str

    def is_same(self, other: "Source | None") -> bool:
        """Whether the session of `other` serves this source, too."""
        return other is not None and self.pixels is other.pixels and self[2:] == other[2:]


class Task(NamedTuple):
    """Strokes to answer, as painted; with `path`, the session is written to this file afterwards.

    start    labels that the objects start from, or None
    locked   pixels of the objects that keep them, by label, 0 elsewhere; or None
    layers   returned with the answers
    """

    source: Source
    painted: np.ndarray
    background: int
    start: np.ndarray | None = None
    locked: np.ndarray | None = None
    layers: tuple = ()
    path: Path | None = None
    name: str = "image"


class Answer(NamedTuple):
    """Labels to show, uint8, 0 everywhere if strokes are missing; the state of the session; the file written."""

    labels: np.ndarray
    state: dict
    layers: tuple
    saved: Path | None = None


class SessionWorker:
    """One session at a time, and the next task for it."""

    def __init__(self):
        self._next: Task | None = None
        self._lock = threading.Lock()
        self._source: Source | None = None
        self._session: Session | None = None

    @property
    def has_task(self) -> bool:
        """Whether a task waits."""
        return self._next is not None

    def request(self, task: Task) -> None:
        """Replace the task that waits; the file that it was to write is written all the same."""
        with self._lock:
            waiting = self._next
            if waiting is not None and task.path is None:
                task = task._replace(path=waiting.path, name=waiting.name)
            self._next = task

    def work(self) -> Iterator[Answer]:
        """Answer the tasks that wait; errors of the session are raised and leave it usable."""
        while (task := self._take()) is not None:
            strokes = marks_of(task.painted, task.background)
            session = self._session_for(task.source)
            _lock_only(session, task.locked)
            session.set_strokes(strokes, task.start)
            yield _answer(session, task.layers)
            while not session.wait(POLL_SECONDS):
                if self.has_task and task.path is None:
                    break
            else:
                if task.path is not None:
                    session.save(task.path, task.name)
                yield _answer(session, task.layers, task.path)

    def close(self) -> None:
        """End the session; `work` returns after the answer in progress."""
        with self._lock:
            self._next = None
        self._end_session()

    def _take(self) -> Task | None:
        with self._lock:
            task, self._next = self._next, None
            return task

    def _session_for(self, source: Source) -> Session:
        if self._session is None or not source.is_same(self._source):
            self._end_session()
            self._session = Session(source.image, source.spacing, keep=source.keep, device=source.device)
            self._source = source
        return self._session

    def _end_session(self) -> None:
        session, self._session, self._source = self._session, None, None
        if session is not None:
            session.close()


def _lock_only(session: Session, pixels: np.ndarray | None) -> None:
    """Lock the objects of a label map with these pixels, and unlock all others."""
    wanted = set() if pixels is None else {*np.unique(pixels).tolist()} - {0}
    locked = {label for label, one in session.objects.items() if one["locked"]}
    for label in locked - wanted:
        session.unlock(label)
    if wanted - locked:
        session.set_strokes(pixels)  # with all pixels marked, these are the answer
    for label in wanted - locked:
        session.lock(label)


def _answer(session: Session, layers: tuple, saved: Path | None = None) -> Answer:
    labels, state = session.labels, session.state
    shown = np.zeros(labels.shape, np.uint8) if state["message"] else labels.astype(np.uint8)
    return Answer(shown, state, layers, saved)
