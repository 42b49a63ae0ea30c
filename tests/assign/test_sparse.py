"""The sparse solver against SciPy and its certificate: small adversarial instances by the thousand, some large ones."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from assign.core.certificate import certify_pairs, certify_prices, tolerance
from assign.core.infeasible import InfeasibleError
from assign.sparse.sparse import solve


def csr_of(matrix, allowed):
    """indptr, indices, cost, m of the allowed entries."""
    indptr = np.zeros(len(matrix) + 1, np.int64)
    np.cumsum(allowed.sum(axis=1), out=indptr[1:])
    return indptr, np.nonzero(allowed)[1].astype(np.int32), matrix[allowed], matrix.shape[1]


def certify(indptr, indices, cost, m, col_of, u, v, limit=None):
    """Verify a result; its value, unmatched rows at their limits."""
    n = len(indptr) - 1
    rows = np.repeat(np.arange(n), np.diff(indptr))
    row = np.flatnonzero(col_of >= 0)
    col = col_of[row].astype(np.int64)
    certify_pairs((n, m), row, col)
    arc = np.searchsorted(rows * np.int64(m) + indices, row * np.int64(m) + col)
    assert (rows[arc] == row).all()
    assert (indices[arc] == col).all()
    assert len(u) == n
    assert len(v) == m
    exact = cost.dtype.kind != "f"
    assert u.dtype == v.dtype == (np.int64 if exact else np.float64)
    slack = 0 if exact else tolerance((n, m), max(np.abs(cost).max(initial=0), 0 if limit is None else max(limit)))
    least = np.zeros(n, u.dtype)
    np.minimum.at(least, rows, cost - u[rows] - v[indices])
    certify_prices(
        (n, m), row, col, u, v, pair_cost=cost[arc], min_slack=least, limit=limit, slack=slack
    )  # fmt: skip
    return cost[arc].sum() + (0 if limit is None else limit[col_of < 0].sum())


def dense_value(matrix, allowed, limit=None):
    """The optimum by SciPy, each row with a private column where there is a limit; None if there is none."""
    matrix = np.where(allowed, matrix.astype(float), np.inf)
    if limit is not None:
        private = np.full((len(matrix), len(matrix)), np.inf)
        np.fill_diagonal(private, limit)
        matrix = np.hstack((matrix, private))
    try:
        row, col = linear_sum_assignment(matrix)
    except ValueError:
        return None
    return matrix[row, col].sum()


def random_case(rng, square=False):
    n = int(rng.integers(1, 12))
    m = n if square else n + int(rng.integers(0, 6))
    kind = rng.integers(6)
    if kind == 0:
        matrix = rng.integers(0, 3, (n, m))
    elif kind == 1:
        matrix = rng.integers(-1000, 1000, (n, m))
    elif kind == 2:
        matrix = np.outer(np.arange(1, n + 1), np.arange(1, m + 1))
    elif kind == 3:
        matrix = rng.integers(0, 5, (n, m)) * 10 ** rng.integers(0, 9, (n, 1))
    elif kind == 4:
        matrix = rng.random((n, m)) - rng.choice([0.0, 0.5])
    else:
        matrix = np.full((n, m), rng.choice([0, 7, -3]))
    if matrix.dtype.kind != "f":
        matrix = matrix.astype(rng.choice([np.int32, np.int64, np.float64]))
    return matrix, rng.random((n, m)) < rng.choice([0.2, 0.4, 0.7, 1.0])


def agree(value, expected):
    return value == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_small_instances_agree_with_scipy(seed):
    rng = np.random.default_rng(seed)
    raised = 0
    for _ in range(750):
        matrix, allowed = random_case(rng)
        instance = csr_of(matrix, allowed)
        expected = dense_value(matrix, allowed)
        if expected is None:
            raised += 1
            with pytest.raises(InfeasibleError) as caught:
                solve(*instance)
            np.testing.assert_array_equal(np.flatnonzero(allowed[caught.value.rows].any(axis=0)), caught.value.cols)
            assert len(caught.value.cols) < len(caught.value.rows)
        else:
            assert agree(certify(*instance, *solve(*instance)[:3]), expected)
    assert 100 < raised < 650


@pytest.mark.parametrize("seed", range(4))
def test_partial_matchings_agree_with_scipy(seed):
    rng = np.random.default_rng(100 + seed)
    for _ in range(500):
        matrix, allowed = random_case(rng)
        span = max(float(matrix.max() - matrix.min()), 1)
        limit = matrix.min() + span * rng.uniform(-0.2, rng.choice([0.3, 1.2, 10.0]), len(matrix))
        limit = limit.astype(np.float64 if matrix.dtype.kind == "f" else np.int64)
        instance = csr_of(matrix, allowed)
        value = certify(*instance, *solve(*instance, limit=limit)[:3], limit=limit)
        assert agree(value, dense_value(matrix, allowed, limit))


@pytest.mark.parametrize("limited", [False, True])
def test_the_auction_where_columns_may_stay_unmatched(monkeypatch, limited):
    """Paths are cut short at once, so that the auction and the search from columns are used."""
    monkeypatch.setattr("assign.sparse.sparse.SCANS_BEFORE_AUCTION", -1)
    rng = np.random.default_rng(200 + limited)
    checked = bids = 0
    for _ in range(1000):
        matrix, allowed = random_case(rng)
        limit = rng.integers(-5, 1000, len(matrix)).astype(matrix.dtype) if limited else None
        expected = dense_value(matrix, allowed, limit)
        if expected is None:
            continue
        instance = csr_of(matrix, allowed)
        checked += 1
        *found, stats = solve(*instance, limit=limit)
        bids += stats["bids"]
        assert agree(certify(*instance, *found, limit=limit), expected)
    assert checked > 300
    assert bids > checked


@pytest.mark.parametrize("limited", [False, True])
def test_any_prices_will_do_to_start_from(limited):
    rng = np.random.default_rng(300 + limited)
    for _ in range(700):
        matrix, allowed = random_case(rng)
        limit = rng.integers(-5, 1000, len(matrix)).astype(matrix.dtype) if limited else None
        expected = dense_value(matrix, allowed, limit)
        if expected is None:
            continue
        instance = csr_of(matrix, allowed)
        _, u, v, _ = solve(*instance, limit=limit)
        for old in (u, v), (u * 0, rng.integers(-2000, 2000, len(v))), (u, v + rng.standard_normal(len(v))):
            assert agree(certify(*instance, *solve(*instance, limit=limit, start=old)[:3], limit=limit), expected)


def random_sparse(rng, n, m, degree, high):
    rows = np.concatenate((np.repeat(np.arange(n), degree), np.arange(n)))
    cols = np.concatenate((rng.integers(0, m, n * degree), rng.permutation(m)[:n]))
    key = np.unique(rows * m + cols)
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(key // m, minlength=n), out=indptr[1:])
    return indptr, (key % m).astype(np.int32), rng.integers(1, high + 1, len(key)), m


@pytest.mark.parametrize("degree", [1, 2, 5, 40])
@pytest.mark.parametrize("high", [1, 100, 10**6])
@pytest.mark.parametrize("extra", [0, 3, 500])
def test_hundreds_of_rows(degree, high, extra):
    rng = np.random.default_rng(degree * high + extra)
    instance = random_sparse(rng, 400, 400 + extra, degree, high)
    indptr, indices, cost, m = instance
    graph = csr_matrix((cost.astype(float), indices, indptr), (400, m))
    row, col = min_weight_full_bipartite_matching(graph)
    assert certify(*instance, *solve(*instance)[:3]) == graph[row, col].sum()
    limit = rng.integers(0, high + 1, 400)
    # One is added to all costs, for SciPy takes an explicit zero for a pair that is not allowed.
    private = csr_matrix((limit + 1.0, np.arange(400), np.arange(401)), (400, 400))
    both = hstack((csr_matrix((cost + 1.0, indices, indptr), (400, m)), private)).tocsr()
    row, col = min_weight_full_bipartite_matching(both)
    assert certify(*instance, *solve(*instance, limit=limit)[:3], limit=limit) == both[row, col].sum() - 400


def test_no_rows_no_columns_and_rows_without_columns():
    nothing = np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
    for m in (0, 3):
        col_of, u, v, _ = solve(*nothing, m)
        assert (len(col_of), len(u), v.tolist()) == (0, 0, [0] * m)
    empty = np.array([0, 1, 1]), np.array([1], np.int32), np.array([5.0]), 2
    with pytest.raises(InfeasibleError) as caught:
        solve(*empty)
    assert caught.value.rows.tolist() == [1]
    col_of, u, v, _ = solve(*empty, limit=np.array([9.0, 2.0]))
    assert (col_of.tolist(), u[1]) == ([1, -1], 2.0)
    col_of, u, v, _ = solve(np.zeros(3, np.int64), np.empty(0, np.int32), np.empty(0), 2, limit=np.ones(2))
    assert (col_of.tolist(), u.tolist(), v.tolist()) == ([-1, -1], [1, 1], [0, 0])


def test_infeasible_price_war_is_detected():
    """Three rows want two columns, far from anything else, in a graph that can be matched otherwise."""
    rng = np.random.default_rng(5)
    indptr, indices, cost, m = random_sparse(rng, 300, 300, 4, 10**6)
    rows = np.repeat(np.arange(300), np.diff(indptr))
    keep = ~np.isin(rows, [10, 20, 30])
    rows = np.concatenate((rows[keep], np.repeat([10, 20, 30], 2)))
    cols = np.concatenate((indices[keep], [7, 8] * 3))
    order = np.lexsort((cols, rows))
    indptr = np.zeros(301, np.int64)
    np.cumsum(np.bincount(rows, minlength=300), out=indptr[1:])
    cost = np.concatenate((cost[keep], rng.integers(1, 10, 6)))[order]
    with pytest.raises(InfeasibleError) as caught:
        solve(indptr, cols[order].astype(np.int32), cost, m)
    assert len(caught.value.cols) < len(caught.value.rows)


@pytest.mark.parametrize("alpha", [1.5, 4, 1000])
@pytest.mark.parametrize("fine", [0.01, 1, 1e6])
def test_parameters_change_the_way_not_the_value(alpha, fine):
    instance = random_sparse(np.random.default_rng(8), 300, 300, 6, 1000)
    value = certify(*instance, *solve(*instance)[:3])
    assert certify(*instance, *solve(*instance, alpha=alpha, fine=fine)[:3]) == value


def test_parameters_are_checked():
    instance = csr_of(np.ones((1, 1)), np.ones((1, 1), bool))
    with pytest.raises(ValueError, match="alpha"):
        solve(*instance, alpha=1)
    with pytest.raises(ValueError, match="fine"):
        solve(*instance, fine=0)


def test_the_callback_sees_the_counts_grow():
    seen = []
    solve(*random_sparse(np.random.default_rng(9), 200, 200, 5, 1000), callback=seen.append)
    assert len(seen) > 3
    assert seen[0]["bids"] <= seen[-1]["bids"]


def test_costs_near_the_bound():
    """(n + 1) max|cost| 4 just below 2^63."""
    rng = np.random.default_rng(10)
    for n, m in ((6, 6), (5, 8)):
        high = (2**63 - 1) // (4 * (n + 1))
        matrix = rng.integers(-high, high, (n, m))
        instance = csr_of(matrix, np.ones((n, m), bool))
        col_of, u, v, _ = solve(*instance)
        certify(*instance, col_of, u, v)


@pytest.mark.parametrize("high", [1e6, 1e14, 1e15, 1e16, 1e17])
@pytest.mark.parametrize("limited", [False, True])
def test_large_costs_that_no_assignment_needs_leave_the_digits_of_the_others(high, limited):
    """A finite number for "forbidden": prices must not be lowered by so much that the other costs are rounded away."""
    rng = np.random.default_rng(12)
    for _ in range(150):
        n = int(rng.integers(2, 12))
        m = n + int(rng.choice([0, 0, 2]))
        matrix, allowed = rng.random((n, m)), rng.random((n, m)) < 0.8
        np.fill_diagonal(allowed, True)
        needless = rng.random((n, m)) < 0.5
        np.fill_diagonal(needless, False)
        limit = np.full(n, 0.8) if limited else None
        col_of, *_ = solve(*csr_of(np.where(needless, high, matrix), allowed), limit=limit)
        row = np.flatnonzero(col_of >= 0)
        value = matrix[row, col_of[row]].sum() + (0.8 * (n - len(row)) if limited else 0)
        assert not needless[row, col_of[row]].any()
        assert value == pytest.approx(dense_value(matrix, allowed & ~needless, limit), rel=1e-13)


def test_components_and_chains():
    """A long chain with one free column at its end, and the same thousand times."""
    n = 2000
    indptr = np.concatenate(([0], np.cumsum(np.r_[1, np.full(n - 1, 2)])))
    indices = np.concatenate(([0], np.stack((np.arange(n - 1), np.arange(1, n)), axis=1).ravel())).astype(np.int32)
    cost = np.concatenate(([5], np.tile([1, 1000], n - 1)))
    assert certify(indptr, indices, cost, n, *solve(indptr, indices, cost, n)[:3]) == 5 + 1000 * (n - 1)
