"""Labels of a volume for a list of records, in which a stroke changes what is near to where it contradicts them.

The records up to the last one that is no stroke, or to the second label, are answered by one cut of the volume.  Each
later stroke corrects the labels before it: voxels that are farther from the contradiction than REACH keep them.  So
what is right in other slices stays right.  A correction that would change more than MAX_CORRECTED of the objects, as
when the models take to a like object beside, is cut again with half the reach.  Parts that lose their last mark are
dropped everywhere.

First labels can be grossly wrong.  So the volume is cut again, from all strokes, until this changes at most MAX_CHANGED
of the objects: from then on, the labels are kept.  A new label is found by a cut of the volume, too.

The labels are a function of the records, as everywhere in a session.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN, labels_in
from apps.session.canvas import Canvas
from apps.session.session_records import Describe, PackedMask, Record, Stroke, common_length, is_part

REACH = 1.0  # cube roots of the volume of the objects
MAX_CORRECTED = 0.2  # share of the voxels of objects that a stroke changes; above, it reaches half as far
MAX_CHANGED = 0.5  # share of the voxels of objects; labels that a cut of the volume changes more are not kept

# Marks; the same, completed where labels are kept; and the values of the labels -> labels, int16 (D, H, W)
Solve = Callable[[np.ndarray, np.ndarray, tuple[int, ...]], np.ndarray]


class Step(NamedTuple):
    """The labels after a number of records; None while there are less than two values.

    solved      number of records of the step whose cut they are from
    is_settled  whether later strokes change only parts with them
    """

    count: int  # type: ignore[assignment]  # hides tuple.count
    values: tuple[int, ...]
    labels: PackedMask | None
    solved: int
    is_settled: bool = False


class VolumeCorrections:
    """The labels after each stroke, compressed, so that only new ones are answered."""

    def __init__(self, shape: tuple[int, ...], spacing: np.ndarray):
        self._canvas, self._spacing = Canvas(shape, shape, spacing), spacing
        self._records: Sequence[Record] = ()
        self._steps: list[Step] = []
        self._solved: Sequence[Record] | None = None  # of the last cut

    def labels(self, records: Sequence[Record], solve: Solve) -> np.ndarray | None:
        """The labels, int16 (D, H, W); the last cut of `solve` is the one that they are from, unless there is none."""
        common, self._records = common_length(self._records, records), records
        others = (k for k, record in enumerate(records) if not isinstance(record, Stroke | Describe))
        first = max((k + 1 for k in others), default=1)
        stops = [k for k in range(first, len(records) + 1) if k == len(records) or not is_part(records[k - 1])]
        self._steps = [
            step for step in self._steps if step.count <= common and (step.count < first or step.count in stops)
        ]
        chain = [step for step in self._steps if step.count >= first]
        for stop in stops[len(chain) :]:
            chain.append(self._step(records[:stop], chain[-1] if chain else None, solve))
            self._steps.append(chain[-1])
        if not chain or chain[-1].labels is None:
            return None
        solved = records[: chain[-1].solved]
        if self._solved is None or common_length(self._solved, solved) < max(len(self._solved), len(solved)):
            place = next(k for k, step in enumerate(chain) if step.count == len(solved))  # undone: cut once more
            self._step(solved, chain[place - 1] if place else None, solve)
        return chain[-1].labels.values().astype(np.int16)

    def _step(self, records: Sequence[Record], last: Step | None, solve: Solve) -> Step:
        """The labels after some records, given those after fewer of them."""
        from scipy.ndimage import distance_transform_edt

        self._canvas.change_to(records[: 0 if last is None else last.count])
        change = self._canvas.change_to(records)
        marks = self._canvas.all_marks()
        located = (BACKGROUND, OBJECT) if self._canvas.objects.located else ()
        values = tuple(sorted({*labels_in(marks), *located}))
        if len(values) < 2:
            return Step(len(records), values, None, 0)
        before, is_next, is_settled = marks, False, False
        if last is not None and last.labels is not None and last.values == values:
            before, is_next, is_settled = last.labels.values(), True, last.is_settled
            wrong = (marks != OPEN) & (marks != before)
            wrong[change.region] |= (change.before != OPEN) & (change.after == OPEN)
            if not wrong.any():
                return last._replace(count=len(records))
            volume = np.count_nonzero((before > 0) | wrong) * np.prod(self._spacing)
            distance, reach = distance_transform_edt(~wrong, sampling=self._spacing), REACH * np.cbrt(volume)
        self._solved = None  # if a cut is abandoned
        if not is_settled:
            labels = solve(marks, marks, values)
            is_settled = is_next and _changed_share(before, labels) <= MAX_CHANGED
        while is_settled:
            held = np.where((marks == OPEN) & (distance > reach), before, marks).astype(marks.dtype)
            labels = solve(marks, held, values)
            if _changed_share(before, labels) <= MAX_CORRECTED or reach <= min(self._spacing):
                break
            reach /= 2
        self._solved = records
        return Step(len(records), values, PackedMask.of(labels.astype(np.uint8)), len(records), is_settled)


def _changed_share(labels: np.ndarray, others: np.ndarray) -> float:
    """The voxels that differ, per voxel of an object."""
    objects = int(np.count_nonzero((labels > 0) | (others > 0)))
    return int(np.count_nonzero(labels != others)) / max(1, objects)
