"""The error for problems whose every cut is infinite, with an infinite capacity that a minimum cut contains."""

import numpy as np

from gridcut.core.problem import Problem
from gridcut.core.terms import ends, pixel_at


def infinite_cut(problem: Problem, labels: np.ndarray) -> ValueError:
    """The error for a minimum cut of infinite capacity; its message contains an infinite capacity that is cut."""
    for name, cut in _infinite(problem, labels):
        if cut is not None:
            return ValueError(
                f"every cut has infinite capacity: infinite capacities lead from the source to the sink, for instance "
                f"over {name} at {cut}; make one of them finite"
            )
    return ValueError(
        "source, sink and edges are too large: the capacity of the minimum cut is larger than the largest float; scale "
        "them down"
    )


def _infinite(problem: Problem, labels: np.ndarray):
    """For each array, its name and the first of its infinite capacities in the cut, or None."""
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
