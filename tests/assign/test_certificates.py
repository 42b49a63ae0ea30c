"""Certificates of assignments: what is just as good, numbers that overflow or hide, and answers that there is none."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

import assign
from assign import CertificateError
from tests.assign.corruption import Given

GIVEN = Given(77)
COST, FLOATS, MASK, BATCH, HOLES = GIVEN.cost, GIVEN.floats, GIVEN.mask, GIVEN.batch, GIVEN.holes


def test_what_is_just_as_good_passes():
    """Pairs of equal cost exchanged; prices of a square matrix moved from rows to columns."""
    found = assign.solve(np.ones((4, 4), int))
    replace(found, col=found.col[::-1].copy()).check()
    found = assign.solve(COST[:, :6])
    replace(found, row_price=found.row_price + 5, col_price=found.col_price - 5).check()
    found = assign.solve(FLOATS)
    replace(found, cost=np.nextafter(found.cost, 1e9)).check()
    with pytest.raises(CertificateError, match="but the pairs cost"):
        replace(found, cost=found.cost * (1 + 1e-9)).check()


def test_integers_are_compared_exactly_where_int64_overflows():
    """Sums that wrap around to 0 are no proof, and sums that only seem to overflow are one."""
    found = assign.solve(np.array([[0, 1], [1, 0]]))
    u, v = np.array([2**62, 2**62]), np.array([-(2**62), -(2**62)])
    replace(found, row_price=u, col_price=v).check()
    with pytest.raises(CertificateError, match="cheaper than its prices"):
        replace(found, row_price=u, col_price=-v).check()
    least = np.full(2, -(2**63))
    with pytest.raises(CertificateError, match="costs more than its prices"):
        replace(found, row_price=least, col_price=least).check()


@pytest.mark.parametrize("size", [1e6, 1e12, 1e15, 1e17])
def test_large_costs_that_no_assignment_needs_hide_nothing(size):
    """A finite number for "forbidden": an assignment that costs 1e-9 too much is rejected, whatever its prices."""
    rng = np.random.default_rng(5)
    cost = rng.random((8, 8))
    cost[rng.random((8, 8)) < 0.5] = size
    np.fill_diagonal(cost, rng.random(8))
    found = assign.solve(cost)
    found.check()
    worse = np.array(found.col)
    for i in range(8):
        for k in range(i):
            worse[[i, k]] = worse[[k, i]]
            total = cost[found.row, worse].sum()
            if found.cost + 1e-9 < total < size:
                for prices in ((found.row_price, found.col_price), (found.row_price + size, found.col_price - size)):
                    with pytest.raises(CertificateError):
                        replace(found, col=worse, cost=float(total), row_price=prices[0], col_price=prices[1]).check()
                v = -size * np.arange(8.0)
                with pytest.raises(CertificateError):
                    replace(
                        found, col=worse, cost=float(total), row_price=cost[found.row, worse] - v[worse], col_price=v
                    ).check()
            worse[[i, k]] = worse[[k, i]]


def test_changed_masks_and_sparse_costs_are_noticed():
    mask = MASK.copy()
    found = assign.solve(COST, mask=mask)
    mask[found.row[0], found.col[0]] = False
    with pytest.raises(CertificateError, match="not allowed"):
        found.check()
    matrix = scipy.sparse.csr_array(np.where(MASK, COST, 0))
    found = assign.solve(matrix)
    matrix.data[:] = matrix.data[::-1]
    with pytest.raises(CertificateError):
        found.check()
    lists = COST.tolist()
    found = assign.solve(lists)
    lists[0] = lists[0][:3]
    with pytest.raises(CertificateError, match="the costs cannot be read as they were passed"):
        found.check()


def test_batches_name_the_item_and_prove_both_answers():
    found = assign.solve_batch(HOLES)
    feasible = found.feasible
    assert 0 < feasible.sum() < len(feasible)
    yes, no = int(np.argmax(feasible)), int(np.argmin(feasible))
    feasible[no] = True
    with pytest.raises(CertificateError, match=f"item {no}: 0 pairs, but 4 rows or columns"):
        found.check()
    feasible[no] = False
    feasible[yes] = False
    with pytest.raises(CertificateError, match=f"item {yes}: it is infeasible, but a row or column is matched"):
        found.check()
    found.col_of_row[yes], found.row_price[yes], found.col_price[yes] = -1, 0, 0
    with pytest.raises(CertificateError, match=f"item {yes}: reported as infeasible, but a feasible assignment exists"):
        found.check()


def test_a_column_out_of_range_is_an_error_of_the_certificate():
    found = assign.solve_batch(BATCH)
    found.col_of_row[2, 1] = 6
    with pytest.raises(CertificateError, match="item 2: col holds an index outside 0 ... 5"):
        found.check()
    with pytest.raises(CertificateError, match="columns in -1 ... 5"):
        _ = found.cost


def infeasible():
    cost = np.full((5, 6), np.inf)
    cost[:3, 1:3] = 1
    cost[3:] = 2
    with pytest.raises(assign.InfeasibleError) as caught:
        assign.solve(cost)
    return cost, caught.value


def test_every_field_of_an_infeasible_error():
    cost, error = infeasible()
    sparse = scipy.sparse.csr_array(np.where(np.isfinite(cost), cost, 0))
    for given, options in ((cost, {}), (np.ones((5, 6), int), {"mask": np.isfinite(cost)}), (sparse, {})):
        error.check(given, **options)
        error.transposed().check(given.T, **{name: mask.T for name, mask in options.items()})
        tried = 0
        for name, values in {
            "rows": ([0, 1], [0, 1, 3], [0, 1, 2, 3], [0, 0, 1], [5, 6, 7], [-1, 0, 1], [], [[0, 1, 2]]),
            "cols": ([1], [0, 1], [2, 3], [1, 2, 3], [1, 1], [1, 9], []),
            "side": ("columns", "both"),
        }.items():
            for value in values:
                worse = pickle.loads(pickle.dumps(error))
                setattr(worse, name, value if name == "side" else np.array(value, np.int64))
                with pytest.raises(CertificateError):
                    worse.check(given, **options)
                tried += 1
        assert tried == 17
    feasible = cost.copy()
    feasible[0, 5] = 3
    with pytest.raises(CertificateError, match="not the allowed partners"):
        error.check(feasible)
