"""Dense costs on a GPU, the CUDA default: near-optimal prices on the GPU, exact augmentation on the CPU on short lists.

    reduce    reduction of columns, rows, columns: first prices                    (GPU, reduce_cuda.py; square only)
    auction   near-optimal prices, decreasing eps, long price wars truncated       (GPU, auction_cuda.py)
    augment   shortest augmenting paths from all unmatched rows at once            (GPU, augment_cuda.py; square only)
              The end, if costs are integers that the GPU does not round; otherwise:
    lists     the cheapest arcs of each row, and a bound for all others            (GPU, arc_lists_cuda.py)
    search    shortest augmenting paths over the lists, one row after the other    (CPU, arc_list_paths.py)
              A row whose list is exhausted in a search gets a new list, or its
              whole row of costs is transferred                                    (GPU, arc_lists_cuda.py)

The result is exact whatever prices the auction ends with: prices only decrease, so bounds stay valid.  Integer costs
stay integers.  Float costs are rounded for the auction and for choosing the arcs to list, with bounds one unit lower;
the search itself runs in float64 on the unrounded costs.

A GPU processes in one pass over the matrix what takes a CPU core a second, but a dependent step takes a microsecond on
the GPU and a few nanoseconds on a core.  A price war of two rows consists of dependent steps only, as does Dijkstra's
search; searches from many rows at once do not.

With far fewer rows than columns, all columns start at price 0 and a single phase is run, so that few unmatched columns
end below 0.  With limits there is no auction: the search starts from prices 0.

[1] Bertsekas. "The auction algorithm: a distributed relaxation method for the assignment problem." Annals of Operations
Research 14, 1988.
[2] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
38, 1987.

O(n m) work per pass; O(n^2 m) in the worst case in the auction, which stops after `timeout` seconds, and O(n^3) in
searches.
"""

import math
import time
from functools import cached_property

import numpy as np

from assign.core.infeasible import InfeasibleError
from assign.core.start import lost_digits
from assign.dense import arc_list_paths as paths
from assign.dense import augment_cuda
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
    Costs,
    Lists,
    Schedule,
    auction_kernel_for,
)
from assign.dense.auction_cuda import THREADS as AUCTION_THREADS
from assign.dense.auction_cuda import WIDTH as AUCTION_WIDTH
from assign.dense.augment_steps_cuda import LEFT, PARTS, SCANS, SEARCHES, STATES, SWEEPS, Paths
from assign.dense.costs_cuda import FORBIDDEN, Matrix, Points, scale_for
from assign.dense.reduce_cuda import NO_BITS, STRIP, kernels_of
from assign.dense.reduce_cuda import THREADS as REDUCE_THREADS
from gridcut.device import kernel
from gridcut.device.arguments import check_real
from gridcut.device.arrays import DeviceArray, allocate, download, to_host, upload, wrap_device_array
from gridcut.device.cuda import WARP, multiprocessors
from gridcut.device.launch import launch, most_blocks

BLOCKS_PER_SM = 8  # of the auction, per multiprocessor
SQUARENESS = 8  # several phases are run if n * (SQUARENESS + 1) > m * SQUARENESS
SINGLE_PHASE_EPS = 0.05  # eps of a single phase, in the unit of `first_eps`
MAX_ROWS = 1 << SHIFT
# Default timeout in seconds, per row and its minimum: four to ten times the time of auctions on costs that suit them.
# A longer auction is a price war of rows that prefer the same few columns, which the search resolves faster.
SECONDS_PER_ROW, MIN_TIMEOUT = 40e-6, 0.02
AUGMENT_SHARE = 0.25  # of the timeout, for searches on the GPU


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
    """col_of_row (int32), u and v as flat GPU arrays, and counters.

    cost        C-contiguous GPU array, n rows, m >= n columns
    limit       cost of staying unmatched per row, or None
    start       (u, v) of an earlier solve, of which v is used, or None
    first_eps   eps of the first phase of the auction, as a multiple of the mean width of a list
    last_eps    eps of the last phase, in scaled integer costs; if negative, in millionths of that width
    alpha       divisor of eps from phase to phase
    stop_share  share of rows without a column at which a phase ends (at least one row)
    timeout     seconds after which the auction stops, and after which paths are left to the CPU; None:
                SECONDS_PER_ROW * n, at least MIN_TIMEOUT
    threads     threads per block of the auction, a power of two; None: chosen by the number of columns
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
    """As `solve`, for distances between points x (n, d) and y (m, d) on the host, times a factor.

    squared      use squared distances
    is_integer   round the costs to integers
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    data = upload(np.concatenate([x.reshape(-1), y.reshape(-1), [factor]]))
    options = (first_eps, last_eps, alpha, stop_share, timeout, threads)
    form = Points(int(x.shape[1]), bool(squared), bool(is_integer))
    return _solve(form, data, len(x), len(y), limit, start, callback, options)


def _solve(form, data, n, m, limit, start, callback, options):
    if n >= MAX_ROWS - 1:
        raise ValueError(f"cost must have at most {MAX_ROWS - 2} rows on a GPU, got {n}; use device='cpu'")
    first_eps, last_eps, alpha, stop_share, timeout, threads = options
    if not 1 < check_real("alpha", alpha) < np.inf:
        raise ValueError(f"alpha must be finite and greater than 1, got {alpha!r}")
    if timeout is None:
        timeout = max(MIN_TIMEOUT, SECONDS_PER_ROW * n)
    problem = Problem(form, data, n, m)
    stats = {}
    begin = time.perf_counter()
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
        if n == m:
            stats |= problem.augment(timeout * AUGMENT_SHARE)
    stats["auction_seconds"] = time.perf_counter() - begin
    if callback is not None:
        callback(dict(stats))
    if problem.is_solved:
        return *problem.found, {**stats, "search_seconds": 0.0}
    begin = time.perf_counter()
    prices, owner = problem.auctioned() if prices is None else (prices, np.full(m, -1, np.int32))
    s = search(problem, prices.copy(), owner, limit, callback, stats)
    stats["search_seconds"] = time.perf_counter() - begin
    if limit is None and lost_digits((None, prices), s.u, s.v, s.col_of):
        # The auction's prices may be as useless as those of a start: of costs such as 1e30 for "forbidden".
        again = None if start is not None else (None, np.zeros(m, problem.kind))
        return _solve(form, data, n, m, None, again, callback, options)
    names = {"augmentations": paths.AUGMENTED, "list_scans": paths.SCANS, "lists_rebuilt": paths.LISTS_REBUILT}
    names |= {"host_requests": paths.HOST_REQUESTS, "full_rows": paths.FULL_ROWS}
    stats |= {name: int(s.state[slot]) for name, slot in names.items()}
    return upload(s.col_of), upload(s.u), upload(s.v), stats


class Problem:
    """Costs, prices and column owners on the GPU, and the launches of the kernels that process them."""

    def __init__(self, form, data, n: int, m: int):
        self.form, self.data, self.n, self.m = form, data, n, m
        self.front = (data, np.int64(n), np.int64(m))
        self.kind = np.dtype(np.int64 if form.is_integer else np.float64)
        self.largest_kernel, self.columns_kernel, self.rows_kernel = kernels_of(form)
        (self.word,) = allocate((m, np.int64), zero=True)
        bits = upload(np.full(1, NO_BITS, np.int64))
        launch(self.largest_kernel, min(n, BLOCKS_PER_SM * multiprocessors()), REDUCE_THREADS, *self.front, bits)
        self.scale = scale_for(int(download(bits)[0]), form.is_integer)
        self.is_solved = False

    @cached_property
    def short_lists(self) -> Lists:
        """Memory for the lists that the GPU uses."""
        size = self.n * AUCTION_WIDTH
        return Lists(*allocate((size, np.int32), (size, np.int64), (self.n, np.int64)))

    def reduce(self) -> None:
        """Set the first prices of a square matrix."""
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
        (counts,) = allocate((COUNTS, np.int64), zero=True)
        threads = threads or AUCTION_THREADS[self.m >= MANY_COLUMNS]
        auction_kernel = auction_kernel_for(self.form, threads)
        stop_rows = max(1, int(stop_share * n)) if stop_share > 0 else 0
        schedule = Schedule(
            first_eps=np.float64(first_eps),
            last_eps=np.int64(last_eps),
            alpha=np.float64(alpha),
            stop_rows=np.int64(stop_rows),
            stride=np.int64(coprime(n)),
            timeout=np.int64(timeout * 1e9),
        )
        args = (Costs(*self.front, self.scale), self.word, self.short_lists, schedule, counts)
        blocks = min(n, BLOCKS_PER_SM * multiprocessors(), most_blocks(auction_kernel, args, threads))
        launch(auction_kernel, blocks, threads, *args)
        done = download(counts)
        names = {"phases": PHASES, "bids": BIDS, "lists": LISTS_BUILT, "dropped": DROPPED, "retries": RETRIES}
        return {name: int(done[slot]) for name, slot in names.items()} | {
            "last_eps": int(done[LAST_EPS]),
            "timed_out": bool(done[TIMED_OUT]),
            "blocks": blocks,
            "profile": done[PROFILE:].reshape(-1, 4)[: done[PHASES]].tolist(),  # per phase, see auction_cuda.py
        }

    def augment(self, timeout: float) -> dict:
        """Match all rows along arcs with reduced cost 0, from the auction's prices and owners."""
        wide, narrow = np.int64, np.int32
        kinds = (wide, narrow, narrow, wide, wide, wide, wide, narrow, narrow, narrow)
        arrays = list(allocate(*((self.n, kind) for kind in kinds), (4 * self.n, narrow), zero=True))
        arrays[2] = upload(np.full(self.n, -1, narrow))
        found, state = Paths(*arrays), upload(np.zeros(STATES, wide))
        args = (Costs(*self.front, self.scale), self.word, self.short_lists, found, state, np.int64(timeout * 1e9))
        kernel, threads = augment_cuda.augment_kernel_for(self.form), augment_cuda.THREADS
        blocks = min(augment_cuda.BLOCKS_PER_SM * multiprocessors(), most_blocks(kernel, args, threads))
        launch(kernel, blocks, threads, *args)
        done = download(state)
        self.found = found.column, found.u, found.price
        self.is_solved = self.form.is_integer and self.scale == 0 and not done[LEFT]
        names = {"searches": SEARCHES, "rows_left": LEFT, "sweeps": SWEEPS}
        names |= {"rows_scanned": SCANS, "parts_scanned": PARTS}
        return {name: int(done[slot]) for name, slot in names.items()}

    def set_prices(self, v: np.ndarray) -> None:
        """Set the prices for the lists: scaled to integers, rounded up."""
        self.price = upload(
            -(-v >> -int(self.scale)) if self.form.is_integer else np.ceil(v * self.scale).astype(np.int64)
        )

    def auctioned(self):
        """The prices in the words of the auction, and the row that owns each column, or -1."""
        words = download(self.word)
        scaled = words >> SHIFT
        prices = scaled << -int(self.scale) if self.form.is_integer else scaled / self.scale
        return prices, ((words & ROW) - 1).astype(np.int32)

    def lists(self, rows: np.ndarray | None) -> paths.Lists:
        """Lists of some rows, or of all rows if None, for the prices last set."""
        requested = self.n if rows is None else len(rows)
        size = requested * WIDTH
        # One buffer, because each transfer takes as long as building the lists of many rows.
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
            # A scaled cost is rounded to nearest and a price up, so that one unit less is a lower bound.
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


def search(problem: Problem, v, owner, limit, callback, stats) -> paths.Search:
    """Augment on the CPU, from prices and the rows that own columns, or -1."""
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
    """out = keys in the unit of the costs, lowered by one scaled unit; `out` may share their memory."""
    for t in range(key.size):
        out[t] = (key[t] - 1) / scale
    return out


def coprime(n: int) -> int:
    """A stride coprime to n, so that consecutive rows in the order 0, stride, 2 stride ... are far apart."""
    step = max(1, int(0.618 * n))
    while math.gcd(step, n) != 1:
        step += 1
    return step


def _host(array) -> np.ndarray:
    return np.ascontiguousarray(to_host(array))
