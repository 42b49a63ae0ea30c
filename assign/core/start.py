"""Start prices: any finite ones, brought to a safe range.

Start prices are hints.  Prices much larger than the costs would cost a float solver its digits and an integer solver
its range, and no optimum needs them: if columns j and k are matched in an optimum and joined by a path of L pairs,
then |v[j] - v[k]| <= 2 L max|cost|, with L = 1 if all pairs are allowed.  Therefore prices are centred, if a constant
may be exchanged between rows and columns, and clipped.  `assign.core.certificate.tolerance` grows with the number of
rows and columns, and so may the prices, up to MAX_PRICE_RATIO times the largest cost.
"""

import numpy as np

from assign.core.problem import prices_of

MAX_PRICE_RATIO = 16  # largest price, as a multiple of the largest cost
MAX_EXACT_RATIO = 4  # see `lost_digits`
MAX_INT_PRICE = 2**45  # largest integer price; sums of such prices and costs stay far below 2^62


def start_of(start, problem):
    """The caller's prices in the solver's form, (u, v), or None."""
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
    """Prices (u, v) in the solver's form, centred and clipped to the range that the costs justify.

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
    """Whether float start prices were so far above the costs finally paid that a cold start is more accurate.

    `fitted` bounds start prices by the largest cost, but that cost may be far above all costs that matter, such as
    1e15 for "forbidden".  The rounding of prices is within the certificate's tolerance for the costs paid if they are
    at most MAX_EXACT_RATIO times these costs, times the number of rows and columns.
    """
    if start is None or v.dtype.kind != "f":
        return False
    return bool(np.abs(start[1]).max(initial=0.0) > MAX_EXACT_RATIO * (len(u) + len(v)) * largest_paid(u, v, col_of))


def largest_paid(u, v, col_of) -> float:
    """The largest absolute cost of a pair or limit of an unmatched row, from the prices, which sum to it."""
    row = np.flatnonzero(col_of >= 0)
    paid = np.abs(u[row] + v[col_of[row]]).max(initial=0.0)
    return paid if len(row) == len(u) else max(paid, np.abs(u[col_of < 0]).max())


def _as_integers(prices: np.ndarray) -> np.ndarray:
    """Prices rounded to int64, and clipped so that none wraps around."""
    if prices.dtype.kind == "f":
        return np.rint(np.clip(prices.astype(np.float64), -(2.0**61), 2.0**61)).astype(np.int64)
    if prices.dtype.kind == "u" and prices.dtype.itemsize == 8:
        prices = np.minimum(prices, np.array(2**61, prices.dtype))
    return np.clip(prices.astype(np.int64), -(2**61), 2**61)
