"""Costs of labels on a grid, in 1 / UNIT nats: by appearance and by location, and the constraints of marks.

A cost is computed where it is needed, so that a stroke touches its own pixels only:

    cost of label l at p  =  table[l, index[p]] + location[l, p]    or 0 or FORBIDDEN where p is marked
"""

from typing import NamedTuple

import numpy as np

from apps.common.row_blocks import for_blocks
from apps.segmentation.marks import OPEN
from apps.segmentation.terms import FORBIDDEN, SOFT_STROKE, UNIT

SOFT_COST = int(SOFT_STROKE * UNIT)
NO_LOCATION = np.zeros((0, 0), np.int16)


class LabelCosts(NamedTuple):
    """Costs of a grid without marks.

    values     the labels, ascending
    table      cost per label and entry of the appearance, int32 (L, n)
    index      entry of each pixel, integers of the grid's shape
    location   int16 (L, *grid), or None
    common     nats that all labellings cost, which the table omits
    soft       whether other labels than a mark's cost SOFT_STROKE nats more, instead of being forbidden
    closed     pixels that take no part, bool of the grid's shape, or None; they have the first label
    """

    values: tuple[int, ...]
    table: np.ndarray
    index: np.ndarray  # type: ignore[assignment]  # hides tuple.index
    location: np.ndarray | None
    common: float
    soft: bool = False
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
            if self.soft:
                cost[marked & (marks != value)] += SOFT_COST
            else:
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
