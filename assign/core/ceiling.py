"""Costs so large that no cheapest assignment holds them must not cost the others their digits.

Cost scaling rounds floats to multiples of a unit, which grows with the largest cost (scaling/load.py).  The prices of
an auction grow with it too, so that their differences round (sparse/solve.py).  A pair of 1e15, written for
"forbidden", would round all costs below 1 away.  Any assignment found shows which costs can matter: each row pays its
least cost at least, so one that pays more than that, and more by all that this assignment pays over the sum of the
least costs (`spare`), is part of none that costs less.

    cost of a pair > least of its row + spare   =>   no cheapest assignment holds it

If the unit is too coarse for the largest cost that can matter, all costs above twice that become just that, which
leaves the cheapest assignments as they are, and the problem is solved again.  Prices that fit the lower costs fit the
true ones.  Both the costs and the spare fall each time, mostly once.

Ahuja, Magnanti, Orlin. "Network Flows." Prentice Hall, 1993, section 9.3 (reduced costs as bounds).
"""

import numpy as np

from assign.core.certificate import tolerance
from gridcut.device import kernel

# A pair exceeds its prices by at most this many units: its own rounding, and two of a flow that is 1-optimal.
ROUNDING_UNITS = 3
SUM_ULPS = 64  # of a sum of floats


@kernel
def paid_and_minimum(indptr, indices, cost, limit, col_of, paid, minimum):
    """What each row pays, and the least it could."""
    for i in range(col_of.size):
        low = np.inf
        current = np.inf
        for k in range(indptr[i], indptr[i + 1]):
            value = cost[k]
            low = min(low, value)
            if indices[k] == col_of[i]:
                current = value
        if limit.size:
            low = min(low, limit[i])
            if col_of[i] < 0:
                current = limit[i]
        paid[i] = current
        minimum[i] = low


def lower_ceiling(indptr, indices, cost, m: int, limit, col_of, unit: float) -> float | None:
    """What costs are to be cut off at, from an assignment found with costs rounded to units; None: it will do."""
    paid, minimum = np.empty(len(col_of)), np.empty(len(col_of))
    limit = np.empty(0) if limit is None else np.asarray(limit, np.float64)
    paid_and_minimum(indptr, indices, cost.astype(np.float64, copy=False), limit, col_of, paid, minimum)
    rounding = SUM_ULPS * np.finfo(np.float64).eps * (np.abs(paid).sum() + np.abs(minimum).sum())
    spare = paid.sum() - minimum.sum()
    if not spare > rounding:
        return None  # nothing can cost less
    matters = max(np.abs(paid).max(), np.abs(minimum).max() + spare + rounding)
    if ROUNDING_UNITS * unit <= tolerance((len(col_of), m), matters):
        return None
    return 2 * matters
