"""k_best: the k cheapest assignments of one matrix."""

import heapq
from bisect import insort
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from numpy.typing import ArrayLike

from assign.core.given import checked_field, reread
from assign.core.problem import MAX_EXACT_FLOAT, matrix_of
from assign.solving import solve
from gridcut.device import CertificateError
from gridcut.device.arguments import INT64_MAX, check_count
from gridcut.device.result import Result


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankedAssignments(Result):
    """The cheapest assignments of a matrix, the cheapest first.

    Attributes
    ----------
    col_of_row : ndarray of int64, shape (k, n)
        Column of each row; -1 if there are more rows than columns and the row is unmatched.
    cost : ndarray of int64 or float64, shape (k,)
        Sum of the caller's costs over the pairs of each assignment.
    """

    col_of_row: np.ndarray
    cost: np.ndarray
    _matrix: object = field(repr=False)
    _maximize: bool = field(repr=False)
    _requested: int = field(repr=False)

    def __len__(self) -> int:
        return len(self.cost)

    def check(self) -> None:
        """Certify that no other assignment is cheaper than any of these, from the caller's costs.

        Raises
        ------
        CertificateError
            If an assignment is invalid, its cost is wrong, or a cheaper one is missing.

        Notes
        -----
        Solves k (n - 1) + 1 problems at most, and certifies each by its prices.
        """
        from assign.ranking_certificate import certify_ranking

        matrix = reread(lambda: _minimised(matrix_of("cost", self._matrix), self._maximize))
        found = checked_field("col_of_row", self.col_of_row, np.int64, (len(self.cost), matrix.shape[0]))
        checked_field("cost", self.cost, matrix.dtype, (len(found),))
        if not ((found >= -1) & (found < matrix.shape[1])).all():
            raise CertificateError(f"col_of_row holds an index outside -1 ... {matrix.shape[1] - 1}")
        if matrix.shape[0] > matrix.shape[1]:
            matrix, found = matrix.T, _inverted(found, matrix.shape[1])
        certify_ranking(matrix, found, -self.cost if self._maximize else self.cost, self._requested)


def k_best(cost: ArrayLike, k: int, *, maximize: bool = False) -> RankedAssignments:
    """Find the k cheapest assignments of a matrix, exact.

    Parameters
    ----------
    cost : array_like (n, m)
        Dense costs as in `assign.solve`.  Float costs of +inf forbid a pair (-inf if `maximize`).  Integers must be
        below 2^52.
    k : int
        Number of assignments.  All of them are returned if there are fewer.
    maximize : bool
        If True, the k assignments of the largest total cost, the largest first.

    Returns
    -------
    RankedAssignments
        ``col_of_row`` and ``cost``, and `check()`.  Which of several assignments of equal cost come first is not
        specified.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.
    InfeasibleError
        If the forbidden pairs leave no assignment.

    See Also
    --------
    solve : the cheapest one only.

    Notes
    -----
    Murty's method [1]_.  The assignments that differ from one found are divided by the first row that differs.  From
    the prices of the one found, one shortest path gives the minimum of each part [2]_.  O(k n^2 m) in the worst case;
    memory O(k (n + m)).  To let rows stay unmatched at a cost, append a column per row with that cost in the row and
    infinity in all others.

    References
    ----------
    .. [1] Murty. "An algorithm for ranking all the assignments in order of increasing cost." Operations Research 16,
       1968.
    .. [2] Miller, Stone, Cox. "Optimizing Murty's ranked assignment method." IEEE Transactions on Aerospace and
       Electronic Systems 33, 1997.

    Examples
    --------
    >>> found = k_best([[4, 1, 3], [2, 0, 5], [3, 2, 2]], 3)
    >>> found.cost
    array([5, 6, 6])
    >>> found.col_of_row[0]
    array([1, 0, 2])
    """
    from assign.dense.detours import follow, path_lengths

    k = check_count("k", k)
    first = solve(cost, maximize=maximize, device="cpu")  # validates cost and maximize
    given = matrix_of("cost", cost)
    work = _minimised(given, maximize)
    if work.dtype.kind == "i" and np.abs(work.astype(np.float64)).max(initial=0) >= MAX_EXACT_FLOAT:
        raise ValueError("k_best requires integer costs below 2^52; divide them, or pass floats")
    u, v = (np.array(p, work.dtype) * (-1 if maximize else 1) for p in (first.row_price, first.col_price))
    transposed = work.shape[0] > work.shape[1]
    col, row_of = first.col_of_row, first.row_of_col
    if transposed:
        work, u, v, col, row_of = work.T, v, u, row_of, col
    work = np.ascontiguousarray(work)
    n, m = work.shape
    rows, never = np.arange(n), work.dtype.type(np.inf if work.dtype.kind == "f" else INT64_MAX // 4)
    dist, lengths, none = np.empty(m, work.dtype), np.empty(n, work.dtype), np.zeros(m, bool)
    found: list[np.ndarray] = []
    serial = count()
    # Cost, tie, and the part: its parent's assignment and prices, the row that differs, the columns banned for it.
    heap: list[tuple] = [(work[rows, col].sum(), next(serial), None, 0, none)]
    best = [heap[0][0]]  # the k smallest costs of assignments found or in the heap
    while heap and len(found) < k:
        total, _, parent, t, banned = heapq.heappop(heap)
        if parent is not None:
            col, row_of, u, v = (a.copy() for a in parent)
            follow(work, col, row_of, u, v, t, banned, never, dist)
            total = work[rows, col].sum()
        found.append(col)
        bound = never if len(best) < k else min(never, best[-1] - total)
        path_lengths(work, col, row_of, u, v, t, banned, bound, dist, lengths)
        for s in t + np.flatnonzero(lengths[t:] < bound):
            avoided = banned.copy() if s == t else none.copy()
            avoided[col[s]] = True
            cost_of_part = total + lengths[s]
            insort(best, cost_of_part)
            del best[k:]
            heapq.heappush(heap, (cost_of_part, next(serial), (col, row_of, u, v), int(s), avoided))
    columns = np.array(found, np.int64).reshape(len(found), n)
    totals = work[rows, columns].sum(axis=1)
    order = np.argsort(totals, kind="stable")  # rounding may exchange neighbours
    columns, totals = columns[order], totals[order]
    if transposed:
        columns = _inverted(columns, m)
    return RankedAssignments(columns, -totals if maximize else totals, cost, bool(maximize), k)


def _minimised(matrix, maximize):
    matrix = matrix.astype(np.float64 if matrix.dtype.kind == "f" else np.int64)
    return -matrix if maximize else matrix


def _inverted(columns, size: int):
    """For each of `size` columns its row, or -1."""
    rows = np.full((len(columns), size), -1, np.int64)
    which, row = np.nonzero(columns >= 0)
    rows[which, columns[which, row]] = row
    return rows
