"""The certificate that a cut is minimal, checked against the caller's capacities.

With s, t, c the capacities and r, e the solver's final residuals and excesses (u(p, q) = u of the arc p -> q):

  (1)  r >= 0  and  r(p, q) + r(q, p) == c(p, q) + c(q, p)    the arcs keep their capacities
  (2)  e(p) == s(p) - t(p) - sum over q of (c(p, q) - r(p, q))      the excesses equal what that flow leaves
  (3)  r(p, q) == 0 from the source side to the sink side, e >= 0 on the source side, e <= 0 on the sink side
  (4)  value == capacity of the cut == sum of t + sum of e over the sink side; with a tolerance for floats, see
       certify_value
  (5)  a pixel is on the sink side if and only if some e < 0 can be reached from it

A completed flow, which flow() and residual() of a cut return, also satisfies

  (6)  -t(p) <= e(p) <= s(p)      a pixel passes on what it gets; what is left was not taken, or does not go to the sink

By (1) and (2) the cost of every cut is a constant plus its cost under (e, r), which is never negative; by (3) the
latter is 0 for this cut.  So this cut is minimal, and by (4) the constant is the value.  (5) is the tie-breaking rule.
"""

import math
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from gridcut.core.cut_capacity import capacity_to_sink, cut_capacity, measure_cut, total
from gridcut.core.grid import Grid, Layout, index_type
from gridcut.core.load import Reader, fill
from gridcut.core.problem import Problem
from gridcut.core.units import exponent_of
from gridcut.device import CertificateError, plain_kernel

OUTSIDE, SOURCE_SIDE, SINK_SIDE, NO_SIDE = 0, 1, 2, 3
RELATIVE = 1e-9  # relative tolerance for float sums in another order


@plain_kernel
def certify_kernel(excess, residual, excess0, capacity, step, side):
    """The first condition that fails (0: none), and the location: (condition, cell, arc)."""
    arcs = len(step)
    for p in range(excess.size):
        net_out = 0
        for k in range(arcs):
            r = residual[p * arcs + k]
            c = capacity[p * arcs + k]
            if r == 0 and c == 0:
                continue
            q = p + step[k]
            if side[p] == 0 or q < 0 or q >= excess.size or side[q] == 0:
                return 1, p, k
            back = q * arcs + (k ^ 1)
            if r < 0 or r + residual[back] != c + capacity[back]:
                return 1, p, k
            if r > 0 and side[p] == 1 and side[q] == 2:
                return 3, p, k
            net_out += c - r
        if excess[p] != excess0[p] - net_out:
            return 2, p, 0
        if (side[p] == 2 and excess[p] > 0) or (side[p] == 1 and excess[p] < 0):
            return 3, p, 0
    return 0, 0, 0


@plain_kernel
def search_kernel(excess, residual, step, reached, queue):
    """Mark the cells that reach a deficit: a breadth-first search that is used by certificates only, by no solver."""
    arcs = len(step)
    tail = 0
    for p in range(excess.size):
        if excess[p] < 0:
            reached[p] = True
            queue[tail] = p
            tail += 1
    head = 0
    while head < tail:
        p = queue[head]
        head += 1
        for k in range(arcs):
            q = p + step[k]
            if not reached[q] and residual[q * arcs + (k ^ 1)] > 0:
                reached[q] = True
                queue[tail] = q
                tail += 1


MEANING = {
    1: "the residuals of {arc} do not fit its capacities",
    2: "the excess of pixel {pixel} is not what the flow leaves there",
    3: "flow can still pass from the source side to the sink side at {arc}",
}


def certify(value, labels: np.ndarray, problem: Problem, views: Reader | None, grid: Grid | None) -> None:
    """Check (1) to (5); raises CertificateError for the first that fails.

    views, grid: None for a grid without pixels.
    """
    check_array("labels", labels, np.bool_, problem.shape)
    check_number("value", value, problem.is_float)
    if grid is None:
        if value != 0:
            raise CertificateError(f"value {value}, but must be 0 for a grid without pixels")
        return
    side = sides(labels, problem, grid.layout)
    certify_flow(side, views, grid)
    certify_ties(side, grid)
    certify_value(value, sums_of(views, labels, grid), grid.unit)


def certify_balance(problem: Problem, views: Reader, grid: Grid) -> None:
    """Check (6); the terminals are read again from the problem, by NumPy, unless they are clamped."""
    excess = grid.layout.interior(grid.excess)
    if problem.bound is None and views.bound is None:
        most, least = (_terminal_units(problem, array, grid.unit) for array in (problem.source, problem.sink))
    else:  # one of the two is 0
        start = grid.layout.interior(fill(views, grid.excess.dtype, grid.unit)[0].excess)
        most, least = np.maximum(start, 0), np.maximum(-start, 0)
    wrong = (excess > most) | (excess < -least)
    if wrong.any():
        pixel = tuple(map(int, np.argwhere(wrong)[0]))
        raise CertificateError(f"pixel {pixel} passes on more flow than it gets, or less")


def _terminal_units(problem: Problem, capacity: np.ndarray, unit: float | int) -> np.ndarray:
    """Terminal capacities in units, int64; 0 outside the mask."""
    if isinstance(unit, float):
        capacity = np.floor(np.ldexp(capacity.astype(np.float64), exponent_of(unit)))
    units = np.broadcast_to(capacity, problem.shape).astype(np.int64)
    return units if problem.mask is None else np.where(problem.mask, units, 0)


@contextmanager
def made_again():
    """Turn the errors of arguments that are no longer a valid problem into CertificateError."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise CertificateError(f"the arguments have been changed since the solve: {error}") from error


def check_array(name: str, array, dtype, shape: tuple[int, ...]) -> None:
    """Raise CertificateError unless a field is an array of this dtype and shape."""
    if not (hasattr(array, "dtype") and hasattr(array, "shape")):
        raise CertificateError(f"{name} must be an array, got {type(array).__name__}")
    if array.dtype != dtype or tuple(array.shape) != tuple(shape):
        raise CertificateError(
            f"{name} must be {np.dtype(dtype)} of shape {tuple(shape)}, got {array.dtype} of shape {tuple(array.shape)}"
        )


def check_number(name: str, value, is_float: bool) -> None:
    """Raise CertificateError unless a field is a float, or an integer, as the solvers return it."""
    kind, what = (float, "a float") if is_float else (int, "an integer")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CertificateError(f"{name} must be {what}, got {value!r:.60} ({type(value).__name__})")


def sides(labels: np.ndarray, problem: Problem, layout: Layout) -> np.ndarray:
    """The side of every cell; raises CertificateError if labels are True outside the mask."""
    side = np.zeros(layout.size, np.uint8)
    inner = layout.interior(side)
    inner[...] = np.where(labels, SOURCE_SIDE, SINK_SIDE)
    if problem.mask is not None:
        if np.any(labels & ~problem.mask):
            raise CertificateError("labels are True outside the mask")
        inner[~problem.mask] = OUTSIDE
    return side


def is_flow(problem: Problem, views: Reader, grid: Grid) -> bool:
    """Whether (1) and (2) hold: the grid holds a flow of the problem, maximum or not."""
    layout = grid.layout
    side = np.zeros(layout.size, np.uint8)
    layout.interior(side)[...] = NO_SIDE if problem.mask is None else np.where(problem.mask, NO_SIDE, OUTSIDE)
    start, _ = fill(views, grid.excess.dtype, grid.unit)
    return not certify_kernel(grid.excess, grid.residual, start.excess, start.residual, layout.step, side)[0]


def certify_flow(side, views: Reader, grid: Grid) -> None:
    """Check (1) to (3)."""
    layout = grid.layout
    start, _ = fill(views, grid.excess.dtype, grid.unit)
    failed, cell, k = certify_kernel(grid.excess, grid.residual, start.excess, start.residual, layout.step, side)
    if failed:
        pixel = pixel_of(layout, cell)
        raise CertificateError(MEANING[failed].format(pixel=pixel, arc=f"pixel {pixel}, offset {layout.offsets[k]}"))


def certify_ties(side, grid: Grid) -> None:
    """Check (5)."""
    layout = grid.layout
    reached = np.zeros(layout.size, bool)
    search_kernel(grid.excess, grid.residual, layout.step, reached, np.empty(layout.size, index_type(layout.size)))
    wrong = (side != OUTSIDE) & ((side == SINK_SIDE) != reached)
    if wrong.any():
        pixel = pixel_of(layout, int(np.argmax(wrong)))
        raise CertificateError(f"pixel {pixel} is on the wrong side by the tie-breaking rule")


class Sums(NamedTuple):
    """The sums of (4).

    cut       capacity of the cut
    reduced   for floats as in gridcut.core.cut_capacity.Measured, else the same
    to_sink   all capacity to the sink in units, and the excess `left` on the sink side
    """

    cut: int | float
    reduced: int | float
    to_sink: int
    left: int


def sums_of(views: Reader, labels: np.ndarray, grid: Grid) -> Sums:
    """The sums of a cut."""
    to_sink, left = capacity_to_sink(views, grid.unit), total(grid.layout.interior(grid.excess)[~labels])
    if isinstance(grid.unit, float):
        cut, reduced, _ = measure_cut(views, labels, grid.unit)
        return Sums(cut, reduced, to_sink, left)
    cut = cut_capacity(views, labels, False)
    return Sums(cut, cut, to_sink, left)


def certify_value(value, sums: Sums, unit) -> None:
    """Check (4).

    Floats are rounded down, so the flow is also feasible in the caller's capacities, and no cut is below its value.
    """
    flow = sums.to_sink + sums.left
    if not isinstance(unit, float):
        if not value == sums.cut == flow:
            raise CertificateError(f"value {value}, cut {sums.cut} and flow {flow} differ")
        return
    flow *= unit
    if not (math.isclose(value, sums.cut, rel_tol=RELATIVE) and abs(sums.reduced - flow) <= RELATIVE * sums.reduced):
        raise CertificateError(f"value {value}, cut {sums.cut} and flow {flow + sums.cut - sums.reduced} differ")


def pixel_of(layout: Layout, cell: int) -> tuple[int, ...]:
    """Grid coordinates of a flat index."""
    rest = cell - layout.head
    pixel = []
    for stride in layout.stride:
        pixel.append(int(rest // stride))
        rest %= stride
    return tuple(pixel)
