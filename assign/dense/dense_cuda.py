"""Dense assignment with the costs on a GPU: prices by the GPU, the exact end by the CPU on short lists.

    reduce    columns, then rows, then columns: first prices                       (GPU, reduce.py; square ones only)
    auction   prices near the optimum, eps falling, the longest price wars cut off (GPU, auction.py)
    lists     the cheapest arcs of each row, and a bound for all others            (GPU, lists.py)
    augment   shortest augmenting paths over the lists; rows whose list comes to its end in a search get a new one,
              or are fetched whole                                                 (CPU, augment.py; GPU, lists.py)

Whatever the prices are that the auction ends with, the result is exact: bounds are true for good, since prices only
fall.  Integer costs stay integers; floats are rounded for the auction and to choose what to list, with bounds a unit
lower, and the search itself runs in float64 on the costs themselves.

A card does in one pass over the matrix what takes a core a second, but a step that waits for the one before takes it a
microsecond and a core a few nanoseconds.  A price war of two rows is such steps only, and so is Dijkstra's search.

Fewer rows than columns by far: all columns begin at 0 and one phase is run, so that few columns end below 0 unmatched.
With limits there is no auction: the search begins from prices 0.

[1] Bertsekas. "The auction algorithm: a distributed relaxation method for the assignment problem." Annals of Operations
Research 14, 1988.
[2] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
38, 1987.

O(n m) work a pass; O(n^2 m) at worst in the auction, which gives up after `patience` seconds, and O(n^3) in searches.
"""

import math
import time

import numpy as np

from assign.core.infeasible import InfeasibleError
from assign.core.start import lost_digits
from assign.dense import arc_list_paths as paths
from assign.dense.arc_lists_cuda import SHIFT, WIDTH, lists_kernel_for, row_kernel_for
from assign.dense.arc_lists_cuda import THREADS as LIST_THREADS
from assign.dense.auction_cuda import (
    BIDS,
    COUNTS,
    DROPPED,
    LAST_EPS,
    LISTS_BUILT,
    MANY_COLUMNS,
    PHASES,
    PROFILE,
    RETRIES,
    ROW,
    TIMED_OUT,
    auction_kernel_for,
)
from assign.dense.auction_cuda import THREADS as AUCTION_THREADS
from assign.dense.auction_cuda import WIDTH as AUCTION_WIDTH
from assign.dense.costs_cuda import FORBIDDEN, Matrix, Points, scale_for
from assign.dense.reduce_cuda import NO_BITS, STRIP, kernels_of
from assign.dense.reduce_cuda import THREADS as REDUCE_THREADS
from gridcut.device import kernel
from gridcut.device.arrays import DeviceArray, Moment, allocate, download, to_host, upload, wrap_device_array
from gridcut.device.cuda import WARP, multiprocessors
from gridcut.device.launch import launch, most_blocks

BLOCKS_PER_SM = 8  # blocks a multiprocessor in the auction
SQUARENESS = 8  # rows are many if n * (SQUARE + 1) > m * SQUARE
SINGLE_PHASE_EPS = 0.05  # eps where there is but one phase, as `first`
MAX_ROWS = 1 << SHIFT
# Seconds, for each row and at least: four to ten times what auctions took on costs they are good for.  One that takes
# longer is a price war of rows that want the same few columns, and the search ends it sooner.
SECONDS_PER_ROW, MIN_TIMEOUT = 40e-6, 0.02


def solve(
    cost,
    *,
    limit=None,
    start=None,
    callback=None,
    first_eps=1.0,
    last_eps=-10,
    alpha=5.0,
    stop_share=0.0005,
    timeout=None,
    threads=None,
):
    """col_of_row (int32), u and v, flat arrays on the GPU, and counts of what was done.

    cost      C-contiguous array on the GPU, n rows, m >= n columns
    limit     per row the price of staying unmatched, or None
    start     (u, v) of an earlier solve, of which v is used, or None
    first     eps of the first phase of the auction, as a multiple of the mean width of a list
    last      eps of the last phase, in quantities; below 0: in millionths of that width
    alpha     eps is divided by it from phase to phase
    stop      share of rows without a column at which a phase ends (at least one row)
    patience  seconds after which the auction gives up; None: PATIENCE for each row, at least MIN_PATIENCE
    threads   of a block of the auction, a power of two; None: by the number of columns
    """
    array = cost if isinstance(cost, DeviceArray) else wrap_device_array("cost", cost)
    if array.strides != (array.shape[1], 1) and array.size > 1:
        raise ValueError("cost must be C-contiguous")
    form = Matrix("f" if array.dtype.kind == "f" else "i")
    data = array.data
    if array.start or data.size != array.size:
        data = data[array.start : array.start + array.size]
    options = (first_eps, last_eps, alpha, stop_share, timeout, threads)
    return _solve(form, data, *array.shape, limit, start, callback, options)


def solve_points(
    x, y, *, squared=False, factor=1.0, is_integer=False, limit=None, start=None, callback=None,
    first_eps=1.0, last_eps=-10, alpha=5.0, stop_share=0.0005, timeout=None, threads=None,
):  # fmt: skip
    """The same for costs from coordinates: x (n, d) and y (m, d) on the host, distances times a factor.

    squared   squares of the distances;  whole: rounded to integers
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    data = upload(np.concatenate([x.reshape(-1), y.reshape(-1), [factor]]))
    options = (first_eps, last_eps, alpha, stop_share, timeout, threads)
    form = Points(int(x.shape[1]), bool(squared), bool(is_integer))
    return _solve(form, data, len(x), len(y), limit, start, callback, options)


def _solve(form, data, n, m, limit, start, callback, options):
    if n >= MAX_ROWS - 1:
        raise ValueError(f"at most {MAX_ROWS - 2} rows, got {n}")
    first_eps, last_eps, alpha, stop_share, timeout, threads = options
    problem = Problem(form, data, n, m)
    stats = {}
    clock = Moment()
    if limit is not None:
        limit = _host(limit)
    prices = None
    if limit is not None:
        prices = np.zeros(m, problem.kind)
    elif start is not None:
        prices = _host(start[1]).astype(problem.kind)
    else:
        if n == m:
            problem.reduce()
        single = n * (SQUARENESS + 1) <= m * SQUARENESS
        if single:
            first_eps, last_eps = SINGLE_PHASE_EPS, int(-1e6 * SINGLE_PHASE_EPS)
        counts = problem.auction(first_eps, last_eps, alpha, stop_share, timeout, threads)
        stats |= counts
    stats["auction_seconds"] = clock.until_now()
    if callback is not None:
        callback(dict(stats))
    begin = time.perf_counter()
    s = search(problem, prices, limit, callback, stats)
    stats["search_seconds"] = time.perf_counter() - begin
    if lost_digits(start if limit is None else None, s.u, s.v, s.col_of):
        return _solve(form, data, n, m, None, None, callback, options)
    names = {"augmentations": paths.AUGMENTED, "list_scans": paths.SCANS, "lists_rebuilt": paths.LISTS_REBUILT}
    names |= {"host_requests": paths.HOST_REQUESTS, "full_rows": paths.FULL_ROWS}
    stats |= {name: int(s.state[slot]) for name, slot in names.items()}
    return upload(s.col_of), upload(s.u), upload(s.v), stats


class Problem:
    """Costs on the GPU, prices and owners of columns, and launches of the kernels that look at them."""

    def __init__(self, form, data, n: int, m: int):
        self.form, self.data, self.n, self.m = form, data, n, m
        self.front = (data, np.int64(n), np.int64(m))
        self.kind = np.dtype(np.int64 if form.is_integer else np.float64)
        self.largest_kernel, self.columns_kernel, self.rows_kernel = kernels_of(form)
        (self.word,) = allocate((m, np.int64), zero=True)
        bits = upload(np.full(1, NO_BITS, np.int64))
        launch(self.largest_kernel, min(n, BLOCKS_PER_SM * multiprocessors()), REDUCE_THREADS, *self.front, bits)
        self.scale = scale_for(int(download(bits)[0]), form.is_integer)

    def reduce(self) -> None:
        """First prices of a square matrix."""
        high, low = upload(np.zeros(self.n, np.int64)), upload(np.full(self.m, FORBIDDEN))
        grid = (-(-self.m // REDUCE_THREADS), -(-self.n // STRIP), 1)
        front = (*self.front, self.scale)
        launch(self.columns_kernel, grid, REDUCE_THREADS, *front, high, low)
        launch(self.rows_kernel, -(-self.n * WARP // REDUCE_THREADS), REDUCE_THREADS, *front, low, high)
        low = upload(np.full(self.m, FORBIDDEN))
        launch(self.columns_kernel, grid, REDUCE_THREADS, *front, high, low)
        prices = download(low)
        prices[prices >= FORBIDDEN // 2] = 0
        self.word = upload(prices << SHIFT)

    def auction(self, first_eps, last_eps, alpha, stop_share, timeout, threads) -> dict:
        n = self.n
        col, cost, bound, counts = allocate(
            (n * AUCTION_WIDTH, np.int32), (n * AUCTION_WIDTH, np.int64), (n, np.int64), (COUNTS, np.int64), zero=True
        )
        if timeout is None:
            timeout = max(MIN_TIMEOUT, SECONDS_PER_ROW * n)
        threads = threads or AUCTION_THREADS[self.m >= MANY_COLUMNS]
        auction_kernel = auction_kernel_for(self.form, threads)
        args = (
            self.data, self.word, np.int64(n), np.int64(self.m), self.scale, np.float64(first_eps), np.int64(last_eps),
            np.float64(alpha), np.int64(max(1, int(stop_share * n)) if stop_share > 0 else 0), np.int64(coprime(n)),
            np.int64(timeout * 1e9), col, cost, bound, counts,
        )  # fmt: skip
        blocks = min(n, BLOCKS_PER_SM * multiprocessors(), most_blocks(auction_kernel, args, threads))
        launch(auction_kernel, blocks, threads, *args)
        done = download(counts)
        names = {"phases": PHASES, "bids": BIDS, "lists": LISTS_BUILT, "dropped": DROPPED, "retries": RETRIES}
        return {name: int(done[slot]) for name, slot in names.items()} | {
            "last_eps": int(done[LAST_EPS]),
            "timed_out": bool(done[TIMED_OUT]),
            "blocks": blocks,
            "profile": done[PROFILE:].reshape(-1, 4)[: done[PHASES]].tolist(),  # of each phase, see auction.py
        }

    def set_prices(self, v: np.ndarray) -> None:
        """For the lists, in quantities, rounded up."""
        self.price = upload(
            -(-v >> -int(self.scale)) if self.form.is_integer else np.ceil(v * self.scale).astype(np.int64)
        )

    def auctioned(self):
        """The prices in the words, and the row that has each column, or -1."""
        words = download(self.word)
        scaled = words >> SHIFT
        prices = scaled << -int(self.scale) if self.form.is_integer else scaled / self.scale
        return prices, ((words & ROW) - 1).astype(np.int32)

    def lists(self, rows: np.ndarray | None) -> paths.Lists:
        """Lists of some rows, None: of all; for the prices set."""
        requested = self.n if rows is None else len(rows)
        size = requested * WIDTH
        # One piece, since each copy takes as long as the lists of many rows.
        (buffer,) = allocate((2 * size + requested + size // 2, np.int64))
        out = self._split(buffer, size, requested)
        chosen = upload(np.zeros(1, np.int64) if rows is None else rows.astype(np.int64))
        sizes = (np.int64(self.n), np.int64(self.m), self.scale)
        args = (self.data, self.price, *sizes, chosen, np.int64(rows is not None), np.int64(requested), *out)
        launch(lists_kernel_for(self.form), requested, LIST_THREADS, *args)
        col, key, cost, bound = self._split(download(buffer), size, requested)
        key = key.reshape(-1, WIDTH)
        infinity = paths.infinity_of(self.kind)
        if self.form.is_integer:
            if self.scale:
                key <<= -int(self.scale)
            bounds = np.where(bound >= FORBIDDEN, infinity, bound << -int(self.scale))
        else:
            # A cost is rounded to the nearest quantity, a price up, so that a unit less is a bound.
            key = lowered(key.reshape(-1), key.reshape(-1).view(np.float64), float(self.scale)).reshape(-1, WIDTH)
            bounds = np.where(bound >= FORBIDDEN, infinity, (bound - 1) / self.scale)
        return paths.Lists(col.reshape(-1, WIDTH), cost.reshape(-1, WIDTH), key, bounds)

    def _split(self, buffer, size: int, requested: int):
        key, cost, bound, col = (
            buffer[:size],
            buffer[size : 2 * size],
            buffer[2 * size : 2 * size + requested],
            buffer[2 * size + requested :],
        )
        return col.view(np.int32), key, cost.view(self.kind), bound

    def row(self, i: int) -> np.ndarray:
        """One row of costs."""
        (full_row,) = allocate((self.m, self.kind))
        launch(row_kernel_for(self.form), -(-self.m // LIST_THREADS), LIST_THREADS, *self.front, np.int64(i), full_row)
        return download(full_row)


def search(problem: Problem, prices, limit, callback, stats) -> paths.Search:
    """The exact end, from prices `first`, None: those of the auction."""
    v, owner = problem.auctioned() if prices is None else (prices, np.full(problem.m, -1, np.int32))
    problem.set_prices(v)
    lists = problem.lists(None)
    s = paths.make_search(np.empty(problem.n, problem.kind), v, limit)
    paths.row_prices(lists, s)
    paths.match_tight(lists, s, owner)
    while True:
        status = paths.augment(lists, s)
        if status == paths.DONE:
            return s
        if status == paths.INFEASIBLE:
            raise InfeasibleError(s.rows[: s.state[paths.SCANNED]], s.touched[: s.state[paths.TOUCHED]])
        rows = s.requested[: s.state[paths.REQUESTED]]
        if status == paths.NEED_LISTS:
            problem.set_prices(s.v)
            for old, new in zip(lists, problem.lists(rows), strict=True):
                old[rows] = new
            if callback is not None:
                callback({**stats, "augmentations": int(s.state[paths.AUGMENTED])})
        else:
            s.full_row[:] = problem.row(rows[0])


@kernel
def lowered(key, out, scale):
    """Keys in the unit of the costs, a quantity lower; `out` may be where they are."""
    for t in range(key.size):
        out[t] = (key[t] - 1) / scale
    return out


def coprime(n: int) -> int:
    """A step that visits all of n rows in an order in which neighbours are far apart."""
    step = max(1, int(0.618 * n))
    while math.gcd(step, n) != 1:
        step += 1
    return step


def _host(array) -> np.ndarray:
    return np.ascontiguousarray(to_host(array))
