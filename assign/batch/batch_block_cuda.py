"""Assignment problems that are too large or too wide for assign/batch/batch_team_cuda.py, one block per problem.

The same steps, with Dijkstra's search, one row per step, in unpacked int64 or float64.  Thread t owns the columns t,
t + THREADS, ..., and the arrays that a search changes are in global memory.  A block solves one problem after another.

Arrays of a block, in `reals`, `longs` and `ids`
  w[j]           price of column j, shifted by the minimum cost
  u[i]           price of row i, for matched rows
  d[j]           bits of the length of the shortest known path to j;  sign bit set: j is scanned
  row_of[j], via[j], col_of[i]

A rank determines which of several equally near columns is scanned next: by index, free columns first.

Each step has two barriers: one before the minima of the warps are compared, one before the next ones are written.
"""

from functools import cache

import numpy as np

from assign.batch.batch_numbers_cuda import INFEASIBLE, SOLVED, WIDE
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel, device_function
from gridcut.device.cuda_types import int32, int64
from gridcut.device.cuda_warp import (
    MAX_UNSIGNED,
    bits_of,
    float_of,
    unsigned_max,
    unsigned_min,
    warp_min,
    warp_min_long,
)

THREADS = 32 if SIMULATED else 256
WARPS = THREADS // 32
SIGN = -(2**63)
INFINITE = 0x7FF0000000000000
MATCHED = 1 << 30  # flag in a rank, whose other bits are the column index: the column is matched


@device_function
def reduced_integer(x, w, h):
    """Reduced cost: cost minus the prices of column and row."""
    return np.int64(np.int64(x) - w - h)


@device_function
def reduced_float(x, w, h):
    """The same of a float, as bits."""
    # Rounding may make it negative, and its sign bit would mark the column as scanned.
    t = bits_of(np.float64(x) - w - h)
    return t if t >= 0 else np.int64(0)


@device_function
def unmarked_integer(d):
    """A length without the sign bit that marks its column as scanned."""
    return np.int64(d & 0x7FFFFFFFFFFFFFFF)


@device_function
def unmarked_float(d):
    """The same of the bits of a float."""
    return float_of(d & 0x7FFFFFFFFFFFFFFF)


@device_function
def block_min(best, rank, board, ranks, thread):
    """The minimum of the block and its column, the same for all threads."""
    found = warp_min_long(best)
    top = warp_min(rank if best == found else np.int32(MAX_UNSIGNED))
    if thread & 31 == 0:
        board[thread >> 5] = found
        ranks[thread >> 5] = top
    cuda.syncthreads()
    for k in range(WARPS):
        if unsigned_min(found, board[k]) != found:
            found = board[k]
    top = np.int32(MAX_UNSIGNED)
    for k in range(WARPS):
        if board[k] == found:
            top = unsigned_min(top, ranks[k])
    cuda.syncthreads()
    return found, np.int32(top & (MATCHED - 1))


@cache
def kernel_for(cost: str, number: str, limited: bool):
    """The kernel for a dtype of costs and of the search, int64 or float64."""
    floats = number == "float64"
    real, raw = getattr(np, number), getattr(np, cost)
    top = raw(np.inf) if cost.startswith("float") else raw(np.iinfo(cost).max)
    sign, largest, infinity = np.int64(SIGN), np.int64(MAX_UNSIGNED), np.int64(INFINITE)
    no_limit = real(np.inf) if floats else real(np.iinfo(np.int64).max)
    nothing = real(0)

    # args: an entry call, which takes twice as long to pack with several tuples
    # lines: steps between barriers of a block, on arrays that they all share
    @cuda_kernel
    def block_kernel(
        costs, rows, cols, limit, col_of_row, u_out, v_out, status, items, n_most, m_most, ragged, only_wide, reals,
        longs, ids,
    ):  # fmt: skip
        """Solve the problems, one block per problem.  only_wide: solve only items with status WIDE."""
        board = cuda.shared.array(WARPS, int64)
        ranks = cuda.shared.array(WARPS, int32)
        me, mine = np.int32(cuda.threadIdx.x), np.int64(cuda.blockIdx.x)
        for item in range(mine, items, cuda.gridDim.x):
            if only_wide != 0 and status[item] != WIDE:
                continue
            cuda.syncthreads()
            r, c = np.int32(n_most), np.int32(m_most)
            if ragged != 0:
                r, c = np.int32(rows[item]), np.int32(cols[item])
            flipped = not limited and r > c
            n, m = r, c
            if flipped:
                n, m = c, r
            square = not limited and n == m
            row_first, col_first = item * n_most, item * m_most
            long_side = max(n_most, m_most)
            cells = costs[row_first * m_most : (row_first + n_most) * m_most]
            pitch, step = np.int64(m_most), np.int64(1)
            if flipped:
                pitch, step = step, pitch
            w = reals[mine * 2 * long_side : (mine * 2 + 1) * long_side]
            u = reals[(mine * 2 + 1) * long_side : (mine * 2 + 2) * long_side]
            d = longs[mine * long_side : (mine + 1) * long_side]
            row_of = ids[mine * 3 * long_side : (mine * 3 + 1) * long_side]
            via = ids[(mine * 3 + 1) * long_side : (mine * 3 + 2) * long_side]
            col_of = ids[(mine * 3 + 2) * long_side : (mine * 3 + 3) * long_side]

            for i in range(me, n, THREADS):
                col_of[i] = -1
                u[i] = nothing
            smallest = top
            for j in range(me, m, THREADS):
                row_of[j] = -1
                low = top
                arg = np.int32(-1)
                for i in range(n):
                    value = cells[i * pitch + j * step]
                    if value < low:
                        low = value
                        arg = np.int32(i)
                smallest = min(smallest, low)
                via[j] = arg
                d[j] = np.int64(0)
                w[j] = real(low) if arg >= 0 else nothing
            # Bits in unsigned order, because the integer or float may be negative.
            t = np.int64(smallest) ^ sign
            if floats:
                t = bits_of(np.float64(smallest))
                t = t ^ (sign if t >= 0 else np.int64(-1))
            t, _ = block_min(t, me, board, ranks, me)
            low_price = nothing
            if floats:
                low_price = float_of(t ^ (sign if t < 0 else np.int64(-1)))
                if low_price == no_limit:
                    low_price = nothing
            else:
                low_price = real(t ^ sign)
            if not square:
                for j in range(me, m, THREADS):
                    w[j] = low_price
            elif me == 0:
                for j in range(m):
                    i = via[j]
                    if i >= 0 and col_of[i] < 0:
                        col_of[i] = j
                        row_of[j] = i
            cuda.syncthreads()

            scans = n
            for first in range(n):
                i = np.int32(first) if col_of[first] < 0 else np.int32(-1)
                while i >= 0 and scans > 0:
                    scans = np.int32(scans - 1)
                    best, second, rank = largest, largest, np.int32(MAX_UNSIGNED)
                    for j in range(me, m, THREADS):
                        value = cells[i * pitch + j * step]
                        if floats:
                            t = reduced_float(value, w[j], nothing)
                        else:
                            t = reduced_integer(value, w[j], nothing)
                        second = unsigned_min(second, unsigned_max(best, t))
                        own = np.int32(j + (MATCHED if row_of[j] >= 0 else 0))
                        if unsigned_min(best, t) != best or (t == best and own < rank):
                            rank = own
                        best = unsigned_min(best, t)
                    found, j = block_min(best, rank, board, ranks, me)
                    second, _ = block_min(second if j % THREADS == me else best, rank, board, ranks, me)
                    if second < 0 or second >= infinity:
                        break
                    if floats:
                        cheapest, other = unmarked_float(found), unmarked_float(second)
                    else:
                        cheapest, other = unmarked_integer(found), unmarked_integer(second)
                    if limited:
                        dummy = real(limit[row_first + i] - low_price)
                        if dummy <= cheapest:
                            break
                        other = min(other, dummy)
                    holder = row_of[j]
                    if holder >= 0 and other <= cheapest:
                        break
                    cuda.syncthreads()
                    if me == 0:
                        w[j] = real(w[j] - (other - cheapest))
                        row_of[j] = i
                        col_of[i] = j
                        u[i] = other
                        if holder >= 0:
                            col_of[holder] = -1
                    cuda.syncthreads()
                    i = holder

            solved = True
            source = np.int32(0)
            while source < n and solved:
                if col_of[source] >= 0:
                    source = np.int32(source + 1)
                    continue
                i, h, scanned = source, nothing, np.int32(-1)
                for j in range(me, m, THREADS):
                    d[j] = infinity
                dummy, leaving_row = nothing, np.int32(-1)
                found, end, nearest = largest, np.int32(-1), nothing
                searching = True
                while searching:
                    best, rank = largest, np.int32(MAX_UNSIGNED)
                    for j in range(me, m, THREADS):
                        dj = d[j]
                        if j == scanned:
                            dj = dj | sign
                            d[j] = dj
                        value = cells[i * pitch + j * step]
                        if floats:
                            t = reduced_float(value, w[j], h)
                        else:
                            t = reduced_integer(value, w[j], h)
                        if t < dj:
                            dj = t
                            d[j] = t
                            via[j] = i
                        own = np.int32(j + (MATCHED if row_of[j] >= 0 else 0))
                        if unsigned_min(best, dj) != best or (dj == best and own < rank):
                            rank = own
                        best = unsigned_min(best, dj)
                    if limited:
                        length = real(limit[row_first + i] - low_price - h)
                        if leaving_row < 0 or length < dummy:
                            dummy, leaving_row = length, i
                    found, end = block_min(best, rank, board, ranks, me)
                    if floats:
                        nearest = unmarked_float(found)
                    else:
                        nearest = unmarked_integer(found)
                    none = found < 0 or found >= infinity
                    if limited and (none or dummy <= nearest) and dummy < no_limit:
                        nearest = dummy
                        searching = False
                    elif none:
                        searching = False
                        solved = False
                    else:
                        scanned = end
                        following = row_of[end]
                        if following < 0:
                            leaving_row = np.int32(-1)
                            searching = False
                        else:
                            i = following
                            h = real(u[i] - nearest)
                if solved:
                    for j in range(me, m, THREADS):
                        if d[j] < 0:
                            if floats:
                                rise = real(nearest - unmarked_float(d[j]))
                            else:
                                rise = real(nearest - unmarked_integer(d[j]))
                            w[j] = real(w[j] - rise)
                            i = row_of[j]
                            u[i] = real(u[i] + rise)
                    cuda.syncthreads()
                    if me == 0:
                        u[source] = nearest
                        if leaving_row >= 0:
                            end = col_of[leaving_row]
                            col_of[leaving_row] = -1
                        while end >= 0:
                            i = via[end]
                            row_of[end] = i
                            following = col_of[i]
                            col_of[i] = end
                            end = following
                    cuda.syncthreads()
                source = np.int32(source + 1)

            if me == 0:
                status[item] = SOLVED if solved else INFEASIBLE
            for j in range(me, m, THREADS):
                if solved:
                    i = row_of[j]
                    price = w[j]
                    if not square:
                        price = real(w[j] - low_price)
                    if flipped:
                        u_out[row_first + j] = price
                        col_of_row[row_first + j] = i
                    else:
                        v_out[col_first + j] = price
                    if i >= 0:
                        rest = cells[i * pitch + j * step] - price
                        if flipped:
                            v_out[col_first + i] = rest
                        else:
                            u_out[row_first + i] = rest
                            col_of_row[row_first + i] = j
            for i in range(me, n_most, THREADS):
                if i >= r or not solved or (not flipped and col_of[i] < 0):
                    col_of_row[row_first + i] = -1
                    u_out[row_first + i] = limit[row_first + i] if limited and i < r else 0
            for j in range(me, m_most, THREADS):
                if j >= c or not solved:
                    v_out[col_first + j] = 0

    return block_kernel
