"""Method "jonker_volgenant": one matrix of a few hundred rows, by passes over whole rows of costs in vector code.

Returns the column of each row (-1: unmatched) and prices that certify it optimal; n <= m.

The steps and their arrays are those of assign/batch/batch_paths.py: column minima, row reduction, and Dijkstra's search
from each row that is still free.  A copy of the costs, packed with their columns and padded, fits in the L1 or L2
cache.  While it does, a pass over a row costs less than keeping a list of its cheap columns and a heap, as
assign/dense/dense.py does.  So `search` hands over what it found, prices and pairs, to the lists if the share of free
rows lies between FEW and a bound that grows with the memory of a pass or is above MAX_FREE_SHARE, or after a number of
passes.

If there are more columns than rows, prices start at 0, and rows take their cheapest column while it is free; then the
searches, without row reduction.  The same holds if most pairs cost the same and none more (1 - IoU, clipped pairs): a
row that is left with such pairs then takes the first free column, instead of a long search for it.  It does not hold if
that cost blocks pairs, so much higher that few of them are matched.  Large or rectangular matrices of floats, whose
rows are read a few times only, are read in place.

Number types: float costs are solved in float64.  Integer costs are shifted to start at 0 and packed with their column
indices, in int32 if the range of the costs permits it, else in int64; without packing if the type is too narrow.
`bits` is the number of bits by which costs are shifted for a column and a mark: 0 for floats, and if not packed.

`solve_matrix` does everything in one compiled call for matrices of any sign and number type: it validates while it
copies, solves, and writes pairs, prices and total.  For invalid or infeasible costs it returns REJECTED; the caller
validates again, and raises.

[1] Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing
38, 1987.

`solve_numbers` also solves the problems of batches (assign/batch/batch.py), with limits.

O(n^2 m) in the worst case; memory 8 n m bytes.
"""

import threading

import numpy as np
from numba import types
from numba.extending import overload

from assign.batch.batch_paths import (
    INFINITY32,
    INFINITY64,
    augment,
    column_of,
    minimum,
    price_of,
    reduce_columns,
    reduce_rows,
)
from gridcut.device import inner_kernel, kernel
from gridcut.device.arguments import INT64_MAX

LANES = 8  # rows are padded to a multiple of this length

# Status of solve_matrix.  HANDED_OVER: a valid state, for the lists of assign/dense/dense.py.  REJECTED: invalid or
# infeasible costs, or integers too large for prices of 64 bits.
SOLVED, HANDED_OVER, REJECTED = 0, 1, 2
MAX_COSTS = 1 << 21  # larger matrices begin with lists, unless they are rectangles of floats
MIN_ROWS, MIN_PACKED_ROWS = 148, 300  # smaller matrices are handed over only after a budget of scans
# A square matrix is handed over after the first two steps if more than FEW of its rows are free, but a smaller share
# than the memory of a pass over all rows / BYTES: few free rows have short searches, for which lists are faster in
# large matrices.  Distances leave 0.25 to 0.35 of the rows free, uniform costs 0.12 to 0.16, tracks none.  Numbers that
# are not packed with their columns are read twice, PASS more bytes; packed ones are never faster in lists.
FEW, BYTES, PASS = 0.02, 60_000_000, 5
# It is handed over too if more than this share is free: then other start prices are better, for sums and products of a
# row's and a column's own value.  Others leave at most 0.45.  So is a large rectangle, as one of repeated rows: its
# searches are long.
MAX_FREE_SHARE = 0.6
SEARCH_SCANS = 40  # rows scanned in the searches, per row, before any matrix is handed over; distances need 30 to 40
# Budgets with which a matrix is handed over only for its free rows, and never.
BY_FREE_ROWS, UNLIMITED = INT64_MAX - 1, INT64_MAX
SAMPLED_ROWS, MIN_COMMON_SHARE = 8, 0.75  # of pairs that cost the same, in a sample of rows
KEPT_NUMBERS = 1 << 18  # of memory that a thread keeps between calls: 2 MiB


class Memory(threading.local):
    """Memory that a thread reuses: page faults of new memory would take as long as a small matrix."""

    def __init__(self):
        self.numbers = np.empty(0, np.int64)

    def of(self, size: int) -> np.ndarray:
        """`size` numbers of 8 bytes, not initialised."""
        if size <= self.numbers.size:
            return self.numbers
        numbers = np.empty(size, np.int64)
        if size <= KEPT_NUMBERS:
            self.numbers = numbers
        return numbers


memory = Memory()


def memory_for(n: int, m: int) -> np.ndarray:
    """Memory for `solve_matrix` of n rows and m >= n columns."""
    return memory.of(memory_size(n, m))


def memory_size(n: int, m: int) -> int:
    """Number of numbers of 8 bytes for `solve_numbers`."""
    return (n + 9) * -(-m // LANES) * LANES


@kernel
def most_cost_the_same(cost, sign):
    """Whether most pairs in a sample of the rows have the highest cost, times sign, and may well be matched.

    A cost above the others by more than n times their range blocks pairs: one of them costs more than all others.
    """
    n, m = cost.shape
    low = next_high = high = sign * cost[0, 0]
    seen, same = 0, 0
    for i in range(0, n, max(n // SAMPLED_ROWS, 1)):
        for j in range(m):
            number = sign * cost[i, j]
            if number > high:
                next_high, high, same = high, number, 0
            elif number < high and (number > next_high or next_high == high):
                next_high = number
            low = minimum(low, number)
            same += number == high
        seen += m
    is_blocking = 0 < n * (next_high - low) < high - next_high
    return same >= MIN_COMMON_SHARE * seen and high < np.inf and not is_blocking


@inner_kernel
def load(cost, m, factor, shift, is_packed, infinity, work):
    """work = factor * cost + shift, packed with the columns; padded with infinity after m."""
    n, width = work.shape
    real = work.dtype.type
    for i in range(n):
        row = work[i]
        given = cost[i]
        for j in range(m):
            row[j] = real(real(given[j]) * factor + shift)
        if is_packed:
            for j in range(m):
                row[j] = real(row[j] + real(j))
        for j in range(m, width):
            row[j] = infinity


@inner_kernel
def checked_minimum(row):
    """The minimum of a row, and whether all numbers are above -infinity."""
    real = row.dtype.type
    low, bad = row[0], real(0)
    for j in range(row.size):
        bad = minimum(bad, real(-1) if row[j] != row[j] else real(0))
        low = minimum(low, row[j])
    return low, bad == 0 and low > -np.inf


@inner_kernel
def bounds_of(cost, n, m):
    """Minimum and maximum of integers."""
    low = high = cost[0, 0]
    for i in range(n):
        row = cost[i]
        for j in range(m):
            low = minimum(low, row[j])
            high = high if row[j] < high else row[j]
    return np.int64(low), np.int64(high)


@inner_kernel
def take_cheapest(work, n, bits, mark, infinity, price, row_of, col_of, rank):
    """Match rows with their cheapest columns, while these are free, at price 0; returns whether all costs are valid."""
    width = price.size
    for i in range(n):
        row = work[i]
        low, is_valid = checked_minimum(row)
        if not is_valid:
            return False
        j = column_of(row, low, rank, bits)
        if low < infinity and row_of[j] < 0:
            row_of[j] = i
            col_of[i] = j
            rank[j] += width
            price[j] -= mark
    return True


# args: a matrix, its limits and its results: every caller has them apart
@inner_kernel
def search(work, cost, m, sign, budget, limit, dummy, bits, infinity, numbers, ids, col, u, v):
    """Match all rows of a loaded matrix; returns as `solve_matrix`.

    dummy   the limits in the numbers of `work`
    """
    n, width = work.shape
    has_minima = n == m and limit.size == 0
    if budget is not None:
        has_minima = has_minima and not most_cost_the_same(cost, sign)
    real = numbers.dtype.type
    price, dist = numbers[:width], numbers[width : 2 * width]
    at, old = numbers[2 * width : 3 * width], numbers[3 * width : 4 * width]
    pred, final_pred, order = ids[:width], ids[width : 2 * width], ids[2 * width : 3 * width]
    rank, row_of, col_of = ids[3 * width : 4 * width], ids[4 * width : 5 * width], ids[5 * width : 5 * width + n]
    mark = real(1 << (bits - 1)) if bits > 0 else real(0)
    for j in range(width):
        price[j] = 0
        rank[j] = j
        row_of[j] = -1
    for i in range(n):
        col_of[i] = -1
    if has_minima:
        if budget is not None:
            for i in range(n if infinity == np.inf else 0):
                if not checked_minimum(work[i])[1]:
                    return REJECTED, v[0]
        reduce_columns(work, n, bits, mark, infinity, price, pred, row_of, col_of, rank)
    has_bids = True
    if budget is not None:
        has_bids = has_minima
        if not has_minima and not take_cheapest(work, n, bits, mark, infinity, price, row_of, col_of, rank):
            return REJECTED, v[0]
    if has_bids:
        reduce_rows(work, n, bits, mark, infinity, price, dist, row_of, col_of, rank, dummy, np.int64(n))
    v[0] = 0
    total = v[0]  # of its type
    free, spent, scans_left = 0, 0, np.int64(UNLIMITED)
    if budget is not None:
        for i in range(n):
            free += 1 if col_of[i] < 0 else 0
        enough = n * width * (work.itemsize + PASS) / BYTES if bits == 0 else 0.0
        is_large = n >= (MIN_ROWS if bits == 0 else MIN_PACKED_ROWS)
        are_few = has_minima and FEW < free / n < enough
        are_most = free / n > MAX_FREE_SHARE and (has_minima or n * width > MAX_COSTS)
        scans_left = -1 if is_large and budget < UNLIMITED and (are_few or are_most) else np.int64(budget)
    status = SOLVED
    for i in range(n):
        if col_of[i] >= 0:
            continue
        if spent > scans_left:
            status = HANDED_OVER
            break
        scans = augment(
            work, i, bits, mark, infinity, price, dist, pred, final_pred, order, at, old, row_of, col_of, rank, dummy
        )
        if scans == 0:
            return REJECTED, total
        spent += scans
    for j in range(m):
        v[j] = sign * price_of(price[j], row_of[j] >= 0, bits, mark)
    for i in range(n):
        col[i] = col_of[i]
    if status == HANDED_OVER:
        return status, total + free
    for i in range(n):
        j = col_of[i]
        if j < 0:
            u[i] = limit[i]
            continue
        u[i] = cost[i, j] - v[j]
        total += cost[i, j]
    return SOLVED, total


def solve_numbers(cost, n, m, sign, budget, limit, numbers, col, u, v):
    """Solve the first n rows and m columns of a matrix in a suitable number type; (the status, the total cost).

    budget   None: the matrix is valid, and searches are not limited
    limit    cost at which row i may stay unmatched; no entries: it must not
    numbers  (memory_size(n, m),) int64
    col      (n,) column of each row, -1: unmatched;  u, v: prices
    """


@overload(solve_numbers)
def _solve_numbers(cost, n, m, sign, budget, limit, numbers, col, u, v):
    if isinstance(cost.dtype, types.Float):

        def solve_floats(cost, n, m, sign, budget, limit, numbers, col, u, v):
            width = (m + LANES - 1) // LANES * LANES
            size = n * width
            floats, ids = numbers.view(np.float64), numbers[size + 5 * width :].view(np.int32)
            if budget is not None:
                if sign > 0 and (n < m or n * m > KEPT_NUMBERS):
                    return search(cost, cost, m, sign, budget, limit, floats[:0], 0, np.inf, floats, ids, col, u, v)
            work = floats[:size].reshape((n, width))
            load(cost, m, np.float64(sign), 0.0, False, np.inf, work)
            free = floats[size:]
            dummy = free[free.size - min(n, limit.size) :]
            for i in range(dummy.size):
                dummy[i] = limit[i]
            return search(work, cost, m, sign, budget, limit, dummy, 0, np.inf, free, ids, col, u, v)

        return solve_floats

    def solve_integers(cost, n, m, sign, budget, limit, numbers, col, u, v):
        width = (m + LANES - 1) // LANES * LANES
        size = n * width
        ids = numbers[size + 5 * width :].view(np.int32)
        low, high = bounds_of(cost, n, m)
        bound = INT64_MAX // (4 * (n + m + 1))
        if high > bound or low < -bound:
            return REJECTED, np.int64(0)
        if sign < 0:
            low, high = -high, -low
        high += 1  # all limits above all costs are equivalent, unless some rows must stay unmatched
        if n > m:
            for i in range(min(n, limit.size)):
                high = max(high, limit[i])
        bits = 1
        while 1 << bits < m:
            bits += 1
        bits += 1
        spread = high - low
        if spread < INFINITY32 >> 3:
            bits = bits if spread < INFINITY32 >> (bits + 3) else 0
            narrow = numbers.view(np.int32)
            work, free, infinity = narrow[:size].reshape((n, width)), narrow[size:], np.int32(INFINITY32)
            load(cost, m, np.int32(sign << bits), np.int32(-low << bits), bits > 0, infinity, work)
            dummy = free[free.size - min(n, limit.size) :]
            for i in range(dummy.size):
                dummy[i] = (min(max(limit[i], low - 1), high) - low) << bits
            return search(work, cost, m, sign, budget, limit, dummy, bits, infinity, free, ids, col, u, v)
        if spread >= INFINITY64 >> (bits + 3):
            bits = 0
        work, free, largest = numbers[:size].reshape((n, width)), numbers[size:], np.int64(INFINITY64)
        load(cost, m, np.int64(sign << bits), np.int64(-low << bits), bits > 0, largest, work)
        wide = free[free.size - min(n, limit.size) :]
        for i in range(wide.size):
            wide[i] = (min(max(limit[i], low - 1), high) - low) << bits
        return search(work, cost, m, sign, budget, limit, wide, bits, largest, free, ids, col, u, v)

    return solve_integers


@kernel
def solve_matrix(cost, sign, budget, transposed, numbers, row, col, u, v):
    """Validate and solve a matrix of n >= 1 rows and m >= n columns; returns the status and the total cost.

    If it is handed over, col and v hold pairs and prices so far, and the total is the number of rows to search from.

    sign        -1: the caller maximises
    budget      rows that the searches may scan
    transposed  the rows of the matrix are the caller's columns
    numbers     memory_for(n, m)
    row, col    the caller's pairs, by ascending row
    u, v        prices that certify them, in the caller's sign
    """
    n, m = cost.shape
    width = (m + LANES - 1) // LANES * LANES
    ids = numbers[(n + 5) * width :].view(np.int32)
    status, total = solve_numbers(cost, n, m, sign, budget, v[:0], numbers, col, u, v)
    if status == SOLVED and transposed:
        for j in range(m):
            ids[j] = -1
        for i in range(n):
            ids[col[i]] = i
        k = 0
        for j in range(m):
            if ids[j] >= 0:
                row[k], col[k] = j, ids[j]
                k += 1
    elif status == SOLVED:
        for i in range(n):
            row[i] = i
    return status, total


def infeasible(cost):
    """The error for a matrix of which not every row can be matched."""
    from assign.core.infeasible import InfeasibleError
    from assign.sparse.feasible import check_feasible

    rows, columns = np.nonzero(np.isfinite(cost))
    indptr = np.searchsorted(rows, np.arange(len(cost) + 1))
    try:
        check_feasible(indptr, columns.astype(np.int32), *cost.shape)
    except InfeasibleError as error:
        return error
    raise AssertionError("the searches and check_feasible disagree")
