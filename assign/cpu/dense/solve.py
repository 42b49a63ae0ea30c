"""Dense costs, the default: shortest augmenting paths on short lists, with an auction where searches grow long.

Returns the column of each row (-1: unmatched) and prices that prove it optimal; n <= m.

    start prices  ->  lists  ->  bids  ->  searches  ->  (auction  ->  bids  ->  searches)

Every step leaves the same state (Work): prices that are feasible, lists that are true for them, and a matching of
tight pairs.  The next step only ever has fewer rows to match, so that the end is exact whatever the steps before
the last achieved: how well prices start, how long bids go on and what the auction's step is are matters of time.

Which steps are taken is decided by measuring the work at hand, all in this file:

start      Column minima suit most costs.  Where rows mostly want the same few columns (costs like a sum or product of a
           row's and a column's own value) the bids leave most rows unmatched; prices taken over from a quarter of
           the rows and columns, solved first, are then tens of times better.
searches   go on while the work they have taken for each row promises that all of it is less than an auction's.
auction    with a falling step takes over otherwise: geometric costs, low rank.

Where columns may stay unmatched (n < m, `limit`) prices start at 0 and only bids and searches lower them, because an
unmatched column's price has to be 0 at the end; there is no auction and no coarse start.
"""

from typing import NamedTuple

import numpy as np

from assign.cpu.dense.auction import auction, release
from assign.cpu.dense.augment import READING, augment
from assign.cpu.dense.bidding import bid
from assign.cpu.dense.lists import build, infinity
from assign.cpu.dense.prices import column_minima, prices_from_rows, raise_to_zero
from assign.cpu.dense.sorting import sorted_prices
from assign.infeasible import InfeasibleError

LENGTH = 16  # of lists; 8 and 32 were slower on most families
BIDS = 10  # bids a row, at most, in one step
COARSE = 4  # one row and column in this many is in the coarse problem
COARSE_FROM = 128  # smaller problems take longer to look at than to solve
CONTESTED = 0.4  # of the rows unmatched after bids: uniform and geometric costs leave a quarter, others half and more
BUDGET = 4  # rows looked at, in units of n, before searches are judged again
LONG = 32  # rows looked at, in units of n, by which an auction is done
STEP = 4  # the auction's step falls by this factor
PHASES = 8  # the first step is the mean reach of the lists, the last one a sixteen-thousandth of that
AUCTION_BIDS = 50  # a row, at most, in one phase


class Work(NamedTuple):
    """One problem being solved; see lists.py for the lists."""

    cost: np.ndarray
    v: np.ndarray
    u: np.ndarray
    limit: np.ndarray  # empty: rows must be matched
    col_of: np.ndarray
    row_of: np.ndarray
    far: object
    column: np.ndarray
    price: np.ndarray
    low: np.ndarray
    bound: np.ndarray
    reach: np.ndarray
    free: np.ndarray  # rows to match, and room for one more


def solve(cost, *, limit=None, start=None, callback=None, length=LENGTH, long=LONG, coarse=None):
    """Columns of the rows, prices u and v, and counts of what was done.

    `length` of the lists; `long`: the work from which an auction is preferred to searches, 0: at once; `coarse`
    start prices: True, False or None (where bids leave many rows).
    """
    n, m = cost.shape
    kind = np.float64 if cost.dtype.kind == "f" else np.int64
    stats = {"bids": 0, "rows_reached": 0, "rows_read": 0, "auction_bids": 0, "coarse": 0, "sorted": 0}
    if n == 0:
        return np.empty(0, np.int32), np.empty(0, kind), np.zeros(m, kind), stats
    if n == m and limit is None:
        work = square(cost, None if start is None else start[1], length, long, coarse, stats)
    else:
        limits = np.empty(0, kind) if limit is None else np.ascontiguousarray(limit, dtype=kind)
        if start is None:
            work = prepare(cost, np.zeros(m, kind), limits, length)
        else:
            v, holder = raise_to_zero(cost, np.minimum(start[1], 0).astype(kind), limits)
            work = prepare(cost, v, limits, length)
            seat(work, holder)
        search(work, bid_all(work, stats), np.inf, stats)
    return work.col_of, work.u, work.v, stats


def square(cost, v, length, long, coarse, stats) -> Work:
    """Match all rows and columns, from column prices v or, if None, from prices found here."""
    n = len(cost)
    kind = np.float64 if cost.dtype.kind == "f" else np.int64
    nothing = np.empty(0, kind)
    if v is not None:
        coarse = False
    elif n < COARSE_FROM:
        coarse = False
    if coarse is not True:
        work = prepare(cost, column_minima(cost, kind) if v is None else np.array(v, dtype=kind), nothing, length)
        left = bid_all(work, stats)
        coarse = coarse is None and left > CONTESTED * n
    found = sorted_prices(cost, kind) if coarse else None
    if found is not None:
        v, holder = found
        work = prepare(cost, v, nothing, length)
        pair_cost = cost[holder, np.arange(n)] - v
        seat(work, np.where(pair_cost <= work.u[holder], holder, -1))
        stats["sorted"] += 1
        left = bid_all(work, stats)
    elif coarse:
        chosen = np.arange(0, n, COARSE)
        part = cost[chosen][:, chosen]
        try:
            v = prices_from_rows(cost, chosen, square(part, None, length, long, True, stats).u)
        except InfeasibleError:  # says nothing about the whole problem
            v = column_minima(cost, kind)
        stats["coarse"] += 1
        work = prepare(cost, v, nothing, length)
        left = bid_all(work, stats)
    search(work, left, long, stats)
    return work


def prepare(cost, v, limit, length) -> Work:
    """Lists for the prices v; nobody is matched."""
    n, m = cost.shape
    k = min(length, m)
    far = infinity(v.dtype)
    work = Work(
        cost, v, np.empty(n, v.dtype), limit, np.full(n, -1, np.int32), np.full(m, -1, np.int32), far,
        np.empty((n, k), np.int32), *(np.empty((n, k), v.dtype) for _ in range(2)),
        *(np.empty(n, v.dtype) for _ in range(2)), np.arange(n + 1, dtype=np.int32),
    )  # fmt: skip
    build(cost, v, far, work.column, work.price, work.low, work.bound, work.reach)
    np.copyto(work.u, work.low[:, 0])
    work.u[work.u >= far] = 0
    if limit.size:
        np.minimum(work.u, limit, out=work.u)
    return work


def seat(work, holder):
    """Match tight pairs that are known: column j with row holder[j], -1 for none."""
    taken = np.flatnonzero(holder >= 0)
    work.row_of[taken] = holder[taken]
    work.col_of[holder[taken]] = taken


def bid_all(work, stats):
    """Bids of all unmatched rows; returns how many are left, in `free`."""
    waiting = np.flatnonzero(work.col_of < 0)
    work.free[: len(waiting)] = waiting
    left, bids, read = bid(*work, len(waiting), BIDS * len(work.cost))
    stats["bids"] += bids
    stats["rows_read"] += read
    return left


def search(work, left, long, stats):
    """Searches from the rows in `free`, after an auction if they would take more work than `long`."""
    n = len(work.cost)
    spent = done = 0
    while left > 0:
        # Searches grow longer as fewer columns are free, so the rest takes more than its share: twice, say.
        if spent + 2 * spent / max(done, 1) * left > long * n or long == 0:
            left = outbid(work, left, stats)
            long = np.inf
            continue
        before = left
        reached, read, left, failed = augment(*work, left, BUDGET * n if long < np.inf else 2**62)
        spent += reached + READING * read
        done += before - left
        stats["rows_reached"] += reached
        stats["rows_read"] += read
        if failed >= 0:
            rows = np.sort(work.free[:failed])
            raise InfeasibleError(rows, np.flatnonzero(np.isfinite(work.cost[rows]).any(axis=0)))


def outbid(work, left, stats):
    """The auction and, for rows whose pair is not tight after it, bids; returns how many rows are left."""
    n = len(work.cost)
    known = work.bound < work.far
    if known.any():
        step = np.mean(work.bound[known] - work.low[known, 0])
        for _ in range(PHASES):
            step = step if work.v.dtype.kind == "f" else max(int(step), 1)
            left, read = release(*work, work.v.dtype.type(step))
            stats["rows_read"] += read
            left, bids, read = auction(*work, left, work.v.dtype.type(step), AUCTION_BIDS * n)
            stats["auction_bids"] += bids
            stats["rows_read"] += read
            if left > 0 or step == 1:
                break
            step /= STEP
    left, read = release(*work, work.v.dtype.type(0))
    stats["rows_read"] += read
    return bid_all(work, stats)
