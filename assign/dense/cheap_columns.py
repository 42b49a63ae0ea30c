"""Short lists of each row's cheapest columns, with a bound on all other columns that stays valid.

Column prices only decrease, so cost - price of a pair only increases.  A list of the k smallest values therefore
bounds the rest of its row however old it is:

    cost[i, j] - v[j] >= low[i, e]    for the e-th listed column j (equal when the list was built)
    cost[i, j] - v[j] >= bound[i]     for every unlisted column j (the (k + 1)-th smallest when it was built)

Searches scan k columns instead of m, and read the whole row again only if `bound` is too small to decide.

Arrays (in Work, work.py)
  column[i, e], price[i, e]    the listed pairs (i, column) and their costs, by ascending `low`
  low[i, e]                    `infinity` after the end of a list that is shorter than k
  bound[i]                     `infinity`: all allowed columns are listed
  width[0]                     estimate of bound[i] - low[i, 0] for the next list, see `select`

A row is read once for the minimum of each of its groups, which compiles to vector instructions, and then again only in
the groups that contain a listed column.  Group g consists of the columns g, g + groups, g + 2 groups, ..., so that the
minima need no shuffles inside a vector register.  The first group visited depends on the row: if many pairs tie, lists
that all contain the same leftmost columns would be useless.

Volgenant. "Linear and semi-assignment problems: a core oriented approach." Computers & Operations Research 1996
(short lists; there they are checked at the end, which the bound makes unnecessary here).
"""

import numpy as np
from numba import types
from numba.extending import overload

from gridcut.device import atomic_add, inner_kernel, kernel, run_threads, thread_count

GROUP_SIZE = 16  # columns per group; 8 and 32 are slower by up to a tenth and a quarter
MAX_SHORT_ROW = 2048  # rows up to this length use groups of half the size, which saves a tenth of the time
# Rows that a thread takes at a time: on a busy machine, running threads take over the share of a waiting one.
ROWS_PER_CHUNK = 64
PARALLEL_MIN_COSTS = 8_000_000  # smaller passes take little longer than starting the threads


def infinity_of(dtype):
    """Larger than any price or distance; 2^62 for integers, because (n + 1) max|cost| is below 2^61."""
    return np.inf if np.dtype(dtype).kind == "f" else np.int64(2**62)


@kernel
def group_count(m):
    """Number of groups of a row of m columns."""
    size = GROUP_SIZE if m > MAX_SHORT_ROW else GROUP_SIZE // 2
    return (m + size - 1) // size


@kernel
def group_minima(row, v, minima):
    """minima[g] = minimum of row - v over group g."""
    groups = minima.size
    for g in range(groups):
        minima[g] = row[g] - v[g]
    start = groups
    while start + groups <= row.size:
        for g in range(groups):
            w = row[start + g] - v[start + g]
            minima[g] = w if w < minima[g] else minima[g]
        start += groups
    for g in range(row.size - start):
        w = row[start + g] - v[start + g]
        minima[g] = w if w < minima[g] else minima[g]


@kernel
def select(row, v, minima, rotation, width, infinity, column, price, low):
    """Fill one list from the group minima with the pairs below minimum + `width`; returns its bound and a new width.

    A list need not be full: a width that admits about three quarters of it saves most of the sorting, and
    minimum + width is then the bound.  `rotation` selects the first group.
    """
    k = low.size
    groups = minima.size
    minimum = infinity
    for g in range(groups):
        minimum = min(minimum, minima[g])
    bound = infinity
    if width < infinity and minimum < infinity and minimum + width > minimum:
        bound = minimum + width
    filled = 0
    while True:
        limit = bound
        filled = 0
        g = rotation % groups
        for _ in range(groups):
            if minima[g] < bound:
                for j in range(g, row.size, groups):
                    w = row[j] - v[j]
                    if w < bound:
                        if filled < k:
                            low[filled] = w
                            column[filled] = j
                            filled += 1
                            if filled == k:
                                sort(low, column, k)
                            continue
                        if w >= low[k - 1]:
                            bound = w
                            continue
                        bound = low[k - 1]
                        e = k - 1
                        while e > 0 and low[e - 1] > w:
                            low[e] = low[e - 1]
                            column[e] = column[e - 1]
                            e -= 1
                        low[e] = w
                        column[e] = j
            g += 1
            if g == groups:
                g = 0
        if limit >= infinity or 4 * filled >= k:
            break
        bound = infinity
    if filled < k:
        sort(low, column, filled)
        if limit < infinity and 2 * filled < k:
            width += width
    elif bound < infinity:
        width = shrunk_width(bound - minimum, bound)
    for e in range(filled):
        price[e] = row[column[e]]
    for e in range(filled, k):
        low[e] = infinity
        column[e] = 0
        price[e] = infinity
    return bound, width


def shrunk_width(width, bound):
    """Seven eighths of a width, but never 0, which would admit no column if many tie."""
    return max(0.875 * width, 1e-12 * abs(bound), 1e-300)


@overload(shrunk_width)
def _shrunk_width(width, bound):
    if isinstance(width, types.Integer):
        return lambda width, bound: max(width - (width >> 3), 1)
    return lambda width, bound: max(0.875 * width, 1e-12 * abs(bound), 1e-300)


@kernel
def sort(low, column, size):
    """Insertion sort by `low`."""
    for at in range(1, size):
        w = low[at]
        j = column[at]
        e = at
        while e > 0 and low[e - 1] > w:
            low[e] = low[e - 1]
            column[e] = column[e - 1]
            e -= 1
        low[e] = w
        column[e] = j


@inner_kernel
def refresh(work, i, rotation):
    """Rebuild the list of row i for the current prices."""
    group_minima(work.cost[i], work.v, work.minima)
    work.bound[i], work.width[0] = select(
        work.cost[i], work.v, work.minima, i * 7 + rotation, work.width[0], work.infinity, work.column[i],
        work.price[i], work.low[i],
    )  # fmt: skip


@kernel
def build_some(fields, first, last):
    """Build the lists of rows first to last - 1."""
    cost, v, _, _, _, _, infinity, column, price, low, bound, _, _, _ = fields
    minima = np.empty(group_count(cost.shape[1]), v.dtype)  # not those of `fields`, which the threads share
    width = infinity
    for i in range(first, last):
        group_minima(cost[i], v, minima)
        bound[i], width = select(cost[i], v, minima, i * 7, width, infinity, column[i], price[i], low[i])


@kernel
def build_chunks(fields, next_chunk):
    """Build the lists of ROWS_PER_CHUNK rows at a time; the atomic counter next_chunk[0] distributes them."""
    n = fields[0].shape[0]
    while True:
        first = ROWS_PER_CHUNK * atomic_add(next_chunk, 0, 1)
        if first >= n:
            break
        build_some(fields, first, min(n, first + ROWS_PER_CHUNK))


def build(work):
    """Build all lists."""
    fields, cost = tuple(work), work.cost
    if cost.size < PARALLEL_MIN_COSTS or thread_count() == 1:
        build_some(fields, 0, len(cost))
    else:
        next_chunk = np.zeros(1, np.int64)
        run_threads(lambda _: build_chunks(fields, next_chunk), thread_count())
