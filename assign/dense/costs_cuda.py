"""Costs for the kernels: elements of a matrix or distances of two points, and their scaled integer form.

The kernels compute with scaled integers (`scaled_cost`): costs times a power of two, so that a price and a row fit into
one word (arc_lists_cuda.py).  Integer costs are their own scaled form, unless they need more than MAX_COST_BITS bits:
those lose their last bits.

    Matrix(kind)                       data: the flat matrix;  kind: "i" or "f"
    Points(axes, squared, is_integer)  data: float64, `axes` coordinates per point, rows first, then a factor

`scale` is an int64 for integer costs, minus the number of bits they lose, and a float64 factor for others.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from gridcut.device.cuda import device_function

FORBIDDEN = 1 << 60  # scaled cost of a forbidden pair
MAX_COST_BITS = 36  # bits of the largest scaled cost


class Matrix(NamedTuple):
    """Costs stored in memory."""

    kind: str

    @property
    def is_integer(self) -> bool:
        return self.kind == "i"


class Points(NamedTuple):
    """Euclidean distances or their squares, times a factor; rounded if `is_integer`."""

    axes: int
    squared: bool
    is_integer: bool


@cache
def functions_of(form):
    """Device functions cost_at(data, n, m, i, j), an int64 or float64, and scaled_cost(cost, scale), an int64."""
    if isinstance(form, Points):
        axes, squared, is_integer = form

        @device_function
        def cost_at(data, n, m, i, j):
            a = np.int64(i) * axes
            b = (np.int64(n) + j) * axes
            total = 0.0
            for k in range(axes):
                gap = data[a + k] - data[b + k]
                total += gap * gap
            if not squared:
                total = math.sqrt(total)
            total *= data[(np.int64(n) + m) * axes]
            if is_integer:
                return np.int64(math.floor(total + 0.5))
            return total

    elif form.is_integer:

        @device_function
        def cost_at(data, n, m, i, j):
            return np.int64(data[np.int64(i) * m + j])

    else:

        @device_function
        def cost_at(data, n, m, i, j):
            return np.float64(data[np.int64(i) * m + j])

    if form.is_integer:

        @device_function
        def scaled_cost(cost, scale):
            return np.int64(cost) >> np.int64(-scale)

    else:

        @device_function
        def scaled_cost(cost, scale):
            if cost == math.inf:
                return np.int64(FORBIDDEN)
            return np.int64(math.floor(cost * scale + 0.5))

    return cost_at, scaled_cost


def scale_for(bits: int, is_integer: bool):
    """The scale with which costs of magnitude below 2^bits have at most MAX_COST_BITS bits."""
    if is_integer:
        return np.int64(min(0, MAX_COST_BITS - bits))
    return np.float64(2.0 ** min(MAX_COST_BITS - bits, 1000))
