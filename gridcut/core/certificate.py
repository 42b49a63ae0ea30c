"""The proof that a cut is minimal, checked against the capacities the caller passed in.

With s, t, c the capacities and r, e the residuals and excesses a solver left (u(p, q) = u of the arc p -> q):

  (1)  r >= 0  and  r(p, q) + r(q, p) == c(p, q) + c(q, p)    the arcs keep their capacities
  (2)  e(p) == s(p) - t(p) - sum over q of (c(p, q) - r(p, q))      the excesses are what that flow leaves
  (3)  r(p, q) == 0 from the source side to the sink side, e >= 0 on the source side, e <= 0 on the sink side
  (4)  value == capacity of the cut == sum of t + sum of e over the sink side;  for floats nearly, see certify_value
  (5)  a pixel is on the sink side if and only if some e < 0 can be reached from it

By (1) and (2) every cut costs a constant plus its cost under (e, r), which is never negative; by (3) this
cut's is 0. So it is minimal, and (4) ties the constant to the value.  (5) is the rule for ties.
"""

import math
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from gridcut.core.cut_capacity import capacity_to_sink, cut_capacity, measure_cut
from gridcut.core.grid import Grid, Layout
from gridcut.core.load import Reader, fill
from gridcut.core.problem import Problem
from gridcut.core.sums import total
from gridcut.device import CertificateError, kernel

OUTSIDE, SOURCE_SIDE, SINK_SIDE = 0, 1, 2
RELATIVE = 1e-9  # float sums in another order
FAR = np.iinfo(np.int32).max  # as in gridcut/out_of_core/region_distance.py


@kernel
def certify_kernel(excess, residual, excess0, capacity, step, side, first, last):
    """The first condition that fails at the cells first..last, 0 if none, and where: (condition, cell, arc)."""
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


@kernel
def search_kernel(excess, residual, step, first, last, claimed, distance, queue):
    """How far the cells first..last are from a deficit, in claims of the cells around them: 0, or 1 + the least claim.

    A breadth-first search of the certificate alone: no solver uses it.

    claimed    cells outside first..last with a claim (their entry in `distance`), by ascending claim
    distance   FAR in first..last when it begins, and at the end where neither a deficit nor a claim can be reached
    """
    arcs = len(step)
    tail = 0
    for p in range(first, last):
        if excess[p] < 0:
            distance[p] = 0
            queue[tail] = p
            tail += 1
    head = 0
    asked = 0
    while True:
        while head < tail:
            p = queue[head]
            head += 1
            here = distance[p]
            for k in range(arcs):
                q = p + step[k]
                if distance[q] == FAR and first <= q < last and residual[q * arcs + (k ^ 1)] > 0:
                    distance[q] = here
                    queue[tail] = q
                    tail += 1
        if asked == claimed.size:
            break
        claim = distance[claimed[asked]]
        while asked < claimed.size and distance[claimed[asked]] == claim:
            p = claimed[asked]
            asked += 1
            for k in range(arcs):
                q = p + step[k]
                if first <= q < last and distance[q] == FAR and residual[q * arcs + (k ^ 1)] > 0:
                    distance[q] = claim + 1
                    queue[tail] = q
                    tail += 1


@kernel
def ties_kernel(distance, side, first, last):
    """The first of the cells first..last whose side is not what reaching the sink says; -1 if none."""
    for p in range(first, last):
        if side[p] != 0 and (side[p] == 2) != (distance[p] < FAR):
            return p
    return -1


MEANING = {
    1: "the residuals of {arc} do not fit its capacities",
    2: "the excess of pixel {pixel} is not what the flow leaves there",
    3: "flow can still pass from the source side to the sink side at {arc}",
}


def certify(value, labels: np.ndarray, problem: Problem, views: Reader | None, grid: Grid | None) -> None:
    """Check (1) to (5); raises CertificateError naming the first that fails.

    views, grid: None for a grid without pixels.
    """
    check_array("labels", labels, np.bool_, problem.shape)
    check_number("value", value, problem.is_float)
    if grid is None:
        if value != 0:
            raise CertificateError(f"value {value}, but a grid without pixels has no cut of other value than 0")
        return
    layout = grid.layout
    side = sides(labels, problem, layout)
    certify_flow(side, views, grid, 0, layout.size)
    certify_ties(side, grid, 0, layout.size, np.full(layout.size, FAR, np.int32))
    left = left_on_sink_side(layout.interior(grid.excess), labels)
    certify_value(value, sums_of(views, labels, grid.unit, left), grid.unit)


@contextmanager
def made_again():
    """Turns the errors of arguments that no longer are a problem into CertificateError."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise CertificateError(f"what was passed in has been changed since the solve: {error}") from error


def check_array(name: str, array, dtype, shape: tuple[int, ...]) -> None:
    """CertificateError for a field that is no array of this kind and shape."""
    if not (hasattr(array, "dtype") and hasattr(array, "shape")):
        raise CertificateError(f"{name} must be an array, got {type(array).__name__}")
    if array.dtype != dtype or tuple(array.shape) != tuple(shape):
        raise CertificateError(
            f"{name} must be {np.dtype(dtype)} of shape {tuple(shape)}, got {array.dtype} of shape {tuple(array.shape)}"
        )


def check_number(name: str, value, is_float: bool) -> None:
    """CertificateError for a field that is no number of the kind that solvers return."""
    kind, what = (float, "a float") if is_float else (int, "an integer")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CertificateError(f"{name} must be {what}, got {value!r:.60} ({type(value).__name__})")


def sides(labels: np.ndarray, problem: Problem, layout: Layout) -> np.ndarray:
    """The side of every cell; CertificateError where a pixel outside the mask has one."""
    side = np.zeros(layout.size, np.uint8)
    inner = layout.interior(side)
    inner[...] = np.where(labels, SOURCE_SIDE, SINK_SIDE)
    if problem.mask is not None:
        if np.any(labels & ~problem.mask):
            raise CertificateError("labels are True outside the mask")
        inner[~problem.mask] = OUTSIDE
    return side


def certify_flow(side, views: Reader, grid: Grid, first: int, last: int, line: int = 0) -> None:
    """Check (1) to (3) at the cells first..last; line: what to add to a line for the message."""
    layout = grid.layout
    start, _ = fill(views, grid.excess.dtype, grid.unit)
    before = start.excess, start.residual
    failed, cell, k = certify_kernel(grid.excess, grid.residual, *before, layout.step, side, first, last)
    if failed:
        pixel = pixel_of(layout, cell, line)
        raise CertificateError(MEANING[failed].format(pixel=pixel, arc=f"pixel {pixel}, offset {layout.offsets[k]}"))


def certify_ties(side, grid: Grid, first: int, last: int, distance: np.ndarray, line: int = 0) -> None:
    """Check (5) at the cells first..last.

    distance   FAR, but for what the cells around claim: see gridcut/out_of_core/block_certificate.py; distances are
    written to it
    """
    layout = grid.layout
    outside = np.concatenate([np.flatnonzero(distance[:first] < FAR), last + np.flatnonzero(distance[last:] < FAR)])
    claimed = outside[np.argsort(distance[outside], kind="stable")]
    queue = np.empty(last - first, np.int32 if layout.size < 2**31 else np.int64)
    search_kernel(grid.excess, grid.residual, layout.step, first, last, claimed, distance, queue)
    cell = ties_kernel(distance, side, first, last)
    if cell >= 0:
        raise CertificateError(f"pixel {pixel_of(layout, cell, line)} is on the wrong side by the rule for ties")


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
    """The sums of a cut, or of what begins on some lines."""
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

    Floats are rounded down, so the flow is one in the capacities passed in too, and no cut has less than it carries.
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
    """Grid coordinates of a flat index; line: what to add to the first of them."""
    rest = cell - layout.head
    pixel = []
    for stride in layout.stride:
        pixel.append(int(rest // stride))
        rest %= stride
    return (pixel[0] + line, *pixel[1:])
