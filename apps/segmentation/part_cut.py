"""The parts of an object in a volume that touch its marks, by exact cuts of boxes around the marks.

Let T be the object in the minimum cut of the volume, the largest one of several (see apps.segmentation.grid_cut).  Of
its connected parts, those that touch a mark are wanted.  Let M be the object in the minimum cut of a box, by the same
rule, if all voxels outside of the box are object.  A part of M is *closed* if none of its edges leaves the box.

Every closed part of M is a part of T.  So the box grows at the sides that a part with a mark touches, until all these
parts are closed; at last the box is the volume, and everything is.

Proof, with E the energy of the volume, and M+ the union of M and all voxels outside of the box:

1.  T is in M+.  E is submodular: E(T ∩ M+) + E(T ∪ M+) <= E(T) + E(M+).  E(T) is the minimum, so E(T ∪ M+) <= E(M+):
    T ∪ M+ is minimum in the box, too.  M is the largest, so T is in M+.
2.  A closed part C of M is in T.  Its neighbours are background in M+, hence in T.  Let X be the voxels of C that are
    background in T.  Removing X from M+, or adding it to T, changes the same costs and edges, because the neighbours of
    X agree in both: object in C, else background.  E(M+) does not decrease if X is removed, so E(T) does not increase
    if X is added.  T is the largest, so X is empty.
3.  C is connected and its neighbours are background in T, so it is a part of T.  Conversely, a part of T with a mark is
    in a part of M with that mark, which is the same one when it is closed.

The voxels outside of the box that touch it are marked as object; no others are read.  Costs and weights are computed
there and in the box only.  If all parts are wanted, and with several objects, the only box is the volume; so it is on
a GPU.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from apps.segmentation.connected_parts import keep_parts
from apps.segmentation.fit import Check
from apps.segmentation.grid_cut import GridCut, LabelCosts, outline_cost
from apps.segmentation.marks import BACKGROUND, OPEN
from apps.segmentation.model import Models
from apps.segmentation.terms import UNIT
from apps.segmentation.volume_view import BINS, VolumeView
from gridcut.device import DeviceName, resolve
from gridcut.device.result import Result

MARGIN = 16  # voxels around marks in a first box, and the least by which a box grows
GROWTH = 0.5  # share of its side by which a box grows, at least
MAX_STARTS = 32  # of boxes around near marks; the next one contains all marks left
MAX_LOOSE = 4  # a box is cut again if it has at most this many times the voxels of the part and a margin

Box = tuple[tuple[int, int], ...]  # first and last index, half open, along each axis


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartCuts(Result):
    """The cuts that certify parts, at least one."""

    cuts: tuple

    @property
    def device(self) -> str:
        """Where they were solved."""
        return self.cuts[0].device

    def check(self) -> None:
        """Raise CertificateError unless each cut is minimum, and the largest one of its box."""
        for cut in self.cuts:
            cut.check()


class PartCut:
    """Cuts of a volume; a box of the last ones is solved from its flow.

    solved   the last cuts, with `device` and `check`; None before
    energy   in nats: of the labels found in boxes, or of the volume's cut before parts were dropped
    """

    def __init__(self, view: VolumeView, device: DeviceName):
        self._view, self._device = view, device
        self._cuts: dict[Box, GridCut] = {}
        self._starts: list[Box] = []  # boxes that are sufficient for the last parts
        self.solved: PartCuts | None = None
        self.energy: float | None = None

    def solve(self, models: Models, marks: np.ndarray, keep: str, check: Check = None) -> np.ndarray:
        """Labels of the parts to keep, int16 (D, H, W); see `keep_parts`."""
        values = models.values
        has_parts = len(values) == 2 and values[0] == BACKGROUND
        # A GPU cuts 256³ voxels from the last flow in 0.1 s; boxes were not measured there.
        if keep == "touching" and has_parts and resolve(self._device) == "cpu":
            return self._touching(models, marks, check)
        everything = tuple((0, n) for n in marks.shape)
        cut = self._cuts.get(everything) or GridCut(self._view.edges, self._device)
        cut.start_over()  # the result must not depend on earlier cuts
        labels = keep_parts(_solved(cut, self._view.costs(models), marks, check), marks, keep)
        self._cuts, self._starts = {everything: cut}, []
        self.solved, self.energy = PartCuts((cut.solved,)), cut.energy
        return labels

    def _touching(self, models: Models, marks: np.ndarray, check: Check) -> np.ndarray:
        """Labels of the parts that touch an object mark."""
        labels, table = np.zeros(marks.shape, np.int16), self._view.costs(models).table
        marked = np.flatnonzero(marks != OPEN)
        counts = self._view.levels - np.bincount(self._view.grey.ravel()[marked], minlength=BINS)
        energy = int(counts @ table[0]) / UNIT  # of the background alone
        marked = marked[marks.ravel()[marked] != BACKGROUND]
        places = np.stack(np.unravel_index(marked, marks.shape), axis=1)
        cuts: dict[Box, GridCut] = {}
        starts: list[Box] = []
        while len(places):
            box, cut, parts = self._closed(self._start_at(places, len(starts)), models, marks, check)
            part = _index(box)
            parts[labels[part] != BACKGROUND] = BACKGROUND  # found in an earlier box
            levels = self._view.part(part).counts((parts != BACKGROUND) & (marks[part] == OPEN))
            energy += int(levels @ (table[1] - table[0])) / UNIT
            energy += outline_cost(np.pad(parts, self._rim(box)), cut.edges())
            labels[part] += parts
            cuts[box] = cut
            starts.append(self._sufficient(box, parts))
            places = places[labels[tuple(places.T)] == BACKGROUND]
        self._cuts, self._starts = {box: cut for box, cut in cuts.items() if box in starts}, starts
        self.solved, self.energy = PartCuts(tuple(cut.solved for cut in cuts.values())), energy
        return labels

    def _closed(self, box: Box, models: Models, marks: np.ndarray, check: Check):
        """A box, grown until all its parts that touch a mark are closed; its cut, and these parts."""
        value = models.values[1]
        while True:
            rim, own = self._rim(box), np.ascontiguousarray(marks[_index(box)])
            view = self._view.part(_index(self._grown(box, rim)))
            cut = self._cuts.get(box) or GridCut(cache(view.edges), self._device)
            held = np.pad(own, rim, constant_values=value)
            labels = _solved(cut, view.costs(models), held, check)
            inner = tuple(slice(low, n - high) for (low, high), n in zip(rim, labels.shape, strict=True))
            parts = keep_parts(np.ascontiguousarray(labels[inner]), own, "touching")
            sides = [(axis, end) for axis, ends in enumerate(rim) for end in (0, 1) if ends[end]]
            leaving = np.full(own.shape, OPEN, np.int16)
            for axis, end in sides:
                _side(leaving, axis, end)[...] = value
            leaving = keep_parts(parts.copy(), leaving, "touching")
            by = np.zeros((3, 2), int)
            for axis, end in sides:
                if _side(leaving, axis, end).any():
                    by[axis, end] = max(MARGIN, round(GROWTH * own.shape[axis]))
            if not by.any():
                return box, cut, parts
            box = self._grown(box, by)

    def _start_at(self, places: np.ndarray, count: int) -> Box:
        """A box with a marked voxel: one that sufficed before, or one around marks that are near one another."""
        for box in self._starts:
            if ((places >= [low for low, _ in box]) & (places < [high for _, high in box])).all(axis=1).any():
                return box
        near = places[:1] if count < MAX_STARTS else places
        reached = 0
        while len(near) > reached:
            reached, low, high = len(near), near.min(axis=0), near.max(axis=0)
            near = places[((places >= low - MARGIN) & (places <= high + MARGIN)).all(axis=1)]
        return self._around(low, high + 1)

    def _sufficient(self, box: Box, parts: np.ndarray) -> Box:
        """The box, or a smaller one around the parts found in it, if it is much smaller."""
        from scipy import ndimage

        found = ndimage.find_objects((parts != BACKGROUND).view(np.uint8))
        if not found:
            return box
        ends = [(low + side.start, low + side.stop) for (low, _), side in zip(box, found[0], strict=True)]
        small = self._around(*np.transpose(ends))
        return small if _size(small) * MAX_LOOSE < _size(box) else box

    def _around(self, low, high) -> Box:
        """The box between two corners, with the margin."""
        return self._grown(tuple(zip(low, high, strict=True)), np.full((3, 2), MARGIN))

    def _grown(self, box: Box, by) -> Box:
        """A box, larger by a number of voxels at both ends of each axis, as far as the volume reaches."""
        return tuple(
            (int(max(0, low - below)), int(min(n, high + above)))
            for (low, high), (below, above), n in zip(box, by, self._view.shape, strict=True)
        )

    def _rim(self, box: Box) -> list[tuple[int, int]]:
        """Whether the volume continues beyond both ends of each axis, 0 or 1."""
        return [(int(low > 0), int(high < n)) for (low, high), n in zip(box, self._view.shape, strict=True)]


def _solved(cut: GridCut, costs: LabelCosts, marks: np.ndarray, check: Check) -> np.ndarray:
    """The labels of a cut for new costs."""
    if check is not None:
        check()
    cut.load(costs, marks)
    if check is not None:
        check()
    return cut.solve(check)


def _index(box: Box) -> tuple[slice, ...]:
    return tuple(slice(low, high) for low, high in box)


def _size(box: Box) -> int:
    return math.prod(high - low for low, high in box)


def _side(array: np.ndarray, axis: int, end: int) -> np.ndarray:
    """The first layer along an axis, for end 0, or the last one; a view."""
    return array[(slice(None),) * axis + (-end,)]
