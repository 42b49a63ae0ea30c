"""Costs of points as `certify` reads them: only pairs whose distance may be below the sum of their prices are computed.

Both sets are sorted along a space-filling curve and divided into groups of FAN points, groups of FAN such groups, and
so on, each with its bounding box and its highest price.  The search starts with the pair of all x and all y and
replaces each pair of groups by the pairs of their parts.  Threads share the groups of x:

    level 2     [ x0 x1 x2 x3 ]     [ y0 y1 y2 y3 ]      1 pair of groups, or FAN * FAN pairs of their parts;
    level 1       |  |  |  |          |  |  |  |         then each point of a part of x with a part of y

A pair of groups is dropped if the distance of their boxes is not below the sum of their highest prices: no pair of
their points is then cheaper than its prices.  Every other pair of points is computed, so the result is exact.  With
NumPy only; no solver shares this code, except for the curve.

O((n + m) log(n + m)) if the prices are near the distances of neighbours; at most O(n m).
"""

from typing import NamedTuple

import numpy as np
import scipy

from assign.core.certificate import EPS
from assign.core.certificate_costs import DenseCosts
from assign.core.curve import curve
from gridcut.device import run_threads, thread_count

FAN = 8
MIN_COSTS = 1 << 22  # the matrix is faster for fewer costs
DECIDING_GROUPS = 64  # groups of x or y at which it is decided whether the search goes on or the matrix is computed
MAX_SHARE = 0.25  # of the pairs of groups that remain there; with more, the matrix is faster
PIECE = 1 << 11  # pairs of groups that are divided in one pass, so that their parts fit into the cache


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
            low, high = (reduce([reduce(a, axis=0) for a in (self._x, self._y)], axis=0) for reduce in (np.min, np.max))
            count = int(np.ceil(np.log(max(n, m)) / np.log(FAN)))
            sets = (self._x, u), (self._y, v)
            (order, x), (_, y) = run_threads(lambda side: _levels(*sets[side], low, high, count), 2)
            found = _search(x, y, self._distances, spare)
            if found is not None:
                slacks = np.empty(n)
                slacks[order] = found
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


class Level(NamedTuple):
    """Boxes (d, groups) and highest prices (groups,) of groups, and of their parts, (d, FAN, groups), (FAN, groups)."""

    low: np.ndarray
    high: np.ndarray
    top: np.ndarray
    part_low: np.ndarray | None = None
    part_high: np.ndarray | None = None
    part_top: np.ndarray | None = None


def _levels(points, price, low, high, count: int) -> tuple[np.ndarray, list[Level]]:
    """The order of the points; they, as groups of one point, and `count` levels of groups of FAN parts."""
    with np.errstate(all="ignore"):
        order = np.argsort(curve(points, low, high), kind="stable")
    low = high = np.stack([axis.take(order) for axis in points.T])
    levels = [Level(low, high, price.take(order))]
    for _ in range(count):
        low, high, top = levels[-1][:3]
        spare = -len(top) % FAN  # parts without points, dropped by their price, fill the last group
        if spare:
            low, high = (np.pad(box, [(0, 0), (0, spare)], "edge") for box in (low, high))
            top = np.pad(top, (0, spare), constant_values=-np.inf)
        split = (a.reshape(*a.shape[:-1], -1, FAN).swapaxes(-1, -2) for a in (low, high, top))
        low, high, top = (np.ascontiguousarray(a) for a in split)
        levels.append(Level(low.min(1), high.max(1), top.max(0), low, high, top))
    return order, levels


def _search(x, y, distances, spare: float):
    """Minimum of 0 and distance - u - v per point of x, or None if the matrix is faster."""
    shrink = 1 - 4 * (len(x[0].low) + 4) * EPS  # the computed distance of two boxes may be too large by rounding
    slacks = np.zeros(len(x[0].top))

    def near_parts(groups, others, a, b):
        """Pairs of the parts of `groups` a with `others` b that are not too far."""
        gaps = (
            np.maximum(np.maximum(_take(low, a) - _take(high_b, b), _take(low_b, b) - _take(high, a)), 0)
            for low, high, low_b, high_b in zip(*groups[3:5], *others[:2], strict=True)
        )
        near = distances(gaps) * shrink < _take(groups.part_top, a) + (_take(others.top, b) + spare)
        part, pair = np.nonzero(near)
        return a[pair] * FAN + part, b[pair]

    def divide(level, a, b):
        """The pairs of parts of a pair of groups; or, for parts that are points, their slacks."""
        a, b = near_parts(x[level], y[level], a, b)
        if level > 1:
            return near_parts(y[level], x[level - 1], b, a)[::-1]
        gaps = (np.abs(_take(part, b) - _take(point, a)) for part, point in zip(y[1].part_low, x[0].low, strict=True))
        least = (distances(gaps) - _take(y[1].part_top, b) - _take(x[0].top, a)).min(axis=0)
        below = least < 0
        np.minimum.at(slacks, a[below], least[below])
        return None

    def worker(thread):
        mine = a % threads == thread
        work = [(level, a[mine], b[mine])]
        with np.errstate(all="ignore"):
            while work:
                high, part, other = work.pop()
                for first in range(0, len(part), PIECE):
                    parts = divide(high, part[first : first + PIECE], other[first : first + PIECE])
                    if parts is not None:
                        work.append((high - 1, *parts))

    level, threads = len(x) - 1, thread_count()
    a = b = np.zeros(1, np.int64)
    while level > 1 and max(len(x[level].top), len(y[level].top)) < DECIDING_GROUPS:
        a, b = divide(level, a, b)
        level -= 1
    groups = len(x[level].top), len(y[level].top)
    if max(groups) >= DECIDING_GROUPS and len(a) > MAX_SHARE * groups[0] * groups[1]:
        return None
    run_threads(worker, threads)
    return slacks


def _take(values, index):
    """values[..., index], by the faster of NumPy's ways."""
    return values.take(index, axis=-1, mode="clip")
