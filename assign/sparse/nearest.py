"""Assignment of points to points, without the matrix of their distances.

A sparse problem with the nearest neighbours is solved.  Missing pairs whose distance is below the sum of their prices
are added, and the problem is solved again from these prices, until there are no such pairs.  Then the prices certify
optimality among all pairs.

All pairs are checked, but few distances are computed.  The points are sorted along a space-filling curve and divided
into blocks of BLOCK points, groups of FAN blocks, groups of FAN such groups, and so on, each with its bounding box and
highest price.  A search from a block of x starts with the block of y at the same place of the curve, and then descends
from the group of all y, nearest boxes first.  It skips boxes too far for the prices.

    points sorted:   0 ... BLOCK ... 2 BLOCK ... 3 BLOCK ...
    boxes:           [  block  ][  block  ][  block  ][  ...
                     [           group of FAN blocks         ]    groups of groups, up to one of all points

One kernel serves two ends.  With prices 0 it finds nearest neighbours; with the prices of a solution it finds the pairs
that violate them most.  Its lists also bound all other pairs: with the smallest value in the list of row i,

    u[i] + v[j] - distance[i, j] <= smallest[i]    for all columns j that are not in the list.

So row i need not be searched again until u[i] and the prices v have together risen by -smallest[i].  The first lists,
of nearest neighbours, are such bounds too.  If points moved little, hardly any row is searched again.

Arrays (n rows, m columns, d coordinates)
  x[k, i], y[k, j]   sorted coordinates, one row per axis, so that distances to a block compile to vector code
  found[i]           up to `size` columns of row i with the largest u + v - distance
  excess[i, .]       u + v - distance of each of them, descending
  bound[i]           no pair outside the sparse problem violates the prices while u[i] is at most this
  indptr, columns    pairs of the sparse problem in CSR form

Volgenant. "Linear and semi-assignment problems: a core oriented approach." Computers and Operations Research 23, 1996.

O(n m d) in the worst case to check all pairs; memory O((n + m) (d + neighbours)).
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from assign.core.certificate import FLOAT_MAX, tolerance
from assign.core.curve import curve, extent
from assign.core.problem import METRICS, HandedOver
from assign.sparse.sparse import solve
from gridcut.device import atomic_add, inner_kernel, kernel, plain_kernel, run_threads, thread_count

EUCLIDEAN, SQEUCLIDEAN, CITYBLOCK = range(len(METRICS))  # in kernels, a metric is its index
BLOCK = 32
FAN = 8
STACK = 16 * FAN  # groups on the stack of a search; 9 levels of groups hold 2^31 points
MAX_FOUND = 12
NEIGHBOURS = 48
FEW_NEIGHBOURS = 8  # if rows compete little: they may stay unmatched, or most points moved less than their distance
# Shares of x whose nearest y has them as its nearest; of unrelated random points it is 0.50.  Above MIN_MUTUAL points
# moved little; below FEW_MUTUAL near pairs say little about an optimum, and rounds may add most pairs.
MIN_MUTUAL, FEW_MUTUAL = 0.55, 0.45
SAMPLE = 2000  # points of x of which this share is taken
# Pairs that exceed their prices by up to this multiple of the mean distance are added too.
EXTRA_MARGIN = 0.5
MIN_ROWS_PER_THREAD = 256  # a thread starts in the time of about 30 rows
MOST = 0.9  # of the pairs that rounds can add; points that have enough near pairs get at most 0.83
CHUNK = 1 << 16  # rows that are searched before their lists are stored


class Tree(NamedTuple):
    """Points in the order of the curve, and their groups: blocks first, the group of all points last."""

    points: np.ndarray  # (d, n)
    code: np.ndarray  # (blocks,) position of each block on the curve
    box: np.ndarray  # (groups, 2, d) lowest and highest coordinates
    first: np.ndarray  # (levels + 1,) first group of each level

    def tops(self, price):
        """Highest price of each group."""
        return np.concatenate(list(_levels(np.maximum, price)))


def tree_of(points, low, high):
    """The order of points (n, d) along a Z-order curve through the box from low to high, and their Tree."""
    code = curve(points, low, high)
    order = np.argsort(code, kind="stable").astype(np.int32)
    across = np.stack([axis[order] for axis in points.T])
    lows, highs = (list(_levels(smallest, across)) for smallest in (np.minimum, np.maximum))
    box = np.stack([np.concatenate(part, axis=1).T for part in (lows, highs)], axis=1)
    box = np.ascontiguousarray(box)  # for a single type of kernel, whatever the number of groups
    first = np.cumsum([0] + [part.shape[1] for part in lows])
    return order, Tree(across, code[order[::BLOCK]], box, first)


def _levels(reduce, values):
    """Reduce values (..., n) to the blocks, then to groups of FAN blocks and so on."""
    fan = BLOCK
    while True:
        values = reduce.reduceat(values, np.arange(0, values.shape[-1], fan), axis=-1)
        yield values
        if values.shape[-1] == 1:
            return
        fan = FAN


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


def pair_distances(x, y, indptr, columns, metric):
    """The distance of each pair (CSR form), by all threads."""
    cost, threads = np.empty(len(columns)), thread_count()
    ends = np.arange(threads + 1) * (len(indptr) - 1) // threads
    run_threads(lambda t: pair_distances_kernel(x, y, indptr, columns, metric, ends[t], ends[t + 1], cost), threads)
    return cost


@plain_kernel
def pair_distances_kernel(x, y, indptr, columns, metric, first, end, cost):
    """cost[a] = distance of the pair a of the rows first to end - 1, in the same order of operations as `distances`."""
    for i in range(first, end):
        for a in range(indptr[i], indptr[i + 1]):
            total = 0.0
            for k in range(x.shape[0]):
                gap = y[k, columns[a]] - x[k, i]
                total += abs(gap) if metric == CITYBLOCK else gap * gap
            cost[a] = np.sqrt(total) if metric == EUCLIDEAN else total


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@kernel
def nearest_by_price(taken, x, y, u, v, box_x, box_y, first_y, top_v, home, block, metric, least, found, excess):
    """found, excess: for the rows of the blocks block, block + 1, ... the pairs with u + v - distance > least.

    Threads take the blocks in turn; taken: the number of those taken.
    """
    n, m, d = x.shape[1], y.shape[1], x.shape[0]
    last = found.shape[1] - 1
    skip = block * BLOCK
    blocks = (found.shape[0] + BLOCK - 1) // BLOCK
    dist, point = np.empty(BLOCK), np.empty(d)
    stack, keys = np.empty((STACK, 2), np.int64), np.empty(STACK)
    while True:
        b = block + atomic_add(taken, 0, 1)
        if b >= block + blocks:
            break
        begin, stop = b * BLOCK, min((b + 1) * BLOCK, n)
        reach = -np.inf
        for i in range(begin, stop):
            reach = max(reach, u[i] - least)  # a pair needs distance - v < reach
            for k in range(last + 1):
                found[i - skip, k] = -1
                excess[i - skip, k] = least
        stack[0, 0], stack[0, 1], keys[0] = first_y.size - 2, 0, -np.inf
        stack[1, 0], stack[1, 1], keys[1] = 0, home[b], -np.inf
        depth, is_started = 2, False
        while depth:
            depth -= 1
            level, c = stack[depth, 0], stack[depth, 1]
            if keys[depth] >= reach or (is_started and level == 0 and c == home[b]):
                continue
            is_started = True
            if level:
                below = first_y[level - 1]
                bottom = depth
                for child in range(c * FAN, min((c + 1) * FAN, first_y[level] - below)):
                    g = below + child
                    key = box_distance(box_x[b, 0], box_x[b, 1], box_y[g, 0], box_y[g, 1], metric) - top_v[g]
                    if key < reach:
                        at = depth
                        while at > bottom and keys[at - 1] < key:
                            keys[at], stack[at, 1] = keys[at - 1], stack[at - 1, 1]
                            at -= 1
                        keys[at], stack[at, 1] = key, child
                        stack[depth, 0] = level - 1
                        depth += 1
                continue
            first, end = c * BLOCK, min((c + 1) * BLOCK, m)
            reach = -np.inf
            for i in range(begin, stop):
                r = i - skip
                for k in range(d):
                    point[k] = x[k, i]
                if box_distance(point, point, box_y[c, 0], box_y[c, 1], metric) - top_v[c] < u[i] - excess[r, last]:
                    distances(point, y, first, end, metric, dist)
                    for j in range(first, end):
                        gain = u[i] + v[j] - dist[j - first]
                        if gain > excess[r, last]:
                            at = last
                            while at > 0 and excess[r, at - 1] < gain:
                                excess[r, at] = excess[r, at - 1]
                                found[r, at] = found[r, at - 1]
                                at -= 1
                            excess[r, at] = gain
                            found[r, at] = j
                reach = max(reach, u[i] - excess[r, last])


def search(x, y, u, v, metric, least, size):
    """Find up to `size` pairs per row with the largest u + v - distance > least; u is -inf for rows without a search.

    Returns the pairs in CSR form, and the largest and the smallest value in the list of each row, at least `least`.
    """
    n = x.points.shape[1]
    home = np.maximum(np.searchsorted(y.code, x.code, side="right") - 1, 0)
    top_v = y.tops(v)
    counts, columns = np.zeros(n + 1, np.int64), []
    largest, smallest = np.empty(n), np.empty(n)
    found, excess = np.empty((min(n, CHUNK), size), np.int32), np.empty((min(n, CHUNK), size))
    for first in range(0, n, CHUNK):
        part = slice(first, min(first + CHUNK, n))
        found, excess = found[: part.stop - first], excess[: part.stop - first]
        arrays = x.points, y.points, u, v, x.box, y.box, y.first, top_v, home
        _by_threads(found.shape[0], *arrays, first // BLOCK, metric, least, found, excess)
        largest[part], smallest[part] = excess[:, 0], excess[:, -1]
        found.sort(axis=1)
        is_found = found >= 0
        counts[first + 1 : part.stop + 1] = np.count_nonzero(is_found, axis=1)
        columns.append(found[is_found])
    return np.cumsum(counts), np.concatenate(columns), largest, smallest


def _by_threads(rows, *arguments):
    """`nearest_by_price` for a number of rows."""
    taken = np.zeros(1, np.int64)
    run_threads(lambda _: nearest_by_price(taken, *arguments), min(thread_count(), 1 + rows // MIN_ROWS_PER_THREAD))


@kernel
def merged(indptr, columns, other_indptr, other_columns):
    """The pairs of both, in CSR form; the columns of a row ascend, here and there."""
    start = np.zeros(indptr.size, np.int64)
    both = np.empty(columns.size + other_columns.size, np.int32)
    size = 0
    for i in range(indptr.size - 1):
        a, b = indptr[i], other_indptr[i]
        end, other_end = indptr[i + 1], other_indptr[i + 1]
        while a < end or b < other_end:
            if b == other_end or (a < end and columns[a] <= other_columns[b]):
                j = columns[a]
                b += b < other_end and other_columns[b] == j
                a += 1
            else:
                j = other_columns[b]
                b += 1
            both[size] = j
            size += 1
        start[i + 1] = size
    return start, both[:size]


def solve_points(x, y, metric="euclidean", *, limit=None, start=None, callback=None, neighbours=None, rounds=None):
    """Assign the points x (n, d) to y (m, d), n <= m, float64; returns col_of_row, u, v, stats as `sparse.solve`.

    metric      "euclidean", "sqeuclidean" or "cityblock"
    limit       distance at which row i may stay unmatched, or None
    start       (u, v) to start from
    callback    called as by `sparse.solve`, and after each sparse problem, with sums over all of them
    neighbours  nearest neighbours per point in the first sparse problem; None: by whether there is a limit
    rounds      raise HandedOver if few points are each other's nearest, or this many rounds give most rows as many
                pairs as a round can; None: never
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
    if neighbours is None:
        neighbours = NEIGHBOURS if limit is None else FEW_NEIGHBOURS
    if not neighbours >= 1:
        raise ValueError(f"neighbours must be positive, got {neighbours!r}")
    n, m = len(x), len(y)
    if n == 0:
        return np.empty(0, np.int32), np.empty(0), np.zeros(m), {"rounds": 0, "pairs": 0, "searched": 0}
    y, *extra = _centred(x, y) if metric == "sqeuclidean" and limit is None and n == m else (y, 0, 0)
    sets, box = (x, y), extent(x, y)
    (order_x, x), (order_y, y) = run_threads(lambda side: tree_of(sets[side], *box), 2)
    if limit is not None:
        limit = np.asarray(limit, np.float64)[order_x]
    metric = METRICS.index(metric)
    mutual = _mutual_share(x, y, metric)
    if rounds is not None and mutual < FEW_MUTUAL:
        raise HandedOver
    is_moved = limit is None and mutual > MIN_MUTUAL
    indptr, columns, bound = _first_pairs(x, y, metric, limit is None, int(neighbours), is_moved)
    first = len(columns)
    v = np.zeros(m)
    old = None if start is None else (np.asarray(start[1], np.float64) - extra[1])[order_y]
    col_of = None
    if is_moved:  # paths are short, and need no auction first
        old, col_of = v if old is None else old, np.full(n, -1, np.int32)
    stats = {"rounds": 0, "pairs": 0, "searched": 0}
    while True:
        cost = pair_distances(x.points, y.points, indptr, columns, metric)
        report = None if callback is None else partial(_report, callback, stats)
        options = {"limit": limit, "start": None if old is None else (None, old), "matched": col_of, "callback": report}
        col_of, u, old, counts = solve(indptr, columns, cost, m, **options)
        stats = _sums(stats, counts)
        stats["rounds"] += 1
        stats["pairs"] = len(columns)
        if callback is not None:
            callback(dict(stats))
        slack = tolerance((n, m), _largest_paid(x, y, metric, col_of, limit)) / 4
        margin = EXTRA_MARGIN * float(cost.mean())
        del cost  # the search is then not the peak of memory
        bound -= max((old - v).max(), 0)
        v = old
        again = u > bound + slack
        stats["searched"] += int(np.count_nonzero(again))
        active = np.where(again, u, -np.inf)
        *more, largest, smallest = search(x, y, active, v, metric, slack - margin, MAX_FOUND)
        bound[again] = u[again] - smallest[again]
        if not (largest[again] > slack).any():
            break
        pairs = len(columns)
        indptr, columns = merged(indptr, columns, *more)
        if len(columns) == pairs:
            break  # only existing pairs are violated, by rounding
        if stats["rounds"] == rounds and len(columns) - first > MOST * rounds * MAX_FOUND * n:
            raise HandedOver
    col_of_row, u_of, v_of = np.full(n, -1, np.int32), np.empty(n), np.empty(m)
    matched = col_of >= 0
    col_of_row[order_x[matched]] = order_y[col_of[matched]]
    u_of[order_x], v_of[order_y] = u, v
    u_of += extra[0]
    v_of += extra[1]
    return col_of_row, u_of, v_of, stats


def _centred(x, y):
    """The points y moved to the centre of x, and what to add to the prices of x and y for the points y as they are.

    If all points are matched, the squares of both distances differ by terms per point only.  The move is a multiple of
    the unit of y, so that it rounds no point that it does not move far.
    """
    centre, unit = x.mean(axis=0), np.spacing(np.abs(y).max())
    move = np.rint((y.mean(axis=0) - centre) / unit) * unit
    y = y - move
    return y, (move - 2 * (x - centre)) @ move, 2 * (y - centre) @ move


def _sums(stats, counts) -> dict:
    return {**stats, **{name: stats.get(name, 0) + count for name, count in counts.items()}}


def _report(callback, stats, counts) -> None:
    """Call the caller's callback with the counters of all sparse problems so far."""
    callback(_sums(stats, counts))


def _largest_paid(x, y, metric, col_of, limit) -> float:
    """The largest distance of a matched pair or limit of an unmatched row; distant points count only if matched."""
    matched = col_of >= 0
    paid = pair_distances(x.points, y.points, np.append(0, np.cumsum(matched)), col_of[matched], metric)
    alone = np.empty(0) if limit is None else np.abs(limit[col_of < 0])
    return float(max(paid.max(initial=0), alone.max(initial=0)))


def _mutual_share(x, y, metric):
    """Share of points of x whose nearest y has them as its nearest, in a sample."""
    n = x.points.shape[1]
    sample = np.flatnonzero(np.arange(n) // BLOCK % (1 + n // SAMPLE) == 0)
    near = _nearest(x, y, metric, sample, 1)[1]
    indptr, back = _nearest(y, x, metric, near, 1)[:2]
    return np.mean(back[indptr[near]] == sample)


def _first_pairs(x, y, metric, all_matched, neighbours, is_moved):
    """Pairs of the first sparse problem, and the bounds of the rows outside of it.

    The pairs are nearest neighbours, and a matching of all rows if all must be matched.
    """
    n, m = x.points.shape[1], y.points.shape[1]
    neighbours = min(neighbours, FEW_NEIGHBOURS if is_moved else m, m)
    indptr, columns, _, smallest = _nearest(x, y, metric, slice(None), neighbours)
    if all_matched:
        indptr, columns = merged(indptr, columns, np.arange(n + 1), (np.arange(n) * m // n).astype(np.int32))
    return indptr, columns, -smallest


def _nearest(x, y, metric, rows, size):
    """The `size` nearest columns of some rows, as `search` returns them."""
    u = np.full(x.points.shape[1], -np.inf)
    u[rows] = 0
    return search(x, y, u, np.zeros(y.points.shape[1]), metric, -FLOAT_MAX, size)
