"""How float capacities become integers: the unit, what infinite and huge ones count as, and how much that may lose.

A capacity is rounded *down* to a multiple of the unit, a power of two.  The rounded problem then allows no flow that
the true one forbids, so its minimum bounds the true minimum from below:

    rounded cut  <=  true minimum  <=  capacity of the cut found,      the last less the first is called its *loss*

A loss of 0 proves value and labels exact: a residual arc of the rounded problem is one of the true problem.  Solvers
accept a loss of LOSS times the cut; if it is more, they solve again with a finer unit.

Clamped problems.  A bound (`Problem.bound`, None in ordinary problems) makes room for a finer unit.  With one,

  arcs        count as the bound and one unit at most.  The bound is at least the capacity of some cut, so no minimum
              cut has an arc above it, neither before nor after.
  terminals   count as their difference, e = source - sink, and that as in + 1 units at least below zero and as out + 1
              at most, where in and out are what all arcs of the pixel carry.  Beyond that the side of the pixel is the
              same in all minimum cuts.

Both keep all minimum cuts and make no other cut cheaper than they are, so value, labels and ties stay the same.  The
first bound is the largest float: then only infinite arcs are clamped, and a cut without any, if there is one, is found.
The capacity of a cut found is the next bound.
"""

import math

import numpy as np

from gridcut.device import kernel

FLOAT_BITS = 60  # capacities round a pixel add up to 2^60 units at most
FINEST = 1074  # every float is a multiple of 2^-1074
LARGEST = float(np.finfo(np.float64).max)
CLAMP = 2.0**24  # terminals that are larger than all arcs by more are clamped before the first solve
LOSS = 2.0**-31  # of the cut, which is less than the certificate's tolerance
ABOVE = 1 + 2.0**-20  # a bound above the capacity of a cut, whatever the order of its sum
WHOLE = 2.0**62  # units that no capacity reaches


@kernel
def units(value, scale):
    """A capacity in units of the grid: itself, or for floats rounded down and clamped."""
    if scale is None:
        return np.int64(value)
    exact = value * scale[0] * scale[1]
    return np.int64(exact if exact < scale[2] else scale[2])


@kernel
def difference(source, sink, scale):
    """source - sink in units, rounded towards 0: the terminals of a pixel of a clamped problem, not clamped yet."""
    rest = np.float64(source) - np.float64(sink)
    if not (rest < 0 or rest > 0):  # NaN: both are infinite, which every cut pays
        return np.int64(0)
    exact = rest * scale[0] * scale[1]
    return np.int64(max(-WHOLE, min(WHOLE, exact)))


@kernel
def clamp_kernel(excess, residual, step, head):
    """Clamp the terminals of all pixels, given the arcs they have: the state of a solver before it begins."""
    arcs = len(step)
    for p in range(head, excess.size - head):
        out = np.int64(1)
        into = np.int64(1)
        for k in range(arcs):
            out += residual[p * arcs + k]
            into += residual[(p + step[k]) * arcs + (k ^ 1)]
        excess[p] = max(-into, min(out, excess[p]))


def exponent_of(unit: float) -> int:
    """e for a unit of 2^-e."""
    return 1 - math.frexp(unit)[1]


def scale_of(unit: float | int, bound: float | None) -> tuple[float, float, float, float] | None:
    """What kernels multiply floats with, in two steps as 2^1074 is no float; the most units; the unit.

    None for integers.
    """
    if not isinstance(unit, float):
        return None
    exponent = exponent_of(unit)
    first = min(exponent, 1022)
    most = WHOLE
    if bound is not None and math.frexp(bound)[1] + exponent <= FLOAT_BITS:
        most = min(WHOLE, math.floor(math.ldexp(bound, exponent)) + 1.0)
    return math.ldexp(1.0, first), math.ldexp(1.0, exponent - first), most, unit


def choose_unit(largest: list, bound: float | None) -> tuple[float, float | None]:
    """The unit, and the bound if capacities have to be clamped.

    largest   capacities of source, sink and every arc, the largest of each; may be infinite
    bound     None: to be found; the capacity of a cut: capacities above it are clamped
    """
    terminals, arcs = [*map(float, largest[:2])], [*map(float, largest[2:])]
    if bound is None and (sum(terminals + arcs) == math.inf or sum(terminals) > CLAMP * sum(arcs)):
        bound = LARGEST
    counted = terminals + arcs if bound is None else 2 * [min(a, bound) for a in arcs]
    if max(counted) == 0:
        # No arcs: every pixel is on the side of its larger terminal, however small the difference.
        return (1.0, None) if bound is None else (math.ldexp(1.0, -FINEST), bound)
    return math.ldexp(1.0, -min(FLOAT_BITS - _exponent_of_sum(counted), FINEST)), bound


def _exponent_of_sum(capacities: list[float]) -> int:
    """e such that their sum is less than 2^e; the sum itself need not be a float."""
    shift = 16 if max(capacities) > 2.0**1000 else 0
    return math.frexp(sum(math.ldexp(c, -shift) for c in capacities))[1] + shift
