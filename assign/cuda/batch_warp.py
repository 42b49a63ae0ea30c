"""Small assignment problems on a GPU, each solved by one warp: shortest augmenting paths.

Writes columns of rows, prices and a status for every problem.  Lane l owns the columns l, l + 32, ..., `per` of them,
and keeps what a search changes in registers: a step of a search is one row of costs, read by the whole warp, a handful
of instructions for each column and the least number of the warp.  Nothing else is waited for.

    columns   price = least cost of a column; a row that is the cheapest of several takes one of them   (square only)
    rows      a free row takes its cheapest column and lowers its price until the second cheapest is as good; the row it
              drives away is next;  n times at most
    paths     Dijkstra's search from each row that is still free

In registers, for column j of the lane
  w      the price of j and what `reduced` takes off a cost besides
  d      length of the shortest known path to j;  sign bit set: j is scanned, or no column at all
In shared memory (or none of it for costs: then they are read where they lie)
  cells[i * m + j]   costs
  u[i]               price of row i, of matched rows
  row_of[j], col_of[i]   -1: none
  via[j]             the row before j on the shortest known path

Numbers: the bits of d order as unsigned integers, scanned columns last (assign/cuda/warp.py).  Three kinds:

    int32     packed: (cost - low) << bits, plus j, plus 1 << (bits - 1) if j is matched; both of the latter are part
              of w.  The least number says which column it is, a free one if there is a choice.  Integers wrap; only
              differences count, which do not: costs from 0 to C, limits too, have prices of at least -2 C and paths of
              at most C while there is a free column, so nothing exceeds 4 C.  If C is too large, the status is WIDE,
              and nothing is solved.
    int64     cost - low
    float64   cost; d holds the bits of a float that is not negative

The last two find the column by its lane.  `limit`: row i may stay unmatched at that price, a private column.

Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing 38,
1987.  Deviates: no reduction transfer; augmenting row reduction stops at ties and after n scans.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import float32, float64, int32, int64, types, uint8

from assign.cuda.batch_numbers import (
    INFEASIBLE,
    INFINITE,
    SOLVED,
    WIDE,
    limit_packed,
    reduced_float,
    reduced_integer,
    reduced_packed,
    whole_float,
    whole_integer,
    whole_packed,
)
from assign.cuda.warp import LAST, greater, least, least_wide, lesser
from gridcut.device.cuda import (
    SIMULATED,
    WARP,
    ballot,
    cuda,
    cuda_kernel,
    device_function,
    lowest_set,
    shuffle,
    warp_sync,
)

STAGED = 20 * 1024  # bytes of costs that are copied to shared memory
AHEAD = 8  # costs of a lane asked for before the first is used


class Kind(NamedTuple):
    """What a kernel is compiled for."""

    cost: str  # dtype of the costs
    number: str  # dtype of the search: int32, int64, float64
    per: int  # columns of a lane
    staged: bool  # costs are copied to shared memory
    limited: bool


def warps_of(kind: Kind) -> int:
    """Warps of a block: few, for a block ends with the last of its problems."""
    return 1 if SIMULATED or kind.per > 2 else 2


def words_of(kind: Kind, n: int, m: int) -> tuple[int, int]:
    """Words of shared memory of a warp: before prices, and in all; both even."""
    costs = n * m * (np.dtype(kind.cost).itemsize // 4) if kind.staged else 0
    costs += costs % 2
    words = costs + n * (np.dtype(kind.number).itemsize // 4)
    words += words % 2
    total = words + 2 * m + n
    return costs, total + total % 2


@device_function
def choose_wide(best, slot, free, lane):
    """The least number of the warp, and its column, a free one if it can be."""
    found, lanes = least_wide(best)
    better = ballot(best == found and free)
    owner = lowest_set(better if better != 0 else lanes)
    return found, shuffle(np.int32(slot * WARP + lane), owner)


@cache
def kernel_for(kind: Kind):
    """The kernel."""
    per, staged, limited = kind.per, kind.staged, kind.limited
    cost, number = getattr(types, kind.cost), getattr(types, kind.number)
    packed, floats = kind.number == "int32", kind.number == "float64"
    bits = max(per * WARP - 1, 1).bit_length() + 1 if packed else 0
    flag = 1 << (bits - 1) if packed else 0
    column = flag - 1
    roomy = 1 << (29 - bits)
    word, word_type = (np.int32, int32) if packed else (np.int64, int64)
    real = getattr(np, kind.number)
    raw = getattr(np, kind.cost)
    top = raw(np.inf) if kind.cost.startswith("float") else raw(np.iinfo(kind.cost).max)
    bottom = -top - (0 if kind.cost.startswith("float") else 1)
    sign = word(np.iinfo(word).min)
    last = word(LAST)
    nothing = real(0)
    far = word(INFINITE) if not packed else word(0x7FFFFFFF)
    forever = real(np.inf) if floats else real(np.iinfo(word).max)
    together = max(1, AHEAD // per)
    asked = together * per
    warps = warps_of(kind)
    cost_words, real_words = np.dtype(kind.cost).itemsize // 4, np.dtype(kind.number).itemsize // 4

    @cuda_kernel
    def batch_kernel(
        costs, rows, cols, limit, col_of_row, u_out, v_out, status, items, n_most, m_most, ragged, again, u_at, words
    ):
        """Solve a problem a warp.  ragged: rows and cols say its size;  again: only what was found too wide."""
        lane = np.int32(cuda.threadIdx.x & 31)
        warp = np.int32(cuda.threadIdx.x >> 5)
        item = np.int64(cuda.blockIdx.x) * warps + warp
        if item >= items or (again != 0 and status[item] != WIDE):
            return
        r, c = np.int32(n_most), np.int32(m_most)
        if ragged != 0:
            r, c = np.int32(rows[item]), np.int32(cols[item])
        flipped = not limited and r > c
        n, m = r, c
        if flipped:
            n, m = c, r
        square = not limited and n == m
        row_first, col_first = item * n_most, item * m_most

        space = cuda.shared.array(0, int32)
        u = space.view(real)[(warp * words + u_at) // real_words :]
        ids = space[warp * words + u_at + n * real_words :]
        row_of, via, col_of = ids, ids[m:], ids[2 * m :]
        given = costs[row_first * m_most : (row_first + n_most) * m_most]
        cells = given
        if staged:
            cells = space.view(raw)[warp * words // cost_words :]
            pitch, step = m, np.int32(1)
        else:
            pitch, step = np.int32(m_most), np.int32(1)
            if flipped:
                pitch, step = step, pitch

        w = cuda.local.array(per, number)
        d = cuda.local.array(per, word_type)
        arg = cuda.local.array(per, int32)
        least_cost = cuda.local.array(per, cost)
        x = cuda.local.array(asked, cost)
        for k in range(per):
            least_cost[k] = top
            arg[k] = 0
        most_cost = bottom
        from_row, from_col = np.int32(m_most), np.int32(1)
        if flipped:
            from_row, from_col = from_col, from_row
        i0 = np.int32(0)
        while i0 < n:
            for a in range(together):
                for k in range(per):
                    i, j = np.int32(i0 + a), np.int32(k * WARP + lane)
                    x[a * per + k] = top
                    if i < n and j < m:
                        x[a * per + k] = given[np.uint32(i * from_row + j * from_col)]
            for a in range(together):
                for k in range(per):
                    i, j = np.int32(i0 + a), np.int32(k * WARP + lane)
                    here = x[a * per + k]
                    if staged and i < n and j < m:
                        cells[np.uint32(i * m + j)] = here
                    if here < least_cost[k]:
                        least_cost[k] = here
                        arg[k] = i
                    if packed and i < n and j < m and here > most_cost:
                        most_cost = here
            i0 = np.int32(i0 + together)
        low, high = top, most_cost
        for k in range(per):
            low = min(low, least_cost[k])
        for distance in (16, 8, 4, 2, 1):
            low = min(low, shuffle(low, lane ^ distance))
            if packed:
                high = max(high, shuffle(high, lane ^ distance))
        if n == 0 or m == 0 or (floats and low == top):
            low, high = raw(0), raw(0)
        floor, ceiling = np.int64(0), np.int64(0)
        if packed:
            # A limit above all costs is as good as any other, unless some rows must stay unmatched.
            floor, ceiling = np.int64(low) - 1, np.int64(high) + 1
            if limited and r > c:
                i = lane
                while i < n:
                    ceiling = max(ceiling, np.int64(limit[row_first + i]))
                    i = np.int32(i + WARP)
                for distance in (16, 8, 4, 2, 1):
                    ceiling = max(ceiling, shuffle(ceiling, lane ^ distance))
            if ceiling - floor > roomy:
                if lane == 0:
                    status[item] = WIDE
                return

        i = lane
        while i < n:
            col_of[np.uint32(i)] = -1
            u[np.uint32(i)] = nothing
            i = np.int32(i + WARP)
        warp_sync()
        taken = np.int32(0)
        for k in range(per):
            j = np.int32(k * WARP + lane)
            price = low
            if square and least_cost[k] != top:
                price = least_cost[k]
            if packed:
                w[k] = np.int32((np.int32(price) << bits) - j)
            else:
                w[k] = real(price)
            if square and j < m and least_cost[k] != top:
                col_of[np.uint32(arg[k])] = j
        warp_sync()
        for k in range(per):
            j = np.int32(k * WARP + lane)
            if j < m:
                row_of[np.uint32(j)] = -1
                if square and least_cost[k] != top and col_of[np.uint32(arg[k])] == j:
                    row_of[np.uint32(j)] = arg[k]
                    taken = np.int32(taken | (1 << k))
                    if packed:
                        w[k] = np.int32(w[k] - flag)
        warp_sync()

        # Rows.
        scans = n
        i0 = np.int32(0)
        while i0 < n:
            i = np.int32(min(i0 + lane, n - 1))
            free = ballot(i0 + lane < n and col_of[np.uint32(i)] < 0)
            i0 = np.int32(i0 + WARP)
            while free != 0 and scans > 0:
                i = np.int32(i0 - WARP + lowest_set(free))
                free = np.uint32(free & (free - np.uint32(1)))
                while i >= 0 and scans > 0:
                    scans = np.int32(scans - 1)
                    best, second, slot = last, last, np.int32(0)
                    for k in range(per):
                        j = np.int32(k * WARP + lane)
                        t = last
                        if j < m:
                            here = cells[np.uint32(i * pitch + j * step)]
                            if packed:
                                t = reduced_packed(here, w[k], nothing, bits)
                            elif floats:
                                t = reduced_float(here, w[k], nothing)
                            else:
                                t = reduced_integer(here, w[k], nothing)
                        second = lesser(second, greater(best, t))
                        if not packed:
                            slot = np.int32(k) if lesser(best, t) != best else slot
                        best = lesser(best, t)
                    if packed:
                        found = least(best)
                        j = np.int32(found & column)
                    else:
                        found, j = choose_wide(best, slot, ((taken >> slot) & 1) == 0, lane)
                    second = best if (j & 31) != lane else second
                    if packed:
                        second = least(second)
                    else:
                        second, _ = least_wide(second)
                    if second < 0 or second >= far:
                        break
                    if packed:
                        cheapest, other = whole_packed(found, bits), whole_packed(second, bits)
                    elif floats:
                        cheapest, other = whole_float(found), whole_float(second)
                    else:
                        cheapest, other = whole_integer(found), whole_integer(second)
                    if limited:
                        if packed:
                            private = limit_packed(limit[row_first + i], floor, ceiling, low, bits)
                        else:
                            private = real(limit[row_first + i] - low)
                        if private <= cheapest:
                            break
                        other = min(other, private)
                    rival = row_of[np.uint32(j)]
                    if rival >= 0 and other <= cheapest:
                        break
                    drop = real(other - cheapest)
                    if packed and rival < 0:
                        drop = np.int32(drop + flag)
                    for k in range(per):
                        if k * WARP + lane == j:
                            w[k] = real(w[k] - drop)
                            taken = np.int32(taken | (1 << k))
                    warp_sync()
                    if lane == 0:
                        row_of[np.uint32(j)] = i
                        col_of[np.uint32(i)] = j
                        u[np.uint32(i)] = other
                        if rival >= 0:
                            col_of[np.uint32(rival)] = -1
                    warp_sync()
                    i = rival

        # Paths.
        solved = True
        i0 = np.int32(0)
        while i0 < n and solved:
            i = np.int32(min(i0 + lane, n - 1))
            free = ballot(i0 + lane < n and col_of[np.uint32(i)] < 0)
            i0 = np.int32(i0 + WARP)
            while free != 0 and solved:
                source = np.int32(i0 - WARP + lowest_set(free))
                free = np.uint32(free & (free - np.uint32(1)))
                i, h, scanned = source, nothing, np.int32(-1)
                for k in range(per):
                    d[k] = far if k * WARP + lane < m else last
                private, leaver = nothing, np.int32(-1)
                found, j, nearest = last, np.int32(-1), nothing
                searching = True
                while searching:
                    best, slot = last, np.int32(0)
                    for k in range(per):
                        j = np.int32(k * WARP + lane)
                        dk = d[k]
                        if j == scanned:
                            dk = word(dk | sign)
                        if j < m:
                            here = cells[np.uint32(i * pitch + j * step)]
                            if packed:
                                t = reduced_packed(here, w[k], h, bits)
                            elif floats:
                                t = reduced_float(here, w[k], h)
                            else:
                                t = reduced_integer(here, w[k], h)
                            if t < dk:
                                dk = t
                                via[np.uint32(j)] = i
                        d[k] = dk
                        if not packed:
                            slot = np.int32(k) if lesser(best, dk) != best else slot
                        best = lesser(best, dk)
                    if limited:
                        if packed:
                            there = np.int32(limit_packed(limit[row_first + i], floor, ceiling, low, bits) - h)
                        else:
                            there = real(limit[row_first + i] - low - h)
                        if leaver < 0 or there < private:
                            private, leaver = there, i
                    if packed:
                        found = least(best)
                        j = np.int32(found & column)
                    else:
                        found, j = choose_wide(best, slot, ((taken >> slot) & 1) == 0, lane)
                    if packed:
                        nearest = whole_packed(found, bits)
                    elif floats:
                        nearest = whole_float(found)
                    else:
                        nearest = whole_integer(found)
                    none = found < 0 or found >= far
                    if limited and (none or private <= nearest) and private < forever:
                        nearest = private
                        searching = False
                    elif none:
                        searching = False
                        solved = False
                    else:
                        leaver_or_row = row_of[np.uint32(j)]
                        scanned = j
                        if leaver_or_row < 0:
                            leaver = np.int32(-1)
                            searching = False
                        else:
                            i = leaver_or_row
                            h = real(u[np.uint32(i)] - nearest)
                if solved:
                    for k in range(per):
                        if d[k] < 0 and k * WARP + lane < m:
                            if packed:
                                rise = np.int32(nearest - whole_packed(d[k], bits))
                            elif floats:
                                rise = real(nearest - whole_float(d[k]))
                            else:
                                rise = real(nearest - whole_integer(d[k]))
                            w[k] = real(w[k] - rise)
                            i = row_of[np.uint32(k * WARP + lane)]
                            u[np.uint32(i)] = real(u[np.uint32(i)] + rise)
                    if leaver < 0:
                        for k in range(per):
                            if k * WARP + lane == j:
                                taken = np.int32(taken | (1 << k))
                                if packed:
                                    w[k] = np.int32(w[k] - flag)
                    warp_sync()
                    if lane == 0:
                        u[np.uint32(source)] = nearest
                        if leaver >= 0:
                            j = col_of[np.uint32(leaver)]
                            col_of[np.uint32(leaver)] = -1
                        while j >= 0:
                            i = via[np.uint32(j)]
                            row_of[np.uint32(j)] = i
                            following = col_of[np.uint32(i)]
                            col_of[np.uint32(i)] = j
                            j = following
                    warp_sync()

        # Results.
        if lane == 0:
            status[item] = SOLVED if solved else INFEASIBLE
        for k in range(per):
            j = np.int32(k * WARP + lane)
            if j < m and solved:
                i = row_of[np.uint32(j)]
                if packed:
                    whole_price = np.int32(w[k] + j - (np.int32(low) << bits))
                    if i >= 0:
                        whole_price = np.int32(whole_price + flag)
                    price = np.int64(whole_price >> bits)
                elif floats and square:
                    price = real(w[k])
                else:
                    price = real(w[k] - real(low))
                if flipped:
                    u_out[row_first + j] = price
                    col_of_row[row_first + j] = i
                else:
                    v_out[col_first + j] = price
                if i >= 0:
                    rest = cells[np.uint32(i * pitch + j * step)] - price
                    if flipped:
                        v_out[col_first + i] = rest
                    else:
                        u_out[row_first + i] = rest
                        col_of_row[row_first + i] = j
        i = lane
        while i < n_most:
            if i >= r or not solved or (not flipped and col_of[np.uint32(i)] < 0):
                col_of_row[row_first + i] = -1
                u_out[row_first + i] = limit[row_first + i] if limited and i < r else 0
            i = np.int32(i + WARP)
        j = lane
        while j < m_most:
            if j >= c or not solved:
                v_out[col_first + j] = 0
            j = np.int32(j + WARP)

    return batch_kernel


def kernels():
    """The kernels of some sizes, with the argument types they are launched with."""
    listed = []
    for given, number, per, limited in (
        (int32, int32, 1, False),
        (int32, int32, 1, True),
        (int32, int64, 1, False),
        (float32, float64, 1, False),
        (float32, float64, 1, True),
        (float64, float64, 2, False),
        (int64, int64, 2, False),
        (int32, int32, 3, False),
        (float32, float64, 3, True),
        (int64, int64, 3, False),
        (int32, int32, 16, False),
        (float32, float64, 16, False),
    ):
        kind = Kind(str(given), str(number), per, per < 3, limited)
        real = float64 if number == float64 else int64
        types_of = (given[::1], int32[::1], int32[::1], real[::1], int32[::1], real[::1], real[::1], uint8[::1])
        listed.append((f"{given} {number} {per} {limited}", kernel_for(kind), types_of + (int64,) * 7))
    return listed
