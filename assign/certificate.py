"""The proof that an assignment is optimal: prices that satisfy complementary slackness.

    cost[i, j] - u[i] - v[j] >= 0    for every allowed pair: no assignment is cheaper than sum(u) + sum(v)
                             == 0    for the pairs matched: this one costs no more
    v <= 0, v[j] == 0 unmatched      where columns may stay unmatched
    u <= limit, u[i] == limit[i]     where rows may stay unmatched, for those that do

Integers are compared exactly, in Python's integers where int64 might overflow.  Floats are allowed `tolerance`, the
rounding of a sum as long as an augmenting path.

Burkard, Dell'Amico, Martello. "Assignment Problems." SIAM 2009, section 4.1.
"""

import numpy as np
from numba import prange

from gridcut.device import CertificateError, kernel, parallel_kernel

ULPS = 16


def tolerance(shape, largest: float) -> float:
    """Slack allowed to float costs: ULPS units in the last place of the largest, times the nodes of the graph."""
    return ULPS * float(np.finfo(np.float64).eps) * sum(shape) * largest


@parallel_kernel
def least_slack_dense(cost, u, v):
    """The least of cost - u - v in each row; infinite costs are left out."""
    n, m = cost.shape
    least = np.empty(n, u.dtype)
    for i in prange(n):
        low = cost[i, 0] - v[0]
        for j in range(1, m):
            low = min(low, cost[i, j] - v[j])
        least[i] = low - u[i]
    return least


@kernel
def least_slack_sparse(indptr, indices, cost, u, v):
    """The least of cost - u - v in each row that has pairs, 0 in the others."""
    n = indptr.size - 1
    least = np.zeros(n, u.dtype)
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            slack = cost[k] - u[i] - v[indices[k]]
            if k == indptr[i] or slack < least[i]:
                least[i] = slack
    return least


@kernel
def find_pairs(indptr, indices, row, col):
    """Where each pair is stored, -1 if it is not; indices ascend in each row."""
    place = np.full(row.size, -1, np.int64)
    for k in range(row.size):
        low, high = indptr[row[k]], indptr[row[k] + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < col[k]:
                low = middle + 1
            else:
                high = middle
        if low < indptr[row[k] + 1] and indices[low] == col[k]:
            place[k] = low
    return place


def certify_pairs(shape, row, col) -> None:
    """Pairs lie in the matrix, rows ascend, and nobody is matched twice."""
    if row.shape != col.shape or row.ndim != 1:
        raise CertificateError(f"row and col have shapes {row.shape} and {col.shape}")
    for name, index, size in (("row", row, shape[0]), ("col", col, shape[1])):
        if len(index) and not (index.min() >= 0 and index.max() < size):
            raise CertificateError(f"{name} holds an index outside 0 ... {size - 1}")
        if len(np.unique(index)) != len(index):
            raise CertificateError(f"a {'row' if name == 'row' else 'column'} is matched twice")
    if (np.diff(row) <= 0).any():
        raise CertificateError("rows do not ascend")


def certify_prices(shape, row, col, u, v, *, pair_cost, least_slack, limit, slack) -> None:
    """Everything but the pairs themselves.

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
    _refuse("a pair is cheaper than its prices", least_slack < -slack)
    gap = pair_cost - u[row] - v[col]
    _refuse("a matched pair costs more than its prices", np.abs(gap) > slack)
    if limit is not None:
        _refuse("a row price is above the cost of staying unmatched", u - limit > slack)
        _refuse("an unmatched row has a price below that", np.abs(u - limit)[~matched_row] > slack)
    if limit is not None or n < m:
        _refuse("a column price is positive", v > slack)
        _refuse("an unmatched column has a price", np.abs(v)[~matched_col] > slack)
    elif n > m:
        _refuse("a row price is positive", u > slack)
        _refuse("an unmatched row has a price", np.abs(u)[~matched_row] > slack)


def _refuse(what, wrong) -> None:
    if np.any(wrong):
        raise CertificateError(f"{what} ({int(np.count_nonzero(wrong))} times, first at {int(np.argmax(wrong))})")
