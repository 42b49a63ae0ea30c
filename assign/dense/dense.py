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
searches   go on while they get through their rows quickly: uniform costs, two costs, fixed charges, tracks.
auction    with a falling step takes over otherwise: geometric costs, low rank.

Where columns may stay unmatched (n < m, `limit`) prices start at 0 and only bids and searches lower them, because an
unmatched column's price has to be 0 at the end; there is no auction and no coarse start.

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
38, 1987.
[2] Volgenant. "Linear and semi-assignment problems: a core oriented approach." Computers and Operations Research 23,
1996.
[3] Bertsekas. "The auction algorithm: a distributed relaxation method for the assignment problem." Annals of Operations
Research 14, 1988.

O(n^2 m) at worst; memory beyond the costs O(n) times the length of lists.
"""

from typing import NamedTuple

import numpy as np

from assign.core.infeasible import InfeasibleError
from assign.core.start import lost_digits
from assign.dense.bidding import bid
from assign.dense.cheap_columns import build, infinity_of
from assign.dense.dense_auction import release, run_phase
from assign.dense.dense_augment import SCANS_PER_ROW_READ, augment
from assign.dense.first_prices import column_minima, prices_from_rows, raise_to_zero
from assign.dense.sorting import sorted_prices
from gridcut.device.arguments import check_count

LIST_LENGTH = 16  # of lists; 8 and 32 were slower on most families
BIDS_PER_ROW = 10  # bids a row, at most, in one step
COARSE_STRIDE = 4  # one row and column in this many is in the coarse problem
COARSE_MIN_ROWS = 128  # smaller problems take longer to look at than to solve
# Share of rows unmatched after the bids above which a coarse start is tried: uniform and geometric costs leave a
# quarter, others half and more.
MAX_UNMATCHED_SHARE = 0.4
# Searches are judged when they have looked at this many rows (in units of n): an auction takes over if they have left
# more than this share of what they began with.  Geometric and low-rank costs leave 0.6 and 0.4 and would go on for 150
# to 400 n, at three times the auction's time; two-cost matrices leave 0.5 and 0.25 and are done by 60 n, a fifth of it.
AUCTION_CHECKPOINTS = ((4, 0.58), (10, 0.33), (60, 0.1))
STEP_DIVISOR = 4  # the auction's step falls by this factor
PHASES = 8  # the first step is the mean reach of the lists, the last one a sixteen-thousandth of that
AUCTION_BIDS_PER_ROW = 50  # a row, at most, in one phase
MAX_AUCTION_PRICE = 2**45  # prices from which there is no auction: its steps could add up to more than int64 holds


class Work(NamedTuple):
    """One problem being solved; see lists.py for the lists."""

    cost: np.ndarray
    v: np.ndarray
    u: np.ndarray
    limit: np.ndarray  # empty: rows must be matched
    col_of: np.ndarray
    row_of: np.ndarray
    infinity: object
    column: np.ndarray
    price: np.ndarray
    low: np.ndarray
    bound: np.ndarray
    width: np.ndarray
    free: np.ndarray  # rows to match, and room for one more


def solve(cost, *, limit=None, start=None, callback=None, list_length=LIST_LENGTH, auction=None, coarse_start=None):
    """Columns of the rows, prices u and v, and counts of what was done.

    `length` of the lists; `auctions`: True (before any search), False (never) or None (where searches grow long);
    `coarse` start prices: True, False or None (where bids leave many rows).
    """
    list_length = check_count("list_length", list_length)
    n, m = cost.shape
    kind = np.float64 if cost.dtype.kind == "f" else np.int64

    def report():
        if callback is not None:
            callback(dict(stats))

    stats = {"bids": 0, "rows_reached": 0, "rows_read": 0, "auction_bids": 0, "coarse": 0, "sorted": 0}
    if n == 0:
        return np.empty(0, np.int32), np.empty(0, kind), np.zeros(m, kind), stats
    if n == m and limit is None:
        work = square(cost, None if start is None else start[1], list_length, auction, coarse_start, stats, report)
    else:
        limits = np.empty(0, kind) if limit is None else np.ascontiguousarray(limit, dtype=kind)
        if start is None:
            work = prepare(cost, np.zeros(m, kind), limits, list_length)
        else:
            v, holder = raise_to_zero(cost, np.minimum(bounded_prices(start[1], kind), 0), limits)
            work = prepare(cost, v, limits, list_length)
            match_known_pairs(work, holder)
        search(work, bid_all(work, stats, report), False, stats, report)
    report()
    if lost_digits(start, work.u, work.v, work.col_of):
        options = {"callback": callback, "list_length": list_length, "auction": auction, "coarse_start": coarse_start}
        return solve(cost, limit=limit, **options)
    return work.col_of, work.u, work.v, stats


def square(cost, v, list_length, auction, coarse_start, stats, report) -> Work:
    """Match all rows and columns, from column prices v or, if None, from prices found here."""
    n = len(cost)
    kind = np.float64 if cost.dtype.kind == "f" else np.int64
    nothing = np.empty(0, kind)
    if v is not None:
        coarse_start = False
    elif n < COARSE_MIN_ROWS:
        coarse_start = False
    if coarse_start is not True:
        first = column_minima(cost, kind) if v is None else bounded_prices(v, kind)
        work = prepare(cost, first, nothing, list_length, from_minima=v is None)
        left = bid_all(work, stats, report)
        coarse_start = coarse_start is None and left > MAX_UNMATCHED_SHARE * n
    found = sorted_prices(cost, kind) if coarse_start else None
    if found is not None:
        v, holder = found
        work = prepare(cost, v, nothing, list_length)
        pair_cost = cost[holder, np.arange(n)] - v
        match_known_pairs(work, np.where(pair_cost <= work.u[holder], holder, -1))
        stats["sorted"] += 1
        left = bid_all(work, stats, report)
    elif coarse_start:
        chosen = np.arange(0, n, COARSE_STRIDE)
        part = cost[chosen][:, chosen]
        try:
            v = prices_from_rows(cost, chosen, square(part, None, list_length, auction, True, stats, report).u)
        except InfeasibleError:  # says nothing about the whole problem
            v = column_minima(cost, kind)
        stats["coarse"] += 1
        work = prepare(cost, v, nothing, list_length)
        left = bid_all(work, stats, report)
    search(work, left, auction, stats, report)
    return work


def bounded_prices(v, kind):
    """Old prices as new ones that can be added up."""
    if kind is np.float64:
        return np.nan_to_num(np.array(v, np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    return np.clip(np.array(v), -MAX_AUCTION_PRICE, MAX_AUCTION_PRICE).astype(np.int64)


def prepare(cost, v, limit, list_length, from_minima=False) -> Work:
    """Lists for the prices v (lowest: the least of each column); nobody is matched."""
    n, m = cost.shape
    k = min(list_length, m)
    infinity = infinity_of(v.dtype)
    work = Work(
        cost, v, np.empty(n, v.dtype), limit, np.full(n, -1, np.int32), np.full(m, -1, np.int32), infinity,
        np.empty((n, k), np.int32), *(np.empty((n, k), v.dtype) for _ in range(2)),
        *(np.empty(n, v.dtype) for _ in range(2)), np.arange(n + 1, dtype=np.int32),
    )  # fmt: skip
    build(cost, v, from_minima, infinity, work.column, work.price, work.low, work.bound, work.width)
    np.copyto(work.u, work.low[:, 0])
    work.u[work.u >= infinity] = 0
    if limit.size:
        np.minimum(work.u, limit, out=work.u)
    return work


def match_known_pairs(work, holder):
    """Match tight pairs that are known: column j with row holder[j], -1 for none."""
    matched = np.flatnonzero(holder >= 0)
    work.row_of[matched] = holder[matched]
    work.col_of[holder[matched]] = matched


def bid_all(work, stats, report):
    """Bids of all unmatched rows; returns how many are left, in `free`."""
    waiting = np.flatnonzero(work.col_of < 0)
    work.free[: len(waiting)] = waiting
    left, bids, read = bid(*work, len(waiting), BIDS_PER_ROW * len(work.cost))
    stats["bids"] += bids
    stats["rows_read"] += read
    report()
    return left


def search(work, left, auction, stats, report):
    """Searches from the rows in `free`, after an auction where that is the faster way."""
    n = len(work.cost)
    if auction and left > 0:
        left = run_auction(work, left, stats, report)
        auction = False
    first, spent = left, 0
    for checkpoint, share in (AUCTION_CHECKPOINTS if auction is None else ()) + ((np.inf, 0),):
        if left == 0:
            return
        budget = 2**62 if checkpoint == np.inf else max(checkpoint * n - spent, 0)
        reached, read, left, failed = augment(*work, left, budget)
        spent += reached + SCANS_PER_ROW_READ * read
        stats["rows_reached"] += reached
        stats["rows_read"] += read
        report()
        if failed >= 0:
            rows = np.sort(work.free[:failed])
            raise InfeasibleError(rows, np.flatnonzero(np.isfinite(work.cost[rows]).any(axis=0)))
        if left > share * first:
            return search(work, left, True, stats, report)


def run_auction(work, left, stats, report):
    """The auction, from any matching of tight pairs; then bids of rows whose pair it has left not tight.

    Returns how many rows are left.
    """
    n = len(work.cost)
    known = work.bound < work.infinity
    if known.any() and np.abs(work.v).max() < MAX_AUCTION_PRICE and work.bound[known].max() < MAX_AUCTION_PRICE:
        step = np.mean(work.bound[known] - work.low[known, 0])
        for _ in range(PHASES):
            step = step if work.v.dtype.kind == "f" else max(int(step), 1)
            left, read = release(*work, work.v.dtype.type(step))
            stats["rows_read"] += read
            left, bids, read = run_phase(*work, left, work.v.dtype.type(step), AUCTION_BIDS_PER_ROW * n)
            stats["auction_bids"] += bids
            stats["rows_read"] += read
            if left > 0 or step == 1:
                break
            step /= STEP_DIVISOR
    left, read = release(*work, work.v.dtype.type(0))
    stats["rows_read"] += read
    return bid_all(work, stats, report)
