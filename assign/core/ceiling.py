"""A ceiling for costs that are too large to be in any optimal assignment, so that float rounding stays fine.

Cost scaling rounds floats to multiples of a unit, which grows with the largest cost (network.py).  The
prices of an auction grow with it too, so that their differences are rounded (sparse.py).  A cost of 1e15 that
stands for "forbidden" would round all costs below 1 away.  Any assignment shows which costs can matter.  Let `spare` be
its total cost minus the sum of the row minima.  Each row pays at least its minimum, so a pair that exceeds the minimum
of its row by more than `spare` is in no assignment that costs less:

    cost of a pair > minimum of its row + spare   =>   no optimal assignment contains the pair

If the unit is too coarse for the largest cost that can matter, all costs are cut off at twice that cost, and the
problem is solved again.  This does not change the optimal assignments, and prices that are feasible for the lower costs
are feasible for the true ones.  Both the costs and `spare` decrease each time; one repetition usually suffices.

Ahuja, Magnanti, Orlin. "Network Flows." Prentice Hall, 1993, section 9.3 (reduced costs as bounds).
"""

import numpy as np

from assign.core.certificate import tolerance
from gridcut.device import plain_kernel

# A pair exceeds its prices by at most this many units: its own rounding, and two of a flow that is 1-optimal.
ROUNDING_UNITS = 3
SUM_ULPS = 64  # rounding of a sum of floats, in units in the last place


@plain_kernel
def paid_and_minimum(indptr, indices, cost, limit, col_of, paid, minimum):
    """paid[i] = cost of the pair (or limit) of row i; minimum[i] = its smallest possible cost."""
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


def paid_and_least(indptr, indices, cost, limit, col_of):
    """The cost that each row pays, and its least possible cost; float64."""
    paid, minimum = np.empty(len(col_of)), np.empty(len(col_of))
    limit = np.empty(0) if limit is None else np.asarray(limit, np.float64)
    paid_and_minimum(indptr, indices, cost.astype(np.float64, copy=False), limit, col_of, paid, minimum)
    return paid, minimum


def lower_ceiling(indptr, indices, cost, m: int, limit, col_of, unit: float) -> float | None:
    """The ceiling for costs, from an assignment found with costs rounded to units; None if the unit is fine enough."""
    paid, minimum = paid_and_least(indptr, indices, cost, limit, col_of)
    rounding = SUM_ULPS * np.finfo(np.float64).eps * (np.abs(paid).sum() + np.abs(minimum).sum())
    spare = paid.sum() - minimum.sum()
    if not spare > rounding:
        return None  # this assignment has minimum cost
    matters = max(np.abs(paid).max(), np.abs(minimum).max() + spare + rounding)
    if ROUNDING_UNITS * unit <= tolerance((len(col_of), m), matters):
        return None
    return 2 * matters
