"""The proof that an assignment is optimal: prices that satisfy complementary slackness.

    cost[i, j] - u[i] - v[j] >= 0    for every allowed pair: no assignment is cheaper than sum(u) + sum(v)
                             == 0    for the pairs matched: this one costs no more
    v <= 0, v[j] == 0 unmatched      where columns may stay unmatched
    u <= limit, u[i] == limit[i]     where rows may stay unmatched, for those that do

All is computed from the pairs, cost and prices as the caller holds them and from the costs as the caller passed them
(assign/core/certificate_costs.py), with NumPy alone: no solver shares this code.

Integers are compared exactly, in Python's integers where int64 might overflow.  Floats are allowed `tolerance`, the
rounding of a sum as long as an augmenting path, of the largest cost that can matter (`_scale`): a pair that no
assignment as cheap as this one can hold, such as 1e15 for "forbidden", does not make the proof coarser.  Prices may
have lost digits against such a cost.  They are then allowed the tolerance of that cost, but optimality is proved by
prices found here from the pairs (`_derived`).

[1] Burkard, Dell'Amico, Martello. "Assignment Problems." SIAM 2009, section 4.1.
[2] Ahuja, Magnanti, Orlin. "Network Flows." Prentice Hall 1993, section 9.3 (prices as distances).
"""

import math
from functools import partial

import numpy as np

from gridcut.device import CertificateError

ULPS = 16
SUM_ULPS = 64  # of a sum of floats, whatever the order of the additions
EPS, FLOAT_MAX = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).max)
MAX_SAFE = 2**61  # sums of three integers below this fit int64
NOT_OPTIMAL = "the prices have lost their digits, and no others prove the pairs: another assignment costs less"


def tolerance(shape, largest: float) -> float:
    """Slack allowed to float costs: ULPS units in the last place of the largest, times the nodes of the graph."""
    return ULPS * EPS * sum(shape) * largest


def exact_integers(values: np.ndarray) -> np.ndarray:
    """Integers as int64 while sums of three of them fit, else as Python's; floats as they are."""
    if values.dtype.kind == "f":
        return values
    if values.size and not (-MAX_SAFE < int(values.min()) and int(values.max()) < MAX_SAFE):
        return values.astype(object)
    return values.astype(np.int64, copy=False)


def certify(costs, row, col, total, u, v, limit) -> None:
    """Prove pairs, the sum of their costs, and their prices; raises CertificateError.

    costs      of the caller's rows and columns, see assign/core/certificate_costs.py; everything is minimised here
    row, col   int64
    total      None: not looked at
    u, v       int64 if costs are exact, else float64
    limit      per row the cost of staying unmatched, likewise, or None
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
        least = costs.reduced(v, 1) - u
        certify_prices(shape, row, col, u, v, pair_cost=paid, least_slack=least, limit=limit, slack=0)
        return
    if not (np.isfinite(u).all() and np.isfinite(v).all()):
        raise CertificateError("a price is not finite")
    _certify_floats(costs, row, col, paid.astype(np.float64), u, v, limit)


def certify_pairs(shape, row, col) -> None:
    """Pairs lie in the matrix, rows ascend, and no row or column is matched twice."""
    if row.shape != col.shape or row.ndim != 1:
        raise CertificateError(f"row and col have shapes {row.shape} and {col.shape}")
    for name, index, size in (("row", row, shape[0]), ("col", col, shape[1])):
        if len(index) and not (index.min() >= 0 and index.max() < size):
            raise CertificateError(f"{name} holds an index outside 0 ... {size - 1}")
        if len(np.unique(index)) != len(index):
            raise CertificateError(f"a {'row' if name == 'row' else 'column'} is matched twice")
    if (np.diff(row) <= 0).any():
        raise CertificateError("rows do not ascend")


def certify_total(total, paid) -> None:
    """The cost is the sum of the pairs' costs: exactly for integers, up to rounding for floats."""
    if paid.dtype.kind != "f":
        right = sum(paid.tolist())
        same = total == right
    else:
        down = -64 if np.abs(paid).max(initial=0) > 2.0**900 else 0  # so that no sum overflows here
        summands = np.ldexp(paid, down).tolist()
        right, size = math.fsum(summands), math.fsum(map(abs, summands))
        if math.isinf(total):
            same = size >= math.ldexp(FLOAT_MAX, down)
        else:
            same = abs(math.ldexp(total, down) - right) <= SUM_ULPS * EPS * size
        right = right if same or not down else f"{right} * 2^{-down}"
    if not same:
        raise CertificateError(f"the cost is given as {total}, but the pairs cost {right}")


def certify_prices(shape, row, col, u, v, *, pair_cost, least_slack, limit, slack) -> None:
    """Everything but the pairs themselves and their sum.

    pair_cost     cost of each matched pair
    least_slack   per row, the least of cost - u - v over allowed pairs (rows without any left out)
    limit         per row the price of staying unmatched, or None
    slack         the tolerance; 0: exact
    """
    n, m = shape
    matched_row, matched_col = np.zeros(n, bool), np.zeros(m, bool)
    matched_row[row], matched_col[col] = True, True
    if limit is None and len(row) != min(n, m):
        raise CertificateError(f"{len(row)} pairs where there are {min(n, m)} rows or columns to match")
    _require("a pair is cheaper than its prices", least_slack >= -slack)
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
    """Raises where something is not right; comparisons with NaN are not."""
    if not np.all(right):
        failed = ~np.asarray(right, bool)
        raise CertificateError(f"{what} ({int(np.count_nonzero(failed))} times, first at {int(np.argmax(failed))})")


def _certify_floats(costs, row, col, paid, u, v, limit) -> None:
    """Prices of floats, at three tolerances: of the costs paid, of those that can matter, of the prices' own digits."""
    shape = costs.shape
    unmatched = np.ones(shape[0], bool)
    unmatched[row] = False
    alone = np.zeros(0) if limit is None else limit[unmatched]
    least = costs.reduced(v, 1) - u
    conditions = partial(certify_prices, shape, row, col, pair_cost=paid, limit=limit)
    held, prices = _largest(paid, alone), _largest(u, v)
    slack = tolerance(shape, held)
    if resolved(prices, slack) and _holds(conditions, u, v, least_slack=least, slack=slack):
        return
    spare, scale = _scale(costs, paid, alone, limit, held)
    slack = tolerance(shape, scale)
    if resolved(prices, slack) and _holds(conditions, u, v, least_slack=least, slack=slack):
        return
    every = () if limit is None else (limit,)
    digits = max(costs.largest(np.full(shape[0], FLOAT_MAX), 1), prices, _largest(*every))
    conditions(u, v, least_slack=least, slack=tolerance(shape, digits))
    u, v = _derived(costs, row, col, paid, limit, spare, slack)
    if not _holds(conditions, u, v, least_slack=costs.reduced(v, 1) - u, slack=slack):
        raise CertificateError(NOT_OPTIMAL)


def resolved(prices, slack):
    """Whether the rounding of a cost less two prices, the largest of which is given, is within a tolerance."""
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
    """What is paid over the sum of the least costs, and the largest cost of an assignment that pays no more.

    Each row of the shorter side pays its least cost at least, and one that takes a pair for more than that and all
    that is paid over the sum of these is part of no assignment as cheap as this one.
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
    """The highest prices of columns (of rows, if these are more) of at most 0 at which no pair is too cheap.

    They are the lengths of shortest paths in the graph of exchanges (Bellman and Ford): a path takes its row from one
    column to the next.  No path is shorter than -spare unless a cycle makes an assignment that costs less.
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
    """Prove that `rows` have only `cols` for partners, which are fewer, so that no assignment exists."""
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
