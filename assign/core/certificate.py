"""Certificate of optimality of an assignment: prices that satisfy complementary slackness.

    cost[i, j] - u[i] - v[j] >= 0    for every allowed pair: every assignment costs at least sum(u) + sum(v)
                             == 0    for matched pairs: this assignment costs sum(u) + sum(v)
    v <= 0, v[j] == 0 unmatched      if columns may stay unmatched
    u <= limit, u[i] == limit[i]     if rows may stay unmatched; equality for unmatched rows

All conditions are computed from the caller's pairs, cost and prices, and from the caller's costs
(assign/core/certificate_costs.py, certificate_points.py).  No solver shares this code.

Integers are compared exactly, as Python integers where int64 might overflow.  Floats are allowed `tolerance`: the
rounding of a sum as long as an augmenting path, relative to the largest cost that can matter (`_scale`).  A pair that
no assignment of this cost can contain, such as 1e15 for "forbidden", does not increase the tolerance.  Prices may have
lost digits against such a cost.  They are then allowed the tolerance of that cost, but optimality is certified by
prices computed here from the pairs (`_derived`).

[1] Burkard, Dell'Amico, Martello. "Assignment Problems." SIAM 2009, section 4.1.
[2] Ahuja, Magnanti, Orlin. "Network Flows." Prentice Hall 1993, section 9.3 (prices as distances).
"""

import math
from functools import partial

import numpy as np

from gridcut.device import CertificateError

ULPS = 16
SUM_ULPS = 64  # rounding of a sum of floats in any order, in units in the last place
EPS, FLOAT_MAX = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).max)
MAX_SAFE = 2**61  # sums of three integers below this fit int64
NOT_OPTIMAL = "the prices have lost their digits, and no others certify the pairs: another assignment costs less"


def tolerance(shape, largest: float) -> float:
    """Tolerance for float costs: ULPS units in the last place of the largest cost, times rows plus columns."""
    return ULPS * EPS * sum(shape) * largest


def exact_integers(values: np.ndarray) -> np.ndarray:
    """Integers as int64 if sums of three of them fit, else as Python integers; floats unchanged."""
    if values.dtype.kind == "f":
        return values
    if values.size and not (-MAX_SAFE < int(values.min()) and int(values.max()) < MAX_SAFE):
        return values.astype(object)
    return values.astype(np.int64, copy=False)


def certify(costs, row, col, total, u, v, limit) -> None:
    """Certify pairs, their total cost, and prices; raises CertificateError.

    costs      of the caller's rows and columns, see assign/core/certificate_costs.py; always to be minimised
    row, col   int64
    total      total cost, or None to skip it
    u, v       int64 if the costs are exact, else float64
    limit      cost of staying unmatched per row, of the same dtype, or None
    """
    n, m = shape = costs.shape
    certify_pairs(shape, row, col)
    paid, allowed = costs.pairs(row, col)
    if not allowed.all():
        raise CertificateError("a pair is matched that is not allowed")
    if total is not None:
        certify_total(total, paid)
    if costs.exact:
        u, v, limit = exact_integers(u), exact_integers(v), None if limit is None else exact_integers(limit)
        slacks = costs.slacks(u, v, 0)
        certify_prices(shape, row, col, u, v, pair_cost=paid, min_slack=slacks, limit=limit, slack=0)
        return
    if not (np.isfinite(u).all() and np.isfinite(v).all()):
        raise CertificateError("a price is not finite")
    _certify_floats(costs, row, col, paid.astype(np.float64), u, v, limit)


def certify_pairs(shape, row, col) -> None:
    """Check that pairs are inside the matrix, rows ascend, and no row or column is matched twice."""
    if row.shape != col.shape or row.ndim != 1:
        raise CertificateError(f"row and col have shapes {row.shape} and {col.shape}")
    for name, index, size in (("row", row, shape[0]), ("col", col, shape[1])):
        if len(index) and not (index.min() >= 0 and index.max() < size):
            raise CertificateError(f"{name} holds an index outside 0 ... {size - 1}")
        if np.bincount(index).max(initial=0) > 1:
            raise CertificateError(f"a {'row' if name == 'row' else 'column'} is matched twice")
    if (np.diff(row) <= 0).any():
        raise CertificateError("rows do not ascend")


def certify_total(total, paid) -> None:
    """Check that the cost is the sum of the pairs' costs: exactly for integers, up to rounding for floats."""
    if paid.dtype.kind != "f":
        right = sum(paid.tolist())
        same = total == right
    else:
        down = -64 if np.abs(paid).max(initial=0) > 2.0**900 else 0  # scale down, so that no sum overflows
        summands = np.ldexp(paid, down).tolist()
        right, size = math.fsum(summands), math.fsum(map(abs, summands))
        if math.isinf(total):
            same = size >= math.ldexp(FLOAT_MAX, down)
        else:
            same = abs(math.ldexp(total, down) - right) <= SUM_ULPS * EPS * size
        right = right if same or not down else f"{right} * 2^{-down}"
    if not same:
        raise CertificateError(f"the cost is given as {total}, but the pairs cost {right}")


def certify_prices(shape, row, col, u, v, *, pair_cost, min_slack, limit, slack) -> None:
    """Check all conditions on the prices.

    pair_cost     cost of each matched pair
    min_slack     minimum of cost - u - v over the allowed pairs of each row, without rows that have none
    limit         cost of staying unmatched per row, or None
    slack         tolerance; 0 for exact comparison
    """
    n, m = shape
    matched_row, matched_col = np.zeros(n, bool), np.zeros(m, bool)
    matched_row[row], matched_col[col] = True, True
    if limit is None and len(row) != min(n, m):
        raise CertificateError(f"{len(row)} pairs, but {min(n, m)} rows or columns must be matched")
    _require("a pair is cheaper than its prices", min_slack >= -slack)
    _require("a matched pair costs more than its prices", np.abs(pair_cost - u[row] - v[col]) <= slack)
    if limit is not None:
        _require("a row price is above the cost of staying unmatched", u - limit <= slack)
        _require("an unmatched row has a price below that", (np.abs(u - limit) <= slack) | matched_row)
    if limit is not None or n < m:
        _require("a column price is positive", v <= slack)
        _require("an unmatched column has a price", (np.abs(v) <= slack) | matched_col)
    elif n > m:
        _require("a row price is positive", u <= slack)
        _require("an unmatched row has a price", (np.abs(u) <= slack) | matched_row)


def _require(what: str, right) -> None:
    """Raise CertificateError unless all of `right` is True; comparisons with NaN are False."""
    if not np.all(right):
        failed = ~np.asarray(right, bool)
        raise CertificateError(f"{what} ({int(np.count_nonzero(failed))} times, first at {int(np.argmax(failed))})")


def _certify_floats(costs, row, col, paid, u, v, limit) -> None:
    """Check float prices at three tolerances: of costs paid, of costs that can matter, of the prices' digits."""
    shape = costs.shape
    unmatched = np.ones(shape[0], bool)
    unmatched[row] = False
    alone = np.zeros(0) if limit is None else limit[unmatched]
    conditions = partial(certify_prices, shape, row, col, pair_cost=paid, limit=limit)
    held, prices = _largest(paid, alone), _largest(u, v)
    slack = tolerance(shape, held)
    slacks = costs.slacks(u, v, slack)
    if resolved(prices, slack) and _holds(conditions, u, v, min_slack=slacks, slack=slack):
        return
    spare, scale = _scale(costs, paid, alone, limit, held)
    slack = tolerance(shape, scale)
    if resolved(prices, slack) and _holds(conditions, u, v, min_slack=slacks, slack=slack):
        return
    every = () if limit is None else (limit,)
    digits = max(costs.largest(np.full(shape[0], FLOAT_MAX), 1), prices, _largest(*every))
    conditions(u, v, min_slack=slacks, slack=tolerance(shape, digits))
    u, v = _derived(costs, row, col, paid, limit, spare, slack)
    if not _holds(conditions, u, v, min_slack=costs.slacks(u, v, slack), slack=slack):
        raise CertificateError(NOT_OPTIMAL)


def resolved(prices, slack):
    """Whether the rounding of cost - u - v, with the largest absolute price given, is within the tolerance."""
    return 4 * EPS * prices <= slack


def _holds(conditions, *prices, **values) -> bool:
    try:
        conditions(*prices, **values)
    except CertificateError:
        return False
    return True


def _largest(*arrays) -> float:
    return max((float(np.abs(a).max(initial=0)) for a in arrays), default=0.0)


def _scale(costs, paid, alone, limit, held: float) -> tuple[float, float]:
    """`spare`, the total cost minus the sum of the row minima, and the largest cost that can matter.

    Each row of the shorter side pays at least its minimum cost.  Therefore a pair that exceeds the minimum of its row
    by more than `spare` is in no assignment of at most this cost.
    """
    n, m = costs.shape
    axis = 1 if limit is not None or n <= m else 0
    low = costs.reduced(np.zeros(costs.shape[axis]), axis)
    if limit is not None:
        low = np.minimum(low, limit)
    every = np.concatenate([paid, alone])
    rounding = SUM_ULPS * EPS * (np.abs(every).sum() + np.abs(low).sum())
    spare = float(max(every.sum() - low.sum(), 0) + rounding)
    scale = max(held, costs.largest(low + spare, axis))
    if limit is not None:
        scale = max(scale, _largest(limit[limit <= low + spare]))
    return spare, scale


def _derived(costs, row, col, paid, limit, spare: float, slack: float):
    """The highest feasible prices of at most 0, of the columns (or of the rows, if there are more of them).

    They are shortest path lengths in the residual graph (Bellman and Ford): a path moves the row matched with one
    column to the next column.  No path is shorter than -spare unless a cycle yields an assignment that costs less.
    """
    n, m = costs.shape
    by_rows = limit is not None or n <= m
    one, other = (row, col) if by_rows else (col, row)
    axis = 0 if by_rows else 1
    fixed = np.zeros(n if by_rows else m) if limit is None else limit.astype(np.float64)
    price = np.zeros(m if by_rows else n)
    for _ in range(len(row) + 2):
        fixed[one] = paid - price[other]
        low = np.minimum(price, costs.reduced(fixed, axis))
        if (price - low <= slack / 4).all():
            return (fixed, price) if by_rows else (price, fixed)
        if not (low >= -spare - sum(costs.shape) * slack).all():
            break
        price = low
    raise CertificateError(NOT_OPTIMAL)


def certify_deficient(costs, rows, cols, side: str) -> None:
    """Certify that `rows` have only the fewer `cols` as allowed partners, so that no assignment exists."""
    axis = 0 if side == "rows" else 1
    if side not in ("rows", "columns") or costs.shape[axis] > costs.shape[1 - axis]:
        raise CertificateError(f"the {side} of a {costs.shape[0]} x {costs.shape[1]} matrix need not all be matched")
    for name, index, size in (("rows", rows, costs.shape[axis]), ("cols", cols, costs.shape[1 - axis])):
        if index.ndim != 1 or len(np.unique(index)) != len(index) or not ((0 <= index) & (index < size)).all():
            raise CertificateError(f"{name} must be different indices in 0 ... {size - 1}")
    partners = np.flatnonzero(costs.partners(rows, axis))
    if not np.array_equal(partners, np.sort(cols)):
        raise CertificateError("cols are not the allowed partners of rows")
    if len(partners) >= len(rows):
        raise CertificateError(f"{len(rows)} {side} have {len(partners)} allowed partners, which is enough")
