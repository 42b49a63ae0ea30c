"""Shortest augmenting paths on whole rows; for assign/batch, jonker_volgenant.py and dense_augment.py.

Computes the columns of the rows and the prices of the columns.  Three steps:

    columns   price[j] = minimum cost of column j; its row is matched with j if it is still free  (square problems only)
    rows      a free row takes its cheapest column and lowers its price until the second cheapest is equally good; the
              displaced row is next.  The number of scans is limited, because such chains can be very long.
    paths     Dijkstra's search from each row that is still free

There is no heap as in the other searches (assign/core/frontier.py): all work consists of passes over a row of costs.
Rows are padded, so that the compiler can vectorise without a remainder loop.  A pass is branch-free and computes the
minimum at the same time.

Arrays (n rows, m columns, width: m padded)
  work[i, j]     cost, plus the column index if packed;  infinity: padding, forbidden
  price[j]       price of column j;  -infinity after column j is scanned
  dist[j]        length of the shortest known path to column j;  infinity: scanned
  pred[j]        the row before column j on that path
  final_pred[j]  pred[j] when column j was scanned
  order, at, old the scanned columns in order; dist and price of each before its scan
  row_of[j]      row of column j, or -1
  col_of[i]      column of row i, or -1
  rank[j]        j, plus `width` if column j is matched
  limit[i]       cost at which row i may stay unmatched (a dummy column);  no entries: every row must be matched

Packed (bits > 0): numbers are shifted left by `bits`.  work[i, j] is (cost << bits) + j, and price[j] is
(price << bits), minus 1 << (bits - 1) if column j is matched.  So the minimum of a pass also identifies its column, a
free one if several tie.  If not packed, a second pass finds the column.

Let costs be between 0 and C, and limits below C if there are more rows than columns.  While there is a free column,
whose price has never changed, no path is longer than C, and all column prices are at least -2 C.  So no sum exceeds
4 C, and 8 C <= infinity suffices.

Jonker, Volgenant. "A shortest augmenting path algorithm for dense and sparse linear assignment problems." Computing 38,
1987.  Deviates: no reduction transfer; augmenting row reduction stops at ties and after a number of scans.

O(n^2 m); the caller allocates all memory.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from gridcut.device import inner_kernel

INFINITY32, INFINITY64 = 1 << 30, 1 << 62


def minimum(a, b):
    """Minimum of two numbers that are not NaN."""
    return a if a < b else b


@intrinsic
def _minimum(typingctx, a, b):
    # A minimum of floats is vectorised only if the compiler may ignore NaN and the sign of zero.
    def build(context, builder, sig, args):
        a, b = args
        if isinstance(sig.return_type, types.Float):
            flags = ("nnan", "nsz")
            return builder.select(builder.fcmp_ordered("<", a, b, flags=flags), a, b, flags=flags)
        return builder.select(builder.icmp_signed("<", a, b), a, b)

    return a(a, a), build


overload(minimum, inline="always")(lambda a, b: lambda a, b: _minimum(a, b))


def without_column(number, bits):
    """A packed number with the column bits cleared."""
    return number >> bits << bits if bits else number


@overload(without_column)
def _without_column(number, bits):
    if isinstance(number, types.Float):
        return lambda number, bits: number
    return lambda number, bits: number >> bits << bits


def price_of(number, matched, bits, mark):
    """The unpacked price of a column."""
    return (number + mark) >> bits if matched and bits else number >> bits if bits else number


@overload(price_of)
def price_of_overload(number, matched, bits, mark):
    if isinstance(number, types.Float):
        return lambda number, matched, bits, mark: number

    def price(number, matched, bits, mark):
        return np.int64(number + mark if matched else number) >> bits

    return price


def column_of(dist, low, rank, bits):
    """The column whose dist is low, a free one if several tie."""
    if bits:
        return int(low) & ((1 << (bits - 1)) - 1)
    return min(r for r, d in zip(rank, dist, strict=True) if d == low) % len(dist)


@inner_kernel
def _search(dist, low, rank):
    """The column of minimum rank among those whose dist is low."""
    width = np.int32(dist.size)
    found = np.int32(2 * width)
    for j in range(width):
        found = min(found, rank[j] if dist[j] == low else np.int32(2 * width))
    return found - width if found >= width else np.int64(found)


@overload(column_of)
def _column_of(dist, low, rank, bits):
    if isinstance(low, types.Float):
        return lambda dist, low, rank, bits: _search(dist, low, rank)

    def column_of(dist, low, rank, bits):
        if bits == 0:
            return _search(dist, low, rank)
        return np.int64(low) & ((1 << (bits - 1)) - 1)

    return column_of


@inner_kernel
def first_distances(row, price, dist):
    """dist = row - price; returns the minimum."""
    real = dist.dtype.type
    low = real(row[0] - price[0])
    for j in range(dist.size):
        d = real(row[j] - price[j])
        dist[j] = d
        low = minimum(low, d)
    return low


@inner_kernel
def relax(row, price, dist, pred, i, h):
    """dist = min(dist, row - price - h), with pred = i where it decreases; returns the minimum."""
    real = dist.dtype.type
    low = dist[0]
    for j in range(dist.size):
        d = real(row[j] - price[j] - h)
        before = dist[j]
        closer = d < before
        dist[j] = d if closer else before
        pred[j] = i if closer else pred[j]
        low = minimum(low, d if closer else before)
    return low


@inner_kernel
def minimum_of(dist):
    low = dist[0]
    for j in range(dist.size):
        low = minimum(low, dist[j])
    return low


@inner_kernel
def reduce_columns(work, n, bits, mark, infinity, price, pred, row_of, col_of, rank):
    """The first step."""
    width = price.size
    for j in range(width):
        price[j] = work[0, j]
        pred[j] = 0
    for i in range(1, n):
        for j in range(width):
            lower = work[i, j] < price[j]
            price[j] = work[i, j] if lower else price[j]
            pred[j] = np.int32(i) if lower else pred[j]
    for j in range(width):
        if price[j] >= infinity:  # padding, or no allowed row
            price[j] = 0
            continue
        price[j] = without_column(price[j], bits)
        i = pred[j]
        if col_of[i] < 0:
            col_of[i] = j
            row_of[j] = i
            rank[j] += width
            price[j] -= mark


@inner_kernel
def reduce_rows(work, n, bits, mark, infinity, price, dist, row_of, col_of, rank, limit, scans):
    """The second step."""
    real = price.dtype.type
    width = price.size
    for first in range(n):
        if col_of[first] >= 0:
            continue
        i = first
        while i >= 0 and scans > 0:
            scans -= 1
            low = first_distances(work[i], price, dist)
            j = column_of(dist, low, rank, bits)
            low = without_column(low, bits)
            dist[j] = infinity
            second = without_column(minimum_of(dist), bits)
            if limit.size > 0:
                if limit[i] <= low:
                    break
                second = minimum(second, limit[i])
            holder = row_of[j]
            if second >= infinity or (holder >= 0 and second <= low):
                break
            price[j] = real(price[j] - (second - low))
            row_of[j] = i
            col_of[i] = j
            if holder >= 0:
                col_of[holder] = -1
            else:
                rank[j] += width
                price[j] -= mark
            i = holder


# args: the arrays of one search, parts of one memory that each caller divides in its own way
@inner_kernel
def augment(
    work, first, bits, mark, infinity, price, dist, pred, final_pred, order, at, old, row_of, col_of, rank, limit
):
    """The third step for one row; returns the number of rows scanned, 0 if there is no path."""
    real = price.dtype.type
    width = price.size
    for j in range(width):
        pred[j] = first
    low = first_distances(work[first], price, dist)
    i = first
    h = real(0)
    scanned = 0
    dummy = infinity
    leaving_row = -1
    ends_unmatched = False
    while True:
        if limit.size > 0:
            d = real(limit[i] - h)
            if d < dummy:
                dummy = d
                leaving_row = i
        j = column_of(dist, low, rank, bits)
        low = without_column(low, bits)
        if leaving_row >= 0 and dummy <= low:
            low = dummy
            j = col_of[leaving_row]
            col_of[leaving_row] = -1
            ends_unmatched = True
            break
        if low >= infinity:
            break
        final_pred[j] = pred[j]
        if row_of[j] < 0:
            break
        order[scanned] = j
        at[scanned] = low
        old[scanned] = price[j]
        scanned += 1
        i = row_of[j]
        h = real(without_column(real(work[i, j] - price[j]), bits) - low)
        price[j] = -infinity
        dist[j] = infinity
        low = relax(work[i], price, dist, pred, i, h)
    found = low < infinity
    for k in range(scanned):
        price[order[k]] = real(old[k] - (low - at[k])) if found else old[k]
    if not found or (ends_unmatched and leaving_row == first):
        return scanned + 1 if found else 0
    if not ends_unmatched:
        rank[j] += width
        price[j] -= mark
    i = -1
    while i != first:
        i = final_pred[j]
        row_of[j] = i
        j, col_of[i] = col_of[i], j
    return scanned + 1
