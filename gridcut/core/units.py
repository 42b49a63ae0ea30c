"""Conversion of float capacities to integers: the unit, clamping of infinite and huge capacities, and the loss.

A capacity is rounded *down* to a multiple of the unit, a power of two.  Every flow of the rounded problem is then
feasible in the original problem, so the rounded minimum bounds the true minimum from below:

    rounded cut  <=  true minimum  <=  capacity of the cut found;      the last minus the first is called the *loss*

If the loss is 0, value and labels are exact, since every residual arc of the rounded problem is also one of the
original problem.  Solvers accept a loss of MAX_LOSS times the cut; if it is larger, they solve again with a finer unit.

Clamped problems.  A bound (`Problem.bound`, None in ordinary problems) permits a finer unit.  With a bound,

  arcs        have at most the bound plus one unit.  The bound is at least the capacity of some cut, so no minimum
              cut contains an arc above it, neither before nor after clamping.
  terminals   are replaced by their difference, e = source - sink, clamped to -(in + 1) <= e <= out + 1 units, where in
              and out are the capacities of all arcs into and out of the pixel.  Outside that range the pixel is on the
              same side in all minimum cuts.

Both keep all minimum cuts and make no other cut cheaper than they are, so value, labels and ties are unchanged.  The
first bound is the largest float: only infinite arcs are clamped, and a cut without infinite arcs is found if one
exists.  The capacity of the cut found is the next bound.
"""

import math
from collections.abc import Callable

import numpy as np

from gridcut.device import plain_kernel

FLOAT_BITS = 60  # capacities incident to a pixel sum to at most 2^60 units
MAX_UNIT_EXPONENT = 1074  # every float is a multiple of 2^-1074
MAX_FLOAT = float(np.finfo(np.float64).max)
CLAMP_RATIO = 2.0**24  # terminals more than this many times all arcs are clamped before the first solve
MAX_LOSS = 2.0**-31  # share of the cut; less than the certificate's tolerance
BOUND_MARGIN = 1 + 2.0**-20  # bound divided by the capacity of the cut, whatever the order of its sum
CAPACITY_LIMIT = 2.0**62  # more units than any capacity has
MIN_RESOLUTION_BITS = 50  # minimum resolution of a state that is kept: 2^-50 of the sum of the largest capacities
SHIFT = 40  # capacities above MAX_UNSHIFTED are summed in units of 2^40: more than the number of arcs of a node
MAX_UNSHIFTED = 2.0**900

Incident = Callable[[float, float], list[float]]


@plain_kernel
def units(value, scale):
    """A capacity in units of the grid: the integer, or the float rounded down and clamped."""
    if scale is None:
        return np.int64(value)
    exact = value * scale[0] * scale[1]
    return np.int64(exact if exact < scale[2] else scale[2])


@plain_kernel
def difference(source, sink, scale):
    """source - sink in units, rounded towards 0: the terminals of a pixel of a clamped problem, before clamping."""
    rest = np.float64(source) - np.float64(sink)
    if not (rest < 0 or rest > 0):  # NaN: both are infinite, so every cut is
        return np.int64(0)
    exact = rest * scale[0] * scale[1]
    return np.int64(max(-CAPACITY_LIMIT, min(CAPACITY_LIMIT, exact)))


@plain_kernel
def clamp_kernel(excess, residual, step, head):
    """Clamp the terminals of all pixels by their arcs, in the initial state of a solver."""
    arcs = len(step)
    for p in range(head, excess.size - head):
        out = np.int64(1)
        into = np.int64(1)
        for k in range(arcs):
            out += residual[p * arcs + k]
            into += residual[(p + step[k]) * arcs + (k ^ 1)]
        excess[p] = max(-into, min(out, excess[p]))


def exponent_of(unit: float) -> int:
    """The exponent e of a unit 2^-e."""
    return 1 - math.frexp(unit)[1]


def scale_of(unit: float | int, bound: float | None) -> tuple[float, float, float, float] | None:
    """Two factors by which kernels multiply floats (2^1074 is not a float), the maximum number of units, and the unit.

    None for integers.
    """
    if not isinstance(unit, float):
        return None
    exponent = exponent_of(unit)
    first = min(exponent, 1022)
    most = CAPACITY_LIMIT
    if bound is not None and math.frexp(bound)[1] + exponent <= FLOAT_BITS:
        most = min(CAPACITY_LIMIT, math.floor(math.ldexp(bound, exponent)) + 1.0)
    return math.ldexp(1.0, first), math.ldexp(1.0, exponent - first), most, unit


def choose_unit(largest: list, bound: float | None, incident: Incident | None = None) -> tuple[float, float | None]:
    """The unit, and the bound if capacities have to be clamped.

    largest    largest capacity of source, sink and each arc; may be infinite
    bound      capacity of a cut, above which capacities are clamped; None: not known yet
    incident   ``incident(limit, factor)``: capacities of arcs, clamped to `limit` and multiplied by `factor`, whose sum
               is at least that of the arcs incident to any pixel; None: those of `largest`
    """
    terminals, arcs = [*map(float, largest[:2])], [*map(float, largest[2:])]
    shift = SHIFT if max(terminals + arcs) > MAX_UNSHIFTED else 0  # their sums may exceed the largest float
    factor = math.ldexp(1.0, -shift)
    limit = MAX_FLOAT if bound is None else bound
    counted = incident(limit, factor) if incident is not None else [min(a, limit) * factor for a in arcs]
    is_infinite = sum(terminals + arcs) == math.inf
    terminals = [t * factor for t in terminals]
    if bound is None and (is_infinite or sum(terminals) > CLAMP_RATIO * sum(counted)):
        bound = MAX_FLOAT
    counted = terminals + counted if bound is None else 2 * counted
    total = sum(counted)
    if total == 0:
        # Without arcs, every pixel is on the side of its larger terminal, however small the difference.
        return (1.0, None) if bound is None else (math.ldexp(1.0, -MAX_UNIT_EXPONENT), bound)
    return math.ldexp(1.0, -min(FLOAT_BITS - shift - math.frexp(total)[1], MAX_UNIT_EXPONENT)), bound


def still_fits(unit: float, total: float) -> bool:
    """Whether a state in this unit holds capacities with this sum of the largest ones, and is fine enough for them."""
    return total <= unit * CAPACITY_LIMIT and not 0 < total < unit * 2.0**MIN_RESOLUTION_BITS
