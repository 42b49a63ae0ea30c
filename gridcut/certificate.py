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
from typing import NamedTuple

import numpy as np

from gridcut.capacity import capacity_to_sink, cut_capacity, exact_sum, measure_cut
from gridcut.cpu.heights import global_relabel, index_type
from gridcut.device import CertificateError, kernel
from gridcut.grid import Grid, Layout
from gridcut.load import Reader, fill
from gridcut.problem import Problem

OUTSIDE, SOURCE_SIDE, SINK_SIDE = 0, 1, 2
RELATIVE = 1e-9  # float sums in another order


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
def ties_kernel(height, ceiling, side):
    """The first cell whose side is not what reaching the sink says; -1 if none."""
    for p in range(height.size):
        if side[p] != 0 and (side[p] == 2) != (height[p] < ceiling):
            return p
    return -1


MEANING = {
    1: "the residuals of {arc} do not fit its capacities",
    2: "the excess of pixel {pixel} is not what the flow leaves there",
    3: "flow can still pass from the source side to the sink side at {arc}",
}


def certify(value, labels: np.ndarray, problem: Problem, views: Reader, grid: Grid) -> None:
    """Check (1) to (5); raises CertificateError naming the first that fails."""
    layout = grid.layout
    side = sides(labels, problem, layout)
    certify_flow(side, views, grid, 0, layout.size)
    number = index_type(layout.size)
    height = np.empty(layout.size, number)
    ceiling = layout.size + 1
    global_relabel(grid.excess, grid.residual, layout.step, height, np.empty(layout.size, number), ceiling)
    cell = ties_kernel(height, ceiling, side)
    if cell >= 0:
        raise CertificateError(f"pixel {pixel_of(layout, cell)} is on the wrong side by the rule for ties")
    del height
    left = left_on_sink_side(layout.interior(grid.excess), labels)
    certify_value(value, sums_of(views, labels, grid.unit, left), grid.unit)


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


class Sums(NamedTuple):
    """The sums of (4).

    cut       capacity of the cut
    reduced   for floats as in gridcut.capacity.Measured, else the same
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
    return exact_sum(excess[~labels].astype(np.int64))


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
