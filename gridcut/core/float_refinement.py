"""Whether a cut of float capacities is good enough, and what to solve again if it is not; see gridcut/core/units.py."""

import math
from collections.abc import Callable

import numpy as np

from gridcut.core.cut_capacity import Measured
from gridcut.core.problem import Problem
from gridcut.core.terms import ends, pixel_at
from gridcut.core.units import ABOVE, LARGEST, LOSS, choose_unit


def next_bound(cut: Measured, unit: float, largest: Callable[[], list]) -> float | None:
    """What to clamp capacities to in another solve, or None if the cut will do.

    unit, largest   of the solve that found it, and what makes the list that `choose_unit` takes

    Raises ValueError if no finer unit can be had.
    """
    if cut.loss <= LOSS * cut.reduced:
        return None
    bound = min(cut.reduced * ABOVE, LARGEST)
    if choose_unit(largest(), bound)[0] >= unit:
        raise ValueError(
            f"source, sink and edges differ too much in size: a cut of capacity {cut.reduced:.6g} is found only to "
            f"within {cut.loss:.3g}; scale them to integers, or set those to 0 that are too small to count"
        )
    return bound


def check_finite(value: float, problem: Callable[[], Problem], labels: Callable[[], np.ndarray]) -> None:
    """ValueError if the capacity of a minimum cut is no float; problem and labels, made on the host then."""
    if value == math.inf:
        raise infinite_cut(problem(), labels())


def infinite_cut(problem: Problem, labels: np.ndarray) -> ValueError:
    """The error for a minimum cut of infinite capacity, which names what it cuts."""
    for name, cut in _infinite(problem, labels):
        if cut is not None:
            return ValueError(
                f"every cut has infinite capacity: infinite capacities lead from the source to the sink, for instance "
                f"over {name} at {cut}; make one of them finite"
            )
    return ValueError(
        "source, sink and edges are too large: the capacity of the minimum cut is more than a float holds; scale them "
        "down"
    )


def _infinite(problem: Problem, labels: np.ndarray):
    """The first infinite capacity that a cut has, of each array, with the array's name; None: it has none."""
    used = np.ones(problem.shape, bool) if problem.mask is None else problem.mask
    whole = ends(problem.shape, ())[0]
    for name, array, side in (("source", problem.source, ~labels), ("sink", problem.sink, labels)):
        yield name, _first(np.isinf(array) & side & used, whole)
    for offset, array in problem.edges.items():
        near, far = ends(problem.shape, (offset,))
        cut = labels[near] & ~labels[far]
        if tuple(-i for i in offset) not in problem.edges:
            cut = labels[near] != labels[far]
        cut &= used[near] & used[far] & np.isinf(np.broadcast_to(array, problem.shape)[near])
        yield f"edges[{offset}]", _first(cut, near)


def _first(found: np.ndarray, place) -> tuple[int, ...] | None:
    return pixel_at(found, place) if found.any() else None
