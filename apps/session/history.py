"""The history of a session, and the labels that answer it: some at once, better ones from the background."""

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from apps.common.images import InputError
from apps.segmentation.marks import BACKGROUND
from apps.session.canvas import Overlay
from apps.session.hand_edits import Pixels
from apps.session.image_answers import ImageAnswers
from apps.session.latest_work import LatestWork
from apps.session.session_records import Describe, Objects, Patch, Record, RecordHistory, Unlock, objects_of, paste
from apps.session.volume_answers import VolumeAnswers


class AnsweredHistory:
    """Records with what was undone, and their labels; if an exception interrupts an edit, the records before it stay.

    answers    of all records but patches
    lock       held while anything of these changes
    callbacks  called after every change of the labels in the background
    keep       stores a history before it counts, or None
    version    counts changes of the labels
    edition    counts them, too, without those that are only shown
    seconds    that the last answer took
    """

    def __init__(
        self, answers: ImageAnswers | VolumeAnswers, lock: threading.RLock, callbacks: list[Callable[[], object]]
    ):
        self.answers, self.lock, self.callbacks = answers, lock, callbacks
        self.keep: Callable[[RecordHistory], None] | None = None
        self.history = RecordHistory()  # replaced as a whole, so that no exception leaves it between two states
        self.version, self.edition, self.seconds = 0, 0, 0.0
        self.worker = LatestWork(self._refine)
        self._answered: Sequence[Record] | None = self.history.records  # None while they change
        self._requested: Sequence[Record] | None = ()  # what the worker was asked to refine last
        self._overlay: Overlay | None = None  # of patches, if there ever were some
        self._labels: np.ndarray | None = None  # with patches; None if they changed
        self._shown: Pixels | None = None  # of an edit that is only shown

    @property
    def said(self) -> Objects:
        """What the records say about objects."""
        return objects_of(self.history.records)

    def check_open(self, label: int | None) -> None:
        """Raise InputError for a locked object."""
        if label in self.said.locked:
            raise InputError(f"object {label} is locked; unlock it first")

    # Records

    def add(self, *records: Record, final: bool = True) -> None:
        """Add records that are parts of one edit, and answer; InputError if they change a locked object."""
        with self.lock:
            for one in records:
                if not isinstance(one, Describe | Unlock):
                    self.check_open(getattr(one, "label", None))
            self.change_to(self.history.with_added(*records, is_final=final))

    def step(self, move: Callable[[RecordHistory], RecordHistory | None]) -> bool:
        """Undo or repeat a record, and answer; False if there is none."""
        with self.lock:
            history = move(self.history)
            if history is not None:
                self.change_to(history)
        return history is not None

    def change_to(self, history: RecordHistory) -> None:
        """Answer and store a history, which then is the session's own; the caller holds the lock."""
        self._shown = None
        self._answer(history.records)
        if self.keep is not None and history.is_final:
            self.keep(history)
        self.history = history
        self._request()

    def settle(self) -> None:
        """Answer again, if an exception has left other answers than those of the records; the caller holds the lock."""
        if self._answered is not self.history.records or self.answers.answered is None:
            self._requested = None
            self._answer(self.history.records)
        self._request()

    def _answer(self, records: Sequence[Record]) -> None:
        start = time.perf_counter()
        self._count_change()
        self._answered = None
        given = tuple(one for one in records if not isinstance(one, Patch))
        if self.answers.answered != given:
            self.answers.change_to(given)
        if len(given) < len(records) and self._overlay is None:
            self._overlay = Overlay(self.answers.shape, self.answers.shape)
        if self._overlay is not None:
            self._overlay.change_to(records)
        self._answered = records
        self.seconds = time.perf_counter() - start

    def _count_change(self) -> None:
        self.version, self.edition, self._labels = self.version + 1, self.edition + 1, None

    # In the background

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is pending; False if the time is over.  Raises the error of the worker."""
        with self.lock:
            self.settle()
        try:
            return self.worker.wait(timeout)
        except Exception:
            self._requested = None  # so that it is tried again
            raise

    def _request(self) -> None:
        """Let the worker refine what the cuts answer, unless it was asked for that already."""
        if self.history.is_final and self._requested is not self.answers.answered:
            self.worker.request()
            self._requested = self.answers.answered

    def _refine(self, check: Callable[..., None]) -> None:
        """In the worker: better labels for the records."""
        with self.lock:
            records = self.answers.answered
        if records is not None:
            self.answers.refine(records, check, self._publish)

    def _publish(self) -> None:
        with self.lock:
            self._count_change()
        for callback in list(self.callbacks):
            callback()

    # Labels; the caller holds the lock

    def labels(self) -> np.ndarray:
        """The labels shown, int16; patches do not change those of locked objects."""
        self.settle()
        if self._labels is None:
            self._labels = self.answers.labels()
            if self._overlay is not None:
                self._labels = self._labels.copy()
                self._overlay.paste(self._labels)
                paste(self._labels, self.said.locked.values())
        if self._shown is None:
            return self._labels
        (part, codes), labels = self._shown, self._labels.copy()
        np.copyto(labels[part], codes - np.int16(1), where=codes > 0)
        return labels

    def show(self, pixels: Pixels | None) -> None:
        """Show other pixels, except where they are solid, until the next edit; None: no longer."""
        if pixels is not None and self._overlay is not None:
            part, codes = pixels
            codes[self._overlay.is_firm(part)] = 0
        if pixels is not None or self._shown is not None:
            self._shown, self.version = pixels, self.version + 1

    def rival(self) -> np.ndarray | None:
        """Another object that fits a box about as well, if it is not hidden by patches."""
        self.settle()
        return None if self.said.patched else self.answers.rival

    def present(self) -> tuple[int, ...]:
        """The labels that records define."""
        patched = self.said.patched
        return tuple(sorted({*self.answers.present(), *((BACKGROUND, *patched) if patched else ())}))
