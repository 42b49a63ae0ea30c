"""A list of records and its answer: the labels now, better ones in the background, undo and redo.

The answer is a function of the records, so undo gives the earlier result again.  Whatever exception interrupts an
answer, the records are those before it, and the next call answers them again.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from apps.common.errors import OutputError
from apps.common.images import to_rgb
from apps.common.uncopied import Uncopied
from apps.session.image_answers import ImageAnswers
from apps.session.latest_work import LatestWork
from apps.session.session_input import SessionInput
from apps.session.store import Store
from apps.session.stroke_records import Record, RecordHistory, effective
from apps.session.volume_answers import VolumeAnswers
from gridcut.device import DeviceName


class AnsweredRecords(Uncopied):
    """Records of an image or a volume, and the labels found for them; `apps.session.Session` adds the edits."""

    instead = "use save and Session.load, or restore(session.records) of another Session with the image"

    def __init__(self, given: SessionInput, keep: str, device: DeviceName, callback: Callable[[], None] | None):
        self._input = given
        self._lock = threading.RLock()
        self._keep = keep
        self._callbacks = [] if callback is None else [callback]
        self._answers: ImageAnswers | VolumeAnswers
        values = given.values
        if given.is_volume:
            self._answers = VolumeAnswers(values, given.spacing, keep, device, self._lock)
        else:
            self._answers = ImageAnswers(lambda: to_rgb(values), keep, device, self._lock)
        self._history = RecordHistory()  # replaced as a whole, so that no exception leaves it between two states
        self._requested: RecordHistory | None = self._history  # what the worker was asked to refine last
        self._version, self._seconds = 0, 0.0
        self._certified_version = -1
        self._worker = LatestWork(self._refine)
        self.store: Store | None = None  # the file of a session that is kept in one

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image, (H, W), or of the volume, (D, H, W)."""
        return self._answers.shape

    @property
    def labels(self) -> np.ndarray:
        """Labels shown, int16, the image's shape: 0 background, 1 and above the objects.  Do not modify the array."""
        with self._lock:
            self._settle()
            return self._answers.labels()

    @property
    def records(self) -> Sequence[Record]:
        """The records in effect, immutable; those that an edit did not change are the same objects as before."""
        return effective(self._history.records)

    def undo(self) -> bool:
        """Remove the last record, or for good a stroke whose last part is missing; False if there is none."""
        return self._step(RecordHistory.with_undone)

    def redo(self) -> bool:
        """Repeat the record that was undone last; False if there is none."""
        return self._step(RecordHistory.with_repeated)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is pending; False if `timeout` seconds passed before.

        Raises the error of the worker, if there was one.
        """
        with self._lock:
            self._settle()
        try:
            return self._worker.wait(timeout)
        except Exception:
            self._requested = None  # so that it is tried again
            raise

    def listen(self, callback: Callable[[], None]) -> None:
        """Call a function, too, after every change of the labels in the background; see the constructor."""
        self._callbacks.append(callback)

    def close(self) -> None:
        """Stop the work in the background, and wait for its end; let others use the file of a session that is kept."""
        if self.store is not None:
            with contextlib.suppress(OutputError):  # they can be found again
                self.store_labels()
        self._worker.stop()
        if self.store is not None:
            self.store.close()

    def store_labels(self) -> None:
        """Add the labels to the file of a session that is kept in one."""
        with self._lock:
            history, labels = self._history, self.labels
        if self.store is not None:
            self.store.add_labels(history, labels)

    def _add(self, *records: Record, final: bool = True) -> None:
        """Add records that are parts of one edit, and answer."""
        with self._lock:
            self._change_to(self._history.with_added(*records, is_final=final))

    def _step(self, move: Callable[[RecordHistory], RecordHistory | None]) -> bool:
        """Undo or repeat a record, and answer; False if there is none."""
        with self._lock:
            history = move(self._history)
            if history is None:
                return False
            self._change_to(history)
        return True

    def _change_to(self, history: RecordHistory) -> None:
        """Answer and store a history, which then is the session's own; after an exception, the earlier one still is."""
        self._answer(history.records)
        if self.store is not None and history.is_final:
            self.store.keep(history)
        self._history = history
        self._request()

    def _settle(self) -> None:
        """Answer again, if an exception has left other answers than those of the records."""
        if self._answers.answered is not self._history.records:
            self._requested = None
            self._answer(self._history.records)
        self._request()

    def _answer(self, records: Sequence[Record]) -> None:
        start = time.perf_counter()
        self._version += 1
        self._answers.change_to(records)
        self._seconds = time.perf_counter() - start

    def _request(self) -> None:
        """Let the worker refine the history, unless it was asked for that already."""
        if self._history.is_final and self._requested is not self._history:
            self._worker.request()
            self._requested = self._history

    def _refine(self, check: Callable[..., None]) -> None:
        with self._lock:
            records = self._history.records
        self._answers.refine(records, check, self._publish)

    def _publish(self) -> None:
        with self._lock:
            self._version += 1
        for callback in list(self._callbacks):
            callback()
