"""Answers of a session with a volume: the slice of a stroke at once, the volume in the background.

The slice takes the labels that minimise the volume's energy if all other slices keep theirs; before the first cut of
the volume, the slice is cut by itself.

The worker finds the object in a box, which then serves as a start mask.  What a start mask contributes is computed by
the worker, too; until then, the mask is shown with the marks.
"""

import threading
from collections.abc import Callable, Sequence

import numpy as np
from scipy import ndimage

from apps.segmentation import SPACING
from apps.segmentation.connected_parts import keep_parts
from apps.segmentation.grid_cut import GridCut
from apps.segmentation.margins import STEPS, Margins, Unsure
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.model import Models
from apps.segmentation.part_cut import PartCut
from apps.segmentation.terms import FORBIDDEN, blend
from apps.segmentation.volume_view import BINS, VolumeView
from apps.session.canvas import Canvas, Change
from apps.session.session_records import Box, Locator, MaskHint, PackedMask, Record, Stroke
from apps.session.volume_box import object_in_box
from apps.session.volume_corrections import VolumeCorrections
from apps.session.volume_prior import VolumePrior, grown, trusted_costs, volume_prior_of
from gridcut.device import DeviceName

AROUND = 16  # voxels around an object, which may change when its margins are looked for
FIRM = 4  # factor of the costs of a start mask of which no voxel would be left


class VolumeAnswers:
    """Labels of a volume for a list of records.

    The caller holds `lock` in all methods except `refine`, which runs in the worker and takes it where it needs it.
    """

    rival = None

    def __init__(self, volume, spacing, keep: str, device: DeviceName, lock: threading.RLock):
        self._view = VolumeView(volume, SPACING if spacing is None else spacing)
        self.shape = self._view.shape
        self._keep, self._device, self._lock = keep, device, lock
        self._cut = PartCut(self._view, device)  # of the volume; the worker's
        self._corrections = VolumeCorrections(self.shape, self._view.spacing)  # the worker's
        self._solved: tuple[Models, np.ndarray] | None = None  # models and marks of the last cut; the worker's
        self.held: np.ndarray | None = None  # marks of the cut that is shown, with the labels that it kept
        self._found: dict[Box, PackedMask] = {}  # objects found in boxes
        self._clear()
        self.answered: Sequence[Record] | None = ()  # None while they change, and after an exception then

    def _clear(self) -> None:
        """Forget all records."""
        self._canvas = Canvas(self.shape, self.shape, self._view.spacing)
        self._histograms = np.zeros(
            (256, BINS), np.int64
        )  # of the marks, by label and 1; the first row counts open voxels
        self._models: Models | None = None  # of the slices
        self._slice: tuple[tuple[int, int], GridCut] | None = None  # the last one, and its cut for more strokes
        self._locator: Locator | None = None  # the record that gives the start mask
        self._prior: VolumePrior | None = None  # of the locator; None without one, and while the worker computes them
        self._labels = np.zeros(self.shape, np.int16)
        self._is_known = False  # whether the volume has been cut
        self._energy: float | None = None
        self.is_exact = True

    @property
    def energy(self) -> float | None:
        """Energy in nats of the last cut of the volume; None without one, or after a stroke."""
        return self._energy if self.is_exact and self._is_known else None

    @property
    def solved(self):
        """The last cut of the volume, with `check`; None without one."""
        return self._cut.solved if self._is_known else None

    def labels(self) -> np.ndarray:
        """Labels of the volume, with the last slice answered."""
        return self._labels

    def present(self) -> tuple[int, ...]:
        """The labels that marks, a box or a start mask define."""
        marked = np.flatnonzero(self._histograms[1:].any(axis=1)).tolist()
        return tuple(sorted({*marked, *(() if self._locator is None else (BACKGROUND, self._locator.label))}))

    def change_to(self, records: Sequence[Record]) -> None:
        """Answer a change of the records: one cut of the slice, if they differ in one slice.

        After an exception, start from nothing.
        """
        if self.answered is None:
            self._clear()
        self.answered = None
        self._answer(records)
        self.answered = records

    def _answer(self, records: Sequence[Record]) -> None:
        change = self._canvas.change_to(records)
        grey = self._view.grey[change.region][change.changed]
        for marks, step in ((change.before, -1), (change.after, 1)):
            entries = (marks[change.changed] + np.intp(1)) * BINS + grey
            self._histograms += step * np.bincount(entries, minlength=self._histograms.size).reshape(-1, BINS)
        self._set_locator()
        values = self.present()
        is_awaited = self._locator is not None and self._prior is None
        if is_awaited or len(values) < 2:
            marks = self._canvas.all_marks()
            shown = self._shown_start() if is_awaited else np.int16(values[0] if values else BACKGROUND)
            self._labels = np.where(marks == OPEN, shown, marks)
            self._models, self._slice, self._is_known, self.is_exact = None, None, False, not is_awaited
            return
        if self._models is None or not set(values) <= set(self._models.values):
            self._models, self._slice = _fitted(values, self._histograms[1:][list(values)], self._prior), None
        self.is_exact = self.is_exact and not change.changed.any()
        place = _slice_of(change, records)
        if place is not None:
            self._answer_slice(place, change)

    def unsure(self, label: int) -> Callable[[], Margins]:
        """A function for the margins of an object, of the part of the volume around it; all else stays.

        It uses nothing that edits change, so it may be called while they do.
        """
        assert self._solved is not None
        models, held = self._solved
        (own,) = ndimage.find_objects((self._labels == label).view(np.uint8)) or [None]
        if own is None:
            nowhere = Margins(np.full(self.shape, STEPS[-1], np.float32), np.full(self.shape, np.inf, np.float32))
            return lambda: nowhere
        part = grown(own, self.shape, (AROUND,) * 3)
        shown, view = self._labels[part], self._view.part(part)
        location = None if models.location is None else models.location[part]
        costs = view.costs(models._replace(location=location)).everywhere(held[part])
        place = models.values.index(label)
        terms = np.delete(costs, place, axis=0).min(axis=0), costs[place]
        inner = tuple(
            slice(int(side.start > 0), n - int(side.stop < m))
            for side, n, m in zip(part, shown.shape, self.shape, strict=True)
        )
        stays = np.ones(shown.shape, bool)
        stays[inner] = False
        terms[0][stays & (shown == label)] = FORBIDDEN
        terms[1][(stays & (shown != label)) | ((shown != label) & (shown != BACKGROUND))] = FORBIDDEN
        own = shown == label
        return lambda: Unsure(*terms, view.edges()).margins(own).on(self.shape, part)

    def refine(self, records: Sequence[Record], check: Callable[..., None], publish: Callable[[], None]) -> None:
        """In the worker: new models, and the cut of the volume for them."""
        with self._lock:
            check()
            if self.answered is None:
                return
            locator, prior = self._locator, self._prior
        if locator is not None and prior is None:
            prior = volume_prior_of(self._view, self._start_of(locator, check))
            with self._lock:
                check()
                if self.answered is None or self._locator is not locator:
                    return  # the request for the new one follows
                self._prior = prior

        def solve(marks: np.ndarray, held: np.ndarray, values: tuple[int, ...]) -> np.ndarray:
            models = _fitted(values, self._view.stroke_counts(marks, values), prior)
            if prior is not None:
                models = models._replace(location=trusted_costs(prior, marks, self._view.spacing))
            keep = self._keep if prior is None else "all"
            labels = self._cut.solve(models, held, keep, check)
            if models.location is not None and not labels.any():  # an empty object must not win where there is one
                models = models._replace(location=np.int16(FIRM) * models.location)
                labels = self._cut.solve(models, held, keep, check)
            self._solved = models, held
            return labels if held is marks else keep_parts(labels, marks, keep)

        labels = self._corrections.labels(records, solve)
        if labels is None:
            return
        with self._lock:
            check()
            if self.answered is None:
                return
            answered, self.answered = self.answered, None
            assert self._solved is not None
            (self._models, self.held), self._labels, self._slice = self._solved, labels, None
            self._is_known, self._energy = True, self._cut.energy
            self.is_exact = self._canvas.records == records
            self.answered = answered
        publish()

    def _answer_slice(self, place: tuple[int, int], change: Change) -> None:
        axis, index = place
        if self._slice is not None and self._slice[0] == place:
            cut = self._slice[1]
            cut.mark(tuple(part for k, part in enumerate(change.where) if k != axis), change.marks)
        else:
            assert self._models is not None
            known = self._labels if self._is_known else None
            costs, edges = self._view.slice_problem(self._models, axis, index, known)
            cut = GridCut(lambda: edges, self._device)
            cut.load(costs, self._canvas.marks_in_slice(axis, index))
            self._slice = place, cut
        labels = self._labels.copy()
        labels[(slice(None),) * axis + (index,)] = cut.solve()
        self._labels = labels

    def _set_locator(self) -> None:
        """Use the last box or start mask."""
        locator = self._canvas.objects.locators.get(OBJECT)
        if locator is not self._locator:
            self._locator, self._prior, self._models = locator, None, None
            self._is_known = self.is_exact = False

    def _shown_start(self) -> np.ndarray:
        """Labels of the start mask, if it is known; int16."""
        locator = self._locator
        packed = locator.pixels if isinstance(locator, MaskHint) else self._found.get(locator)  # type: ignore[arg-type]
        return np.zeros(self.shape, np.int16) if packed is None else packed.values().astype(np.int16)

    def _start_of(self, locator: Locator, check: Callable[..., None]) -> np.ndarray:
        """The start mask, bool; for a box the object found in it."""
        if isinstance(locator, MaskHint):
            return locator.pixels.values()
        if locator not in self._found:
            part = self._canvas.region_of_box(locator.box)
            self._found[locator] = PackedMask.of(object_in_box(self._view, part, self._device, check))
        return self._found[locator].values()


def _fitted(values: tuple[int, ...], counts: np.ndarray, prior: VolumePrior | None) -> Models:
    """Models of the marks, given their weights per level, and of the start mask."""
    if prior is None:
        return Models(values, counts)
    blended = counts.astype(float)
    for place, value in enumerate(values):
        if value == 0:
            blended[place] = blend(prior.outside, counts[place])
        elif len(values) == 2 or not counts[place].any():
            blended[place] = blend(prior.inside, counts[place])
    return Models(values, blended, prior.costs)


def _slice_of(change: Change, records: Sequence[Record]) -> tuple[int, int] | None:
    """Axis and index of the slice that contains all changes; the last stroke decides between several."""
    if not change.changed.any():
        return None
    last = records[-1] if records else None
    axes = [last.axis] if isinstance(last, Stroke) and last.axis is not None else []
    for axis in (*axes, 0, 1, 2):
        where = change.where[axis]
        if where.min() == where.max():
            return axis, int(where[0])
    return None
