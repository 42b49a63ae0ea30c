"""Costs of labels on a grid, in 1 / UNIT nats: by appearance and by location, and the constraints of marks.

A cost is computed where it is needed, so that a stroke touches its own pixels only:

    cost of label l at p  =  table[l, index[p]] + location[l, p]  =  0 or FORBIDDEN where p is marked
"""

from typing import NamedTuple

import numpy as np

from apps.segment.terms import FORBIDDEN
from apps.session.canvas import OPEN


class LabelCosts(NamedTuple):
    """Costs of a grid without marks.

    values     the labels, ascending
    table      cost per label and entry of the appearance, int32 (L, n)
    index      entry of each pixel, integers of the grid's shape
    location   int16 (L, *grid), or None
    common     nats that all labellings cost, which the table omits
    """

    values: tuple[int, ...]
    table: np.ndarray
    index: np.ndarray
    location: np.ndarray | None
    common: float

    def at(self, where, marks: np.ndarray) -> np.ndarray:
        """Costs int32 (L, ...) at an index of the grid, whose marks are given."""
        costs = self.table[:, self.index[where]]
        if self.location is not None:
            costs += self.location[(slice(None), *where)]
        marked = marks != OPEN
        for cost, value in zip(costs, self.values, strict=True):
            cost[marked] = FORBIDDEN
            cost[marks == value] = 0
        return costs
