"""Assignment problems of middle size on a GPU, each solved by a block: shortest augmenting paths.

The steps and the numbers are those of assign/cuda/batch_warp.py.  Here thread t owns the columns t, t + threads, ...,
`per` of them, and keeps their w and d in registers; costs are read where they lie; the rest is in shared memory.

One barrier a step of a search: every warp writes its least number to a board, waits, and reads the whole board, so that
no second barrier has to spread the result.  Boards alternate: who writes to one again has met all others at the barrier
of the other one, after they read the first.  What a step reads besides, row_of and u, changes only between searches.

Two columns a step: the row of the second nearest is relaxed along with that of the nearest, which nearly doubles the
speed, for a step is mostly waiting.  The second is `ahead`: it counts as scanned if nothing has come nearer meanwhile;
else it stays as it was, and what was found through it are lengths of paths all the same.  No length found is less than
that of the column it comes from, also where floats are rounded, so paths never run in circles.  Not with limits, where
a search may end in between.

A rank says which column of several equally near ones is scanned next: its number, free ones first.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import float32, float64, int32, int64, types, uint8

from assign.cuda.batch_numbers import (
    INFEASIBLE,
    INFINITE,
    MATCHED,
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
from gridcut.device.cuda import WARP, cuda, cuda_kernel, device_function, shuffle

MOST = 2048  # columns
LEAST_PER, MOST_THREADS = 2, 512
MOST_REGISTERS = 65536 // MOST_THREADS  # of a thread, on all devices
AHEAD = 64  # bytes of costs a thread asks for before the first is used


class Kind(NamedTuple):
    """What a kernel is compiled for."""

    cost: str  # dtype of the costs
    number: str  # dtype of the search: int32, int64, float64
    per: int  # columns of a thread
    bits: int  # of a packed number that tell the column;  0: not packed
    limited: bool


def kind_for(cost: str, number: str, long_side: int, limited: bool) -> Kind:
    """The kernel for problems of this size."""
    per = LEAST_PER
    while per * MOST_THREADS < long_side:
        per *= 2
    bits = max(long_side - 1, 1).bit_length() + 1 if number == "int32" else 0
    return Kind(cost, number, per, bits, limited)


def threads_of(kind: Kind, long_side: int) -> int:
    """Threads of a block: a whole number of warps."""
    return WARP * -(-long_side // (WARP * kind.per))


def bytes_of(kind: Kind, n: int, m: int) -> int:
    """Shared memory of a block, besides the boards; enough for the transposed problem if n > m."""
    words = n * (np.dtype(kind.number).itemsize // 4) + 2 * m + n
    return 4 * (words + words % 2)


@device_function
def two_least_of_team(best, second, board, others, at, thread, warps):
    """The least int32 of the block and the next one;  best and second: of this thread."""
    lane = np.int32(thread & 31)
    found = least(best)
    rest = least(second if best == found else best)
    if lane == 0:
        board[at + (thread >> 5)] = found
        others[at + (thread >> 5)] = rest
    cuda.syncthreads()
    mine, behind = np.int32(LAST), np.int32(LAST)
    if lane < warps:
        mine, behind = board[at + lane], others[at + lane]
    found = least(mine)
    return found, least(behind if mine == found else mine)


@device_function
def two_least_ranked_of_team(best, second, rank, next_rank, board, others, ranks, next_ranks, at, thread, warps):
    """The two least int64 of the block, each with the least rank that has it;  those given: of this thread."""
    lane = np.int32(thread & 31)
    found, _ = least_wide(best)
    top = least(rank if best == found else np.int32(LAST))
    behind, own = best, rank
    if rank == top:
        behind, own = second, next_rank
    rest, _ = least_wide(behind)
    own = least(own if behind == rest else np.int32(LAST))
    if lane == 0:
        board[at + (thread >> 5)] = found
        others[at + (thread >> 5)] = rest
        ranks[at + (thread >> 5)] = top
        next_ranks[at + (thread >> 5)] = own
    cuda.syncthreads()
    best, second, rank, next_rank = np.int64(LAST), np.int64(LAST), np.int32(LAST), np.int32(LAST)
    if lane < warps:
        best, second, rank, next_rank = board[at + lane], others[at + lane], ranks[at + lane], next_ranks[at + lane]
    found, _ = least_wide(best)
    top = least(rank if best == found else np.int32(LAST))
    if rank == top:
        best, rank = second, next_rank
    rest, _ = least_wide(best)
    return found, rest, top, least(rank if best == rest else np.int32(LAST))


@cache
def kernel_for(kind: Kind):
    """The kernel."""
    per, bits, limited = kind.per, kind.bits, kind.limited
    cost, number = getattr(types, kind.cost), getattr(types, kind.number)
    packed, floats = kind.number == "int32", kind.number == "float64"
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
    together = max(1, AHEAD // (per * np.dtype(kind.cost).itemsize))
    asked = together * per
    both = 2 * WARP
    real_words = np.dtype(kind.number).itemsize // 4

    @cuda_kernel(max_registers=MOST_REGISTERS)
    def team_kernel(costs, rows, cols, limit, col_of_row, u_out, v_out, status, items, n_most, m_most, ragged, again):
        """Solve a problem a block.  ragged: rows and cols say its size;  again: only what was found too wide."""
        # All of a multiple of 128 bytes, so that what follows them in shared memory may hold numbers of 8 bytes.
        board = cuda.shared.array(both, word_type)
        others = cuda.shared.array(both, word_type)
        ranks = cuda.shared.array(both, int32)
        next_ranks = cuda.shared.array(both, int32)
        kept = cuda.shared.array(both, word_type)
        lows = cuda.shared.array(WARP, cost)
        highs = cuda.shared.array(WARP, cost)
        item = np.int64(cuda.blockIdx.x)
        if again != 0 and status[item] != WIDE:
            return
        me, threads = np.int32(cuda.threadIdx.x), np.int32(cuda.blockDim.x)
        lane, warps = np.int32(me & 31), np.int32(threads >> 5)
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
        u = space.view(real)
        ids = space[n * real_words :]
        row_of, via, col_of = ids, ids[m:], ids[2 * m :]
        cells = costs[row_first * m_most : (row_first + n_most) * m_most]
        pitch, step = np.int32(m_most), np.int32(1)
        if flipped:
            pitch, step = step, pitch

        w = cuda.local.array(per, number)
        d = cuda.local.array(per, word_type)
        arg = cuda.local.array(per, int32)
        least_cost = cuda.local.array(per, cost)
        x = cuda.local.array(asked, cost)
        y = cuda.local.array(per, cost)
        for k in range(per):
            least_cost[k] = top
            arg[k] = 0
        most_cost = bottom
        i0 = np.int32(0)
        while i0 < n:
            for a in range(together):
                for k in range(per):
                    i, j = np.int32(i0 + a), np.int32(k * threads + me)
                    x[a * per + k] = top
                    if i < n and j < m:
                        x[a * per + k] = cells[np.uint32(i * pitch + j * step)]
            for a in range(together):
                for k in range(per):
                    i, j = np.int32(i0 + a), np.int32(k * threads + me)
                    here = x[a * per + k]
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
                if me == 0:
                    status[item] = WIDE
                return

        for k in range(per):
            j = np.int32(k * threads + me)
            price = low
            if square and least_cost[k] != top:
                price = least_cost[k]
                if j < m:
                    col_of[np.uint32(arg[k])] = j
            if packed:
                w[k] = np.int32((np.int32(price) << bits) - j)
            else:
                w[k] = real(price)
        cuda.syncthreads()
        taken = np.int32(0)
        for k in range(per):
            j = np.int32(k * threads + me)
            if j < m:
                row_of[np.uint32(j)] = -1
                if square and least_cost[k] != top and col_of[np.uint32(arg[k])] == j:
                    row_of[np.uint32(j)] = arg[k]
                    taken = np.int32(taken | (1 << k))
                    if packed:
                        w[k] = np.int32(w[k] - flag)
        cuda.syncthreads()

        # Rows.
        at = np.int32(0)
        scans = n
        first = np.int32(0)
        while first < n and scans > 0:
            i = first
            if col_of[np.uint32(first)] >= 0:
                i = np.int32(-1)
            went = i >= 0
            while i >= 0 and scans > 0:
                scans = np.int32(scans - 1)
                for k in range(per):
                    j = np.int32(k * threads + me)
                    x[k] = top
                    if j < m:
                        x[k] = cells[np.uint32(i * pitch + j * step)]
                best, second, rank = last, last, np.int32(LAST)
                for k in range(per):
                    j = np.int32(k * threads + me)
                    t = last
                    if j < m:
                        if packed:
                            t = reduced_packed(x[k], w[k], nothing, bits)
                        elif floats:
                            t = reduced_float(x[k], w[k], nothing)
                        else:
                            t = reduced_integer(x[k], w[k], nothing)
                    second = lesser(second, greater(best, t))
                    if not packed:
                        own = np.int32(j + MATCHED * ((taken >> k) & 1))
                        if lesser(best, t) != best or (t == best and own < rank):
                            rank = own
                    best = lesser(best, t)
                if packed:
                    found, second = two_least_of_team(best, second, board, others, at, me, warps)
                    j = np.int32(found & column)
                else:
                    found, second, rank, _ = two_least_ranked_of_team(
                        best, second, rank, np.int32(LAST), board, others, ranks, next_ranks, at, me, warps
                    )
                    j = np.int32(rank & (MATCHED - 1))
                at = np.int32(at ^ WARP)
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
                    if k * threads + me == j:
                        w[k] = real(w[k] - drop)
                        taken = np.int32(taken | (1 << k))
                cuda.syncthreads()  # all have read row_of
                if me == 0:
                    row_of[np.uint32(j)] = i
                    col_of[np.uint32(i)] = j
                    u[np.uint32(i)] = other
                    if rival >= 0:
                        col_of[np.uint32(rival)] = -1
                i = rival
            if went:
                cuda.syncthreads()
            first = np.int32(first + 1)

        # Paths.
        solved = True
        source = np.int32(0)
        while source < n and solved:
            if col_of[np.uint32(source)] >= 0:
                source = np.int32(source + 1)
                continue
            i, h, scanned = source, nothing, np.int32(-1)
            for k in range(per):
                d[k] = far if k * threads + me < m else last
            private, leaver = nothing, np.int32(-1)
            found, end, nearest = word(0), np.int32(-1), nothing
            ahead, ahead_row, ahead_h, ahead_found = np.int32(-1), np.int32(-1), nothing, word(0)
            searching = True
            while searching:
                for k in range(per):
                    j = np.int32(k * threads + me)
                    x[k] = top
                    y[k] = top
                    if j < m:
                        x[k] = cells[np.uint32(i * pitch + j * step)]
                        if ahead >= 0:
                            y[k] = cells[np.uint32(ahead_row * pitch + j * step)]
                best, rank, second, next_rank = last, np.int32(LAST), last, np.int32(LAST)
                for k in range(per):
                    j = np.int32(k * threads + me)
                    dk = d[k]
                    if j == scanned:
                        dk = word(dk | sign)
                    if packed:
                        t = reduced_packed(x[k], w[k], h, bits)
                    elif floats:
                        t = max(reduced_float(x[k], w[k], h), found)
                    else:
                        t = reduced_integer(x[k], w[k], h)
                    if j < m and t < dk:
                        dk = t
                        via[np.uint32(j)] = i
                    if ahead >= 0:
                        if packed:
                            t = reduced_packed(y[k], w[k], ahead_h, bits)
                        elif floats:
                            t = max(reduced_float(y[k], w[k], ahead_h), ahead_found)
                        else:
                            t = reduced_integer(y[k], w[k], ahead_h)
                        if j < m and t < dk and j != ahead:
                            dk = t
                            via[np.uint32(j)] = ahead_row
                    d[k] = dk
                    if j == ahead:
                        kept[at] = dk
                        dk = last
                    if packed:
                        second = lesser(second, greater(best, dk))
                        best = lesser(best, dk)
                    else:
                        own = np.int32(j + MATCHED * ((taken >> k) & 1))
                        if lesser(best, dk) != best or (dk == best and own < rank):
                            second, next_rank = best, rank
                            best, rank = dk, own
                        elif lesser(second, dk) != second or (dk == second and own < next_rank):
                            second, next_rank = dk, own
                if limited:
                    if packed:
                        there = np.int32(limit_packed(limit[row_first + i], floor, ceiling, low, bits) - h)
                    else:
                        there = real(limit[row_first + i] - low - h)
                    if leaver < 0 or there < private:
                        private, leaver = there, i
                if packed:
                    found, second = two_least_of_team(best, second, board, others, at, me, warps)
                    end, following = np.int32(found & column), np.int32(second & column)
                else:
                    found, second, rank, next_rank = two_least_ranked_of_team(
                        best, second, rank, next_rank, board, others, ranks, next_ranks, at, me, warps
                    )
                    end, following = np.int32(rank & (MATCHED - 1)), np.int32(next_rank & (MATCHED - 1))
                if ahead >= 0:
                    waiting = kept[at]
                    if lesser(waiting, found) == waiting:
                        if waiting == ahead_found:
                            for k in range(per):
                                if k * threads + me == ahead:
                                    d[k] = word(d[k] | sign)
                        else:
                            second, following = found, end
                            found, end = waiting, ahead
                    elif lesser(waiting, second) == waiting:
                        second, following = waiting, ahead
                at = np.int32(at ^ WARP)
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
                    scanned = end
                    i = row_of[np.uint32(end)]
                    if i < 0:
                        leaver = np.int32(-1)
                        searching = False
                    else:
                        h = real(u[np.uint32(i)] - nearest)
                        ahead = np.int32(-1)
                        if not limited and second >= 0 and second < far:
                            ahead_row = row_of[np.uint32(following)]
                            if ahead_row >= 0:
                                ahead, ahead_found = following, second
                                if packed:
                                    ahead_h = real(u[np.uint32(ahead_row)] - whole_packed(second, bits))
                                elif floats:
                                    ahead_h = real(u[np.uint32(ahead_row)] - whole_float(second))
                                else:
                                    ahead_h = real(u[np.uint32(ahead_row)] - whole_integer(second))
            if solved:
                for k in range(per):
                    j = np.int32(k * threads + me)
                    if d[k] < 0 and j < m:
                        if packed:
                            rise = np.int32(nearest - whole_packed(d[k], bits))
                        elif floats:
                            rise = real(nearest - whole_float(d[k]))
                        else:
                            rise = real(nearest - whole_integer(d[k]))
                        w[k] = real(w[k] - rise)
                        i = row_of[np.uint32(j)]
                        u[np.uint32(i)] = real(u[np.uint32(i)] + rise)
                    if leaver < 0 and j == end:
                        taken = np.int32(taken | (1 << k))
                        if packed:
                            w[k] = np.int32(w[k] - flag)
                cuda.syncthreads()
                if me == 0:
                    u[np.uint32(source)] = nearest
                    j = end
                    if leaver >= 0:
                        j = col_of[np.uint32(leaver)]
                        col_of[np.uint32(leaver)] = -1
                    while j >= 0:
                        i = via[np.uint32(j)]
                        row_of[np.uint32(j)] = i
                        following = col_of[np.uint32(i)]
                        col_of[np.uint32(i)] = j
                        j = following
                cuda.syncthreads()
            source = np.int32(source + 1)

        # Results.
        if me == 0:
            status[item] = SOLVED if solved else INFEASIBLE
        for k in range(per):
            j = np.int32(k * threads + me)
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
        for i in range(me, n_most, threads):
            if i >= r or not solved or (not flipped and col_of[np.uint32(i)] < 0):
                col_of_row[row_first + i] = -1
                u_out[row_first + i] = limit[row_first + i] if limited and i < r else 0
        for j in range(me, m_most, threads):
            if j >= c or not solved:
                v_out[col_first + j] = 0

    return team_kernel


def kernels():
    """The kernels of some sizes, with the argument types they are launched with."""
    listed = []
    for given, number, per, bits, limited in (
        (int32, int32, 2, 10, False),
        (int32, int32, 2, 10, True),
        (int32, int64, 2, 0, False),
        (float32, float64, 2, 0, False),
        (float32, float64, 2, 0, True),
        (int32, int32, 4, 12, False),
        (float64, float64, 4, 0, False),
        (int64, int64, 4, 0, True),
    ):
        kind = Kind(str(given), str(number), per, bits, limited)
        real = float64 if number == float64 else int64
        types_of = (given[::1], int32[::1], int32[::1], real[::1], int32[::1], real[::1], real[::1], uint8[::1])
        listed.append((f"{given} {number} {per} {limited}", kernel_for(kind), types_of + (int64,) * 5))
    return listed
