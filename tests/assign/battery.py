"""What the battery compares results with: the meaning of a problem, its optimum by three oracles, and a checker.

Nothing here uses the package.  A `Truth` is a problem in Python's integers or in floats.  The oracles: exhaustive
search over sets of columns, exact for integers of any size and for floats (which are fractions), and two solvers of
SciPy where float64 holds the sums.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

EPS = float(np.finfo(np.float64).eps)
EXHAUSTIVE = 8  # rows and columns, at most
EXACT_IN_FLOATS = 2**46


@dataclass
class Truth:
    """A problem to minimise: cost (n, m) of objects (int or float), pairs allowed, and a limit per row or None."""

    cost: np.ndarray
    allowed: np.ndarray
    limit: np.ndarray | None
    whole: bool  # prices are integers

    @property
    def largest(self):
        """The largest absolute number."""
        numbers = [abs(c) for c in self.cost[self.allowed]]
        return max([*numbers, *(() if self.limit is None else map(abs, self.limit))], default=0)

    @cached_property
    def optimum(self):
        """The least total and the oracles that found it; None: no assignment."""
        found = {}
        if max(self.cost.shape) <= EXHAUSTIVE:
            found["exhaustive"] = exhaustive(self)
        if self.largest < EXACT_IN_FLOATS or not self.whole:
            if not found or self.whole:
                found["linear_sum_assignment"] = by_scipy(self)
            if self.limit is None and self.whole and min(self.cost.shape):
                found["min_weight_full_bipartite_matching"] = by_sparse_scipy(self)
        values = list(found.values())
        assert found
        assert all(value == values[0] for value in values), found
        return values[0], tuple(found)


def truth_of(cost, allowed=None, limit=None, sign=1) -> Truth:
    """The meaning of a matrix: floats of +inf (-inf to maximise) are forbidden."""
    cost = np.asarray(cost)
    whole = cost.dtype.kind in "biu"
    allowed = np.ones(cost.shape, bool) if allowed is None else np.asarray(allowed)
    if not whole:
        allowed = allowed & np.isfinite(cost)
    numbers = np.empty(cost.shape, object)
    kind = int if whole else float
    numbers[...] = [[sign * kind(c) for c in line] for line in cost.tolist()] if cost.size else numbers
    if limit is not None:
        given = np.asarray(limit)
        integral = bool((given == np.rint(given)).all())
        whole = whole and integral
        limit = [sign * (int(x) if whole else float(x)) for x in np.broadcast_to(given, cost.shape[0]).tolist()]
        limit = np.array(limit, object)
        if not whole:
            numbers[...] = [[float(c) for c in line] for line in numbers.tolist()] if numbers.size else numbers
    return Truth(numbers, allowed, limit, whole)


def exhaustive(truth: Truth):
    """Search over the sets of columns taken so far, a row at a time, in exact numbers."""
    cost, allowed, limit = truth.cost, truth.allowed, truth.limit
    n, m = cost.shape
    if limit is None and n > m:
        cost, allowed, n, m = cost.T, allowed.T, m, n
    best = {0: 0}
    for i in range(n):
        reached = {}
        choices = [(1 << j, Fraction(cost[i, j])) for j in range(m) if allowed[i, j]]
        for taken, value in best.items():
            ways = [(taken | bit, value + c) for bit, c in choices if not taken & bit]
            if limit is not None:
                ways.append((taken, value + Fraction(limit[i])))
            for state, total in ways:
                if state not in reached or total < reached[state]:
                    reached[state] = total
        best = reached
    if not best:
        return None
    return min(best.values())


def by_scipy(truth: Truth):
    """On a matrix with a private column for each row that may stay unmatched."""
    matrix = np.where(truth.allowed, truth.cost, np.inf).astype(np.float64)
    if truth.limit is not None:
        private = np.full((len(matrix), len(matrix)), np.inf)
        np.fill_diagonal(private, truth.limit.astype(np.float64))
        matrix = np.hstack([matrix, private])
    try:
        row, col = linear_sum_assignment(matrix)
    except ValueError:
        return None
    return Fraction(matrix[row, col].sum())


def by_sparse_scipy(truth: Truth):
    """On the allowed pairs, their costs moved so that none is 0."""
    if not truth.allowed.any():
        return None
    row, col = np.nonzero(truth.allowed)
    values = truth.cost[row, col].astype(np.float64)
    moved = 1 - values.min()
    graph = scipy.sparse.csr_array((values + moved, (row, col)), shape=truth.cost.shape)
    try:
        row, col = min_weight_full_bipartite_matching(graph)
    except ValueError:
        return None
    return Fraction(graph[row, col].sum() - moved * len(row))


def verify(truth: Truth, row, col, total, u, v) -> None:
    """Pairs, their sum, its being the least, and complementary slackness, of a problem to minimise."""
    n, m = truth.cost.shape
    row, col = np.asarray(row), np.asarray(col)
    assert row.tolist() == sorted(set(row.tolist()))
    assert len(set(col.tolist())) == len(col) == len(row)
    assert all(0 <= i < n and 0 <= j < m and truth.allowed[i, j] for i, j in zip(row, col, strict=True))
    assert np.asarray(u).dtype == np.asarray(v).dtype == (np.int64 if truth.whole else np.float64)
    u, v = (np.array(a.tolist(), object) for a in (u, v))
    assert (u.shape, v.shape) == ((n,), (m,))
    alone_row, alone_col = np.setdiff1d(np.arange(n), row), np.setdiff1d(np.arange(m), col)
    paid = [Fraction(c) for c in truth.cost[row, col]]
    value = sum(paid)
    left = [] if truth.limit is None else [Fraction(x) for x in truth.limit[alone_row]]
    best = truth.optimum[0]
    assert best is not None
    if truth.limit is None:
        assert len(row) == min(n, m)
    if truth.whole:
        allowed = 0
        assert total == value
        assert value + sum(left) == best
    else:
        size = float(sum(map(abs, paid + left)))
        assert abs(Fraction(total) - value) <= 64 * EPS * size
        lines = zip(truth.cost, truth.allowed, strict=True)
        relevant = size + max((float(abs(min(line[ok], default=0))) for line, ok in lines), default=0)
        assert abs(float(value + sum(left) - best)) <= 64 * EPS * (n + m) * relevant
        prices = max([0.0, *map(abs, u), *map(abs, v)])
        assert prices < np.inf
        allowed = 64 * EPS * (n + m) * max(float(truth.largest), prices)
    for i, j in zip(*np.nonzero(truth.allowed), strict=True):
        assert truth.cost[i, j] - u[i] - v[j] >= -allowed
    for i, j in zip(row, col, strict=True):
        assert abs(truth.cost[i, j] - u[i] - v[j]) <= allowed
    if truth.limit is not None:
        assert all(u - truth.limit <= allowed)
        assert all(abs(u - truth.limit)[alone_row] <= allowed)
    if truth.limit is not None or n < m:
        assert all(v <= allowed)
        assert all(abs(v[alone_col]) <= allowed)
    elif n > m:
        assert all(u <= allowed)
        assert all(abs(u[alone_row]) <= allowed)


def verify_infeasible(truth: Truth, error) -> None:
    """No oracle finds an assignment, and the rows named have too few partners."""
    assert truth.limit is None
    assert truth.optimum[0] is None
    allowed = truth.allowed if error.side == "rows" else truth.allowed.T
    assert len(allowed) <= allowed.shape[1]
    partners = np.flatnonzero(allowed[error.rows].any(axis=0))
    assert sorted(error.cols) == partners.tolist()
    assert len(partners) < len(error.rows) == len(set(error.rows.tolist()))
