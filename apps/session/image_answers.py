"""Answers of a session with an image: at once on a grid of moderate size, and on the full grid in the background.

    answer grid    the image itself, or a reduced one above LARGE_PIXELS; every stroke is one warm cut of it
    standby        a second solver of the answer grid, where new models are fitted while strokes use the first; then
                   the two change roles
    full grid      the image above LARGE_PIXELS, cut by the worker

While the full cut is computed, its last labels are shown, except where the answer grid has changed since.
"""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from apps.segment.connected_parts import keep_parts
from apps.segment.image_sizes import at_centres, centres, means, reduced_shape
from apps.segment.marks import labels_in
from apps.segment.segmentation import LARGE_PIXELS, segment_marked
from apps.segment.strokes import marks_of_box
from apps.segment.terms import REDUCED_PIXELS
from apps.session.canvas import Canvas
from apps.session.grid_cut import GridCut
from apps.session.image_models import ImageView, Models, first_models, fit_models, values_of
from apps.session.stroke_records import Box, PackedMask, Record, Start, source_of
from gridcut.device import DeviceName


class FullGrid:
    """The full image of a session whose answers are computed on a reduced one; only the worker uses it."""

    def __init__(self, to_rgb: Callable[[], np.ndarray], device: DeviceName):
        self._view = ImageView(to_rgb, keep_lab=False)
        self._canvas = Canvas(self._view.shape, self._view.shape)
        self._models: Models | None = None
        self.cut = GridCut(self._view.edges, device)

    def has(self, models: Models | None) -> bool:
        """Whether only marks have changed since the last cut, if the models are these."""
        return models is not None and models is self._models

    def labels(
        self, records: Sequence[Record], models: Models, preview: np.ndarray, keep: str, check: Callable[..., None]
    ) -> np.ndarray:
        """Labels of minimum energy for the marks of these records and these models; several start from a preview."""
        loaded, self._models = self._models, None  # after an error, everything is loaded again
        change = self._canvas.change_to(records)
        if models is loaded and self.cut.is_loaded:
            self.cut.mark(change.where, change.marks)
        else:
            start = at_centres(preview, self._view.shape) if len(models.values) > 2 else None
            self.cut.load(self._view.costs(models), self._canvas.all_marks(), start)
        self._models = models
        labels = self.cut.solve(check)
        return keep_parts(labels, self._canvas.all_marks(), keep)


class Shown(NamedTuple):
    """A full cut: its labels, its energy, and the labels of the answer grid that belong to it."""

    labels: np.ndarray
    energy: float | None
    preview: np.ndarray


class ImageAnswers:
    """Labels of an image for a list of records.

    The caller holds `lock` in all methods except `refine`, which runs in the worker and takes it where it needs it.
    """

    def __init__(self, to_rgb: Callable[[], np.ndarray], keep: str, device: DeviceName, lock: threading.RLock):
        rgb = to_rgb()
        self.shape = rgb.shape[:2]
        self.is_reduced = rgb.shape[0] * rgb.shape[1] > LARGE_PIXELS
        small = means(rgb, reduced_shape(self.shape, REDUCED_PIXELS)) if self.is_reduced else rgb
        self._to_rgb, self._rgb = to_rgb, small
        self._keep, self._device, self._lock = keep, device, lock
        self._view = ImageView(lambda: small, keep_lab=True)
        self._found: dict[Box, PackedMask] = {}  # objects found in boxes
        self._full: FullGrid | None = None
        self._clear()
        self.answered: Sequence[Record] | None = ()  # None while they change, and after an exception then

    def _clear(self) -> None:
        """Forget all records."""
        self._canvas = Canvas(self._view.shape, self.shape)
        self._cut, self._standby = (GridCut(self._view.edges, self._device) for _ in range(2))
        self._counts = np.zeros(255, np.int64)  # marks per label
        self._models: Models | None = None
        self._source: Box | Start | None = None  # the record that gives the start mask
        self._start: np.ndarray | None = None
        self._labels = np.zeros(self._view.shape, np.int16)
        self._shown: Shown | None = None
        self.is_exact = True

    @property
    def energy(self) -> float | None:
        """Energy in nats on the grid of the labels shown; None without a cut."""
        if self._models is None:
            return None
        return self._shown.energy if self.is_reduced and self._shown is not None else self._cut.energy

    @property
    def solved(self):
        """The last cut of the full grid, with `check`; None without one.  Only while nothing is pending."""
        if self._models is None:
            return None
        return self._full.cut.solved if self._full is not None else self._cut.solved

    @property
    def preview(self) -> np.ndarray:
        """Labels of the answer grid."""
        return self._labels

    def labels(self) -> np.ndarray:
        """Labels of the image: the last full cut, and what changed since on the answer grid."""
        if not self.is_reduced:
            return self._labels
        if self._shown is None:
            return at_centres(self._labels, self.shape)
        changed = self._labels != self._shown.preview
        if not changed.any():
            return self._shown.labels
        labels = self._shown.labels.copy()
        places = [centres(n, m) for n, m in zip(self.shape, changed.shape, strict=True)]
        touched = [np.flatnonzero(changed.any(axis=1 - k)[place]) for k, place in enumerate(places)]
        part = tuple(slice(lines[0], lines[-1] + 1) for lines in touched)
        rows, columns = (place[lines] for place, lines in zip(places, part, strict=True))
        np.copyto(labels[part], self._labels[:, columns][rows], where=changed[:, columns][rows])
        return labels

    def marks(self) -> np.ndarray:
        """Marks on the answer grid."""
        return self._canvas.all_marks()

    def present(self) -> tuple[int, ...]:
        """The labels that marks, a box or a start mask define."""
        start = {0, 1} if self._start is not None or self._is_searching() else set()
        return tuple(sorted({*np.flatnonzero(self._counts).tolist(), *start}))

    def change_to(self, records: Sequence[Record]) -> None:
        """Answer a change of the records: one warm cut of the answer grid.  After an exception, start from nothing."""
        if self.answered is None:
            self._clear()
        self.answered = None
        self._answer(records)
        self.answered = records

    def _answer(self, records: Sequence[Record]) -> None:
        change = self._canvas.change_to(records)
        for marks, step in ((change.before, -1), (change.after, 1)):
            self._counts += step * np.bincount(marks.ravel() + 1, minlength=256)[1:]
        self._set_start(records)
        marked = np.flatnonzero(self._counts).tolist()
        if not values_of(marked, self._start is not None):
            self._models, self._shown = None, None
            self._labels = np.full(self._view.shape, marked[0] if marked else 0, np.int16)
            self.is_exact = not self._is_searching()
            return
        self.is_exact = not self.is_reduced
        models = self._models
        if models is not None and {*marked} <= {*models.values}:
            self._cut.mark(change.where, change.marks)
        else:
            marks = self._canvas.all_marks()
            models = first_models(self._view, marks, self._start)
            self._cut.load(self._view.costs(models), marks)
        self._solve()
        self._models = models

    def refine(self, records: Sequence[Record], check: Callable[..., None], publish: Callable[[], None]) -> None:
        """In the worker: new models, and the full cut for these; before, if it is warm, for the current models."""
        with self._lock:
            check()
            if self.answered is None:
                return
            models, marks, preview, source = self._models, self._canvas.all_marks(), self._labels, self._source
            standby = self._standby
        if models is not None and self._full is not None and self._full.has(models):
            self._cut_full(records, models, preview, check, publish)
        start = self._start_of(source)
        if not values_of(labels_in(marks), start is not None):
            with self._lock:
                check()
                self.is_exact = True
            publish()
            return
        models = fit_models(self._view, marks, start, self._keep, standby, check)
        with self._lock:
            check()
            if self.answered is None or standby is not self._standby or not self._use(models, start, marks):
                return
            preview = self._labels
        publish()
        if self.is_reduced:
            self._cut_full(records, models, preview, check, publish)

    def _use(self, models: Models, start: np.ndarray | None, marks: np.ndarray) -> bool:
        """Answer with the standby's models, which were fitted to these marks; False if they lack a newer label."""
        now = self._canvas.all_marks()  # parts of a stroke that is not final may have been added
        where = np.nonzero(now != marks)
        if not {*labels_in(now)} <= {*models.values}:
            return False
        answered, self.answered = self.answered, None
        self._standby.mark(where, now[where])
        self._cut, self._standby = self._standby, self._cut
        self._models, self._start = models, start
        self.is_exact = not self.is_reduced
        self._solve()
        if self._shown is not None:
            self._shown = self._shown._replace(preview=self._labels)
        self.answered = answered
        return True

    def _cut_full(self, records, models, preview, check, publish) -> None:
        if self._full is None:
            self._full = FullGrid(self._to_rgb, self._device)
        labels = self._full.labels(records, models, preview, self._keep_parts(), check)
        with self._lock:
            check()
            self._shown = Shown(labels, self._full.cut.energy, preview)
            self.is_exact = self._canvas.records == records
        publish()

    def _solve(self) -> None:
        self._labels = keep_parts(self._cut.solve(), self._canvas.all_marks(), self._keep_parts())

    def _keep_parts(self) -> str:
        return self._keep if self._start is None else "all"

    def _set_start(self, records: Sequence[Record]) -> None:
        """Use the last box or start mask; the object in a box may not have been found yet."""
        source = source_of(records)
        if source is not self._source:
            self._source, self._models, self._start = source, None, None
            if isinstance(source, Start) or source in self._found:
                self._start = self._start_of(source)

    def _is_searching(self) -> bool:
        """Whether the object in a box is still to be found."""
        return isinstance(self._source, Box) and self._source not in self._found

    def _start_of(self, source: Box | Start | None) -> np.ndarray | None:
        """The start mask of a record on the answer grid; for a box the object found in it, None if there is none."""
        if source is None:
            return None
        if isinstance(source, Start):
            mask = at_centres(source.mask.values() > 0, self._view.shape)
        else:
            if source not in self._found:
                rows, columns = self._canvas.region_of_box(source.box)
                box = columns.start, rows.start, columns.stop, rows.stop
                marks = marks_of_box(box, self._view.shape)
                found = segment_marked(self._rgb, marks, device=self._device)
                self._found[source] = PackedMask.of(found.mask)
            mask = self._found[source].values() > 0
        return mask if mask.any() and not mask.all() else None
