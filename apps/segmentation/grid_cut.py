"""The labels of one grid: costs, marks and the solver that is kept between strokes.

Two labels take one exact cut, warm-started from the flow of the last one.  Of several minimal cuts, that with the
largest object is taken: by gridcut's tie rule, a pixel is of the object unless it can still reach the sink.  More
labels take alpha-expansion from the last labels and, on the CPU, flows.

Costs are in 1 / UNIT nats, by appearance and by location, with the constraints of marks.  One is computed where it is
needed, so that a stroke touches its own pixels only:

    cost of label l at p  =  table[l, index[p]] + location[l, p]    or 0 or FORBIDDEN where p is marked
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

import gridcut
from apps.common.row_blocks import for_blocks
from apps.segmentation.marks import OPEN
from apps.segmentation.terms import CONTRAST, FORBIDDEN, UNIT, mean_squared_step
from gridcut.device import DeviceName

NO_LOCATION = np.zeros((0, 0), np.int16)


class LabelCosts(NamedTuple):
    """Costs of a grid without marks.

    values     the labels, ascending
    table      cost per label and entry of the appearance, int32 (L, n)
    index      entry of each pixel, integers of the grid's shape
    location   int16 (L, *grid), or None
    common     nats that all labellings cost, which the table omits
    closed     pixels that take no part, bool of the grid's shape, or None; they have the first label
    """

    values: tuple[int, ...]
    table: np.ndarray
    index: np.ndarray  # type: ignore[assignment]  # hides tuple.index
    location: np.ndarray | None
    common: float
    closed: np.ndarray | None = None

    def at(self, where, marks: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Costs int32 (L, ...) at an index of the grid, whose marks are given."""
        index = self.index[where]
        marks = marks if self.closed is None else np.where(self.closed[where], self.values[0], marks)
        marked = marks != OPEN
        costs = np.empty((len(self.values), *index.shape), np.int32) if out is None else out
        for place, value in enumerate(self.values):
            cost = np.take(self.table[place], index, out=costs[place, ...], mode="clip")
            if self.location is not None:
                cost += self.location[(place, *where)]
            np.copyto(cost, FORBIDDEN, where=marked)
            np.copyto(cost, 0, where=marks == value)
        return costs

    def everywhere(self, marks: np.ndarray) -> np.ndarray:
        """Costs int32 (L, *grid) of the whole grid, whose marks are given; as `at`, on all threads."""
        rows = (-1, marks.shape[-1])
        marks, costs = marks.reshape(rows), np.empty((len(self.values), *marks.shape), np.int32)
        out = costs.reshape(len(costs), *marks.shape)
        flat = self._replace(
            index=self.index.reshape(rows),
            location=None if self.location is None else self.location.reshape(out.shape),
            closed=None if self.closed is None else self.closed.reshape(rows),
        )

        def fill(first: int, last: int) -> None:
            flat.at((slice(first, last),), marks[first:last], out[:, first:last])

        for_blocks(fill, marks.shape)
        return costs


class LabelsOnDevice:
    """As `gridcut.LabelSolver`, on a GPU: expands the last labels, without their flows.

    start   places of the first labels, or None
    """

    def __init__(self, unary: np.ndarray, edges: dict, start: np.ndarray | None):
        self._unary, self._edges, self._start = unary, edges, start

    def update(self, unary: np.ndarray) -> None:
        self._unary = unary

    def solve(self, callback: Callable[[dict], None] | None) -> "gridcut.Labelling":
        solved = gridcut.alpha_expansion(
            self._unary, self._edges, start=self._start, restarts=0, device="cuda", callback=callback
        )
        self._start = solved.labels
        return solved


class GridCut:
    """Cuts of one grid.

    edges    function without arguments: the weights by offset; they are computed again for another kind of solver
    device   where the cuts are solved; "auto" is the CPU for more than two labels, which keeps their flows
    """

    def __init__(self, edges: Callable[[], dict], device: DeviceName = "auto"):
        self.edges, self._device = edges, device
        self._solver: gridcut.Solver | gridcut.LabelSolver | LabelsOnDevice | None = None
        self._unary = np.zeros((0, 0, 0), np.int32)
        self.costs: LabelCosts | None = None
        self.solved: gridcut.Cut | gridcut.Labelling | None = None

    def load(self, costs: LabelCosts, marks: np.ndarray, start: np.ndarray | None = None):
        """Replace all costs, and return the solver of them; the flow is kept if the number of labels is.

        `start` (the grid's shape) are labels from which more than two are expanded; default: the last ones.
        """
        unary = self._unary = costs.everywhere(marks)
        same = self.costs is not None and len(self.costs.values) == len(costs.values)
        if len(costs.values) == 2:
            if same and isinstance(self._solver, gridcut.Solver):
                self._solver.update(source=unary[0], sink=unary[1])
            else:
                self._solver = gridcut.Solver(unary[0], unary[1], self.edges(), device=self._device)
        else:
            if not same or start is not None or not isinstance(self._solver, gridcut.LabelSolver | LabelsOnDevice):
                places = None if start is None else _places(start, costs.values)
                kind = LabelsOnDevice if self._device == "cuda" else gridcut.LabelSolver
                self._solver = kind(unary, self.edges(), start=places)
            else:
                self._solver.update(unary=unary)
        self.costs, self.solved = costs, None
        return self._solver

    def start_over(self) -> None:
        """Forget the labels that the next `load` would start from; an exact cut of two labels does not depend on it."""
        if not isinstance(self._solver, gridcut.Solver):
            self._solver = None

    def mark(self, where: tuple, marks: np.ndarray) -> None:
        """Change the marks at an index of the grid, a tuple of index arrays."""
        assert self.costs is not None
        assert self._solver is not None
        costs = self._unary[(slice(None), *where)] = self.costs.at(where, marks)
        if isinstance(self._solver, gridcut.Solver):
            self._solver.update(source=costs[0], sink=costs[1], where=where)
        else:
            self._solver.update(unary=self._unary)

    def solve(self, callback: Callable[[dict], None] | None = None) -> np.ndarray:
        """Labels of minimum energy, int16; `callback` may raise to stop the solve.

        A stopped solve of two labels can be repeated; more labels must be loaded again.
        """
        assert self.costs is not None
        assert self._solver is not None
        solver = self._solver
        self.start_over()  # a descent that is stopped is not continued
        self.solved, self._solver = solver.solve(callback=callback), solver
        return labels_of(self.solved, self.costs.values)

    def unsure(self, step: float) -> float:
        """Pixels that change if one of two labels costs `step` nats less for each, per pixel of the object."""
        assert isinstance(self._solver, gridcut.Solver)
        labels: list[np.ndarray] = []
        for added in ((0, 0), (round(step * UNIT), 0), (0, round(step * UNIT))):
            source, sink = self._unary + np.array(added, np.int32).reshape(2, 1, 1)
            self._solver.update(source=source, sink=sink)
            labels.append(self._solver.solve().labels)
        changed = sum(int(np.count_nonzero(other != labels[0])) for other in labels[1:])
        return changed / max(1, int(np.count_nonzero(labels[0])))

    @property
    def energy(self) -> float | None:
        """Energy in nats of the last labels; None before the first solve."""
        if self.solved is None or self.costs is None:
            return None
        return energy_of(self.solved) + self.costs.common

    def energy_of(self, labels: np.ndarray) -> float:
        """Energy in nats of other labels, for the costs loaded and the marks."""
        assert self.costs is not None
        each = zip(self._unary, self.costs.values, strict=True)
        total = sum(int((cost * (labels == value)).sum(dtype=np.int64)) for cost, value in each)
        return total / UNIT + outline_cost(labels, self.edges()) + self.costs.common


def labels_of(solved: "gridcut.Cut | gridcut.Labelling", values: Sequence[int]) -> np.ndarray:
    """The labels of a result, int16, of two values or more."""
    if len(values) > 2:
        return np.array(values, np.int16)[solved.labels]
    labels = solved.labels.astype(np.int16)  # several times as fast as values[labels]
    labels *= np.int16(values[1] - values[0])
    labels += np.int16(values[0])
    return labels


def energy_of(solved: "gridcut.Cut | gridcut.Labelling") -> float:
    """Energy in nats of a result, without the common costs."""
    return int(solved.value if isinstance(solved, gridcut.Cut) else solved.energy) / UNIT


def minimum(unary: np.ndarray, edges: dict, device: DeviceName, start: np.ndarray | None = None):
    """The minimum cut, or labelling, of costs (L, *grid), from the places of labels `start`; see `labels_of`."""
    if len(unary) == 2:
        return gridcut.max_flow(unary[0], unary[1], edges, device=device)
    # Restarts would at least double the time and lower the energy by only 0.01 to 0.3 %.
    return gridcut.alpha_expansion(unary, edges, start=start, restarts=0, device=device)


def edges_of(lab, smoothness: float, contrast: float | None = None, dtype: DTypeLike = np.int32) -> dict:
    """Contrast weights of the 8 neighbours by offset, in 1 / UNIT nats.

    lab          float32 (H, W, channels)
    smoothness   weight of an edge of length 1 between equal colours, in nats
    contrast     mean squared difference of neighbours; default: that of `lab`
    """
    beta = CONTRAST / (mean_squared_step(lab) if contrast is None else contrast)
    return gridcut.contrast_edges(lab, weight=smoothness * UNIT, connectivity=8, beta=beta, dtype=dtype)


def banded_cut(preference, edges, guess, free, forbidden=FORBIDDEN, device: DeviceName = "cpu"):
    """Minimum cut in a band of an image, and its labels, bool (H, W), which are those of a guess elsewhere.

    preference   cost of the background above that of the object, int32 (H, W)
    free         pixels of the band; the pixels beside it are held, and no others take part
    forbidden    exceeds the total weight of all edges of a pixel
    """
    import cv2

    taking_part = cv2.dilate(free.view(np.uint8), np.ones((3, 3), np.uint8)) > 0
    held = taking_part & ~free
    preference = np.where(held, np.where(guess, np.int32(forbidden), np.int32(-forbidden)), preference)
    source, sink = np.maximum(preference, 0), np.maximum(-preference, 0)
    cut = gridcut.max_flow(source, sink, edges, mask=taking_part, device=device)
    return np.where(taking_part, cut.labels, guess), cut


def outline_cost(labels: np.ndarray, edges: dict) -> float:
    """Weight of the edges of an image between different labels, in nats."""
    total = 0
    for offset, weight in edges.items():
        here, there = pairs(labels, offset)
        where, _ = pairs(weight, offset)
        total += int(where[here != there].sum(dtype=np.int64))
    return total / UNIT


def _places(labels: np.ndarray, values: tuple[int, ...]) -> np.ndarray:
    """The place of each pixel's label in `values`; the first for a label that is not in it."""
    place_of = np.zeros(256, np.int32)
    place_of[list(values)] = np.arange(len(values))
    return place_of[labels]


def pairs(array, offset):
    """Views of a grid, perhaps with channels, at p and at p + offset, for all p where both exist."""
    here, there = [], []
    for step, size in zip(offset, array.shape, strict=False):
        here.append(slice(max(0, -step), size - max(0, step)))
        there.append(slice(max(0, step), size - max(0, -step)))
    return array[tuple(here)], array[tuple(there)]


def edges_outside(closed: np.ndarray, edges: dict) -> dict:
    """The edges of which no end is closed; those of the others weigh 0."""
    found = {}
    for offset, weight in edges.items():
        here, there = pairs(closed, offset)
        found[offset] = weight.copy()
        pairs(found[offset], offset)[0][here | there] = 0
    return found
