"""Answers of a session with a volume: the slice of a stroke at once, the volume in the background.

The slice takes the labels that minimise the volume's energy if all other slices keep theirs; before the first cut of
the volume, the slice is cut by itself.
"""

import threading
from collections.abc import Callable

import numpy as np

from apps.common.images import InputError
from apps.segment import SPACING
from apps.segment.multilabel import BINS, levels_of, relative_spacing
from apps.session.canvas import Canvas, Change
from apps.session.grid_cut import GridCut
from apps.session.object_parts import touching
from apps.session.stroke_records import Record, Stroke
from apps.session.volume_view import Histograms, VolumeView
from gridcut.device import DeviceName


class SliceCut:
    """The cut of one slice, which is kept while strokes stay in it."""

    def __init__(self, view, costs, axis, index, known, marks, device):
        plane_costs, edges = view.slice_problem(costs, axis, index, known)
        self.place = axis, index
        self.cut = GridCut(lambda: edges, device)
        self.cut.load(plane_costs, marks)

    def mark(self, where, marks) -> None:
        axis, _ = self.place
        self.cut.mark(tuple(part for k, part in enumerate(where) if k != axis), marks)


class VolumeAnswers:
    """Labels of a volume for a list of records.

    The caller holds `lock` in all methods except `refine`, which runs in the worker and takes it where it needs it.
    """

    is_reduced = False

    def __init__(self, volume, spacing, keep: str, device: DeviceName, lock: threading.RLock):
        volume = np.asarray(volume)
        if volume.ndim != 3 or 0 in volume.shape or volume.dtype.kind not in "buif":
            raise InputError(f"volume must hold numbers of shape (D, H, W), got {volume.dtype} {volume.shape}")
        if volume.dtype.kind == "f" and not np.isfinite(volume).all():
            raise InputError("volume holds NaN or infinity; every voxel must be finite")
        size = relative_spacing(SPACING if spacing is None else spacing)
        self.shape = volume.shape
        self._view = VolumeView(levels_of(volume), size)
        self._canvas = Canvas(self.shape, self.shape, size)
        self._keep, self._device, self._lock = keep, device, lock
        self._cut = GridCut(self._view.edges, device)  # of the volume; the worker's
        self._histograms = np.zeros((256, BINS), np.int64)  # of the marks, by label; the last row counts open voxels
        self._models: Histograms | None = None  # of the slices
        self._slice: SliceCut | None = None
        self._labels = np.zeros(self.shape, np.int16)
        self._is_known = False  # whether the volume has been cut
        self._energy: float | None = None
        self.is_exact = True

    @property
    def energy(self) -> float | None:
        """Energy in nats of the last cut of the volume; None without one, or after a stroke."""
        return self._energy if self.is_exact else None

    @property
    def solved(self):
        """The last cut of the volume, with `check`; None without one."""
        return self._cut.solved if self._is_known else None

    @property
    def preview(self) -> np.ndarray:
        """The labels, which are computed at full size."""
        return self._labels

    def labels(self) -> np.ndarray:
        """Labels of the volume, with the last slice answered."""
        return self._labels

    def marks(self) -> np.ndarray:
        """Marks of the volume."""
        return self._canvas.all_marks()

    def present(self) -> tuple[int, ...]:
        """The labels that strokes define."""
        return tuple(np.flatnonzero(self._histograms[:-1].any(axis=1)).tolist())

    def change_to(self, records: list[Record]) -> None:
        """Answer a change of the records: one cut of the slice, if they differ in one slice."""
        change = self._canvas.change_to(records)
        levels = self._view.grey[change.where].astype(np.intp)
        for marks, step in ((change.before, -1), (change.after, 1)):
            places = (marks.astype(np.intp) % 256) * BINS + levels  # OPEN, -1, is the last row
            self._histograms += step * np.bincount(places, minlength=256 * BINS).reshape(256, BINS)
        values = self.present()
        if len(values) < 2:
            self._labels = np.full(self.shape, values[0] if values else 0, np.int16)
            self._models, self._slice, self._is_known, self.is_exact = None, None, False, True
            return
        if self._models is None or not set(values) <= set(self._models.values):
            self._models, self._slice = self._fitted(values), None
        self.is_exact = self.is_exact and not change.after.size
        place = _slice_of(change, records)
        if place is not None:
            self._answer(place, change)

    def refine(self, records: list[Record], check: Callable[..., None], publish: Callable[[], None]) -> None:
        """In the worker: new models, and the cut of the volume for them."""
        with self._lock:
            check()
            values, marks = self.present(), self._canvas.all_marks()
            if len(values) < 2:
                return
            models = self._fitted(values)
        self._cut.start_over()  # the result must not depend on earlier cuts
        self._cut.load(self._view.costs(models), marks)
        check()
        labels = self._cut.solve(check)
        if self._keep == "touching":
            labels = touching(labels, marks)
        with self._lock:
            check()
            self._labels, self._models, self._slice = labels, models, None
            self._is_known, self._energy = True, self._cut.energy
            self.is_exact = self._canvas.records == records
        publish()

    def _answer(self, place: tuple[int, int], change: Change) -> None:
        axis, index = place
        if self._slice is not None and self._slice.place == place:
            self._slice.mark(change.where, change.after)
        else:
            assert self._models is not None
            known = self._labels if self._is_known else None
            costs = self._view.costs(self._models)
            marks = self._canvas.marks_in_slice(axis, index)
            self._slice = SliceCut(self._view, costs, axis, index, known, marks, self._device)
        labels = self._labels.copy()
        labels[(slice(None),) * axis + (index,)] = self._slice.cut.solve()
        self._labels = labels

    def _fitted(self, values: tuple[int, ...]) -> Histograms:
        return Histograms(values, self._histograms[list(values)])


def _slice_of(change: Change, records: list[Record]) -> tuple[int, int] | None:
    """Axis and index of the slice that contains all changes; the last stroke decides between several."""
    if not change.after.size:
        return None
    last = records[-1] if records else None
    axes = [last.axis] if isinstance(last, Stroke) and last.axis is not None else []
    for axis in (*axes, 0, 1, 2):
        where = change.where[axis]
        if where.min() == where.max():
            return axis, int(where[0])
    return None
