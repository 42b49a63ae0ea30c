"""Near-optimal prices by a truncated auction with decreasing eps, run by independent, non-blocking thread blocks.

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

import numpy as np
from numba import float32, float64, int32, int64

from assign.dense.arc_lists_cuda import SHIFT, list_maker
from assign.dense.costs_cuda import FORBIDDEN, MAX_COST_BITS, Matrix, Points, functions_of
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


@cache
def auction_kernel_for(form, threads: int):
    """The cooperative kernel for one form of costs and `threads` threads per block."""
    cost_at, scaled_cost = functions_of(form)
    rank = round(threads * (1 - math.exp(-LISTED_ARCS / threads)))
    make_list = list_maker(form, threads, WIDTH, rank, MAX_FULL_LIST, SHIFT)
    block_threads = threads

    @device_function
    def bid(i, lane, eps, word, col, cost, bound, counts):
        """One bid of row i by a whole warp.

        Returns the displaced row, NEXT_ROW if there is none, RETRY if the compare-and-swap failed, or END if the row
        needs a new list.
        """
        base = np.int64(i) * WIDTH
        limit = relaxed_load(bound, i)
        a = relaxed_load(col, base + lane)
        b = relaxed_load(col, base + WARP + lane)
        p = relaxed_load(cost, base + lane)
        q = relaxed_load(cost, base + WARP + lane)
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
    def keep_list(data, n, m, scale, i, tid, total, low, cols, col, cost, bound):
        """Write the list to global memory, before any other block can take this row."""
        t = tid
        while t < WIDTH:
            slot = np.int64(i) * WIDTH + t
            if t < total:
                col[slot] = cols[t]
                cost[slot] = scaled_cost(cost_at(data, n, m, i, cols[t]), scale)
            else:
                col[slot] = -1
            t += block_threads
        if tid == 0:
            bound[i] = low
        cuda.threadfence()
        cuda.syncthreads()

    # args: not bundled yet
    # lines: not split yet
    @cuda_kernel(max_registers=REGISTERS)
    def auction_kernel(
        data, word, n, m, scale, first_eps, last_eps, alpha, stop_rows, stride, timeout, col, cost, bound, counts
    ):
        """Improve the prices in `word`, and write the owners of the columns to it.

        first_eps, last_eps  eps is first_eps times the mean width of a list at the start, and last_eps at the end (if
                             negative, in millionths of that width)
        alpha                divisor of eps from phase to phase
        stop_rows            number of rows without a column at which a phase ends
        stride               rows are taken in the order 0, stride, 2 stride ... modulo n
        timeout              nanoseconds after which the auction stops
        """
        count = cuda.shared.array(2, int32)
        cols = cuda.shared.array(WIDTH, int32)
        keys = cuda.shared.array(WIDTH, int64)
        ties = cuda.shared.array(WIDTH, int32)
        ends = cuda.shared.array(2, int64)
        order = cuda.shared.array(2, int32)
        tid = np.int64(cuda.threadIdx.x)
        lane = np.int64(cuda.threadIdx.x & 31)
        block = np.int64(cuda.blockIdx.x)
        blocks = np.int64(cuda.gridDim.x)
        thread = np.int64(cuda.grid(1))
        threads = np.int64(cuda.gridsize(1))
        begin = nanoseconds()
        before = begin
        lists_built = np.int64(0)
        i = block
        while i < n:
            total, low = make_list(data, word, n, m, scale, i, count, cols, keys, ties, ends)
            if tid == 0:
                lists_built += 1
                minimum = np.int64(FORBIDDEN)
                for t in range(total):
                    minimum = min(minimum, keys[t])
                if low < FORBIDDEN:
                    cuda.atomic.add(counts, SPREAD, low - minimum)
                    cuda.atomic.add(counts, LISTED, np.int64(1))
            keep_list(data, n, m, scale, i, tid, total, low, cols, col, cost, bound)
            i += blocks
        grid_sync()
        spread = np.float64(relaxed_load(counts, SPREAD)) / max(np.float64(relaxed_load(counts, LISTED)), 1.0)
        least_eps = np.int64(last_eps)
        if last_eps < 0:
            least_eps = np.int64(spread * np.float64(-last_eps) * 1e-6)
        least_eps = max(np.int64(1), least_eps)
        eps = max(np.int64(spread * first_eps), least_eps)
        phases = np.int64(0)
        bids = np.int64(0)
        retries = np.int64(0)
        dropped = np.int64(0)
        bids_before = np.int64(0)
        made_before = np.int64(0)
        while True:
            j = thread
            while j < m:
                word[j] = (relaxed_load(word, j) >> SHIFT) << SHIFT
                j += threads
            if thread == 0:
                counts[TAKEN] = 0
                counts[ACTIVE] = blocks
            grid_sync()
            row = np.int32(NEXT_ROW)
            working = True
            while working:
                if tid < WARP:
                    bidding = True
                    while bidding:
                        if row == NEXT_ROW:
                            slot = np.int64(0)
                            if lane == 0:
                                slot = cuda.atomic.add(counts, TAKEN, np.int64(1))
                            slot = shuffle(slot, 0)
                            if slot >= n:
                                row = np.int32(END)
                                break
                            row = np.int32(slot * stride % n)
                        must_end = np.int32(0)
                        if (bids & 7) == 7 and lane == 0:  # rarely, because it takes a third of the time of a bid
                            few_left = relaxed_load(counts, TAKEN) >= n and relaxed_load(counts, ACTIVE) <= stop_rows
                            timed_out = relaxed_load(counts, TIMED_OUT) != 0
                            if nanoseconds() - begin > timeout:
                                counts[TIMED_OUT] = 1
                            if few_left or timed_out:
                                must_end = np.int32(1)
                        must_end = shuffle(must_end, 0)
                        if must_end != 0:
                            dropped += 1
                            row = np.int32(END)
                            break
                        found = bid(row, lane, eps, word, col, cost, bound, counts)
                        bids += 1
                        if found == RETRY:
                            retries += 1
                        elif found == END:
                            bidding = False
                        else:
                            row = found
                    if lane == 0:
                        order[0] = row
                cuda.syncthreads()
                row = np.int32(order[0])
                if row == END:
                    working = False
                else:
                    total, low = make_list(data, word, n, m, scale, row, count, cols, keys, ties, ends)
                    keep_list(data, n, m, scale, row, tid, total, low, cols, col, cost, bound)
                    lists_built += 1
                    if total == 0 and low >= FORBIDDEN:  # no allowed column
                        row = np.int32(NEXT_ROW)
                cuda.syncthreads()
            if tid == 0:
                cuda.atomic.add(counts, ACTIVE, np.int64(-1))
                at = PROFILE + 4 * min(phases, np.int64(MAX_PHASES - 1))
                cuda.atomic.add(counts, at + 2, bids - bids_before)
                cuda.atomic.add(counts, at + 3, lists_built - made_before)
            bids_before = bids
            made_before = lists_built
            grid_sync()
            if thread == 0:
                at = PROFILE + 4 * min(phases, np.int64(MAX_PHASES - 1))
                now = nanoseconds()
                counts[at] = eps
                counts[at + 1] += now - before
                before = now
            phases += 1
            if eps <= least_eps or phases >= MAX_PHASES or relaxed_load(counts, TIMED_OUT) != 0:
                break
            eps = max(np.int64(np.float64(eps) / alpha), least_eps)
        if tid == 0:
            cuda.atomic.add(counts, BIDS, bids)
            cuda.atomic.add(counts, LISTS_BUILT, lists_built)
            cuda.atomic.add(counts, DROPPED, dropped)
            cuda.atomic.add(counts, RETRIES, retries)
        if thread == 0:
            counts[PHASES] = phases
            counts[LAST_EPS] = eps

    return auction_kernel


def kernels():
    """The kernels for some costs, with the argument types of their launches."""
    listed = []
    for name, form, data, scale in (
        ("int32", Matrix("i"), int32, int64),
        ("int64", Matrix("i"), int64, int64),
        ("float32", Matrix("f"), float32, float64),
        ("points", Points(2, False, True), float64, int64),
    ):
        types = (data[::1], int64[::1], int64, int64, scale, float64, int64, float64, int64, int64, int64)
        types += (int32[::1], int64[::1], int64[::1], int64[::1])
        listed += [(f"auction {name} {threads}", auction_kernel_for(form, threads), types) for threads in set(THREADS)]
    return listed
