"""What may be passed to assign's functions: nothing is ever written, and what cannot be read is refused by name."""

import numpy as np
import pytest
import scipy.sparse

import assign
from tests.assign import oracles
from tests.untouched import untouched


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1, 2], [0, 99], "cost: indices must be from 0 to 2; got 0 to 99"),
        ([0, 1, 2], [-1, 0], "cost: indices must be from 0 to 2; got -1 to 0"),
        ([0, 3, 1], [0, 1, 2], "cost: indptr must ascend from 0"),
        ([0, 9, 2], [0, 1], "cost: indptr must ascend from 0"),
    ],
)
def test_matrices_scipy_does_not_examine_are_refused(indptr, indices, message):
    """In these, SciPy's conversions and the kernels would read outside the arrays."""
    n = len(indptr) - 1
    parts = np.ones(len(indices)), np.array(indices, np.int32), np.array(indptr, np.int32)
    given = [scipy.sparse.csr_array(parts, shape=(n, 3)), scipy.sparse.csr_matrix(parts, shape=(n, 3))]
    given += [scipy.sparse.csc_array(parts, shape=(3, n)), (parts[1 + 1], parts[1], parts[0], (n, 3))]
    for cost in given:
        for options in ({}, {"max_cost": 2.0}, {"maximize": True}):
            with pytest.raises(ValueError, match=message):
                assign.solve(cost, **options)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_duplicates_are_added_up_exactly(form):
    """Not in the dtype they are stored in, where they would wrap."""
    pair = np.array([0, 0])
    for dtype, value, total in ((np.uint8, 150, 300), (np.int8, 100, 200), (np.int32, 2**31 - 1, 2**32 - 2)):
        data = np.array([value, value], dtype)
        parts = (data, (pair, pair)) if form == "coo" else (data, pair, np.array([0, 2]))
        matrix = getattr(scipy.sparse, f"{form}_array")(parts, shape=(1, 1))
        found = untouched(assign.solve, matrix, locked=True)
        assert (found.cost, found.row_price.dtype) == (total, np.int64)
    great = np.array([2**60, -(2**60), 2**60 - 1, -(2**60)], np.int64)
    parts = (great, (np.zeros(4, int), np.zeros(4, int))) if form == "coo" else (great, np.zeros(4, int), [0, 4])
    assert assign.solve(getattr(scipy.sparse, f"{form}_array")(parts, shape=(1, 1))).cost == -1
    great = np.array([2**63 - 1, 1], np.int64)
    parts = (great, (pair, pair)) if form == "coo" else (great, pair, [0, 2])
    with pytest.raises(ValueError, match="stored more than once .* int64"):
        assign.solve(getattr(scipy.sparse, f"{form}_array")(parts, shape=(1, 1)))


def test_unsigned_sums_are_costs():
    cost = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)[::-1].sum(axis=2)
    assert cost.dtype == np.uint64
    found = untouched(assign.solve, cost, locked=True)
    found.check()
    assert (found.cost, found.row_price.dtype) == (assign.solve(cost.astype(np.int64)).cost, np.int64)
    assert assign.solve_batch(cost[None]).cost.tolist() == [found.cost]
    for form in ("csr", "csc", "coo", "lil", "dok"):
        stored = scipy.sparse.coo_array(cost + np.uint64(1)).asformat(form)
        assert stored.dtype == np.uint64
        sparse = assign.solve(stored)
        sparse.check()
        assert (sparse.cost, sparse.row_price.dtype) == (found.cost + len(cost), np.int64)
        with pytest.raises(TypeError, match="without loss; got dtype uint64"):
            assign.solve(scipy.sparse.coo_array(cost + np.uint64(2**63)).asformat(form))
    with pytest.raises(TypeError, match="without loss; got dtype uint64"):
        assign.solve(cost + np.uint64(2**63))


def test_more_rows_and_columns_than_indices_count_are_refused():
    for cost in (np.empty((0, 2**31), np.int8), scipy.sparse.csr_array((3, 2**31))):
        with pytest.raises(ValueError, match="at most 2147483647 rows and columns together"):
            assign.solve(cost)
    with pytest.raises(ValueError, match="at most 2147483647 rows and columns together"):
        assign.solve(([0, 1, 2], [0, 2**31 - 3], [1, 1], (2, 2**31 - 2)))
    with pytest.raises(ValueError, match="at most 2147483647 rows and columns together"):
        assign.solve_batch(np.empty((0, 2, 2**31), np.int8))


class Duck:
    """An array of another library, as xarray's, dask's and PyTorch's on the CPU are: only __array__ tells."""

    def __init__(self, array):
        self.array = np.asarray(array)

    def __array__(self, dtype=None, copy=None):
        return self.array.astype(dtype or self.array.dtype)


def test_arrays_of_other_libraries_are_read():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(6)
    cost, mask = rng.integers(0, 30, (4, 4)), np.ones((4, 4), bool)
    mask[0, :2] = False
    best = oracles.best_cost(np.where(mask, cost, np.inf))
    limit, prices = rng.integers(5, 20, 4), rng.integers(-3, 3, 4)
    for table, column in ((Duck, Duck), (pandas.DataFrame, pandas.Series)):
        found = assign.solve(table(cost), mask=table(mask), start=(column(prices), column(prices)))
        found.check()
        assert (found.cost, type(found.col)) == (best, np.ndarray)
        assert assign.solve(table(cost), max_cost=column(limit)).cost == assign.solve(cost, max_cost=limit).cost
        assert assign.linear_sum_assignment(table(cost))[1].tolist() == assign.linear_sum_assignment(cost)[1].tolist()
        assert assign.solve_batch([table(cost)]).cost.tolist() == assign.solve_batch([cost]).cost.tolist()
        assert assign.solve_points(table(cost), table(cost + 1)).cost == assign.solve_points(cost, cost + 1).cost
    mixed = pandas.DataFrame({"a": [1, 2], "b": [0.5, 4.0]})
    assert assign.solve(mixed).cost == 2.5


MASKED = np.ma.array([[1, 9], [2, 3]], mask=[[True, False], [False, False]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: assign.solve(MASKED), r"cost is a masked array with 1 masked entries.*mask="),
        (lambda: assign.solve([MASKED[0], MASKED[1]]), "cost is a masked array"),
        (lambda: assign.linear_sum_assignment(MASKED), "cost_matrix is a masked array"),
        (lambda: assign.solve_batch([MASKED.data, MASKED]), r"costs\[1\] is a masked array"),
        (lambda: assign.solve_batch(MASKED[None]), "costs is a masked array"),
        (lambda: assign.solve_points(MASKED, MASKED.data), "x is a masked array"),
        (lambda: assign.solve(MASKED.data, max_cost=MASKED[0]), "max_cost is a masked array"),
        (lambda: assign.solve(MASKED.data, start=(MASKED[0], MASKED.data[0])), "start is a masked array"),
        (lambda: assign.solve(MASKED.data, mask=MASKED > 0), "mask is a masked array"),
        (lambda: assign.solve(([0, 1, 2], MASKED[0], [1, 1], (2, 2))), "indices is a masked array"),
    ],
)
def test_masked_values_are_refused_not_dropped(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_four_rows_in_a_tuple():
    """Rows of any length but two are a matrix; two might be a shape, and then the error shows the way out."""
    rows = tuple(np.random.default_rng(7).integers(0, 9, (4, 4)).tolist())
    assert assign.solve(rows).cost == oracles.best_cost(rows)
    with pytest.raises((TypeError, ValueError), match="a tuple of four is read as .*; pass a list"):
        assign.solve(([1, 2], [3, 4], [5, 6], [7, 8]))
    with pytest.raises((TypeError, ValueError), match="a tuple of four is read as .*; pass a list"):
        assign.solve(([1.5, 2], [3, 4], [5, 6], [7.5, 8]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"callback": 3}, TypeError, "callback must be callable or None, got int"),
        ({"method": "lock_free", "cycle": 10**30}, ValueError, "cycle must be at most 4611686018427387904"),
        ({"method": "cost_scaling", "update_every": 0}, ValueError, "update_every must be positive, got 0"),
        ({"method": "cost_scaling_v2", "max_updates": -1}, ValueError, "max_updates must be 0 or more"),
        ({"method": "cost_scaling_v1", "alpha": 1}, ValueError, "alpha must be 2 or more"),
        ({"method": "shortest_paths", "list_length": 0}, ValueError, "list_length must be 1 or more"),
        ({"cost": scipy.sparse.csr_array(np.ones((3, 3))), "alpha": "x"}, TypeError, "alpha must be"),
        ({"cost": scipy.sparse.csr_array(np.ones((3, 3))), "alpha": np.nan}, ValueError, "alpha must be"),
    ],
)
def test_parameters_are_refused_before_the_work(options, error, message):
    with pytest.raises(error, match=message):
        assign.solve(**{"cost": np.arange(9).reshape(3, 3), "device": "cpu", **options})


@pytest.mark.parametrize("method", ["auto", "shortest_paths", "jonker_volgenant", "cost_scaling"])
@pytest.mark.parametrize("maximize", [False, True])
def test_a_mask_and_infinities_forbid_pairs_whatever_their_share(method, maximize):
    """Below a share of the pairs, the costs are solved as sparse ones, which hold no infinities."""
    sign = -1 if maximize else 1
    for allowed_more in (False, True):
        cost, mask = np.arange(32.0).reshape(4, 8), np.zeros((4, 8), bool)
        cost[0, 5] = sign * np.inf
        cost[3, 7] = np.nan
        mask[range(4), range(4)] = mask[0, 5] = True
        mask[1:, 4] = mask[:2, 6] = allowed_more
        plain = np.where(mask, cost, sign * np.inf)
        for options in ({}, {"max_cost": 40.0}):
            found = assign.solve(cost, mask=mask, maximize=maximize, method=method, **options)
            found.check()
            assert found.cost == assign.solve(plain, maximize=maximize, **options).cost
        for wrong, message in ((np.nan, "NaN"), (-sign * np.inf, "must not hold")):
            cost[1, 1] = wrong
            with pytest.raises(ValueError, match=message):
                assign.solve(cost, mask=mask, maximize=maximize, method=method)
