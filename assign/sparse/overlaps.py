"""Costs of pairs of boxes from their overlap: of all pairs, or of those that overlap, as compressed rows.

The boxes y are sorted by their left edges.  Those that overlap a box of x begin left of its right edge, and at most the
largest width of y before its left edge; the others are not looked at.

    boxes (left, top, right, bottom);  generalised: subtract the share of the common bounding box that neither covers

O(n log m + pairs whose horizontal extents are that near); memory O(n + overlapping pairs).
"""

import numpy as np
from numba import prange

from gridcut.device import inner_kernel, kernel, parallel_kernel


@inner_kernel
def intersection(a, b):
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


@inner_kernel
def pair_cost(a, b, common, generalised):
    """1 minus the (generalised) intersection over union."""
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
    cost = 1.0 - common / union if common > 0 else 1.0
    if generalised:
        hull = (max(a[2], b[2]) - min(a[0], b[0])) * (max(a[3], b[3]) - min(a[1], b[1]))
        if hull > 0:
            cost += (hull - union) / hull
    return cost


@parallel_kernel
def all_costs(x, y, generalised, cost):
    """cost[i, j] of every pair."""
    for i in prange(len(x)):
        for j in range(len(y)):
            cost[i, j] = pair_cost(x[i], y[j], intersection(x[i], y[j]), generalised)


@kernel
def count_overlaps(x, y, left, widest, count):
    """count[i] = boxes of y that overlap x[i]; `left` are the left edges of y, ascending."""
    for i in range(len(x)):
        for j in range(np.searchsorted(left, x[i, 0] - widest), len(y)):
            if left[j] >= x[i, 2]:
                break
            count[i] += intersection(x[i], y[j]) > 0


@kernel
def list_overlaps(x, y, left, widest, order, generalised, indices, cost):
    """The overlapping pairs row by row, as columns order[j] and costs."""
    at = 0
    for i in range(len(x)):
        for j in range(np.searchsorted(left, x[i, 0] - widest), len(y)):
            if left[j] >= x[i, 2]:
                break
            common = intersection(x[i], y[j])
            if common > 0:
                indices[at] = order[j]
                cost[at] = pair_cost(x[i], y[j], common, generalised)
                at += 1


def overlaps(x, y, generalised: bool):
    """indptr, indices and costs of the pairs of boxes that overlap; indices of a row in any order."""
    order = np.argsort(y[:, 0], kind="stable")
    y = y[order]
    left = y[:, 0].copy()
    # A margin for the rounding of right - left and of the difference below.
    widest = (1 + 1e-12) * float((y[:, 2] - left).max(initial=0)) + 1e-12 * float(np.abs(left).max(initial=0))
    indptr = np.zeros(len(x) + 1, np.int64)
    count_overlaps(x, y, left, widest, indptr[1:])
    np.cumsum(indptr, out=indptr)
    indices, cost = np.empty(indptr[-1], np.int64), np.empty(indptr[-1])
    list_overlaps(x, y, left, widest, order, generalised, indices, cost)
    return indptr, indices, cost
