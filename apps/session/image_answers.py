"""Answers of a session with an image: at once by a warm cut, and in the background by apps.segmentation.fit.

    answer grid    the image itself, or a reduced one above LARGE_PIXELS; every stroke is one warm cut of it
    closed         pixels of locked objects; they take no part in cuts, and `labels` adds them
    boxes          what they contain is found by the worker; with several objects, it then is a mask for all answers
    standby        a second solver of the answer grid, which the worker loads with new models; then the two change roles

The labels that the worker finds are those of `segment` and `segment_labels` for the same marks and boxes.  They are
shown, except where the answer grid has changed since.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from apps.segmentation import fit
from apps.segmentation.connected_parts import keep_parts
from apps.segmentation.fine_outline import mean_contrast
from apps.segmentation.fit import certifiable, find_labels, reduced_view
from apps.segmentation.grid_cut import GridCut
from apps.segmentation.hints import Hints, ObjectOptions, shares_of, values_of
from apps.segmentation.image_sizes import at_centres, part_at_centres
from apps.segmentation.instances import with_boxes_found
from apps.segmentation.marks import BACKGROUND, is_inside, labels_in
from apps.segmentation.model import ImageView, Models, prior_of
from apps.session.canvas import Canvas
from apps.session.session_records import Box, Lock, MaskHint, Objects, Record, paste
from gridcut.device import DeviceName


class Shown(NamedTuple):
    """Labels that the worker found, their energy and last cut, and the labels of the answer grid for them."""

    labels: np.ndarray
    energy: float
    solved: Any
    preview: np.ndarray


class Start(NamedTuple):
    """What says where objects are, apart from marks.

    boxes    of objects that start from no mask
    mask     of object 1, or None
    opened   objects that were unlocked, and start from their pixels
    full     shape of the image
    """

    boxes: tuple[Box, ...]
    hint: MaskHint | None
    opened: tuple[Lock, ...]
    full: tuple[int, ...]

    @classmethod
    def of(cls, objects: Objects, full: tuple[int, ...]) -> "Start":
        """What records say."""
        found = objects.locators
        boxes = tuple(one for _, one in sorted(found.items()) if isinstance(one, Box))
        hint = next((one for one in found.values() if isinstance(one, MaskHint)), None)
        # A later box or mask replaces the pixels.
        opened = tuple(lock for label, lock in objects.opened.items() if label not in found)
        return cls(boxes, hint, opened, full)

    @property
    def labels(self) -> tuple[int, ...]:
        """The objects found from it, ascending."""
        first = set() if self.hint is None else {self.hint.label}
        return tuple(sorted(first | {one.label for one in self.boxes} | {one.label for one in self.opened}))

    def mask(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """The mask for the engine at a shape: that of the hint, or of all objects if some were unlocked."""
        mask = None if self.hint is None else self.hint.pixels.values()
        if self.opened:
            first = np.zeros(self.full, bool) if mask is None else is_inside(mask)
            mask = paste(first.astype(np.int16), self.opened)
        return None if mask is None else at_centres(mask, shape)


class ImageAnswers:
    """Labels of an image for a list of records.

    The caller holds `lock` in all methods except `refine`, which runs in the worker and takes it where it needs it.
    """

    def __init__(self, to_rgb: Callable[[], np.ndarray], keep: str, device: DeviceName, lock: threading.RLock):
        self.shape = to_rgb().shape[:2]
        self._keep, self._device, self._lock = keep, device, lock
        self._image = ImageView(to_rgb, self.shape)
        self._in_boxes: dict = {}  # what the worker found in each box
        self.is_reduced = self._image.size > fit.LARGE_PIXELS
        self.grid = reduced_view(self._image) if self.is_reduced else self._image
        self.grid.whole  # noqa: B018  # computed now, so that the first stroke does not wait for it
        self._open_view = self.grid
        self._clear()
        self.answered: Sequence[Record] | None = ()  # None while they change, and after an exception then

    def _clear(self) -> None:
        """Forget all records."""
        self._canvas = Canvas(self.grid.shape, self.shape)
        self._every = Canvas(self.shape, self.shape) if self.is_reduced else None  # of the image, the worker's
        self._close(None)
        self._models: Models | None = None
        self._start = Start((), None, (), self.shape)
        self._boxed: tuple[tuple[Box, ...], np.ndarray] | None = None  # boxes, and what was found with them
        self._hints: Hints | None = None  # of the marks now; None if they are to be read again
        self._labels = np.zeros(self.grid.shape, np.int16)
        self._shown: Shown | None = None
        self.is_exact = True
        self.rival: np.ndarray | None = None  # another object that fits the box about as well as the one shown

    def _close(self, closed: np.ndarray | None) -> None:
        """Let the cuts leave out the pixels of locked objects."""
        self.grid = self._open_view.without(closed)
        self._cut, self._standby = (GridCut(self.grid.edges, self._device) for _ in range(2))

    @property
    def energy(self) -> float | None:
        """Energy in nats of the labels shown; None without a cut."""
        if self._models is None:
            return None
        return self._cut.energy if self._shown is None else self._shown.energy

    @property
    def solved(self):
        """The last cut, with `check`; None without one.  Only while nothing is pending."""
        if self._models is None:
            return None
        return self._cut.solved if self._shown is None else self._shown.solved

    @cached_property
    def contrast(self) -> float:
        """Mean squared step of the image's neighbours in Lab, of a sample."""
        return mean_contrast(self._image.image())

    def terms_of(self, label: int, where: tuple) -> tuple[np.ndarray, np.ndarray]:
        """Costs of all other labels and of an object, int32, at an index of the answer grid; 0 without them."""
        marks = self.hints.marks[where]
        costs = self._cut.costs
        if self._models is None or costs is None or label not in costs.values:
            return np.zeros(marks.shape, np.int32), np.zeros(marks.shape, np.int32)
        found, place = costs.at(where, marks), costs.values.index(label)
        return np.delete(found, place, axis=0).min(axis=0), found[place]

    def labels(self) -> np.ndarray:
        """Labels of the image: those of the cuts, and locked objects."""
        locks = self._canvas.objects.locked.values()
        return paste(self._labels_of_cuts().copy(), locks) if locks else self._labels_of_cuts()

    def _labels_of_cuts(self) -> np.ndarray:
        """Labels of the image: those that the worker found, and what changed since on the answer grid."""
        if self._shown is None:
            return at_centres(self._labels, self.shape)
        changed = self._labels != self._shown.preview
        if not changed.any():
            return self._shown.labels
        labels = self._shown.labels.copy()
        part = part_at_centres(changed, self.shape)
        shown, where = (at_centres(values, self.shape, part) for values in (self._labels, changed))
        np.copyto(labels[part], shown, where=where)
        return labels

    def present(self) -> tuple[int, ...]:
        """The labels that marks, a box or a start mask define, and those of locked objects."""
        start = {0, *self._start.labels} if self._start.labels else set()
        return tuple(sorted({*self.hints.marked, *start, *self._canvas.objects.locked}))

    def change_to(self, records: Sequence[Record]) -> None:
        """Answer a change of the records: one warm cut of the answer grid.  After an exception, start from nothing."""
        if self.answered is None:
            self._clear()
        self.answered = None
        self._answer(records)
        self.answered = records

    def _answer(self, records: Sequence[Record]) -> None:
        change = self._canvas.change_to(records)
        models, self.rival, self._hints = self._models, None, None
        start = Start.of(self._canvas.objects, self.shape)
        if start != self._start or self._canvas.closed is not self.grid.closed:
            self._start, self._shown, models = start, None, None
            if self._canvas.closed is not self.grid.closed:
                self._close(self._canvas.closed)
        marked = self.hints.marked
        is_single = len({*marked, *start.labels} - {BACKGROUND}) == 1
        is_found_later = models is None and bool(start.boxes) and (is_single or self._mask is None)  # by the worker
        if not values_of(marked, () if is_found_later else start.labels):
            self._models, self._shown = None, None
            before = np.where(np.isin(self._labels, start.labels), self._labels, np.int16(0))  # until then
            self._labels = before if start.labels else np.full(before.shape, marked[0] if marked else 0, np.int16)
            self.is_exact = not start.labels
            return
        if models is not None and {*marked} <= {*models.values}:
            self._cut.mark(change.where, change.marks)
        else:
            models = self._load_first()
        self._labels = self._kept(self._cut.solve())
        self._models = models
        self.is_exact = not self.is_reduced and self._shown is None

    def _load_first(self) -> Models:
        """Load models of the marks, and of a start mask, before any fit."""
        hints = self.hints
        if self._mask is None or hints.is_single:  # what is in a box takes too long
            hints = replace(hints, boxes={})
        prior = prior_of(self.grid, hints)
        models = self.grid.models(prior, prior.initial[0])
        self._cut.load(self.grid.costs(models), hints.marks)
        return models

    def refine(self, records: Sequence[Record], check: Callable[..., None], publish: Callable[[], None]) -> None:
        """In the worker: labels of the image as of `segment` and `segment_labels`, and models for further strokes."""
        with self._lock:
            check()
            if self.answered is None:
                return
            few, start, standby, every = self.hints.marks, self._start, self._standby, self._every
            view = self.grid
        marks, image = few, view
        if every is not None:
            every.change_to(records)
            marks, image = every.all_marks(), self._image.without(every.closed)
        if not values_of(labels_in(marks), start.labels):
            with self._lock:
                check()
                self.is_exact = True
            publish()
            return
        hints = hints_of(marks, start, self._keep)
        hints = with_boxes_found(image, hints, self._device, check, self._in_boxes)
        found = find_labels(image, hints, self._device, check=check, grid=None if self.is_reduced else standby)
        models = found.models
        near = at_centres(found.labels, view.shape) if len(models.values) > 2 else None
        standby.load(view.costs(models), few, near)
        in_boxes = found.labels if hints.is_single or hints.mask is None else hints.mask
        boxed = at_centres(in_boxes, view.shape) if start.boxes else None
        preview = keep_parts(standby.solve(check), hints_of(few, start, self._keep, boxed).anchors, hints.keep)
        shown = None
        if self.is_reduced or not np.array_equal(preview, found.labels):
            solved = certifiable(found, self._device)
            shown = Shown(found.labels, found.energies[-1], solved, preview)
        with self._lock:
            check()
            if self.answered is None or standby is not self._standby:
                return
            if boxed is not None:
                self._boxed, self._hints = (start.boxes, boxed), None
            self._use(models, shown, few, records)
            if self.is_exact and found.rival is not None:
                self.rival = found.rival().mask
        publish()

    def _use(self, models: Models, shown: Shown | None, few: np.ndarray, records: Sequence[Record]) -> None:
        """Show what was found for the marks `few`, and answer with its models, unless they lack a newer label."""
        now = self.hints.marks  # parts of a stroke that is not final may have been added
        where = np.nonzero(now != few)
        if not {*labels_in(now)} <= {*models.values}:
            return
        answered, self.answered = self.answered, None
        self._standby.mark(where, now[where])
        self._cut, self._standby = self._standby, self._cut
        self._models, self._shown = models, shown
        self._labels = self._kept(self._cut.solve())
        self.is_exact = self._canvas.records == records
        self.answered = answered

    @property
    def _mask(self) -> np.ndarray | None:
        """What was found with the boxes; None until then."""
        return self._boxed[1] if self._boxed is not None and self._boxed[0] == self._start.boxes else None

    @property
    def hints(self) -> Hints:
        """What the marks now, boxes and masks tell the engine, on the answer grid."""
        if self._hints is None:
            self._hints = hints_of(self._canvas.all_marks(), self._start, self._keep, self._mask)
        return self._hints

    def _kept(self, labels: np.ndarray) -> np.ndarray:
        """The labels of a cut, of the parts to keep."""
        return keep_parts(labels, self.hints.anchors, self.hints.keep)


def hints_of(marks: np.ndarray, start: Start, keep: str, boxed: np.ndarray | None = None) -> Hints:
    """What the engine is told: marks, boxes and masks, on any grid; `keep` applies to marks, and to several objects.

    boxed   what was found with the boxes, if there are several objects
    """
    boxes = {one.label: shares_of(one.box, start.full) for one in start.boxes}
    hints = Hints(marks, mask=start.mask(marks.shape), boxes=boxes)
    is_located = start.hint is not None or (bool(boxes) and hints.is_single)
    mask = hints.mask if hints.is_single or not boxes or boxed is None else boxed
    return replace(hints, options=ObjectOptions(None if is_located and keep != "all" else keep), mask=mask)
