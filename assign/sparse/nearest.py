"""Assignment of points to points, without the matrix of their distances.

A sparse problem with the nearest neighbours is solved.  Missing pairs whose distance is below the sum of their prices
are added, and the problem is solved again from these prices, until there are no such pairs.  Then the prices certify
optimality among all pairs.

All pairs must be checked, but few distances are computed.  The points are sorted along a space-filling curve and
divided into blocks of BLOCK points, each with its bounding box and highest price.  A point whose distance to the box is
at least its price plus that highest price has no such pair in the block.

    points sorted:   0 ......... BLOCK ......... 2 BLOCK ......    a block of x and a block of y are first
    boxes:           [low, high]   [low, high]                     compared by boxes, then each x with the box of y

Arrays (n rows, m columns, d coordinates)
  x[i, k], y[k, j]   sorted coordinates; y is transposed, so that distances to a block compile to vector code
  found[i]           up to MAX_FOUND columns of row i with the largest u + v - distance
  excess[i, .]       u + v - distance of each of them

Volgenant. "Linear and semi-assignment problems: a core oriented approach." Computers and Operations Research 23, 1996.

O(n m d) in the worst case to check all pairs; memory O((n + m) (d + neighbours)).
"""

from functools import partial

import numpy as np
from numba import prange
from scipy.spatial import cKDTree

from assign.core.certificate import tolerance
from assign.core.problem import METRICS
from assign.sparse.sparse import solve
from gridcut.device import inner_kernel, kernel, parallel_kernel

EUCLIDEAN, SQEUCLIDEAN, CITYBLOCK = range(len(METRICS))  # in kernels, a metric is its index
BLOCK = 32
GROUP = 32  # blocks of y that are first compared with a block of x together
MAX_FOUND = 12
NEIGHBOURS = 32
LIMITED_NEIGHBOURS = 16  # if rows may stay unmatched, they compete less for columns
MOVED_NEIGHBOURS = 12  # if most points moved less than their distance from others
MIN_MUTUAL = 0.55  # share of x whose nearest y has them as its nearest; of unrelated random points it is 0.50
SAMPLE = 2000  # points of x of which this share is taken
# Pairs that exceed their prices by up to this multiple of the mean distance are added too.
EXTRA_MARGIN = 0.5
CURVE_BITS = 62  # of a point's position on the curve


@inner_kernel
def box_distance(low, high, other_low, other_high, metric):
    """Minimum distance between points of two boxes."""
    total = 0.0
    for k in range(low.size):
        gap = max(low[k] - other_high[k], other_low[k] - high[k], 0.0)
        total += gap if metric == CITYBLOCK else gap * gap
    return np.sqrt(total) if metric == EUCLIDEAN else total


@kernel
def distances(point, y, first, end, metric, dist):
    """dist[:end - first] = distances of the point from the columns first to end - 1."""
    dist[:] = 0.0
    for k in range(point.size):
        coordinate = point[k]
        values = y[k, first:end]
        if metric == CITYBLOCK:
            for c in range(values.size):
                dist[c] += abs(values[c] - coordinate)
        else:
            for c in range(values.size):
                gap = values[c] - coordinate
                dist[c] += gap * gap
    if metric == EUCLIDEAN:
        for c in range(dist.size):
            dist[c] = np.sqrt(dist[c])


@kernel
def pair_distances(x, y, rows, columns, metric, cost):
    """cost[a] = distance of x[rows[a]] from y[:, columns[a]], in the same order of operations as `distances`."""
    for a in range(rows.size):
        total = 0.0
        for k in range(x.shape[1]):
            gap = y[k, columns[a]] - x[rows[a], k]
            total += abs(gap) if metric == CITYBLOCK else gap * gap
        cost[a] = np.sqrt(total) if metric == EUCLIDEAN else total


@parallel_kernel
def nearest_by_price(x, y, u, v, box_x, box_y, top_u, top_v, metric, slack, found, excess):
    """found, excess: pairs for which u + v exceeds the distance by more than `slack`."""
    n, m = x.shape[0], y.shape[1]
    last = found.shape[1] - 1
    groups = (box_y.shape[0] + GROUP - 1) // GROUP
    group_y, top_group = np.empty((groups, 2, x.shape[1])), np.empty(groups)
    for g in range(groups):
        part = slice(g * GROUP, (g + 1) * GROUP)
        top_group[g] = top_v[part].max()
        for k in range(x.shape[1]):
            group_y[g, 0, k] = box_y[part, 0, k].min()
            group_y[g, 1, k] = box_y[part, 1, k].max()
    for b in prange(box_x.shape[0]):
        dist = np.empty(BLOCK)
        point = np.empty(x.shape[1])
        for i in range(b * BLOCK, min((b + 1) * BLOCK, n)):
            found[i] = -1
            excess[i] = slack
        is_far = False
        for c in range(box_y.shape[0]):
            g = c // GROUP
            if c % GROUP == 0:
                apart = box_distance(box_x[b, 0], box_x[b, 1], group_y[g, 0], group_y[g, 1], metric)
                is_far = apart + slack >= top_u[b] + top_group[g]
            if is_far:
                continue
            if box_distance(box_x[b, 0], box_x[b, 1], box_y[c, 0], box_y[c, 1], metric) + slack >= top_u[b] + top_v[c]:
                continue
            first, end = c * BLOCK, min((c + 1) * BLOCK, m)
            for i in range(b * BLOCK, min((b + 1) * BLOCK, n)):
                for k in range(point.size):
                    point[k] = x[i, k]
                if box_distance(point, point, box_y[c, 0], box_y[c, 1], metric) + slack >= u[i] + top_v[c]:
                    continue
                distances(point, y, first, end, metric, dist)
                for j in range(first, end):
                    gain = u[i] + v[j] - dist[j - first]
                    if gain > excess[i, last]:
                        at = last
                        while at > 0 and excess[i, at - 1] < gain:
                            excess[i, at] = excess[i, at - 1]
                            found[i, at] = found[i, at - 1]
                            at -= 1
                        excess[i, at] = gain
                        found[i, at] = j


def curve_order(points, low, high):
    """Order of the points along a Z-order curve through the box from low to high."""
    d = points.shape[1]
    bits = min(CURVE_BITS // d, 16)
    span = np.where(high > low, high - low, 1.0)
    cells = np.minimum((points - low) / span * 2**bits, 2**bits - 1).astype(np.int64)
    code = np.zeros(len(points), np.int64)
    for bit in reversed(range(bits)):
        for k in range(d):
            code = (code << 1) | ((cells[:, k] >> bit) & 1)
    return np.argsort(code, kind="stable")


def boxes(points):
    """(blocks, 2, d): lowest and highest coordinates of each block."""
    first = np.arange(0, len(points), BLOCK)
    return np.stack((np.minimum.reduceat(points, first), np.maximum.reduceat(points, first)), axis=1)


def solve_points(x, y, metric="euclidean", *, limit=None, start=None, callback=None, neighbours=None):
    """Assign the points x (n, d) to y (m, d), n <= m, float64; returns col_of_row, u, v, stats as `sparse.solve`.

    metric      "euclidean", "sqeuclidean" or "cityblock"
    limit       distance at which row i may stay unmatched, or None
    start       (u, v) to start from
    callback    called as by `sparse.solve`, and after each sparse problem, with sums over all of them
    neighbours  nearest neighbours per point in the first sparse problem; None: by whether there is a limit
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
    if neighbours is None:
        neighbours = NEIGHBOURS if limit is None else LIMITED_NEIGHBOURS
    if not neighbours >= 1:
        raise ValueError(f"neighbours must be positive, got {neighbours!r}")
    n, m = len(x), len(y)
    v = np.zeros(m) if start is None else np.asarray(start[1], np.float64)
    if n == 0:
        return np.empty(0, np.int32), np.empty(0), np.zeros(m), {"rounds": 0, "pairs": 0}
    low, high = np.minimum(x.min(axis=0), y.min(axis=0)), np.maximum(x.max(axis=0), y.max(axis=0))
    order_x, order_y = curve_order(x, low, high), curve_order(y, low, high)
    x, y = np.ascontiguousarray(x[order_x]), np.ascontiguousarray(y[order_y])
    if limit is not None:
        limit = np.asarray(limit, np.float64)[order_x]
    across = y.T.copy()
    which = METRICS.index(metric)
    key = _first_pairs(x, y, metric, limit is None, int(neighbours))
    u, prices = None, v[order_y]
    warm = start is not None
    col_of = None
    stats = {"rounds": 0, "pairs": 0}
    box_x, box_y = boxes(x), boxes(y)
    found, excess = np.empty((n, MAX_FOUND), np.int32), np.empty((n, MAX_FOUND))
    while True:
        rows, columns = key // m, (key % m).astype(np.int32)
        cost = np.empty(len(key))
        pair_distances(x, across, rows, columns, which, cost)
        indptr = np.searchsorted(key, np.arange(n + 1) * np.int64(m))
        old = (u, prices) if warm else None
        report = None if callback is None else partial(_report, callback, stats)
        options = {"limit": limit, "start": old, "matched": col_of, "callback": report}
        col_of, u, prices, counts = solve(indptr, columns, cost, m, **options)
        warm = True
        stats = _sums(stats, counts)
        stats["rounds"] += 1
        stats["pairs"] = len(key)
        if callback is not None:
            callback(dict(stats))
        slack = tolerance((n, m), _largest_paid(x, across, which, col_of, limit)) / 4
        tops = [np.maximum.reduceat(p, np.arange(0, len(p), BLOCK)) for p in (u, prices)]
        margin = EXTRA_MARGIN * float(cost.mean())
        nearest_by_price(x, across, u, prices, box_x, box_y, *tops, which, slack - margin, found, excess)
        if not (excess[:, 0] > slack).any():
            break
        row, slot = np.nonzero(found >= 0)
        more = _distinct(np.concatenate((key, row * np.int64(m) + found[row, slot])))
        if len(more) == len(key):
            break  # only existing pairs are violated, by rounding
        key = more
    col_of_row, u_of, v_of = np.full(n, -1, np.int32), np.empty(n), np.empty(m)
    matched = col_of >= 0
    col_of_row[order_x[matched]] = order_y[col_of[matched]]
    u_of[order_x], v_of[order_y] = u, prices
    return col_of_row, u_of, v_of, stats


def _sums(stats, counts) -> dict:
    return {**stats, **{name: stats.get(name, 0) + count for name, count in counts.items()}}


def _report(callback, stats, counts) -> None:
    """Call the caller's callback with the counters of all sparse problems so far."""
    callback(_sums(stats, counts))


def _largest_paid(x, across, which, col_of, limit) -> float:
    """The largest distance of a matched pair or limit of an unmatched row; distant points count only if matched."""
    row = np.flatnonzero(col_of >= 0)
    paid = np.empty(len(row))
    pair_distances(x, across, row, col_of[row], which, paid)
    alone = np.empty(0) if limit is None else np.abs(limit[col_of < 0])
    return float(max(paid.max(initial=0), alone.max(initial=0)))


def _first_pairs(x, y, metric, all_matched, neighbours):
    """Sorted pairs row * m + column: nearest neighbours, and a matching of all rows if all must be matched."""
    n, m = len(x), len(y)
    of_x, of_y = cKDTree(x), cKDTree(y)
    options = {"p": 1 if metric == "cityblock" else 2, "workers": -1}
    sample = np.arange(0, n, 1 + n // SAMPLE)
    mutual = of_x.query(y[of_y.query(x[sample], **options)[1]], **options)[1] == sample
    if mutual.mean() > MIN_MUTUAL:
        neighbours = min(neighbours, MOVED_NEIGHBOURS)
    near = of_y.query(x, min(neighbours, m), **options)[1].reshape(n, -1)
    keys = [(np.arange(n)[:, None] * np.int64(m) + near).ravel()]
    if m <= 2 * n:
        near = of_x.query(y, min(neighbours, n), **options)[1].reshape(m, -1)
        keys.append((near * np.int64(m) + np.arange(m)[:, None]).ravel())
    if all_matched:
        keys.append(np.arange(n) * np.int64(m) + np.arange(n) * m // n)
    return _distinct(np.concatenate(keys))


def _distinct(keys):
    """Sorted distinct keys; np.unique does not benefit from partially sorted input."""
    keys = np.sort(keys, kind="stable")
    return keys[np.append(True, keys[1:] != keys[:-1])]
