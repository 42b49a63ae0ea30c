"""Assignment problems of up to 2048 columns on a GPU, one block per problem: shortest augmenting paths.

plain_team.py has the same steps in plain NumPy, for one problem; read it first.

Writes columns of the rows, prices and a status for every problem.  Thread t owns the columns t, t + threads, ..., `per`
of them, and keeps the data that a search changes in registers.

    columns   price = minimum cost of a column; a row with the minimum of several columns takes one    (square only)
    paths     a search from each row that is still free

A step of a search is dominated by latency: of the costs, of the warp minimum, of the barrier.  So a step processes
several rows.  Each group of threads publishes its nearest column whose row has not been scanned since the column came
closer.  After one barrier, all threads relax their columns by all published rows.  A column may come closer again after
its row was scanned; then the row is scanned again.  The search ends when the nearest of all unscanned columns is free:
no column can come closer than that.  Lengths are exact integers and no reduced cost is negative, so paths have no
cycles.

In registers, for each column j of the thread
  w      the price of j, combined with the terms that turn a cost into a key
  d      key of the shortest known path to j;  infinity: none
  via    the row before j on that path
  mate, worth   the row matched with j, -1: none, and its price
  done   bit set: the row of j has been scanned since j came closer
In shared memory
  cells[i * m + j]   costs, if the matrix is small; larger ones are read from global memory
  u[i]               price of row i, for matched rows
  row_of[j], col_of[i]   -1: none
  before[j]          copy of via, for the thread that augments along the path
  bounds[i]          cost at which row i may stay unmatched, as a dummy column (`limit`)
  board, reach, behind   per group: the minimum key, the amount to subtract from the costs of its row, and that row.
              There are two copies, used alternately.  A thread that writes to one copy again has passed the barrier of
              the other copy, which all threads reach only after they have read the first.

A key is a path length, shifted left, plus 1 << (bits - 1) if column j is matched, plus j; w contains the latter two.
So the minimum key identifies its column, a free one if several tie.  Lengths are integers and wrap around.  Only
differences are used, which do not overflow: with costs and limits from 0 to C, prices are at least -2 C, reduced costs
at most 4 C and first lengths at most 3 C, so nothing exceeds 8 C.  If C is too large, or floats were rounded too
coarsely, the status is WIDE, and the problem is not solved.  The integers:

    integer costs   cost - low
    float costs     (cost - low) * 2^e in int64, rounded, with 2^e such that the range of costs has about 49 bits: less
                    than 2^-47 of the range is lost, and the certificate allows 2^-48 * (n + m) of the largest cost

low is the minimum cost.  A problem is WIDE if its range of costs is too large for the integers of the kernel.  A float
problem may also turn out to be WIDE when it is solved, if the rounding was too coarse for the costs paid: a cost of
1e15 that stands for "forbidden" would round all costs below 1 away.  Every row pays at least the minimum cost, so a
cost that exceeds this minimum by more than the total excess paid cannot matter.

Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing 38,
1987.  Deviates: no reduction transfer and no augmenting row reduction, which took as many steps as it saved; the
searches correct lengths (several rows a step).
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from gridcut.device.cuda import WARP, cuda, cuda_kernel, device_function, shuffle
from gridcut.device.cuda_types import int32, types
from gridcut.device.cuda_warp import bits_of, float_of, warp_min, warp_min_long

MAX_COLUMNS, MAX_LIMITED_COLUMNS = 2048, 1536  # columns that fit into shared memory
MAX_THREADS = 256
MAX_STAGED_BYTES = 20 * 1024  # larger cost matrices are not copied to shared memory
SOLVED, INFEASIBLE, WIDE = 0, 1, 2  # status of a problem;  WIDE: its cost range is too wide for the kernel
MAX_REGISTERS = 65536 // (2 * MAX_THREADS)  # per thread, for two blocks per multiprocessor
BOARD_SLOTS = 16  # more than groups
PREFETCH_BYTES = 64  # bytes of costs that a thread loads before it uses the first
HEADROOM = 3  # bits: no length exceeds 8 C
FIXED_BITS = 50  # maximum number of bits of a float cost as an integer


class Kind(NamedTuple):
    """Compile-time parameters of a kernel."""

    cost: str  # dtype of the costs
    number: str  # dtype of keys: int32, int64
    per: int  # columns per thread
    warps: int  # maximum number of warps
    bits: int  # bits of a key for the column and whether it is matched
    staged: bool  # costs are copied to shared memory
    limited: bool


def kind_for(cost: str, number: str, n: int, m: int, limited: bool) -> Kind:
    """The kernel for problems of this size."""
    long_side = max(n, m)
    per = power_above(-(-long_side // MAX_THREADS))
    warps = power_above(-(-long_side // (per * WARP)))
    bits = max(long_side - 1, 1).bit_length() + 1
    staged = n * m * np.dtype(cost).itemsize <= MAX_STAGED_BYTES
    return Kind(cost, number, per, warps, bits, staged, limited)


def power_above(number: int) -> int:
    """The smallest power of two that is at least `number`."""
    return 1 << max(number - 1, 0).bit_length()


def threads_of(kind: Kind, long_side: int) -> int:
    """Threads per block: a multiple of the warp size."""
    return WARP * -(-long_side // (WARP * kind.per))


def words_of(kind: Kind, n: int, m: int) -> tuple[int, int]:
    """Words of shared memory excluding the boards: for costs, and in total; both even."""
    costs = n * m * (np.dtype(kind.cost).itemsize // 4) if kind.staged else 0
    costs += costs % 2
    # Large enough for the transposed problem if n > m.
    rows = n * (np.dtype(kind.number).itemsize // 4)
    words = costs + rows + 2 * m + n + (2 * m + n) % 2 + (rows if kind.limited else 0)
    return costs, words + words % 2


# Kernels call only module-level functions: with closures, the cache key of their machine code would never repeat.


@device_function
def fixed(x):
    """A float below 2^50, rounded to an integer, plus the integer of fixed(0.0)."""
    return bits_of(np.float64(x) + 6755399441055744.0)  # 1.5 * 2^52, whose unit in the last place is 1


@device_function
def exponent_of(x):
    """e with 2^e <= x < 2^(e + 1) for a positive float; -1023 for a subnormal one."""
    return np.int64((bits_of(np.float64(x)) >> 52) - 1023)


@device_function
def power_of_two(exponent):
    """2^exponent as a float64."""
    return float_of(np.int64((exponent + 1023) << 52))


@device_function
def scale_of(low, high, room):
    """2^e for costs from low to high, whose range gets `room` - 1 to `room` bits, as two factors.

    2^e or the range itself may overflow float64.
    """
    half = 0.5 * high - 0.5 * np.float64(low)
    exponent = np.int64(room - 2 - exponent_of(half)) if half > 0 else np.int64(0)
    return power_of_two(exponent >> 1), power_of_two(exponent - (exponent >> 1))


@device_function
def scaled(cost, first_scale, low_scaled, scale):
    """(cost - low) * 2^e; low_scaled = first_scale * low."""
    return (first_scale * np.float64(cost) - low_scaled) * scale


@device_function
def is_too_coarse(low, high, paid, n, m):
    """Whether the range from low to high was too wide for rounding, if `paid` is the largest cost paid."""
    excess = paid - low
    matters = max(abs(paid), abs(low)) + n * excess
    return excess > 0 and high - low > 0.5 * (n + m) * matters


@device_function
def even(words):
    """Round up to an even number of words, so that 8-byte numbers can follow."""
    return words + (words & 1)


@cache
def kernel_for(kind: Kind):
    """The kernel for these compile-time parameters."""
    per, bits, staged, limited = kind.per, kind.bits, kind.staged, kind.limited
    warp_group = kind.warps > 1  # a group is a warp; a single warp has two groups
    width, groups = (WARP, kind.warps) if warp_group else (WARP // 2, 2)
    cost, number = getattr(types, kind.cost), getattr(types, kind.number)
    floats, long = kind.cost.startswith("float"), kind.number == "int64"
    flag = 1 << (bits - 1)
    column = flag - 1
    cost_bits = 8 * np.dtype(kind.number).itemsize - 1 - HEADROOM - bits  # bits of C
    cost_bound = 1 << cost_bits
    fixed_room = min(FIXED_BITS, cost_bits) - 1
    word = getattr(np, kind.number)
    raw = getattr(np, kind.cost)
    real = np.float64 if floats else np.int64
    top = raw(np.inf) if floats else raw(np.iinfo(kind.cost).max)
    bottom = -top - (0 if floats else 1)
    no_limit = real(np.inf) if floats else real(np.iinfo(np.int64).max)
    infinity, nothing = word(np.iinfo(word).max), word(0)
    rows_per_load = max(1, PREFETCH_BYTES // (per * np.dtype(kind.cost).itemsize))
    rows_in_flight = min(groups, rows_per_load)  # rows whose costs are loaded at the same time
    n_prefetched = rows_per_load * per
    word_words = np.dtype(kind.number).itemsize // 4
    sides, other_side = 2 * BOARD_SLOTS, BOARD_SLOTS
    shift = width.bit_length() - 1

    # args: not bundled yet
    # lines: not split yet
    @cuda_kernel(max_registers=MAX_REGISTERS)
    def team_kernel(
        costs, rows, cols, limit, col_of_row, u_out, v_out, status, n_most, m_most, ragged, only_wide, u_at
    ):
        """Solve one problem per block.  ragged: sizes in rows, cols;  only_wide: solve only items with status WIDE."""
        # Multiples of 128 bytes, so that 8-byte numbers can follow in shared memory.
        board = cuda.shared.array(sides, number)
        reach = cuda.shared.array(sides, number)
        behind = cuda.shared.array(sides, int32)
        lows = cuda.shared.array(WARP, cost)
        highs = cuda.shared.array(WARP, cost)
        item = np.int64(cuda.blockIdx.x)
        if only_wide != 0 and status[item] != WIDE:
            return
        me, threads = np.int32(cuda.threadIdx.x), np.int32(cuda.blockDim.x)
        lane, warps, group = np.int32(me & 31), np.int32(threads >> 5), np.int32(me >> shift)
        r, c = np.int32(n_most), np.int32(m_most)
        if ragged != 0:
            r, c = np.int32(rows[item]), np.int32(cols[item])
        flipped = not limited and r > c
        n, m = r, c
        if flipped:
            n, m = c, r
        square = not limited and n == m
        row_first, col_first = item * n_most, item * m_most

        shared = cuda.shared.array(0, int32)
        u = shared[u_at:].view(word)
        ids = shared[u_at + n * word_words :]
        row_of, before, col_of = ids, ids[m:], ids[2 * m :]
        bounds = u
        if limited:
            bounds = shared[u_at + n * word_words + even(2 * m + n) :].view(word)
        given = costs[row_first * m_most : (row_first + n_most) * m_most]
        from_row, from_col = np.int32(m_most), np.int32(1)
        if flipped:
            from_row, from_col = from_col, from_row
        cells, pitch, step = given, from_row, from_col
        if staged:
            cells, pitch, step = shared.view(raw), m, np.int32(1)

        w = cuda.local.array(per, number)
        d = cuda.local.array(per, number)
        worth = cuda.local.array(per, number)
        mate = cuda.local.array(per, int32)
        via = cuda.local.array(per, int32)
        place = cuda.local.array(per, int32)
        arg = cuda.local.array(per, int32)
        least_cost = cuda.local.array(per, cost)
        x = cuda.local.array(n_prefetched, cost)
        row = cuda.local.array(rows_in_flight, int32)
        off = cuda.local.array(rows_in_flight, number)
        for k in range(per):
            least_cost[k] = top
            arg[k] = 0
        most_cost = bottom
        i0 = np.int32(0)
        while i0 < n:
            for a in range(rows_per_load):
                for k in range(per):
                    i, j = np.int32(i0 + a), np.int32(k * threads + me)
                    x[a * per + k] = top
                    if i < n and j < m:
                        x[a * per + k] = given[np.uint32(i * from_row + j * from_col)]
            for a in range(rows_per_load):
                for k in range(per):
                    i, j = np.int32(i0 + a), np.int32(k * threads + me)
                    value = x[a * per + k]
                    if staged and i < n and j < m:
                        cells[np.uint32(i * m + j)] = value
                    if value < least_cost[k]:
                        least_cost[k] = value
                        arg[k] = i
                    if i < n and j < m and value > most_cost and (not floats or value != top):
                        most_cost = value
            i0 = np.int32(i0 + rows_per_load)
        low, high = top, most_cost
        for k in range(per):
            low = min(low, least_cost[k])
        for distance in (16, 8, 4, 2, 1):
            low = min(low, shuffle(low, lane ^ distance))
            high = max(high, shuffle(high, lane ^ distance))
        if lane == 0:
            lows[me >> 5] = low
            highs[me >> 5] = high
        for i in range(me, n, threads):
            col_of[np.uint32(i)] = -1
            u[np.uint32(i)] = nothing
        cuda.syncthreads()
        for k in range(warps):
            low = min(low, lows[k])
            high = max(high, highs[k])
        if n == 0 or m == 0 or (floats and low == top):
            low, high = raw(0), raw(0)

        # The conversion of costs to integers, and an upper bound of the limits: all limits above all costs are
        # equivalent, unless some rows must stay unmatched.
        highest = real(high)
        if limited and r > c:
            i = lane
            while i < n:
                if limit[row_first + i] < no_limit:
                    highest = max(highest, limit[row_first + i])
                i = np.int32(i + WARP)
            for distance in (16, 8, 4, 2, 1):
                highest = max(highest, shuffle(highest, lane ^ distance))
        first_scale, scale, zero, ceiling = 1.0, 1.0, np.int64(low), np.int64(0)
        low_scaled = 0.0
        if floats:
            first_scale, scale = scale_of(low, highest, fixed_room)
            low_scaled = first_scale * np.float64(low)
            zero = fixed(0.0)
            ceiling = np.int64(fixed(scaled(highest, first_scale, low_scaled, scale)) - zero + 1)
        else:
            ceiling = np.int64(np.int64(highest) - np.int64(low) + 1)
            if ceiling >= cost_bound or ceiling < 0:
                if me == 0:
                    status[item] = WIDE
                return
        if limited:
            for i in range(me, n, threads):
                bound = infinity
                if limit[row_first + i] < no_limit:
                    if floats:
                        units = scaled(limit[row_first + i], first_scale, low_scaled, scale)
                        units = fixed(min(max(units, -1.0), np.float64(ceiling))) - zero
                    else:
                        units = min(max(np.int64(limit[row_first + i]) - zero, np.int64(-1)), ceiling)
                    bound = word(word(units) << bits)
                bounds[np.uint32(i)] = bound

        for k in range(per):
            j = np.int32(k * threads + me)
            w[k] = word((word(zero) << bits) - j)
            if square and least_cost[k] != top:
                if floats:
                    value = fixed(scaled(least_cost[k], first_scale, low_scaled, scale))
                    w[k] = word((value << bits) - j)
                else:
                    w[k] = word((word(least_cost[k]) << bits) - j)
                if j < m:
                    col_of[np.uint32(arg[k])] = j
        cuda.syncthreads()
        for k in range(per):
            j = np.int32(k * threads + me)
            if j < m:
                row_of[np.uint32(j)] = -1
                if square and least_cost[k] != top and col_of[np.uint32(arg[k])] == j:
                    row_of[np.uint32(j)] = arg[k]
                    w[k] = word(w[k] - flag)
        cuda.syncthreads()

        beyond = np.int32(0)
        for k in range(per):
            j = np.int32(k * threads + me)
            place[k] = max(min(j, np.int32(m - 1)), np.int32(0)) * step
            via[k] = -1
            if j >= m:
                beyond = np.int32(beyond | (1 << k))
        slot = np.int32(0)
        if me < sides:
            board[me] = infinity
            behind[me] = -1

        # Paths.
        solved = True
        source = np.int32(0)
        while source < n and solved:
            if col_of[np.uint32(source)] >= 0:
                source = np.int32(source + 1)
                continue
            for k in range(per):
                j = np.int32(k * threads + me)
                d[k] = infinity
                mate[k] = -1
                if j < m:
                    mate[k] = row_of[np.uint32(j)]
                    if mate[k] >= 0:
                        worth[k] = u[np.uint32(mate[k])]
            done = beyond
            dummy, leaving_row = infinity, np.int32(-1)
            end, nearest = np.int32(-1), nothing
            cuda.syncthreads()
            if me < groups:
                behind[slot + me] = source if me == 0 else np.int32(-1)
                reach[slot + me] = nothing
            cuda.syncthreads()
            searching = True
            while searching:
                for q0 in range(0, groups, rows_in_flight):
                    for q in range(rows_in_flight):
                        row[q] = behind[slot + q0 + q]
                        off[q] = reach[slot + q0 + q]
                        for k in range(per):
                            x[q * per + k] = top
                            if row[q] >= 0:
                                x[q * per + k] = cells[np.uint32(row[q] * pitch + place[k])]
                    for q in range(rows_in_flight):
                        i = row[q]
                        if i >= 0:
                            for k in range(per):
                                value = x[q * per + k]
                                if floats:
                                    t = word(fixed(scaled(value, first_scale, low_scaled, scale)) << bits)
                                else:
                                    t = word(word(value) << bits)
                                t = word(t - w[k] - off[q])
                                if t < d[k] and (not floats or value != top):
                                    d[k] = t
                                    via[k] = i
                                    done = np.int32((done & ~(1 << k)) | beyond)
                            if limited:
                                length = bounds[np.uint32(i)]
                                if length < infinity:
                                    length = word(length - off[q])
                                    if leaving_row < 0 or length < dummy:
                                        dummy, leaving_row = length, i
                slot = np.int32(slot ^ other_side)
                mine = infinity
                for k in range(per):
                    if (done >> k) & 1 == 0:
                        mine = min(mine, d[k])
                best = mine
                if not warp_group:
                    for distance in (8, 4, 2, 1):
                        best = min(best, shuffle(best, lane ^ distance))
                elif long:
                    best = warp_min_long(best)
                else:
                    best = warp_min(best)
                if mine == best:  # one thread of the group, or all if there is no column
                    follower = np.int32(-1)
                    for k in range(per):
                        if d[k] == best and best < infinity and (done >> k) & 1 == 0:
                            follower = mate[k]
                            if follower >= 0:
                                reach[slot + group] = word(worth[k] - word(best >> bits << bits))
                                done = np.int32(done | (1 << k))
                    board[slot + group] = best
                    behind[slot + group] = follower
                cuda.syncthreads()
                found = infinity
                for q in range(groups):
                    found = min(found, board[slot + q])
                nearest = word(found >> bits << bits)
                if limited and leaving_row >= 0 and (found == infinity or dummy <= nearest):
                    nearest = dummy
                    searching = False
                elif found == infinity:
                    searching = False
                    solved = False
                elif found & flag == 0:
                    end = np.int32(found & column)
                    leaving_row = np.int32(-1)
                    searching = False
            if solved:
                for k in range(per):
                    j = np.int32(k * threads + me)
                    if j < m:
                        before[np.uint32(j)] = via[k]
                        rise = word(nearest - word(d[k] >> bits << bits))
                        if rise > 0:
                            w[k] = word(w[k] - rise)
                            u[np.uint32(mate[k])] = word(worth[k] + rise)
                        if leaving_row < 0 and j == end:
                            w[k] = word(w[k] - flag)
                cuda.syncthreads()
                if me == 0:
                    u[np.uint32(source)] = nearest
                    j = end
                    if leaving_row >= 0:
                        j = col_of[np.uint32(leaving_row)]
                        col_of[np.uint32(leaving_row)] = -1
                    while j >= 0:
                        i = before[np.uint32(j)]
                        row_of[np.uint32(j)] = i
                        following = col_of[np.uint32(i)]
                        col_of[np.uint32(i)] = j
                        j = following
                cuda.syncthreads()
            source = np.int32(source + 1)

        # Results.
        if me == 0:
            status[item] = SOLVED if solved else INFEASIBLE
        paid = np.float64(low)
        for k in range(per):
            j = np.int32(k * threads + me)
            if j < m and solved:
                i = row_of[np.uint32(j)]
                units = word(w[k] + j - (word(zero) << bits))
                if i >= 0:
                    units = word(units + flag)
                units = word(units >> bits)
                if floats:
                    price = np.float64(units) / scale / first_scale
                else:
                    price = np.int64(units)
                if flipped:
                    u_out[row_first + j] = price
                    col_of_row[row_first + j] = i
                else:
                    v_out[col_first + j] = price
                if i >= 0:
                    if floats:
                        paid = max(paid, np.float64(cells[np.uint32(i * pitch + j * step)]))
                    rest = cells[np.uint32(i * pitch + j * step)] - price
                    if flipped:
                        v_out[col_first + i] = rest
                    else:
                        u_out[row_first + i] = rest
                        col_of_row[row_first + i] = j
        for i in range(me, n_most, threads):
            if i >= r or not solved or (not flipped and col_of[np.uint32(i)] < 0):
                col_of_row[row_first + i] = -1
                u_out[row_first + i] = limit[row_first + i] if limited and i < r else 0
                if floats and limited and solved and i < r:
                    paid = max(paid, min(limit[row_first + i], highest))
        for j in range(me, m_most, threads):
            if j >= c or not solved:
                v_out[col_first + j] = 0
        if floats and solved:
            for distance in (16, 8, 4, 2, 1):
                paid = max(paid, shuffle(paid, lane ^ distance))
            if lane == 0:
                highs[me >> 5] = raw(paid)
            cuda.syncthreads()
            if me == 0:
                for k in range(warps):
                    paid = max(paid, np.float64(highs[k]))
                if is_too_coarse(np.float64(low), highest, paid, n, m):
                    status[item] = WIDE

    return team_kernel
