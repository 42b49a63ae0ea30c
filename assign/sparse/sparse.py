"""Sparse assignment: an auction with decreasing eps, and shortest augmenting paths for the remaining rows.

`solve` returns the column of each row (-1: unmatched), exact prices u, v and counters.  Steps:

    auction    Eps is divided by `alpha` from phase to phase.  The first eps is a few times the mean gap between a row's
               two cheapest columns, and grows if a phase takes too many bids (sparse_auction.py).
    augment    Rows that are not matched with their cheapest column, few if the last eps was small, are matched one by
               one by shortest paths (sparse_augment.py).
    columns    Only if columns may stay unmatched: an unmatched column with a price below 0 gets a row or the price 0,
               by the same search with rows and columns exchanged and limit 0; the forward/reverse idea of [1].

If columns may stay unmatched, rows usually compete little.  Then the auction is skipped until the paths turn out to be
long.

The auction need not be exact, so costs are not multiplied by n + 1: integers are shifted left by the number of bits
that makes the last eps an integer.  The prices of the shifted costs K c are rounded, v down and u up: if K c = u + v on
a pair and K c >= u + v elsewhere, then c = ceil(u / K) + floor(v / K) on the pair and c >= elsewhere.

Feasibility is checked if a phase takes many bids; `augment` finds deficient rows at the latest.

Termination: the result is exact whatever prices the auction ends with, so it may end at any time.  A phase makes at
most MAX_ROUNDS rounds of BIDS_PER_CHECK n bids, and there are at most MAX_PHASES phases, whatever the numbers are.  If
rows are still unmatched after these rounds, the auction ends.  Few rounds are needed, because no bid is wasted: it
lowers a price by at least eps, and by more than rounding takes back (sparse_auction.py).  In the first phase, eps grows
fourfold per round, up to more than the range of costs.  A search scans each column at most once, since no distance
falls below that of the column scanned last.  A lower ceiling is at most half of the one before.

Start prices far above the costs paid may have rounded these away.  If each row pays its least cost, these costs and
column prices of 0 are exact; otherwise the problem is solved again without start prices.

[1] Bertsekas, Castañon. "A forward/reverse auction algorithm for asymmetric assignment problems." Computational
Optimization and Applications 1, 1992.
[2] Goldberg, Kennedy. "An efficient cost scaling algorithm for the assignment problem." Mathematical Programming 71,
1995.
[3] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
38, 1987.

The paths take O(n a log a) time for a arcs; memory is O(n + m + a).
"""

import numpy as np

from assign.core.ceiling import ROUNDING_UNITS, lower_ceiling, paid_and_least
from assign.core.certificate import tolerance
from assign.core.infeasible import InfeasibleError
from assign.core.start import largest_paid
from assign.sparse.feasible import check_feasible, deficiency
from assign.sparse.sparse_auction import bid, mean_gap, release
from assign.sparse.sparse_augment import STOPPED, Search, augment, find_arcs, row_prices
from gridcut.device.arguments import check_real

FIRST_EPS = 4.0  # first eps, as a multiple of the mean gap between a row's best columns
# Bids per row in one phase after which feasibility is checked and the first eps grows.
BIDS_PER_CHECK = 16
# Rounds of BIDS_PER_CHECK bids per row in one phase.  Longer phases are price wars along paths of rows; the searches
# resolve these 2 to 20 times faster (bands of 3 and 10 columns, 20 000 rows).
MAX_ROUNDS = 64
MAX_PHASES = 1000
FLOAT_UNIT = 2.0**-50  # smallest fall of a float price, see sparse_auction.py
MAX_EPS_RATIO = 64  # largest eps for floats, as a multiple of the range of costs; prices lose digits with larger ones
MAX_PRICE_RATIO = 16  # largest price to start from, as a multiple of the range of costs
SCANS_BEFORE_AUCTION = 16  # scans per row after which the auction runs, if columns may stay unmatched
WARM_SCANS_BEFORE_AUCTION = 32  # the same if most rows are already matched
UNLIMITED = np.iinfo(np.int64).max
# For integers: a price below MIN_PRICE ends the auction, and no eps exceeds MAX_EPS.  A bid lowers a price by at most
# twice eps plus the range of costs, which is below 2^61, so no price leaves int64.  The searches start with prices so
# close to each other that no path reaches 2^62.
MIN_PRICE = np.int64(-(2**60))
MAX_EPS = 2.0**57
MIN_FLOAT_PRICE = np.finfo(np.float64).min  # minus infinity and NaN end the auction as well


def solve(indptr, indices, cost, m, *, limit=None, start=None, matched=None, callback=None, alpha=7.0, fine=100.0):
    """Solve a problem in CSR form, see assign/sparse/__init__.py.

    callback is called with the counters after every round of bids, and after the searches.

    alpha    divisor of eps from phase to phase
    fine     the last eps is the mean gap between a row's two cheapest columns divided by this
    matched  with start: column of each row (-1: none), most of them tight at these prices; skips the auction
    """
    if not 1 < check_real("alpha", alpha) < np.inf:
        raise ValueError(f"alpha must be finite and greater than 1, got {alpha!r}")
    if not 0 < check_real("fine", fine) < np.inf:
        raise ValueError(f"fine must be finite and positive, got {fine!r}")
    n = len(indptr) - 1
    if limit is None and n:
        empty = np.flatnonzero(np.diff(indptr) == 0)
        if len(empty):
            raise InfeasibleError(empty[:1], ())
    options = {"callback": callback, "alpha": alpha, "fine": fine}
    found = _solve(indptr, indices, cost, m, limit, start, matched=matched, **options)
    if not len(indices):
        return found
    unit = _lost_unit(start, *found)
    if unit is not None:
        paid, least = paid_and_least(indptr, indices, cost, limit, found[0])
        if (paid == least).all():
            return found[0], least, np.zeros(m), found[3]
    if unit is not None and start is not None:
        found = _solve(indptr, indices, cost, m, limit, None, **options)
        unit = _lost_unit(None, *found)
    ceiling = np.inf
    while unit is not None:
        lower = lower_ceiling(indptr, indices, cost, m, limit, found[0], unit)
        if lower is None or not lower < ceiling / 2:
            break
        ceiling = lower
        found = _solve(indptr, indices, np.minimum(cost, ceiling), m, limit, None, **options)
        unit = _lost_unit(None, *found)
    return found


def _lost_unit(start, col_of, u, v, stats) -> float | None:
    """The rounding unit of float prices if it is too coarse for the costs paid, else None.

    Start prices count too, because what was rounded away on the way from them is not visible in the final prices.
    """
    if u.dtype.kind != "f":
        return None
    prices = max(np.abs(u).max(initial=0.0), np.abs(v).max(initial=0.0))
    if start is not None:
        prices = max(prices, np.abs(start[1]).max(initial=0.0))
    unit = 2 * float(np.finfo(np.float64).eps) * prices
    return unit if ROUNDING_UNITS * unit > tolerance((len(u), len(v)), largest_paid(u, v, col_of)) else None


def _solve(indptr, indices, cost, m, limit, start, *, callback, alpha, fine, matched=None):
    """As `solve`; float prices may have lost digits to a large cost that is in no optimal assignment."""
    n = len(indptr) - 1
    network = _Network(indptr, indices, cost, m, limit)
    warm = start is not None and len(indices)
    v = network.numbers(start[1]) if warm else np.zeros(m, network.real)
    if network.asymmetric:
        np.minimum(v, 0, out=v)
    stats = {"bids": 0, "bid_rounds": 0, "phases": 0, "searches": 0, "scans": 0}
    arc_of, row_of = np.full(n, -1, np.int64), np.full(m, -1, np.int32)
    waiting = np.empty(n, np.int32)
    if n and len(indices):
        has_matching = warm and matched is not None
        if has_matching:
            row_of[matched[matched >= 0]] = np.flatnonzero(matched >= 0)
        paths = network.asymmetric or has_matching
        budget = (WARM_SCANS_BEFORE_AUCTION if has_matching else SCANS_BEFORE_AUCTION) * n
        if not (paths and _finish(network, v, arc_of, row_of, waiting, budget, stats)):
            if paths:
                row_of[:] = -1
            if paths and not has_matching:
                v[:] = 0
            if not _auction(network, v, row_of, waiting, paths or not warm, alpha, fine, stats, callback):
                v[:] = 0
                row_of[:] = -1
            _finish(network, v, arc_of, row_of, waiting, UNLIMITED, stats)
        if callback is not None:
            callback(dict(stats))
        if network.asymmetric:
            v = _columns(network, v, arc_of, row_of, stats)
    return network.result(v, arc_of, stats)


class _Network:
    """Costs in the solver's numbers: float64, or int64 shifted left."""

    def __init__(self, indptr, indices, cost, m, limit):
        self.start, self.indices, self.n, self.m = indptr, indices, len(indptr) - 1, m
        self.columns = indices.view(np.uint32)
        self.is_integer = cost.dtype.kind != "f"
        self.real = np.int64 if self.is_integer else np.float64
        self.cost = cost.astype(self.real, copy=False)
        self.limited = limit is not None
        self.limit = np.asarray(limit, self.real) if self.limited else np.empty(0, self.real)
        self.asymmetric = self.limited or self.n < m
        self.shift = 0
        # As Python numbers, which overflow to infinity without a warning.
        self.spread = self.real(self.cost.max().item() - self.cost.min().item() if len(cost) else 0)
        self.infinity = np.int64(2**62) if self.is_integer else np.float64(np.inf)

    def shift_to(self, eps, v) -> None:
        """Shift the costs left until eps is an integer, as far as int64 holds the costs and the prices v."""
        largest = int(abs(self.cost).max()) + int(abs(self.limit).max() if self.limited else 0) + int(abs(v).max()) + 1
        spare_bits = 61 - (8 * (self.n + 1) * largest).bit_length()
        self.shift = int(np.clip(np.ceil(np.log2(4 / eps)), 0, max(spare_bits, 0)))
        if self.shift:
            self.cost = self.cost << self.shift
            self.limit = self.limit << self.shift
            self.spread = self.spread << self.shift

    def numbers(self, prices):
        """Column prices to start from, clipped: large ones would lose digits or overflow."""
        prices = np.asarray(prices)
        if self.is_integer and prices.dtype.kind != "f":
            bound = min(int(self.spread) * MAX_PRICE_RATIO, 2**61 // (self.n + 1))
            return np.clip(prices.astype(np.int64), -bound, bound)
        prices = np.nan_to_num(prices.astype(np.float64))
        if not self.asymmetric:
            prices -= np.median(prices)
        bound = float(self.spread) * MAX_PRICE_RATIO
        prices = np.clip(prices, -bound, bound)
        return np.rint(prices).astype(np.int64) if self.is_integer else prices

    def result(self, v, arc_of, stats):
        u = np.empty(self.n, self.real)
        row_prices(self.start, self.columns, self.cost, self.limit, v, arc_of, u)
        if self.shift:
            u, v = -(-u >> self.shift), v >> self.shift
        col_of = np.full(self.n, -1, np.int32)
        matched = arc_of >= 0
        col_of[matched] = self.indices[arc_of[matched]]
        return col_of, u, v, stats


def _auction(network, v, row_of, waiting, cold, alpha, fine, stats, callback):
    """Run phases of bids on v and row_of; returns False if a price left the range of the number type."""
    at = network.start, network.columns
    gap = mean_gap(*at, network.cost, v)
    if gap == 0:
        gap = float(network.spread) / 16
    if gap == 0:  # all costs are equal
        if not network.limited:
            row_of[check_feasible(network.start, network.indices, network.n, network.m)] = np.arange(network.n)
        return True
    if network.is_integer:
        network.shift_to(gap / fine, v)
        v <<= network.shift
    scale = 2.0**network.shift
    last = gap * scale / fine
    eps = last * float(alpha ** np.ceil(np.log(FIRST_EPS * fine) / np.log(alpha))) if cold else last
    unit, min_price, largest_eps = FLOAT_UNIT, MIN_FLOAT_PRICE, MAX_EPS_RATIO * max(float(network.spread), gap)
    if network.is_integer:
        unit, min_price, largest_eps = None, MIN_PRICE, MAX_EPS
    n, eps, last = network.n, min(eps, largest_eps), min(last, largest_eps)
    col_of = np.empty(n, np.int32)
    unchecked = not network.limited
    for _ in range(MAX_PHASES):
        step = network.real(max(eps, 1) if network.is_integer else eps)
        spread = network.real(network.spread + step)
        top = release(*at, network.cost, network.limit, step, v, col_of, row_of, waiting)
        for _ in range(MAX_ROUNDS):
            if not top:
                break
            prices = v, row_of, waiting, top
            top, bids = bid(
                *at, network.cost, network.limit, step, unit, spread, BIDS_PER_CHECK * n, min_price, *prices
            )
            if bids < 0:
                return False
            stats["bids"] += bids
            stats["bid_rounds"] += 1
            if top and unchecked:
                check_feasible(network.start, network.indices, n, network.m)
                unchecked = False
            if top and stats["phases"] == 0:
                eps = min(4 * eps, largest_eps)
                step = network.real(eps)
            if callback is not None:
                callback(dict(stats))
        stats["phases"] += 1
        if top or eps <= last:
            break
        eps = max(eps / alpha, last)
    return True


def _finish(network, v, arc_of, row_of, waiting, budget, stats):
    """Complete the exact matching of the rows in v, arc_of, row_of; returns False if the scan budget is exceeded."""
    at = network.start, network.columns, network.cost
    zero, n = network.real(0), network.n
    top = release(*at, network.limit, zero, v, np.empty(n, np.int32), row_of, waiting)
    find_arcs(network.start, network.columns, row_of, arc_of)
    search = Search.of(len(network.cost), network.m, network.infinity)
    root, done, scans = augment(*at, network.limit, network.infinity, budget, v, arc_of, row_of, waiting[:top], search)
    stats["searches"] += int(top)
    stats["scans"] += int(scans)
    if root >= 0:
        rows = np.append(row_of[search.done[:done]], root)
        raise deficiency(network.start, network.indices, rows)
    return root != STOPPED


def _columns(network, v, arc_of, row_of, stats):
    """Match unmatched columns with a price below 0, or raise it to 0; changes arc_of, row_of, and returns v."""
    bad = np.flatnonzero((row_of < 0) & (v < 0)).astype(np.int32)
    if not len(bad):
        return v
    n, m = network.n, network.m
    u = np.empty(n, network.real)
    row_prices(network.start, network.columns, network.cost, network.limit, v, arc_of, u)
    order = np.argsort(network.indices, kind="stable")
    start = np.zeros(m + 1, np.int64)
    np.cumsum(np.bincount(network.indices, minlength=m), out=start[1:])
    rows = (np.searchsorted(network.start, order, side="right") - 1).astype(np.uint32)
    cost = network.cost[order]
    col_of = np.full(n, -1, np.int32)
    col_of[row_of[row_of >= 0]] = np.flatnonzero(row_of >= 0)
    arcs = np.empty(m, np.int64)
    find_arcs(start, rows, col_of, arcs)
    zeros = np.zeros(m, network.real)
    search = Search.of(len(cost), n, network.infinity)
    _, _, scans = augment(start, rows, cost, zeros, network.infinity, UNLIMITED, u, arcs, col_of, bad, search)
    stats["searches"] += len(bad)
    stats["scans"] += int(scans)
    matched = arcs[arcs >= 0]
    arc_of[:] = -1
    arc_of[rows[matched]] = order[matched]
    v = np.empty(m, network.real)
    row_prices(start, rows, cost, zeros, u, arcs, v)
    return v
