"""Lists of the cheapest arcs of a row, built by a thread block.

A list holds every arc whose key, scaled cost - price, is below `bound`, and some of the arcs whose key equals it.
Prices never rise, so the keys of unlisted arcs stay at or above `bound`.

    1  Each thread finds the minimum key of its own columns (every THREADS-th).
    2  The rank-th smallest of these minima, found by bisection, is the bound.  For randomly placed arcs,
       THREADS * log(THREADS / (THREADS - rank)) arcs are expected below it.
    3  The arcs below the bound are collected, then as many of those that equal it as fit.  If the arcs below it do not
       fit, the rank is halved; at rank 1 no arc is below the bound.

In the auction, word[j] = price << SHIFT | (row that owns column j) + 1, or 0 in the low bits for no row.  After it,
prices are stored alone.
"""

from functools import cache

import numpy as np

from assign.dense.costs_cuda import FORBIDDEN, functions_of
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel, device_function, relaxed_load
from gridcut.device.cuda_types import int32, int64

SHIFT = 20  # bits of a word that hold the row
THREADS = 32 if SIMULATED else 256
WIDTH = 8 if SIMULATED else 128  # arcs per list for the search on the host
RANK = 6 if SIMULATED else 88
BELOW, EQUAL = 0, 1  # positions in `count`


@cache
def list_maker(form, threads: int, width: int, rank: int, max_full: int, shift: int):
    """Device function make_list(...) for a block of `threads` threads; see the file header.

    Rows of at most `max_full` columns are listed completely.  Prices are stored in words shifted left by `shift`.
    """
    cost_at, scaled_cost = functions_of(form)

    @device_function
    def key_of(data, word, n, m, scale, i, j):
        q = scaled_cost(cost_at(data, n, m, i, j), scale)
        if q >= FORBIDDEN:
            return np.int64(FORBIDDEN)
        return q - (relaxed_load(word, j) >> shift)

    @device_function
    def four_keys(data, word, n, m, scale, i, j):
        # Issue all loads before the first use, so that they are in flight together.
        j1 = j + threads
        j2 = j1 + threads
        j3 = j2 + threads
        if j1 >= m:
            j1 -= m
        if j2 >= m:
            j2 -= m
        if j3 >= m:
            j3 -= m
        c0 = cost_at(data, n, m, i, j)
        c1 = cost_at(data, n, m, i, j1)
        c2 = cost_at(data, n, m, i, j2)
        c3 = cost_at(data, n, m, i, j3)
        w0 = relaxed_load(word, j)
        w1 = relaxed_load(word, j1)
        w2 = relaxed_load(word, j2)
        w3 = relaxed_load(word, j3)
        q0 = scaled_cost(c0, scale)
        q1 = scaled_cost(c1, scale)
        q2 = scaled_cost(c2, scale)
        q3 = scaled_cost(c3, scale)
        infinity = np.int64(FORBIDDEN)
        return (
            infinity if q0 >= FORBIDDEN else q0 - (w0 >> shift),
            infinity if q1 >= FORBIDDEN else q1 - (w1 >> shift),
            infinity if q2 >= FORBIDDEN else q2 - (w2 >> shift),
            infinity if q3 >= FORBIDDEN else q3 - (w3 >> shift),
            j1,
            j2,
            j3,
        )

    @device_function
    def collect(key, j, bound, count, cols, keys, ties):
        if key < bound:
            p = cuda.atomic.add(count, BELOW, np.int32(1))
            if p < width:
                cols[p] = j
                keys[p] = key
        elif key == bound and key < FORBIDDEN:
            p = cuda.atomic.add(count, EQUAL, np.int32(1))
            if p < width:
                ties[p] = j

    @device_function
    def make_list(data, word, n, m, scale, i, count, cols, keys, ties, ends):
        """Write the unordered list of row i to cols, keys; returns its length and bound (FORBIDDEN: all listed)."""
        tid = np.int64(cuda.threadIdx.x)
        # Rows start at different columns, so that not all rows list the same ones among ties.
        rotation = (np.int64(i) * 40503 % m) // 32 * 32
        required = np.int64(rank)
        minimum = np.int64(FORBIDDEN)
        if tid == 0:
            ends[0] = FORBIDDEN
            ends[1] = -FORBIDDEN
        cuda.syncthreads()
        if m > max_full:
            t = tid
            while t + 3 * threads < m:
                j = t + rotation
                if j >= m:
                    j -= m
                k0, k1, k2, k3, j1, j2, j3 = four_keys(data, word, n, m, scale, i, j)
                minimum = min(minimum, min(min(k0, k1), min(k2, k3)))
                t += 4 * threads
            while t < m:
                j = t + rotation
                if j >= m:
                    j -= m
                minimum = min(minimum, key_of(data, word, n, m, scale, i, j))
                t += threads
            if minimum < FORBIDDEN:
                cuda.atomic.min(ends, 0, minimum)
                cuda.atomic.max(ends, 1, minimum)
        cuda.syncthreads()
        first = np.int64(ends[0])
        high = np.int64(ends[1])
        bound = np.int64(FORBIDDEN)
        total = np.int32(0)
        # If few pairs are allowed, try a list of all of them first.
        finite = np.int64(cuda.syncthreads_count(np.int32(1 if minimum < FORBIDDEN else 0)))
        list_all = finite < required
        while True:
            if not list_all:
                left = first
                while left < high:
                    middle = (left + high) >> 1
                    if cuda.syncthreads_count(np.int32(1 if minimum <= middle else 0)) >= required:
                        high = middle
                    else:
                        left = middle + 1
                bound = high
            if tid == 0:
                count[BELOW] = 0
                count[EQUAL] = 0
            cuda.syncthreads()
            t = tid
            while t + 3 * threads < m:
                j = t + rotation
                if j >= m:
                    j -= m
                k0, k1, k2, k3, j1, j2, j3 = four_keys(data, word, n, m, scale, i, j)
                if min(min(k0, k1), min(k2, k3)) <= bound:
                    collect(k0, j, bound, count, cols, keys, ties)
                    collect(k1, j1, bound, count, cols, keys, ties)
                    collect(k2, j2, bound, count, cols, keys, ties)
                    collect(k3, j3, bound, count, cols, keys, ties)
                t += 4 * threads
            while t < m:
                j = t + rotation
                if j >= m:
                    j -= m
                collect(key_of(data, word, n, m, scale, i, j), j, bound, count, cols, keys, ties)
                t += threads
            cuda.syncthreads()
            below = np.int32(count[BELOW])
            equal = np.int32(count[EQUAL])
            cuda.syncthreads()
            if below <= width:
                total = np.int32(min(below + equal, width))
                t = below + tid
                while t < total:
                    cols[t] = ties[t - below]
                    keys[t] = bound
                    t += threads
                if below + equal <= width and bound < FORBIDDEN:
                    bound += 1
                break
            if list_all:
                list_all = False
                required = finite
            required = max(np.int64(1), required >> 1)
        cuda.syncthreads()
        return total, bound

    return make_list


@cache
def lists_kernel_for(form):
    """The kernel that builds sorted lists for the host."""
    cost_at, _ = functions_of(form)
    make_list = list_maker(form, THREADS, WIDTH, RANK, WIDTH, 0)

    @cuda_kernel
    def lists_kernel(data, price, n, m, scale, rows, use_rows, required, col, key, cost, bound):
        """Build list b of row rows[b] if use_rows is nonzero, else of row b."""
        count = cuda.shared.array(2, int32)
        cols = cuda.shared.array(WIDTH, int32)
        keys = cuda.shared.array(WIDTH, int64)
        ties = cuda.shared.array(WIDTH, int32)
        ends = cuda.shared.array(2, int64)
        tid = np.int64(cuda.threadIdx.x)
        b = np.int64(cuda.blockIdx.x)
        while b < required:
            i = b
            if use_rows != 0:
                i = rows[b]
            total, minimum = make_list(data, price, n, m, scale, i, count, cols, keys, ties, ends)
            t = tid
            while t < WIDTH:
                slot = b * WIDTH + t
                if t < total:
                    mine = keys[t]
                    rank = np.int64(0)
                    for k in range(total):
                        other = keys[k]
                        if other < mine or (other == mine and k < t):
                            rank += 1
                    slot = b * WIDTH + rank
                    col[slot] = cols[t]
                    key[slot] = mine
                    cost[slot] = cost_at(data, n, m, i, cols[t])
                else:
                    col[slot] = -1
                t += THREADS
            if tid == 0:
                bound[b] = minimum
            cuda.syncthreads()
            b += cuda.gridDim.x

    return lists_kernel


@cache
def row_kernel_for(form):
    """The kernel that writes one row of costs."""
    cost_at, _ = functions_of(form)

    @cuda_kernel
    def row_kernel(data, n, m, i, out):
        j = np.int64(cuda.grid(1))
        if j < m:
            out[j] = cost_at(data, n, m, i, j)

    return row_kernel
