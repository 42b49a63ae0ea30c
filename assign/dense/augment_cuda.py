"""Shortest augmenting paths from all unmatched rows at once, on a GPU, over the scaled costs of a square matrix.

Takes the prices and owners that an auction left, and ends with a perfect matching of arcs with reduced cost 0, which is
optimal for the scaled costs.  One cooperative launch repeats searches until every row is matched [1]:

    renew     u = min(c - v) in each row; pairs that cost more are given up                 (in the first search)
    grow      distances over reduced costs from the unmatched rows, up to a bound that grows until half as many
              unmatched columns are below it as rows are unmatched
    lower     prices change by bound - distance, so that the paths to these columns have reduced cost 0
    flip      each tree with such a column augments along one path

A row is scanned along its list of cheapest arcs (arc_lists_cuda.py) by a warp, or, if the list does not reach to the
bound, along its whole row of costs by a block.  Such rows get a new list before the next search.

Arrays (n rows, n columns)
    price[j], owner[j], column[i], u[i]   prices and pairs, -1: unmatched; c - u - v >= 0, and == 0 for pairs
    reach[j]     distance << SHIFT | row from which column j was reached; NEVER: not yet
    listed[i]    distance at which the list of row i was last scanned; whole[i]: likewise its whole row; NEVER: not yet
    leaf[i]      unmatched column at the end of a path from row i, or -1
    queued[i]    the last sweep for which row i was queued
    queue        rows of two sweeps, which alternate; then rows to be scanned whole

Races: a distance may decrease while its row is being scanned; the thread that decreases it queues the row again.
`reach` changes by compare-and-swap, and only if the distance decreases, so predecessors form trees although reduced
costs may be 0.
Paths of different trees have no vertex in common, so one thread flips each.

[1] Gabow, Tarjan. "Faster scaling algorithms for network problems." SIAM Journal on Computing 18, 1989: Hopcroft and
    Karp's phases, with prices.

At most n searches, of O(n^2) work as far as no row is scanned again.
"""

import math
from functools import cache

import numpy as np

from assign.dense.arc_lists_cuda import list_maker
from assign.dense.auction_cuda import LISTED_ARCS, MAX_FULL_LIST, WIDTH
from assign.dense.augment_steps_cuda import (
    AUGMENTED,
    CAPACITY,
    LEFT,
    MAX_DISTANCE,
    NEVER,
    NEXT,
    PARTS,
    QUEUED,
    REACHED,
    SCANS,
    SEARCHES,
    STOPPED,
    SWEEPS,
    WHOLES,
    Grid,
    Out,
    begin_search,
    continuation,
    distance_of,
    enqueue,
    flip,
    load,
    look_ahead,
    lower,
    relax,
    scan_list,
    store,
)
from assign.dense.costs_cuda import FORBIDDEN, functions_of
from gridcut.device.cuda import (
    SIMULATED,
    WARP,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    nanoseconds,
    relaxed_load,
)
from gridcut.device.cuda_types import int32, int64

THREADS = 32 if SIMULATED else 256
REGISTERS = 128
BLOCKS_PER_SM = 2
LOCAL = 2 * CAPACITY
BLOCK_LEVELS = 8  # scanned by a block between two barriers of the grid
REACHED_SHARE = 2  # a search ends when 1 / REACHED_SHARE as many columns are reached as rows are unmatched


@cache
def augment_kernel_for(form):
    """The cooperative kernel for one form of costs."""
    cost_at, scaled_cost = functions_of(form)
    block_threads = THREADS
    rank = round(block_threads * (1 - math.exp(-LISTED_ARCS / block_threads)))
    make_list = list_maker(form, block_threads, WIDTH, rank, MAX_FULL_LIST, 0)

    @device_function
    def renew(costs, is_first, lists, paths):
        """New lists of the rows of which the last search had to scan more; u, and only pairs at it, at first."""
        data, n, m, scale = costs
        count = cuda.shared.array(2, int32)
        cols = cuda.shared.array(WIDTH, int32)
        keys = cuda.shared.array(WIDTH, int64)
        ties = cuda.shared.array(WIDTH, int32)
        ends = cuda.shared.array(2, int64)
        i = np.int64(cuda.blockIdx.x)
        while i < n:
            if is_first or paths.whole[i] < NEVER:
                total, low = make_list(data, paths.price, n, m, scale, i, count, cols, keys, ties, ends)
                t = np.int64(cuda.threadIdx.x)
                if t == 0:
                    lists.bound[i] = low
                if t == 0 and is_first:
                    minimum = np.int64(FORBIDDEN)
                    for k in range(total):
                        minimum = min(minimum, keys[k])
                    paths.u[i] = minimum if minimum < FORBIDDEN else np.int64(0)
                    j = paths.column[i]
                    if j >= 0 and scaled_cost(cost_at(data, n, m, i, j), scale) - paths.price[j] > minimum:
                        paths.owner[j] = -1
                        paths.column[i] = -1
                while t < WIDTH:
                    lists.col[i * WIDTH + t] = cols[t] if t < total else np.int32(-1)
                    if t < total:
                        lists.cost[i * WIDTH + t] = scaled_cost(cost_at(data, n, m, i, cols[t]), scale)
                    t += block_threads
                cuda.syncthreads()
            i += cuda.gridDim.x

    @device_function
    def scan_whole(i, first, end, bound, out, costs, paths, state):
        """Scan columns first ... end - 1 of row i by a block."""
        d = distance_of(i, paths)
        base = d - paths.u[i]
        j = first + cuda.threadIdx.x
        while j < end:
            q = scaled_cost(cost_at(costs.data, costs.n, costs.m, i, j), costs.scale)
            x = base + q - paths.price[j]
            if q < FORBIDDEN and x < MAX_DISTANCE:
                relax(i, j, x, relaxed_load(paths.reach, j), paths.owner[j], bound, out, paths, state)
            j += block_threads
        if cuda.threadIdx.x == 0 and first == 0:
            paths.whole[i] = d
            paths.waiting[i] = 0

    @device_function
    def sweep_lists(number, bound, parity, sweep, local, count, paths, lists, state, grid):
        """Scan the rows of a sweep, and in each block up to BLOCK_LEVELS - 1 levels that follow; rows scanned."""
        lane = np.int64(cuda.threadIdx.x & 31)
        scans = np.int64(0)
        slot = np.int32(0)
        half = np.int32(0)
        if cuda.threadIdx.x < 3:
            count[cuda.threadIdx.x] = 0
        cuda.syncthreads()
        k = grid.thread // WARP
        while k < number:
            out = Out(sweep + 1, half, slot, local, count)
            scan_list(paths.queue[(sweep & 1) * paths.u.size + k], lane, bound, parity, out, paths, lists, state)
            scans += 1
            k += grid.threads // WARP
        cuda.syncthreads()
        level = np.int64(1)
        rows = min(np.int32(count[slot]), np.int32(CAPACITY))
        while rows > 0 and level < BLOCK_LEVELS:
            following = np.int32(slot + 1) if slot < 2 else np.int32(0)
            out = Out(sweep + 1, np.int32(1 - half), following, local, count)
            w = np.int32(cuda.threadIdx.x // WARP)
            while w < rows:
                scan_list(local[half * CAPACITY + w], lane, bound, parity, out, paths, lists, state)
                scans += 1
                w += np.int32(block_threads // WARP)
            cuda.syncthreads()
            if cuda.threadIdx.x == 0:
                count[slot] = 0
            slot = following
            half = np.int32(1 - half)
            rows = min(np.int32(count[slot]), np.int32(CAPACITY))
            level += 1
        w = np.int32(cuda.threadIdx.x)
        while w < rows:
            at = cuda.atomic.add(state, QUEUED + (sweep + 1) % 3, np.int64(1))
            paths.queue[((sweep + 1) & 1) * paths.u.size + at] = local[half * CAPACITY + w]
            w += np.int32(block_threads)
        return scans

    @device_function
    def sweeps(bound, sweep, parity, local, count, costs, lists, paths, state, grid):
        """Scan queued rows until none is left: (the next sweep, rows scanned, rows scanned whole)."""
        scans, parts = np.int64(0), np.int64(0)
        while True:
            number = relaxed_load(state, QUEUED + sweep % 3)
            wholes = relaxed_load(state, WHOLES + parity)
            if number == 0 and wholes == 0:
                break
            if grid.thread == 0:
                state[QUEUED + (sweep + 2) % 3] = 0
            if number == 0:
                # Rows to be scanned whole wait until nothing else is left, because their distances decrease meanwhile.
                segments = max(np.int64(1), min(np.int64(cuda.gridDim.x) // wholes, costs.m // block_threads))
                length = (costs.m + segments - 1) // segments
                k = np.int64(cuda.blockIdx.x)
                while k < wholes * segments:
                    i = paths.queue[(2 + parity) * costs.n + k // segments]
                    first = k % segments * length
                    out = Out(sweep + 1, np.int32(-1), np.int32(0), local, count)
                    scan_whole(i, first, min(first + length, costs.m), bound, out, costs, paths, state)
                    parts += 1
                    k += cuda.gridDim.x
                grid_sync()
                if grid.thread == 0:
                    state[WHOLES + parity] = 0
                parity = 1 - parity
            else:
                scans += sweep_lists(number, bound, parity, sweep, local, count, paths, lists, state, grid)
                grid_sync()
            sweep += 1
        return sweep, parity, scans, parts

    @device_function
    def grow(left, sweep, parity, local, count, costs, lists, paths, state, grid):
        """Distances, up to a bound: (the bound, the next sweep, rows scanned, rows scanned whole)."""
        scans, parts = np.int64(0), np.int64(0)
        bound = np.int64(1)
        while True:
            sweep, parity, more, more_parts = sweeps(
                bound, sweep, parity, local, count, costs, lists, paths, state, grid
            )
            scans += more
            parts += more_parts
            if grid.thread == 0:
                state[NEXT] = NEVER
                state[REACHED] = 0
            grid_sync()
            look_ahead(bound, paths, lists, state, grid)
            grid_sync()
            following = relaxed_load(state, NEXT)
            enough = REACHED_SHARE * relaxed_load(state, REACHED) >= left or following >= NEVER
            if enough and following >= bound:
                return bound, sweep, parity, scans, parts
            if following >= bound:
                bound = min(max(bound + (bound >> 1), following + 1), np.int64(MAX_DISTANCE))
            i = grid.thread
            while i < costs.n:
                if continuation(i, paths, lists) < bound:
                    enqueue(i, Out(sweep, np.int32(-1), np.int32(0), local, count), paths, state)
                i += grid.threads
            grid_sync()

    @cuda_kernel(max_registers=REGISTERS)
    def augment_kernel(costs, word, lists, paths, state, timeout):
        """Match all rows; state[LEFT] of them stay unmatched if no path is found or time is up."""
        local = cuda.shared.array(LOCAL, int32)
        count = cuda.shared.array(3, int32)
        grid = Grid(np.int64(cuda.grid(1)), np.int64(cuda.gridsize(1)))
        begin = nanoseconds()
        load(word, paths, grid)
        sweep, scans, parts, searches = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        parity = np.int64(0)
        grid_sync()
        while True:
            renew(costs, searches == 0, lists, paths)
            if grid.thread == 0:
                state[LEFT] = 0
                state[AUGMENTED] = 0
                if nanoseconds() - begin > timeout:
                    state[STOPPED] = 1
            grid_sync()
            begin_search(Out(sweep, np.int32(-1), np.int32(0), local, count), paths, state, grid)
            grid_sync()
            left = relaxed_load(state, LEFT)
            if left == 0 or relaxed_load(state, STOPPED) != 0:
                break
            searches += 1
            bound, sweep, parity, more, more_parts = grow(
                left, sweep, parity, local, count, costs, lists, paths, state, grid
            )
            scans += more
            parts += more_parts
            lower(bound, paths, grid)
            grid_sync()
            flip(paths, state, grid)
            grid_sync()
            if relaxed_load(state, AUGMENTED) == 0:
                break
            grid_sync()
        store(word, paths, grid)
        if cuda.threadIdx.x & 31 == 0:
            cuda.atomic.add(state, SCANS, scans)
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(state, PARTS, parts)
        if grid.thread == 0:
            state[SEARCHES] = searches
            state[SWEEPS] = sweep

    return augment_kernel
