"""What results are compared with: the meaning of a problem, its optimum by three oracles, a checker, and random costs.

The oracles and the checker use nothing of the package.  A `Truth` is a problem in Python's integers or in floats.
The oracles: exhaustive search over sets of columns, exact for integers of any size and for floats (which are
fractions), and two solvers of SciPy where float64 holds the sums.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

import assign
from assign.core.certificate import certify_pairs, certify_prices, tolerance
from assign.methods import METHODS as TABLE

# Names of methods by the table: those for sparse costs too, and those that multiply costs by the number of nodes.
METHODS = ["auto", *(name for name, entry in TABLE.items() if entry.sparse_cpu)]
SCALING = [name for name, entry in TABLE.items() if entry.scales_costs]

EPS = float(np.finfo(np.float64).eps)
EXHAUSTIVE = 10  # rows and columns, at most
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


def verify_found(cost, found, allowed=None, limit=None, maximize=False) -> None:
    """`verify` of an Assignment of a matrix."""
    sign = -1 if maximize else 1
    truth = truth_of(cost, allowed, limit, sign)
    verify(truth, found.row, found.col, sign * found.cost, sign * found.row_price, sign * found.col_price)


def best_cost(cost, maximize=False):
    """The optimal cost by SciPy; None if there is no assignment."""
    cost = np.asarray(cost, np.float64)
    try:
        row, col = linear_sum_assignment(cost, maximize)
    except ValueError:
        return None
    return cost[row, col].sum()


def best_partial(cost, max_cost):
    """The minimum of the pairs' costs plus `max_cost` per unmatched row, on a matrix twice as wide."""
    cost = np.asarray(cost, np.float64)
    n = len(cost)
    alone = np.full((n, n), np.inf)
    np.fill_diagonal(alone, max_cost)
    return best_cost(np.hstack([cost, alone]))


def solve(cost, **keywords):
    """assign.solve, certified."""
    found = assign.solve(cost, **keywords)
    found.check()
    return found


def total_of(found, max_cost):
    """The total that a partial assignment minimises."""
    alone = np.broadcast_to(np.asarray(max_cost), len(found.row_price))[found.col_of_row < 0]
    return found.cost + alone.sum()


def solved(cost, limit=None, expected=True, **options):
    """The certified total of "shortest_paths", unmatched rows at their limits, which must be that of SciPy.

    expected   False: SciPy does not solve this form
    """
    found = solve(cost, method="shortest_paths", max_cost=limit, device="cpu", **options)
    total = total_of(found, 0 if limit is None else limit)
    if expected:
        best = best_cost(cost) if limit is None else best_partial(cost, limit)
        assert total == pytest.approx(best, rel=1e-12, abs=0 if cost.dtype.kind == "i" else 1e-9)
    return found


def proved(cost, col_of, u, v, limit=None):
    """The total of what a solver returns, after the proof that it is least.

    cost   floats, +inf among them, or integers; the total is that of SciPy, too, where float64 holds the sums
    """
    row = np.flatnonzero(col_of >= 0)
    col = col_of[row].astype(np.int64)
    certify_pairs(cost.shape, row, col)
    is_float = cost.dtype.kind == "f"
    wide = cost.astype(np.float64 if is_float else np.int64)
    largest = max(np.abs(wide[np.isfinite(wide)]).max(initial=0), 0 if limit is None else np.max(limit, initial=0))
    least = (wide - u[:, None] - v).min(axis=1) if len(u) else u
    slack = tolerance(cost.shape, largest) if is_float else 0
    certify_prices(cost.shape, row, col, u, v, pair_cost=wide[row, col], min_slack=least, limit=limit, slack=slack)
    total = wide[row, col].sum() + (0 if limit is None else limit[col_of < 0].sum())
    if is_float or largest < EXACT_IN_FLOATS:
        expected = best_cost(wide) if limit is None else best_partial(wide, limit)
        assert total == (pytest.approx(expected, rel=1e-9, abs=1e-9) if is_float else expected)
    return total


def random_cost(rng, shape, kind=None):
    """A matrix of one of many kinds: few values, wide ones, negative, sorted, constant, structured."""
    n, m = shape
    kind = kind or rng.choice(["few", "wide", "negative", "product", "distance", "constant", "sums"])
    if kind == "few":
        return rng.integers(0, 4, shape)
    if kind == "wide":
        return rng.integers(0, 10**9, shape)
    if kind == "negative":
        return rng.integers(-50, 50, shape)
    if kind == "product":
        return np.multiply.outer(np.arange(1, n + 1), np.arange(1, m + 1))
    if kind == "distance":
        return np.rint(1000 * np.linalg.norm(rng.random((n, 1, 2)) - rng.random((1, m, 2)), axis=2)).astype(np.int64)
    if kind == "constant":
        return np.full(shape, int(rng.integers(-3, 4)))
    return rng.integers(0, 1000, (n, 1)) + rng.integers(0, 1000, (1, m)) + rng.integers(0, 3, shape)


def sparse_of(cost, allowed):
    """The allowed pairs of a matrix, zeros among them, as a SciPy sparse array."""
    row, col = np.nonzero(allowed)
    return scipy.sparse.csr_array((cost[row, col], (row, col)), shape=cost.shape)
