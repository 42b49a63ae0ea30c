"""Costs of points as `certify` reads them: only pairs whose distance may be below the sum of their prices are computed.

Both sets are sorted along a space-filling curve and divided into blocks of FAN points; the blocks of y into groups of
FAN blocks, groups of FAN such groups, and so on, each with its bounding box and its highest price.  Every block of x
descends from the group of all y.  Threads share the blocks of x:

    groups of y    [             all              ]      dropped, with all that is below, if the distance of its box
                   [  group  ][  group  ][  group ]      from that of the block of x is not below the sum of the
                   [ ][ ][ ][ ][ ][ ][ ][ ][ ][ ][]      highest prices of both; else divided,
    points of y    ..............................        or compared with each point of the block

No pair of points is cheaper than its prices if their blocks are dropped, and every other pair is computed, so the
result is exact.  No solver shares this code, except for the curve.

O((n + m) log(n + m)) if the prices are near the distances of neighbours; at most O(n m).
"""

import numpy as np
import scipy

from assign.core.certificate import EPS
from assign.core.certificate_costs import DenseCosts
from assign.core.curve import curve, extent
from gridcut.device import inlined_kernel, kernel, run_threads, thread_count

FAN = 8
MIN_COSTS = 1 << 20  # fewer costs are computed as a matrix
MAX_STACK = 32 * FAN
METRICS = "euclidean", "sqeuclidean", "cityblock"
EUCLIDEAN, SQEUCLIDEAN, CITYBLOCK = range(3)  # in kernels


class PointCosts(DenseCosts):
    """Distances between two point sets."""

    def __init__(self, x: np.ndarray, y: np.ndarray, metric: str):
        self.shape = len(x), len(y)
        self.is_integer = self.exact = False
        self._x, self._y, self._metric, self._mask, self._sign = x, y, metric, None, 1

    def pairs(self, row, col):
        gaps = np.abs(self._x[row] - self._y[col])
        paid = gaps.sum(1) if self._metric == "cityblock" else (gaps * gaps).sum(1)
        paid = np.sqrt(paid) if self._metric == "euclidean" else paid
        return paid, np.isfinite(paid)

    def slacks(self, u, v, tolerance: float) -> np.ndarray:
        n, m = self.shape
        if n * m < MIN_COSTS or not (np.isfinite(self._x).all() and np.isfinite(self._y).all()):
            return super().slacks(u, v, tolerance)
        # The rounding of a box's distance and of a sum of prices, and half the tolerance for pairs left out.
        spare = 8 * EPS * (np.abs(u).max() + np.abs(v).max()) - tolerance / 2
        sets, box = ((self._x, u), (self._y, v)), extent(self._x, self._y)
        (order, x, u), (_, y, v) = run_threads(lambda side: _sorted(*sets[side], *box), 2)
        levels: list[tuple[np.ndarray, ...]] = [(y, y, v)]
        while not levels[1:] or len(levels[-1][2]) > 1:
            starts = np.arange(0, len(levels[-1][2]), FAN)
            reduced = zip((np.minimum, np.maximum, np.maximum), levels[-1], strict=True)
            levels.append(tuple(reduce.reduceat(values, starts, axis=-1) for reduce, values in reduced))
        first = np.cumsum([0] + [len(top) for _, _, top in levels])
        groups = [np.ascontiguousarray(np.concatenate(part, axis=-1).T) for part in zip(*levels, strict=True)]
        x, found, threads = np.ascontiguousarray(x.T), np.zeros(n), thread_count()
        metric = METRICS.index(self._metric)
        run_threads(lambda t: slacks_kernel(x, u, *groups, first, metric, spare, t, threads, found), threads)
        slacks = np.empty(n)
        slacks[order] = found
        return slacks

    def _rows(self, part: slice) -> np.ndarray:
        return scipy.spatial.distance.cdist(self._x[part], self._y, self._metric)


def _sorted(points, price, low, high):
    """The order of the points (n, d) on the curve; they, one row per axis, and their prices in this order."""
    with np.errstate(all="ignore"):
        order = np.argsort(curve(points, low, high), kind="stable")
    return order, np.stack([axis.take(order) for axis in points.T]), price.take(order)


@inlined_kernel
def box_distance(low, high, i, other_low, other_high, j, metric):
    """Minimum distance between points of the boxes i and j; points are boxes, too."""
    total = 0.0
    for k in range(low.shape[1]):
        gap = max(low[i, k] - other_high[j, k], other_low[j, k] - high[i, k], 0.0)
        total += gap if metric == CITYBLOCK else gap * gap
    return np.sqrt(total) if metric == EUCLIDEAN else total


@kernel
def slacks_kernel(x, u, low, high, top, first, metric, spare, thread, threads, slacks):
    """slacks[i] = minimum of 0 and distance - u - v, for the rows of the blocks thread, thread + threads, ...

    x, u        (n, d) points and (n,) their prices
    low, high   (groups, d) boxes: the points of y, boxes of their blocks, ..., the box of all points
    top         (groups,) highest price;  first: (levels + 1,) first group of each level
    """
    n, d = x.shape
    box_low, box_high, stack = np.empty((1, d)), np.empty((1, d)), np.empty((MAX_STACK, 2), np.int64)
    shrink = 1 - 4 * (d + 4) * EPS  # the computed distance of two boxes may be too large by rounding
    for begin in range(thread * FAN, n, threads * FAN):
        highest, box_low[0], box_high[0] = u[begin], x[begin], x[begin]
        for i in range(begin, min(begin + FAN, n)):
            highest = max(highest, u[i])
            for k in range(d):
                box_low[0, k], box_high[0, k] = min(box_low[0, k], x[i, k]), max(box_high[0, k], x[i, k])
        stack[0, 0], stack[0, 1] = first.size - 2, 0
        depth = 1
        while depth:
            depth -= 1
            level, group = stack[depth, 0], stack[depth, 1]
            below = first[level - 1]
            parts = range(below + group * FAN, min(below + (group + 1) * FAN, first[level]))
            if level > 1:
                for g in parts:
                    if box_distance(box_low, box_high, 0, low, high, g, metric) * shrink < highest + (top[g] + spare):
                        stack[depth, 0], stack[depth, 1] = level - 1, g - below
                        depth += 1
                continue
            g = first[1] + group
            for i in range(begin, min(begin + FAN, n)):
                if box_distance(x, x, i, low, high, g, metric) * shrink < u[i] + (top[g] + spare):
                    for j in parts:
                        slacks[i] = min(slacks[i], box_distance(x, x, i, low, high, j, metric) - top[j] - u[i])
