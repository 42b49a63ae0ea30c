"""Costs of labels on a grid, in 1 / UNIT nats: by appearance and by location, and the constraints of marks.

A cost is computed where it is needed, so that a stroke touches its own pixels only:

    cost of label l at p  =  table[l, index[p]] + location[l, p]    or 0 or FORBIDDEN where p is marked
"""

from typing import NamedTuple

import numpy as np

from apps.common.row_blocks import for_blocks
from apps.segment.marks import OPEN
from apps.segment.terms import FORBIDDEN, SOFT_STROKE, UNIT
from gridcut.device import kernel

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

    def at(self, where, marks: np.ndarray) -> np.ndarray:
        """Costs int32 (L, ...) at an index of the grid, whose marks are given."""
        costs = self.table[:, self.index[where]]
        if self.location is not None:
            costs += self.location[(slice(None), *where)]
        marks = marks if self.closed is None else np.where(self.closed[where], self.values[0], marks)
        marked = marks != OPEN
        for cost, value in zip(costs, self.values, strict=True):
            if self.soft:
                cost[marked & (marks != value)] += SOFT_COST
            else:
                cost[marked] = FORBIDDEN
                cost[marks == value] = 0
        return costs

    def everywhere(self, marks: np.ndarray) -> np.ndarray:
        """Costs int32 (L, *grid) of the whole grid, whose marks are given; as `at`, in one pass on all threads."""
        if self.closed is not None:
            marks = np.where(self.closed, marks.dtype.type(self.values[0]), marks)
        costs = np.empty((len(self.values), *marks.shape), np.int32)
        rows = (-1, marks.shape[-1])
        index, flat, out = self.index.reshape(rows), marks.reshape(rows), costs.reshape(len(costs), *rows)
        location = None if self.location is None else self.location.reshape(out.shape)

        def fill(first: int, last: int) -> None:
            for place, value in enumerate(self.values):
                near = NO_LOCATION if location is None else location[place, first:last]
                part = index[first:last], near, flat[first:last]
                fill_kernel(self.table[place], *part, np.int16(value), self.soft, out[place, first:last])

        for_blocks(fill, index.shape)
        return costs


@kernel
def fill_kernel(table, index, location, marks, value, soft, out):
    """Write the costs of a label to rows of a grid; `location` is empty if there is none."""
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            mark = marks[y, x]
            if mark == OPEN or soft:
                cost = table[index[y, x]]
                if location.size:
                    cost += location[y, x]
                if mark != OPEN and mark != value:
                    cost += SOFT_COST
                out[y, x] = cost
            else:
                out[y, x] = 0 if mark == value else FORBIDDEN
