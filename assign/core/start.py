"""Prices to start from: any finite ones, brought to where they can do no harm.

Prices are hints.  Those far larger than the costs would cost a float solver its digits and an integer one its range,
and an optimum never needs them: columns j, k that are matched in an optimum joined by a path of L pairs have prices
|v[j] - v[k]| <= 2 L max|cost|, one pair where all are allowed.  So prices are moved to the middle, where a constant may
be exchanged between rows and columns, and clipped.  `assign.core.certificate.tolerance` grows with the number of rows
and columns, and so may the prices, up to REACH.
"""

import numpy as np

from assign.core.arrays import prices_of

MAX_PRICE_RATIO = 16  # largest price, as a multiple of the largest cost
MAX_EXACT_RATIO = 4
MAX_INT_PRICE = 2**45  # the largest of integers; sums of them and of costs stay far below 2^62


def start_of(start, problem):
    """Old prices as the solver sees them, (u, v), or None."""
    if start is None:
        return None
    u, v = prices_of(start, problem.shape)
    is_integer = problem.costs.cost.dtype.kind == "i"
    u, v = (_as_integers(a) if is_integer else np.clip(a.astype(np.float64), -1e300, 1e300) for a in (u, v))
    if problem.shift is not None:
        u = u - problem.shift
    if problem.negated:
        u, v = -u, -v
    if problem.level:
        u, v = u - problem.level, v + problem.level
    return (v, u) if problem.transposed else (u, v)


def fitted(prices, shape, largest, limited: bool):
    """Prices of the rows and columns of a solver, none of them larger than the costs call for.

    largest   the largest absolute cost
    limited   whether rows may stay unmatched
    """
    if prices is None:
        return None
    u, v = prices
    bound = min(MAX_PRICE_RATIO, sum(shape)) * largest
    if v.dtype.kind == "i":
        bound = min(int(bound), MAX_INT_PRICE)
    if shape[0] == shape[1] and not limited and np.abs(v).max(initial=0) > bound:
        middle = np.median(v).astype(v.dtype)
        u, v = u + middle, v - middle
    return np.clip(u, -bound, bound), np.clip(v, -bound, bound)


def lost_digits(start, u, v, col_of) -> bool:
    """Whether float prices started so far above the costs paid in the end that a cold start is more exact.

    The largest cost bounds what may be passed in (`fitted`), but may itself be far above all that matters, such as
    1e15 for "forbidden".  What prices lose is within the certificate's tolerance for the costs paid up to LOSSLESS
    times these and the number of rows and columns.
    """
    if start is None or v.dtype.kind != "f":
        return False
    row = np.flatnonzero(col_of >= 0)
    paid = max(np.abs(u[row] + v[col_of[row]]).max(initial=0.0), np.abs(u[col_of < 0]).max(initial=0.0))
    return bool(np.abs(start[1]).max(initial=0.0) > MAX_EXACT_RATIO * (len(u) + len(v)) * paid)


def _as_integers(prices: np.ndarray) -> np.ndarray:
    """Rounded, and clipped so that none wraps."""
    if prices.dtype.kind == "f":
        return np.rint(np.clip(prices.astype(np.float64), -(2.0**61), 2.0**61)).astype(np.int64)
    if prices.dtype.kind == "u" and prices.dtype.itemsize == 8:
        prices = np.minimum(prices, np.array(2**61, prices.dtype))
    return np.clip(prices.astype(np.int64), -(2**61), 2**61)
