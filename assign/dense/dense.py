"""Dense costs, the CPU default: shortest augmenting paths on short lists, with an auction if searches grow long.

Returns the column of each row (-1: unmatched) and prices that certify it optimal; n <= m.

    start prices  ->  lists  ->  bids  ->  searches  ->  (auction  ->  bids  ->  searches)  ->  (searches on whole rows)

Costs that sorting solves need nothing of this (sorting.py).

Every step leaves a valid state (work.py): feasible prices, lists that are valid for them, and a matching of tight
pairs.  The last step is exact, so the result is optimal whatever the earlier steps achieve.  Start prices, the number
of bids and the auction's step size only affect the running time.

Termination: bids and searches never increase the number of unmatched rows.  The auction may, because `release`
unmatches pairs that are not tight; it runs at most once per matrix.  It has at most PHASES phases of at most
AUCTION_BIDS_PER_ROW n bids, and `bid_all` makes at most BIDS_PER_ROW n bids.  Searches on whole rows have no budget.
One search per row in `free` matches that row, leaves one row unmatched because of `limit`, or shows that the problem is
infeasible.  The coarse problem has a quarter of the rows, and a solve restarts at most once, without start prices.

The steps are chosen by measurements during the solve, all in this file:

start      Column minima suit most costs.  If most rows prefer the same few columns (costs like a sum or product of a
           row's and a column's own value), the bids leave most rows unmatched.  Then prices from a quarter of the
           rows and columns, solved first, are tens of times better.
searches   continue while they match rows quickly: uniform costs, two costs, fixed charges, tracks.
auction    with a decreasing step takes over otherwise: geometric costs, low rank.

If columns may stay unmatched (n < m, or `limit`), prices start at 0 and only bids and searches lower them, because an
unmatched column must have price 0 at the end.  There is no auction and no coarse start.

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
38, 1987.
[2] Volgenant. "Linear and semi-assignment problems: a core oriented approach." Computers and Operations Research 23,
1996.
[3] Bertsekas. "The auction algorithm: a distributed relaxation method for the assignment problem." Annals of Operations
Research 14, 1988.

O(n^2 m) in the worst case; memory in addition to the costs is O(n) times the list length.
"""

import numpy as np

from assign.core.certificate import tolerance
from assign.core.infeasible import InfeasibleError
from assign.core.problem import HandedOver
from assign.core.start import lost_digits
from assign.dense.bidding import bid, release
from assign.dense.cheap_columns import build, group_count, infinity_of
from assign.dense.dense_augment import SCANS_PER_ROW_READ, augment, augment_by_rows
from assign.dense.first_prices import column_minima, prices_from_rows, raise_to_zero
from assign.dense.jonker_volgenant import infeasible, most_cost_the_same
from assign.dense.sorting import sorted_prices
from assign.dense.work import Work
from gridcut.device.arguments import INT64_MAX, check_count

LIST_LENGTH = 16  # columns per list; 8 and 32 were slower on most families
BIDS_PER_ROW = 10  # maximum number of bids in one step, per row
COARSE_STRIDE = 4  # every fourth row and column is in the coarse problem
COARSE_MIN_ROWS = 128  # smaller problems are solved faster than they are examined
# Share of rows unmatched after the bids above which a coarse start is tried: uniform and geometric costs leave a
# quarter, others half and more.
MAX_UNMATCHED_SHARE = 0.4
# (rows scanned / n, share): after that many row scans, an auction takes over if more than this share of the rows that
# the searches started with is unmatched.  Geometric and low-rank costs leave 0.6 and 0.4 and would continue to 150 to
# 400 n, in three times the auction's time; two-cost matrices leave 0.5 and 0.25 and finish by 60 n, in a fifth of it.
AUCTION_CHECKPOINTS = ((4, 0.58), (10, 0.33), (60, 0.1))
STEP_DIVISOR = 4  # of the auction's step, from phase to phase
PHASES = 8  # the first step is the mean width of the lists, the last one a sixteen-thousandth of that
AUCTION_BIDS_PER_ROW = 50  # maximum number of bids in one phase, per row
# Rows read in one phase, per n^2, before searches on whole rows take less time: distances and their squares need up to
# 1 / 500 and 1 / 400, rounded distances on a line five to ten times as many.
AUCTION_READS = 1 / 250
MAX_AUCTION_PRICE = 2**45  # no auction with larger prices: the sum of its steps might not fit int64
# With auction=ELSEWHERE, more unmatched rows after one bid per row are handed over: uniform costs and tracks leave at
# most 0.32 of the rows, costs whose searches are long at least 0.35.
ELSEWHERE, MAX_SHARE_TO_KEEP = "elsewhere", 0.34
LIST_SCANS_PER_ROW = 60  # of the last searches on lists; longer ones take less time on whole rows
NO_STEPS = {"bids": 0, "rows_reached": 0, "rows_read": 0, "auction_bids": 0, "coarse": 0, "sorted": 0, "by_rows": 0}


def solve(cost, *, limit=None, start=None, callback=None, list_length=LIST_LENGTH, auction=None, coarse_start=None):
    """Column of each row, prices u and v, and counters.

    list_length    columns per list
    auction        True: before any search; False: never; None: if searches grow long; ELSEWHERE: raise HandedOver
                   instead of an auction or a coarse start, as early as they can be foreseen
    coarse_start   start prices from a quarter of the rows and columns: True, False, or None: if bids leave many rows
    """
    list_length = check_count("list_length", list_length)
    n, m = cost.shape
    kind = np.float64 if cost.dtype.kind == "f" else np.int64

    def report():
        if callback is not None:
            callback(dict(stats))

    stats = dict(NO_STEPS)
    if n == 0:
        return np.empty(0, np.int32), np.empty(0, kind), np.zeros(m, kind), stats
    if n == m and limit is None:
        first = None if start is None else (bounded_prices(start[1], kind), np.full(n, -1))
        coarse_start = coarse_start if start is None else False
        work = square(cost, first, list_length, auction, coarse_start, stats, report)
    else:
        limits = np.empty(0, kind) if limit is None else np.ascontiguousarray(limit, dtype=kind)
        v = np.zeros(m, kind) if start is None else np.minimum(bounded_prices(start[1], kind), 0)
        v, low, holder = raise_to_zero(cost, v, limits)
        work = prepare(cost, v, limits, list_length, low)
        match_known_pairs(work, holder)
        search(work, bid_all(work, stats, report), False, stats, report)
    report()
    if lost_digits(start, work.u, work.v, work.col_of):
        options = {"callback": callback, "list_length": list_length, "auction": auction, "coarse_start": coarse_start}
        return solve(cost, limit=limit, **options)
    return work.col_of, work.u, work.v, stats


def proceed(cost, v, col_of, searched):
    """The same for n <= m, from the prices and tight pairs of searches on whole rows, from `searched` rows so far."""
    n, m = cost.shape
    stats = dict(NO_STEPS)
    holder = np.full(m, -1, np.int32)
    rows = np.flatnonzero(col_of >= 0)
    holder[col_of[rows]] = rows
    if n == m:
        work = square(cost, (v, holder), LIST_LENGTH, None, None, stats, lambda: None, searched)
    else:
        work = prepare(cost, v, np.empty(0, v.dtype), LIST_LENGTH)
        match_known_pairs(work, holder)
        search(work, bid_all(work, stats, lambda: None), False, stats, lambda: None)
    return work.col_of, work.u, work.v, stats


def square(cost, first, list_length, auction, coarse_start, stats, report, searched=0) -> Work:
    """Match all rows and columns of a square matrix, from prices and rows of the columns, or from nothing (None)."""
    n = len(cost)
    kind = np.float64 if cost.dtype.kind == "f" else np.int64
    nothing = np.empty(0, kind)
    if n < COARSE_MIN_ROWS:
        coarse_start = False
    if auction in (None, ELSEWHERE) and most_cost_the_same(cost, 1):  # see jonker_volgenant.py
        first, auction, coarse_start = first or (np.zeros(n, kind), np.full(n, -1)), False, False
    found = sorted_prices(cost, kind) if coarse_start is None else None
    if found is not None:
        stats["sorted"] += 1
        work = prepare(cost, found[0], nothing, list_length)
        holder, slack = found[1], cost[found[1], np.arange(n)] - work.v - work.u[found[1]]
        rounding = tolerance(cost.shape, np.abs(cost[found[1], np.arange(n)]).max()) / 16 if kind is np.float64 else 0
        match_known_pairs(work, np.where(slack <= (rounding if (slack <= rounding).all() else 0), holder, -1))
        search(work, bid_all(work, stats, report), auction, stats, report)
        return work
    if coarse_start is not True:
        v, holder = (column_minima(cost, kind), None) if first is None else first
        work = prepare(cost, v, nothing, list_length)
        if holder is not None:
            match_known_pairs(work, holder)
        if auction == ELSEWHERE and bid_all(work, stats, report, 1) > MAX_SHARE_TO_KEEP * n:
            raise HandedOver
        left = bid_all(work, stats, report)
        coarse_start = coarse_start is None and left > MAX_UNMATCHED_SHARE * n
    if coarse_start and auction == ELSEWHERE:
        raise HandedOver
    if coarse_start:
        chosen = np.arange(0, n, COARSE_STRIDE)
        part = np.ascontiguousarray(cost[::COARSE_STRIDE, ::COARSE_STRIDE])
        try:
            v = prices_from_rows(cost, chosen, square(part, None, list_length, auction, True, stats, report).u)
        except InfeasibleError:  # does not imply that the whole problem is infeasible
            v = column_minima(cost, kind)
        stats["coarse"] += 1
        work = prepare(cost, v, nothing, list_length)
        left = bid_all(work, stats, report)
    search(work, left, auction, stats, report, 0 if coarse_start else searched)
    return work


def bounded_prices(v, kind):
    """A copy of the start prices without NaN and infinities, or within MAX_AUCTION_PRICE for integers."""
    if kind is np.float64:
        return np.nan_to_num(np.array(v, np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    return np.clip(np.array(v), -MAX_AUCTION_PRICE, MAX_AUCTION_PRICE).astype(np.int64)


def prepare(cost, v, limit, list_length, low=None) -> Work:
    """Work with lists for the prices v and an empty matching.

    low   the minimum of each row at these prices: its list is empty until it is read; None: all lists are built
    """
    n, m = cost.shape
    k = min(list_length, m)
    infinity = infinity_of(v.dtype)
    work = Work(
        cost, v, np.empty(n, v.dtype), limit, np.full(n, -1, np.int32), np.full(m, -1, np.int32), infinity,
        np.empty((n, k), np.int32), np.empty((n, k), v.dtype), np.full((n, k), infinity, v.dtype),
        np.empty(n, v.dtype) if low is None else low, np.full(1, infinity, v.dtype),
        np.arange(n + 1, dtype=np.int32), np.empty(group_count(m), v.dtype),
    )  # fmt: skip
    if low is None:
        build(work)
        low = work.low[:, 0]
    np.copyto(work.u, low)
    work.u[work.u >= infinity] = 0
    if limit.size:
        np.minimum(work.u, limit, out=work.u)
    return work


def match_known_pairs(work, holder):
    """Match known tight pairs: column j with row holder[j], or -1 for none."""
    matched = np.flatnonzero(holder >= 0)
    work.row_of[matched] = holder[matched]
    work.col_of[holder[matched]] = matched


def bid_all(work, stats, report, per_row=BIDS_PER_ROW):
    """Bid for all unmatched rows; returns the number of rows still unmatched, which are in `free`."""
    waiting = np.flatnonzero(work.col_of < 0)
    work.free[: len(waiting)] = waiting
    left, bids, read = bid(tuple(work), len(waiting), work.v.dtype.type(0), per_row * len(work.cost), INT64_MAX)
    stats["bids"] += bids
    stats["rows_read"] += read
    report()
    return left


def search(work, left, auction, stats, report, searched=0):
    """Augment from the rows in `free`; run an auction first, or in between, if that is faster.

    searched   number of searches before, if there were any
    """
    n = len(work.cost)
    checkpoints = AUCTION_CHECKPOINTS if auction in (None, ELSEWHERE) else ((LIST_SCANS_PER_ROW, 1),)
    if auction not in (None, False, ELSEWHERE) and left > 0:
        left, is_complete = run_auction(work, stats, report)
        checkpoints = checkpoints if is_complete else ()
    first, spent = max(left, searched), 0
    for checkpoint, share in checkpoints:
        if left == 0:
            return
        reached, read, left, failed = augment(tuple(work), left, max(checkpoint * n - spent, 0))
        spent += reached + SCANS_PER_ROW_READ * read
        stats["rows_reached"] += reached
        stats["rows_read"] += read
        report()
        if failed >= 0:
            rows = np.sort(work.free[:failed])
            raise InfeasibleError(rows, np.flatnonzero(np.isfinite(work.cost[rows]).any(axis=0)))
        if left > share * first:
            if auction == ELSEWHERE:
                raise HandedOver
            return search(work, left, True, stats, report)
    if left > 0:
        stats["by_rows"] += left
        if not augment_by_rows(tuple(work), left):
            raise infeasible(work.cost)
        report()


def run_auction(work, stats, report):
    """Run the auction from any matching of tight pairs, release pairs that are not tight, and bid for their rows.

    Returns the number of rows still unmatched, and whether no phase used up its budget.
    """
    n, waiting = len(work.cost), 0
    bound = work.bound
    known = bound < work.infinity
    if known.any() and np.abs(work.v).max() < MAX_AUCTION_PRICE and bound[known].max() < MAX_AUCTION_PRICE:
        step = np.mean(bound[known] - work.low[known, 0])
        for _ in range(PHASES):
            step = step if work.v.dtype.kind == "f" else max(int(step), 1)
            left, read = release(tuple(work), work.v.dtype.type(step))
            stats["rows_read"] += read
            step = work.v.dtype.type(step)
            budget = AUCTION_BIDS_PER_ROW * n, int(AUCTION_READS * n * n)
            waiting, bids, read = bid(tuple(work), left, step, *budget)
            stats["auction_bids"] += bids
            stats["rows_read"] += read
            if waiting > 0 or step == 1:
                break
            step /= STEP_DIVISOR
    left, read = release(tuple(work), work.v.dtype.type(0))
    stats["rows_read"] += read
    return bid_all(work, stats, report), waiting == 0
