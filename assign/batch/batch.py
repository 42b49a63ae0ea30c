"""Many small assignment problems in one call, on CPU threads.

Returns the columns of the rows, the prices and a status for every problem.  The problems are distributed among threads,
a few at a time.  A thread copies one problem at a time into its own memory, small enough for its nearest cache,
pads the rows for vector code, and solves the problem there by shortest augmenting paths (assign/batch/batch_paths.py).

Number types: float costs are solved in float64.  Integer costs are shifted to start at 0 and packed with their column
indices, in int32 if the range of the costs permits it, else in int64; without packing if int64 is too narrow as well.
`bits` is the number of bits by which costs are shifted for a column and a mark: 0 for integers that are not packed,
None for floats.

Arrays (items first)
  cost[b, i, j]       int32, int64, float32, float64;  +inf: forbidden
  rows[b], cols[b]    the true size; costs outside it are never read, and the shorter side is matched
  limit[b, i]         cost at which row i may stay unmatched, int64 or float64;  no columns: all must be matched
  col_of_row[b, i]    -1: unmatched, or outside the true size
  u[b, i], v[b, j]    int64 or float64;  0 outside the true size
  status[b]           0, or 1: infeasible, and the above are -1 and 0

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
38, 1987.

O(n^2 m) per problem; memory 8 n m bytes per thread.
"""

import numpy as np
from numba import types
from numba.extending import overload

from assign.batch.batch_paths import (
    INFINITY32,
    INFINITY64,
    SCANS_PER_ROW,
    augment,
    price_of,
    reduce_columns,
    reduce_rows,
)
from gridcut.device import atomic_add, kernel, plain_kernel, run_threads, thread_count
from gridcut.device.arguments import unmarked

SOLVED, INFEASIBLE = 0, 1
LANES = 32  # rows are padded to a multiple of this length
MAX_SHARE = 16  # maximum number of problems that a thread takes at a time
MIN_COSTS_PER_THREAD = 100_000  # half a millisecond; a thread starts in a tenth of one


@plain_kernel
def range_of(cost, n, m):
    """Minimum and maximum cost."""
    low = high = cost[0, 0]
    for i in range(n):
        for j in range(m):
            low = min(low, cost[i, j])
            high = max(high, cost[i, j])
    return np.int64(low), np.int64(high)


@plain_kernel
def fill(cost, n, m, flipped, low, bits, infinity, work):
    """Copy costs to `work`, transposed if flipped, shifted and packed; rows are padded with infinity."""
    real = work.dtype.type
    for i in range(n):
        row = work[i]
        if flipped:
            for j in range(m):
                row[j] = real(cost[j, i]) if bits is None else real((np.int64(cost[j, i]) - low) << bits)
        else:
            for j in range(m):
                row[j] = real(cost[i, j]) if bits is None else real((np.int64(cost[i, j]) - low) << bits)
        if bits is not None and bits > 0:
            for j in range(m):
                row[j] = real(row[j] + real(j))
        for j in range(m, row.size):
            row[j] = infinity


# args: a problem, its limits and its results: every caller has them apart
@kernel
def solve_in(numbers, ids, cost, n, m, flipped, limit, low, high, bits, infinity, col_of_row, u, v):
    """Solve one problem of n rows and m columns (after transposing) in the given memory; returns feasibility."""
    real = numbers.dtype.type
    width = (m + LANES - 1) // LANES * LANES
    size = n * width
    work = numbers[:size].reshape((n, width))
    price, dist = numbers[size : size + width], numbers[size + width : size + 2 * width]
    at, old = numbers[size + 2 * width : size + 3 * width], numbers[size + 3 * width : size + 4 * width]
    dummy = numbers[size + 4 * width : size + 4 * width + min(n, limit.size)]
    pred, final_pred, order = ids[:width], ids[width : 2 * width], ids[2 * width : 3 * width]
    rank, row_of, col_of = ids[3 * width : 4 * width], ids[4 * width : 5 * width], ids[5 * width : 5 * width + n]
    mark = real(1 << (bits - 1)) if bits is not None and bits > 0 else real(0)
    fill(cost, n, m, flipped, low, bits, infinity, work)
    for i in range(dummy.size):
        number = min(max(limit[i], low - 1), high)
        dummy[i] = real(number) if bits is None else real((np.int64(number) - low) << bits)
    for j in range(width):
        price[j] = 0
        rank[j] = j
        row_of[j] = -1
    for i in range(n):
        col_of[i] = -1
    if n == m and dummy.size == 0:
        reduce_columns(work, n, bits, mark, infinity, price, pred, row_of, col_of, rank)
    reduce_rows(work, n, bits, mark, infinity, price, dist, row_of, col_of, rank, dummy, np.int64(SCANS_PER_ROW * n))
    for i in range(n):
        if col_of[i] < 0 and not augment(
            work, i, bits, mark, infinity, price, dist, pred, final_pred, order, at, old, row_of, col_of, rank, dummy
        ):
            return False
    if flipped:
        for j in range(m):
            i = row_of[j]
            col_of_row[j] = i
            u[j] = price_of(price[j], i >= 0, bits, mark)
            if i >= 0:
                v[i] = cost[j, i] - u[j]
    else:
        for j in range(m):
            v[j] = price_of(price[j], row_of[j] >= 0, bits, mark)
        for i in range(n):
            j = col_of[i]
            col_of_row[i] = j
            if j >= 0:
                u[i] = cost[i, j] - v[j]
            else:
                u[i] = limit[i]
    return True


def forms_of(cost):
    """(0, None) for floats, (None, 0) for integers: code below `is not None` is compiled for one of them only."""
    return (0, None) if cost.dtype.kind == "f" else (None, 0)


@overload(forms_of)
def _forms_of(cost):
    return (lambda cost: (0, None)) if isinstance(cost.dtype, types.Float) else (lambda cost: (None, 0))


@kernel
def solve_one(memory, ids, cost, r, c, limit, floats, integers, col_of_row, u, v):
    """Solve one problem of r rows and c columns in a suitable number type; returns whether it is feasible."""
    flipped = r > c and limit.size == 0
    n, m = (c, r) if flipped else (r, c)
    solved = False
    if floats is not None:
        solved = solve_in(memory, ids, cost, n, m, flipped, limit, -np.inf, np.inf, integers, np.inf, col_of_row, u, v)
    if integers is not None:
        low, high = range_of(cost, r, c)
        high += 1  # all limits above all costs are equivalent, unless some rows must stay unmatched
        if r > c and limit.size > 0:
            for i in range(r):
                high = max(high, limit[i])
        bits = 1
        while 1 << bits < m:
            bits += 1
        bits += 1
        spread = high - low
        if spread < INFINITY32 >> (bits + 3):
            small, infinity = memory.view(np.int32), np.int32(INFINITY32)
            return solve_in(small, ids, cost, n, m, flipped, limit, low, high, bits, infinity, col_of_row, u, v)
        if spread >= INFINITY64 >> (bits + 3):
            bits = 0
        largest = np.int64(INFINITY64)
        solved = solve_in(memory, ids, cost, n, m, flipped, limit, low, high, bits, largest, col_of_row, u, v)
    return solved


@plain_kernel
def solve_shares(counter, share, cost, rows, cols, limit, memory, ids, col_of_row, u, v, status):
    """Solve problems until none is left; the atomic counter distributes them among threads."""
    items = cost.shape[0]
    while True:
        first = atomic_add(counter, 0, np.int64(share))
        if first >= items:
            break
        for b in range(first, min(first + share, items)):
            r, c = np.int64(rows[b]), np.int64(cols[b])
            if c == 0 and limit.shape[1] > 0:
                for i in range(r):
                    u[b, i] = limit[b, i]
            elif r > 0 and c > 0:
                floats, integers = forms_of(cost)
                if not solve_one(memory, ids, cost[b], r, c, limit[b], floats, integers, col_of_row[b], u[b], v[b]):
                    status[b] = INFEASIBLE


def solve(costs, *, rows=None, cols=None, limit=None, threads=None):
    """Columns of the rows, prices and status of every problem, and counters.

    limit     cost of staying unmatched: for all rows, per problem, or per row
    threads   number of threads; None: numba's number
    """
    items, n, m = costs.shape
    real = np.int64 if costs.dtype.kind == "i" else np.float64
    col_of_row = np.full((items, n), -1, np.int32)
    u, v = np.zeros((items, n), real), np.zeros((items, m), real)
    status = np.zeros(items, np.uint8)
    rows = np.full(items, n, np.int32) if rows is None else rows
    cols = np.full(items, m, np.int32) if cols is None else cols
    limit = np.empty((items, 0), real) if limit is None else limits(limit, (items, n), real)
    costs, rows, cols, limit = map(unmarked, (costs, rows, cols, limit))
    max_threads = max(1, items * n * m // MIN_COSTS_PER_THREAD)
    threads = max(1, min(threads or thread_count(), items, max_threads))
    # Transposed problems have the longer side as their columns.
    n, m = max(n, 1), max(n, m, 1)
    width = -(-m // LANES) * LANES
    memory = np.empty((threads, n * width + 4 * width + n), real)
    ids = np.empty((threads, 5 * width + n), np.int32)
    share = max(1, min(MAX_SHARE, items // (8 * threads)))
    arguments = (np.zeros(1, np.int64), share, costs, rows, cols, limit)
    results = (col_of_row, u, v, status)
    run_threads(lambda t: solve_shares(*arguments, memory[t], ids[t], *results), threads)
    return *results, {"threads": threads}


def limits(limit, shape, real):
    """Limits for all rows, per problem, or per row, as an array with one per row."""
    limit = np.asarray(limit, real)
    if limit.ndim == 1 and limit.shape[0] == shape[0]:
        limit = limit[:, None]
    return np.ascontiguousarray(np.broadcast_to(limit, shape))
