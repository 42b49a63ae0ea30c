"""Costs of points as `certify` reads them: only pairs whose distance may be below the sum of their prices are computed.

Both sets are sorted along a k-d tree and divided into groups of LEAF points, groups of FAN such groups, and so on, each
with its bounding box and its highest price.  The search starts with the pair of all x and all y and replaces each pair
of groups by the pairs of their parts:

    level 1     [ x0 x1 x2 x3 ]     [ y0 y1 y2 y3 ]      1 pair of groups, or FAN * FAN pairs of their parts;
    level 0       |  |  |  |          |  |  |  |         then each point of a part of x with a part of y

A pair of groups is dropped if the distance of their boxes is not below the sum of their highest prices: no pair of
their points is then cheaper than its prices.  Every other pair of points is computed, so the result is exact.  With
NumPy only, except for the sorting; no solver shares this code.

O((n + m) log(n + m)) if the prices are near the distances of neighbours; at most O(n m).
"""

import numpy as np
import scipy

from assign.core.certificate import EPS
from assign.core.certificate_costs import DenseCosts

LEAF = 8
FAN = 4
MIN_COSTS = 1 << 22  # the matrix is faster for fewer costs
DECIDING_GROUPS = 64  # groups of x or y at which it is decided whether the search goes on or the matrix is computed
MAX_SHARE = 0.25  # of the pairs of groups that remain there; with more, the matrix is faster
PIECE = 1 << 14  # pairs of groups that are divided in one pass, so that their parts fit into the cache


class PointCosts(DenseCosts):
    """Distances between two point sets."""

    def __init__(self, x: np.ndarray, y: np.ndarray, metric: str):
        self.shape = len(x), len(y)
        self.is_integer = self.exact = False
        self._x, self._y, self._metric, self._mask, self._sign = x, y, metric, None, 1

    def pairs(self, row, col):
        paid = self._distances(np.abs(self._x[row] - self._y[col]).T)
        return paid, np.isfinite(paid)

    def slacks(self, u, v, tolerance: float) -> np.ndarray:
        n, m = self.shape
        if n * m >= MIN_COSTS and np.isfinite(self._x).all() and np.isfinite(self._y).all():
            # The rounding of a box's distance and of a sum of prices, and half the tolerance for pairs left out.
            spare = 8 * EPS * (np.abs(u).max() + np.abs(v).max()) - tolerance / 2
            order, x = _levels(self._x, u, self.shape)
            _, y = _levels(self._y, v, self.shape)
            found = _search(x, y, self._distances, spare)
            if found is not None:
                slacks = np.empty(n)
                slacks[order] = found[:n]
                return slacks
        return super().slacks(u, v, tolerance)

    def _distances(self, gaps):
        """Distances from absolute differences, given per coordinate."""
        if self._metric == "cityblock":
            return sum(gaps)
        squares = sum(gap * gap for gap in gaps)
        return np.sqrt(squares) if self._metric == "euclidean" else squares

    def _rows(self, part: slice) -> np.ndarray:
        return scipy.spatial.distance.cdist(self._x[part], self._y, self._metric)


def _levels(points, price, shape):
    """The order of the points, and per level (low, high, top): boxes (d, groups) and highest prices; points first."""
    order = scipy.spatial.cKDTree(points, LEAF).indices
    low = high = np.ascontiguousarray(points[order].T)
    levels = [(low, high, price[order])]
    fan = LEAF
    for _ in range(1 + int(np.ceil(np.log(max(shape) / LEAF) / np.log(FAN)))):
        low, high, top = levels[-1]
        spare = -len(top) % fan  # entries without children, dropped by their price, fill the last group
        low, high = (np.pad(box, [(0, 0), (0, spare)], "edge") for box in (low, high))
        levels[-1] = low, high, top = low, high, np.pad(top, (0, spare), constant_values=-np.inf)
        split = (len(points.T), -1, fan)
        levels.append((low.reshape(split).min(2), high.reshape(split).max(2), top.reshape(-1, fan).max(1)))
        fan = FAN
    return order, levels


def _search(x, y, distances, spare: float):
    """Minimum of 0 and distance - u - v per point of x, or None if the matrix is faster."""
    shrink = 1 - 4 * (len(x[0][0]) + 4) * EPS  # the computed distance of two boxes may be too large by rounding
    slacks = np.zeros(len(x[0][2]))

    def gaps(part, other, a, b):
        return (
            np.maximum(np.maximum(low[a] - high_y[b], low_y[b] - high[a]), 0)
            for low, high, low_y, high_y in zip(*part[:2], *other[:2], strict=True)
        )

    def remaining(part, other, a, b):
        near = distances(gaps(part, other, a, b)) * shrink < part[2][a] + other[2][b] + spare
        return a[near], b[near]

    work = [(len(x) - 1, np.zeros(1, np.int64), np.zeros(1, np.int64))]
    decided = False
    while work:
        level, a, b = work.pop()
        if not level:
            np.minimum.at(slacks, a, distances(gaps(x[0], y[0], a, b)) - y[0][2][b] - x[0][2][a])
            continue
        groups = len(x[level][2]), len(y[level][2])
        if not decided and max(groups) >= DECIDING_GROUPS:
            decided = True
            if len(a) > MAX_SHARE * groups[0] * groups[1]:
                return None
        fan = FAN if level > 1 else LEAF
        for first in range(0, len(a), PIECE):
            part, other = _parts(a[first : first + PIECE], b[first : first + PIECE], fan)
            part, other = remaining(x[level - 1], y[level], part, other)
            other, part = _parts(other, part, fan)
            work.append((level - 1, *remaining(x[level - 1], y[level - 1], part, other)))
    return slacks


def _parts(a, b, fan: int):
    """The parts of each group a, with the group b of each."""
    return (a[:, None] * fan + np.arange(fan)).ravel(), np.repeat(b, fan)
