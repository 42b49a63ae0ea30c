"""Near-optimal prices by a truncated auction with decreasing eps, run by independent, non-blocking thread blocks.

plain_auction.py is the auction in plain NumPy, without lists and blocks; read it first.

One cooperative launch runs Bertsekas' auction [1] in the form of cost scaling.  An unmatched row takes its cheapest
column at c - v and lowers the price of that column until the column is eps worse than the row's second best.  The
displaced row bids next.  A phase ends when few rows are without a column; the next phase starts with an empty matching
and a smaller eps.

The prices need not be exact: the searches that follow find the optimum (arc_list_paths.py).  So rows that still bid
when few are left are dropped, which truncates the longest price wars, and costs are rounded to scaled integers.

    block   takes a row, bids for it, then bids for the row it displaced, until no row was displaced; then takes
            another row.  The first warp bids, from a list of arcs (arc_lists_cuda.py).  All threads of the block
            rebuild the list when its best arc costs more than the bound of the unlisted ones.
    bid     one compare-and-swap of word[j], which holds price and row of column j.  It fails if another block changed
            word[j] since it was read, and the row bids again.  Words read of other columns may be out of date.
            Prices only decrease, so the second best is at least the value read: the bid may be too small, but
            never too large.

Termination: eps is at least 1, so every bid that succeeds lowers a price; one that fails was overtaken by one that
succeeded.  A price below MIN_PRICE or the timeout, which every block tests after eight bids, ends the auction.  Eps is
divided by alpha > 1 until it is `last_eps`, and at most MAX_PHASES times.

[1] Bertsekas, Castanon. "Parallel synchronous and asynchronous implementations of the auction algorithm."
    Parallel Computing 17, 1991.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from assign.dense.arc_lists_cuda import SHIFT, list_maker
from assign.dense.costs_cuda import FORBIDDEN, MAX_COST_BITS, functions_of
from gridcut.device.cuda import (
    SIMULATED,
    WARP,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    nanoseconds,
    relaxed_load,
    shuffle,
)
from gridcut.device.cuda_types import int32, int64

THREADS = (32, 32) if SIMULATED else (256, 512)  # per block: for few columns, for many
MANY_COLUMNS = 8192
WIDTH = 64  # arcs in a list: two per lane of the bidding warp
LISTED_ARCS = 7 if SIMULATED else 45  # average number of arcs in use, so that hardly any list exceeds WIDTH
MAX_FULL_LIST = 8 if SIMULATED else WIDTH
ROW = (1 << SHIFT) - 1
REGISTERS = 128  # 512 threads on a multiprocessor; nothing spills on sm_90, 64 bytes on sm_75
MIN_PRICE = -(1 << (MAX_COST_BITS + 5))  # with lower prices the auction stops: there may be no assignment
# positions in `counts`
TAKEN, ACTIVE, BIDS, LISTS_BUILT, DROPPED, RETRIES, TIMED_OUT, PHASES, SPREAD, LISTED, LAST_EPS = range(11)
PROFILE = 16  # position of eps, nanoseconds, bids and lists built, per phase
MAX_PHASES = 40
COUNTS = PROFILE + 4 * MAX_PHASES
NEXT_ROW, RETRY, END = -1, -2, -3


@device_function
def second_minimum(best, second, other_best, other_second):
    """The second smallest of two pairs (smallest, second smallest)."""
    return min(max(best, other_best), min(second, other_second))


class Costs(NamedTuple):
    """The costs of n rows and m columns; costs_cuda.py."""

    data: object
    n: object
    m: object
    scale: object


class Lists(NamedTuple):
    """The list of each row, WIDTH entries, in global memory."""

    col: object  # -1: no arc
    cost: object  # scaled
    bound: object  # of the row: no unlisted arc has a lower key


class Schedule(NamedTuple):
    """The numbers that control the auction."""

    first_eps: object  # eps at the start, as a multiple of the mean width of a list
    last_eps: object  # eps at the end; if negative, in millionths of that width
    alpha: object  # divisor of eps from phase to phase
    stop_rows: object  # number of rows without a column at which a phase ends
    stride: object  # rows are taken in the order 0, stride, 2 stride ... modulo n
    timeout: object  # nanoseconds after which the auction stops


class Scratch(NamedTuple):
    """Shared memory of a block that builds a list."""

    count: object
    cols: object
    keys: object
    ties: object
    ends: object


class Work(NamedTuple):
    """Counts of a block, as its first thread has them."""

    bids: object
    lists_built: object
    dropped: object
    retries: object


@device_function
def cheapest_arc(i, lane, word, lists):
    """The arc of row i with the minimum key, by a whole warp: (its key, the second smallest, its column, its word)."""
    base = np.int64(i) * WIDTH
    a = relaxed_load(lists.col, base + lane)
    b = relaxed_load(lists.col, base + WARP + lane)
    p = relaxed_load(lists.cost, base + lane)
    q = relaxed_load(lists.cost, base + WARP + lane)
    best = np.int64(FORBIDDEN)
    second = np.int64(FORBIDDEN)
    column = np.int32(a)
    was = np.int64(0)
    if a >= 0:
        was = relaxed_load(word, a)
        best = p - (was >> SHIFT)
    if b >= 0:
        other = relaxed_load(word, b)
        value = q - (other >> SHIFT)
        if value < best:
            second = best
            best = value
            column = np.int32(b)
            was = other
        else:
            second = value
    step = 16
    while step > 0:
        other_lane = lane ^ step
        best2 = shuffle(best, other_lane)
        second2 = shuffle(second, other_lane)
        column2 = shuffle(column, other_lane)
        was2 = shuffle(was, other_lane)
        second = second_minimum(best, second, best2, second2)
        # If two columns tie, both lanes must choose the same one.
        if best2 < best or (best2 == best and column2 > column):
            best = best2
            column = column2
            was = was2
        step >>= 1
    return best, second, column, was


@device_function
def bid(i, lane, eps, word, lists, counts):
    """One bid of row i by a whole warp.

    Returns the displaced row, NEXT_ROW if there is none, RETRY if the compare-and-swap failed, or END if the row
    needs a new list.
    """
    limit = relaxed_load(lists.bound, i)
    best, second, column, was = cheapest_arc(i, lane, word, lists)
    if best > limit or best >= FORBIDDEN:
        return np.int32(END)
    gap = min(min(second, limit) - best, np.int64(1) << (MAX_COST_BITS + 1)) + eps
    found = was + 1
    if lane == 0:
        price = (was >> SHIFT) - gap
        if price < MIN_PRICE:
            counts[TIMED_OUT] = 1
        else:
            found = cuda.atomic.cas(word, column, was, (price << SHIFT) | (np.int64(i) + 1))
    found = shuffle(found, 0)
    if found != was:
        return np.int32(RETRY)
    return np.int32((was & ROW) - 1)


@device_function
def next_row(lane, n, stride, counts):
    """The next row that no block has taken in this phase, or END; for a whole warp."""
    slot = np.int64(0)
    if lane == 0:
        slot = cuda.atomic.add(counts, TAKEN, np.int64(1))
    slot = shuffle(slot, 0)
    if slot >= n:
        return np.int32(END)
    return np.int32(slot * stride % n)


@device_function
def must_stop(begin, n, schedule, counts):
    """Whether the phase must end: few rows are left, or the auction has timed out."""
    few_left = relaxed_load(counts, TAKEN) >= n and relaxed_load(counts, ACTIVE) <= schedule.stop_rows
    timed_out = relaxed_load(counts, TIMED_OUT) != 0
    if nanoseconds() - begin > schedule.timeout:
        counts[TIMED_OUT] = 1
    return few_left or timed_out


@device_function
def bid_until_list_is_used_up(row, lane, eps, word, lists, begin, n, schedule, counts, work):
    """Bids of a warp, for `row` and the rows it displaces, until a row needs a new list: (that row or END, work)."""
    bids, lists_built, dropped, retries = work
    bidding = True
    while bidding:
        if row == NEXT_ROW:
            row = next_row(lane, n, schedule.stride, counts)
            if row == END:
                break
        must_end = np.int32(0)
        if (bids & 7) == 7 and lane == 0:  # rarely, because it takes a third of the time of a bid
            if must_stop(begin, n, schedule, counts):
                must_end = np.int32(1)
        must_end = shuffle(must_end, 0)
        if must_end != 0:
            dropped += 1
            row = np.int32(END)
            break
        found = bid(row, lane, eps, word, lists, counts)
        bids += 1
        if found == RETRY:
            retries += 1
        elif found == END:
            bidding = False
        else:
            row = found
    return row, Work(bids, lists_built, dropped, retries)


@device_function
def eps_range(counts, schedule):
    """The first and the last eps, from the mean width of the lists."""
    spread = np.float64(relaxed_load(counts, SPREAD)) / max(np.float64(relaxed_load(counts, LISTED)), 1.0)
    least_eps = np.int64(schedule.last_eps)
    if schedule.last_eps < 0:
        least_eps = np.int64(spread * np.float64(-schedule.last_eps) * 1e-6)
    least_eps = max(np.int64(1), least_eps)
    return max(np.int64(spread * schedule.first_eps), least_eps), least_eps


@device_function
def clear_owners(word, m, counts):
    """Start a phase: no column has an owner, no row is taken, and all blocks are active."""
    j = np.int64(cuda.grid(1))
    while j < m:
        word[j] = (relaxed_load(word, j) >> SHIFT) << SHIFT
        j += np.int64(cuda.gridsize(1))
    if cuda.grid(1) == 0:
        counts[TAKEN] = 0
        counts[ACTIVE] = np.int64(cuda.gridDim.x)


@cache
def auction_kernel_for(form, threads: int):
    """The cooperative kernel for one form of costs and `threads` threads per block."""
    cost_at, scaled_cost = functions_of(form)
    rank = round(threads * (1 - math.exp(-LISTED_ARCS / threads)))
    make_list = list_maker(form, threads, WIDTH, rank, MAX_FULL_LIST, SHIFT)
    block_threads = threads

    @device_function
    def rebuild_list(costs, word, i, scratch, lists):
        """Build the list of row i by a block: (its length, its bound).

        It is in global memory before any other block can take this row.
        """
        data, n, m, scale = costs
        count, cols, keys, ties, ends = scratch
        tid = np.int64(cuda.threadIdx.x)
        total, low = make_list(data, word, n, m, scale, i, count, cols, keys, ties, ends)
        t = tid
        while t < WIDTH:
            slot = np.int64(i) * WIDTH + t
            if t < total:
                lists.col[slot] = cols[t]
                lists.cost[slot] = scaled_cost(cost_at(data, n, m, i, cols[t]), scale)
            else:
                lists.col[slot] = -1
            t += block_threads
        if tid == 0:
            lists.bound[i] = low
        cuda.threadfence()
        cuda.syncthreads()
        return total, low

    @cuda_kernel(max_registers=REGISTERS)
    def auction_kernel(costs, word, lists, schedule, counts):
        """Improve the prices in `word`, and write the owners of the columns to it."""
        order = cuda.shared.array(2, int32)
        count = cuda.shared.array(2, int32)
        cols = cuda.shared.array(WIDTH, int32)
        keys = cuda.shared.array(WIDTH, int64)
        ties = cuda.shared.array(WIDTH, int32)
        ends = cuda.shared.array(2, int64)
        scratch = Scratch(count, cols, keys, ties, ends)
        n, m = costs.n, costs.m
        tid = np.int64(cuda.threadIdx.x)
        lane = np.int64(cuda.threadIdx.x & 31)
        thread = np.int64(cuda.grid(1))
        begin = nanoseconds()
        before = begin
        lists_built = np.int64(0)
        i = np.int64(cuda.blockIdx.x)
        while i < n:
            total, low = rebuild_list(costs, word, i, scratch, lists)
            if tid == 0:
                lists_built += 1
                minimum = np.int64(FORBIDDEN)
                for t in range(total):
                    minimum = min(minimum, keys[t])
                if low < FORBIDDEN:
                    cuda.atomic.add(counts, SPREAD, low - minimum)
                    cuda.atomic.add(counts, LISTED, np.int64(1))
            i += np.int64(cuda.gridDim.x)
        grid_sync()
        eps, least_eps = eps_range(counts, schedule)
        work = Work(np.int64(0), lists_built, np.int64(0), np.int64(0))
        phases = np.int64(0)
        while True:
            clear_owners(word, m, counts)
            grid_sync()
            started = work
            row = np.int32(NEXT_ROW)
            while row != END:
                if tid < WARP:
                    row, work = bid_until_list_is_used_up(row, lane, eps, word, lists, begin, n, schedule, counts, work)
                    if lane == 0:
                        order[0] = row
                cuda.syncthreads()
                row = np.int32(order[0])
                if row != END:
                    total, low = rebuild_list(costs, word, row, scratch, lists)
                    work = Work(work.bids, work.lists_built + 1, work.dropped, work.retries)
                    if total == 0 and low >= FORBIDDEN:  # no allowed column
                        row = np.int32(NEXT_ROW)
                cuda.syncthreads()
            at = PROFILE + 4 * min(phases, np.int64(MAX_PHASES - 1))
            if tid == 0:
                cuda.atomic.add(counts, ACTIVE, np.int64(-1))
                cuda.atomic.add(counts, at + 2, work.bids - started.bids)
                cuda.atomic.add(counts, at + 3, work.lists_built - started.lists_built)
            grid_sync()
            if thread == 0:
                now = nanoseconds()
                counts[at] = eps
                counts[at + 1] += now - before
                before = now
            phases += 1
            if eps <= least_eps or phases >= MAX_PHASES or relaxed_load(counts, TIMED_OUT) != 0:
                break
            eps = max(np.int64(np.float64(eps) / schedule.alpha), least_eps)
        if tid == 0:
            cuda.atomic.add(counts, BIDS, work.bids)
            cuda.atomic.add(counts, LISTS_BUILT, work.lists_built)
            cuda.atomic.add(counts, DROPPED, work.dropped)
            cuda.atomic.add(counts, RETRIES, work.retries)
        if thread == 0:
            counts[PHASES] = phases
            counts[LAST_EPS] = eps

    return auction_kernel
