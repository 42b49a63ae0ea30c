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
from gridcut.core.grid import Grid, Layout
from gridcut.core.load import Reader, fill
from gridcut.core.problem import Problem
from gridcut.core.units import exponent_of
from gridcut.device import CertificateError, plain_kernel

OUTSIDE, SOURCE_SIDE, SINK_SIDE, NO_SIDE = 0, 1, 2, 3
RELATIVE = 1e-9  # relative tolerance for float sums in another order
INFINITY = np.iinfo(np.int32).max  # unreachable


@plain_kernel
def certify_kernel(excess, residual, excess0, capacity, step, side, first, last):
    """The first condition that fails at the cells first..last (0: none), and the location: (condition, cell, arc)."""
    arcs = len(step)
    for p in range(first, last):
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
def search_kernel(excess, residual, step, first, last, claimed, distance, queue):
    """Distances of the cells first..last: 0 if they reach a deficit, else 1 + the minimum claim that they reach.

    A breadth-first search that is used by certificates only, by no solver.

    claimed    cells outside first..last with a claim (their entry in `distance`), by ascending claim
    distance   INFINITY in first..last at the start; afterwards, where neither a deficit nor a claim can be reached
    """
    arcs = len(step)
    tail = 0
    for p in range(first, last):
        if excess[p] < 0:
            distance[p] = 0
            queue[tail] = p
            tail += 1
    head = 0
    next_claim = 0
    while True:
        while head < tail:
            p = queue[head]
            head += 1
            here = distance[p]
            for k in range(arcs):
                q = p + step[k]
                if distance[q] == INFINITY and first <= q < last and residual[q * arcs + (k ^ 1)] > 0:
                    distance[q] = here
                    queue[tail] = q
                    tail += 1
        if next_claim == claimed.size:
            break
        claim = distance[claimed[next_claim]]
        while next_claim < claimed.size and distance[claimed[next_claim]] == claim:
            p = claimed[next_claim]
            next_claim += 1
            for k in range(arcs):
                q = p + step[k]
                if first <= q < last and distance[q] == INFINITY and residual[q * arcs + (k ^ 1)] > 0:
                    distance[q] = claim + 1
                    queue[tail] = q
                    tail += 1


@plain_kernel
def ties_kernel(distance, side, first, last):
    """The first of the cells first..last whose side contradicts its distance to the sink; -1 if none."""
    for p in range(first, last):
        if side[p] != 0 and (side[p] == 2) != (distance[p] < INFINITY):
            return p
    return -1


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
    layout = grid.layout
    side = sides(labels, problem, layout)
    certify_flow(side, views, grid, 0, layout.size)
    certify_ties(side, grid, 0, layout.size, np.full(layout.size, INFINITY, np.int32))
    left = left_on_sink_side(layout.interior(grid.excess), labels)
    certify_value(value, sums_of(views, labels, grid.unit, left), grid.unit)


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
    before = start.excess, start.residual
    return not certify_kernel(grid.excess, grid.residual, *before, layout.step, side, 0, layout.size)[0]


def certify_flow(side, views: Reader, grid: Grid, first: int, last: int, line: int = 0) -> None:
    """Check (1) to (3) at the cells first..last; line: offset of the line numbers in messages."""
    layout = grid.layout
    start, _ = fill(views, grid.excess.dtype, grid.unit)
    before = start.excess, start.residual
    failed, cell, k = certify_kernel(grid.excess, grid.residual, *before, layout.step, side, first, last)
    if failed:
        pixel = pixel_of(layout, cell, line)
        raise CertificateError(MEANING[failed].format(pixel=pixel, arc=f"pixel {pixel}, offset {layout.offsets[k]}"))


def certify_ties(side, grid: Grid, first: int, last: int, distance: np.ndarray, line: int = 0) -> None:
    """Check (5) at the cells first..last.

    distance   INFINITY, except for the claims of surrounding cells: see gridcut/tiles/slabs/slab_certificate.py;
    receives the distances
    """
    layout = grid.layout
    outside = np.concatenate(
        [np.flatnonzero(distance[:first] < INFINITY), last + np.flatnonzero(distance[last:] < INFINITY)]
    )
    claimed = outside[np.argsort(distance[outside], kind="stable")]
    queue = np.empty(last - first, np.int32 if layout.size < 2**31 else np.int64)
    search_kernel(grid.excess, grid.residual, layout.step, first, last, claimed, distance, queue)
    cell = ties_kernel(distance, side, first, last)
    if cell >= 0:
        raise CertificateError(f"pixel {pixel_of(layout, cell, line)} is on the wrong side by the tie-breaking rule")


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


def sums_of(views: Reader, labels: np.ndarray, unit: float | int, left: int, lines=None) -> Sums:
    """The sums of a cut, or of its part whose pixels are on the given lines."""
    to_sink = capacity_to_sink(views, unit, lines)
    if isinstance(unit, float):
        cut, reduced, _ = measure_cut(views, labels, unit, lines)
        return Sums(cut, reduced, to_sink, left)
    cut = cut_capacity(views, labels, False, lines)
    return Sums(cut, cut, to_sink, left)


def left_on_sink_side(excess: np.ndarray, labels: np.ndarray) -> int:
    """Sum of the excesses where labels are False."""
    return total(excess[~labels])


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


def pixel_of(layout: Layout, cell: int, line: int = 0) -> tuple[int, ...]:
    """Grid coordinates of a flat index; line: added to the first of them."""
    rest = cell - layout.head
    pixel = []
    for stride in layout.stride:
        pixel.append(int(rest // stride))
        rest %= stride
    return (pixel[0] + line, *pixel[1:])
