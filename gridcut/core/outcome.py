"""From a solved grid to the cut that a caller sees: labels, value, and the cut of a grid without pixels."""

import math

import numpy as np

from gridcut.core.cut import Cut, LazySolved, Solved
from gridcut.core.cut_capacity import Measured, cut_capacity, measure_cut
from gridcut.core.grid import Grid
from gridcut.core.load import Reader
from gridcut.core.problem import Problem
from gridcut.core.units import MAX_LOSS
from gridcut.device.arrays import to_library


def value_of(problem: Problem, views: Reader, labels: np.ndarray, unit) -> tuple[int | float, Measured | None]:
    """The capacity of the cut, from the caller's arrays, and the loss by rounding, None if it need not be checked."""
    if not problem.is_float:
        return cut_capacity(views, labels, False), None
    if views.bound is None:
        value = cut_capacity(views, labels, True)
        if labels.size * (1 + views.layout.arcs) * unit <= MAX_LOSS * value < math.inf:
            return value, None  # the loss is less than one unit per capacity, so it need not be summed
    cut = measure_cut(views, labels, unit)
    if cut.value == math.inf:
        from gridcut.core.infinite_cut import infinite_cut

        raise infinite_cut(problem, labels)
    return cut.value, cut


def labels_of(problem: Problem, grid: Grid, sink_side) -> np.ndarray:
    """The labels of a solved grid: True on the source side, in the grid's shape."""
    labels = np.empty(problem.shape, bool)
    np.logical_not(grid.layout.interior(sink_side), out=labels)
    if problem.mask is not None:
        labels &= problem.mask
    return labels


def empty_cut(problem: Problem, device, method) -> Cut:
    """The cut of a grid without pixels."""
    seconds = {"load": 0.0, "solve": 0.0, "value": 0.0}
    stats = {"seconds": seconds, "dtype": "int32", "unit": 1.0 if problem.is_float else 1}
    labels = to_library(np.zeros(problem.shape, bool), problem.library)
    nothing = np.zeros((), np.int32)
    kept = problem._replace(source=nothing, sink=nothing, edges=dict.fromkeys(problem.edges, nothing), mask=None)
    lazy = LazySolved(Solved(kept._replace(library=None), None, None, []), library=problem.library)
    return Cut(0.0 if problem.is_float else 0, labels, device, method, stats, lazy)
