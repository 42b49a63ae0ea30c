"""assign.solve as a caller sees it: every kind of costs, orientation and option, against SciPy and the certificate."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linear_sum_assignment as scipy_solver

import assign

SHAPES = [(1, 1), (1, 7), (7, 1), (5, 5), (4, 9), (9, 4), (13, 13), (20, 31), (31, 20)]
DTYPES = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64]
DTYPES += [np.float16, np.float32, np.float64]


def test_drawn_instance(tools):
    """The one in the docstring."""
    found = tools.solve([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    assert found.cost == 5
    assert found.row.tolist() == [0, 1, 2]
    assert found.col.tolist() == [1, 0, 2]
    assert found.col_of_row.tolist() == [1, 0, 2]
    assert found.row_of_col.tolist() == [1, 0, 2]
    assert (found.row_price.sum() + found.col_price.sum()) == 5
    assert type(found.cost) is int
    assert found.row.dtype == found.col.dtype == found.row_price.dtype == np.int64


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("maximize", [False, True])
def test_cost_is_scipys(tools, shape, maximize):
    rng = np.random.default_rng(shape[0] * 100 + shape[1])
    for _ in range(30):
        cost = tools.random_cost(rng, shape)
        found = tools.solve(cost, maximize=maximize)
        assert found.cost == tools.best_cost(cost, maximize)
        assert len(found.row) == min(shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6, 6), (5, 8), (8, 5)])
def test_dtypes(tools, dtype, shape):
    rng = np.random.default_rng(0)
    for _ in range(5):
        cost = rng.integers(0, 100, shape).astype(dtype)
        before = cost.copy()
        for maximize in (False, True):
            found = tools.solve(cost, maximize=maximize)
            assert found.cost == tools.best_cost(cost, maximize)
            assert isinstance(found.cost, float if np.dtype(dtype).kind == "f" else int)
        assert (cost == before).all()


def test_extreme_integers(tools):
    least = np.full((3, 3), -(2**31), np.int32)
    assert tools.solve(least).cost == -3 * 2**31
    assert tools.solve(least, maximize=True).cost == -3 * 2**31
    large = np.random.default_rng(0).integers(-(2**55), 2**55, (8, 8))
    row, col = tools.solve(large).row, tools.solve(large).col
    exact = min(sum(int(large[i, p[i]]) for i in range(5)) for p in permutations(range(5)))
    assert tools.solve(large[:5, :5]).cost == exact
    assert len(row) == len(col) == 8
    with pytest.raises(ValueError, match="prices fit int64"):
        assign.solve(np.full((8, 8), 2**62))


@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed", "big-endian"])
def test_memory_layouts(tools, order):
    rng = np.random.default_rng(3)
    for shape in ((6, 6), (5, 9), (9, 5)):
        cost = rng.integers(-30, 30, shape).astype(np.float32)
        given = {
            "C": cost,
            "F": np.asfortranarray(cost),
            "strided": np.repeat(np.repeat(cost, 2, 0), 3, 1)[::2, ::3],
            "reversed": cost[::-1, ::-1].copy()[::-1, ::-1],
            "big-endian": cost.astype(">f4"),
        }[order]
        found = tools.solve(given)
        assert found.cost == tools.best_cost(cost)


def test_floats(tools):
    rng = np.random.default_rng(5)
    for _ in range(60):
        shape = rng.integers(1, 25, 2)
        cost = rng.normal(size=shape) * 10.0 ** rng.integers(-200, 200)
        assert tools.solve(cost).cost == pytest.approx(tools.best_cost(cost), rel=1e-12)
        assert tools.solve(cost, maximize=True).cost == pytest.approx(tools.best_cost(cost, True), rel=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.9])
def test_forbidden_pairs(tools, share):
    """By inf, by a mask, and by absence: the same answer, or the same refusal."""
    rng = np.random.default_rng(int(100 * share))
    refused = 0
    for _ in range(40):
        shape = tuple(int(i) for i in rng.integers(1, 12, 2))
        cost, allowed = tools.random_cost(rng, shape), rng.random(shape) < share
        infinite = np.where(allowed, cost, np.inf)
        best = tools.best_cost(infinite)
        given = [(infinite, {}), (cost, {"mask": allowed}), (tools.sparse_of(cost, allowed), {})]
        given.append((-infinite, {"maximize": True}))
        for costs, options in given:
            if best is None:
                refused += 1
                with pytest.raises(assign.InfeasibleError) as caught:
                    assign.solve(costs, **options)
                check_deficient(caught.value, allowed)
            else:
                found = tools.solve(costs, **options)
                assert abs(found.cost) == abs(best)
                assert allowed[found.row, found.col].all()
    assert refused or share > 0.5


def check_deficient(error, allowed):
    """The rows named have fewer allowed columns than there are of them."""
    if error.side == "columns":
        allowed = allowed.T
    partners = np.flatnonzero(allowed[error.rows].any(axis=0))
    assert sorted(error.cols) == partners.tolist()
    assert len(partners) < len(error.rows) == len(set(error.rows.tolist()))
    assert ("in total" in str(error)) == bool(len(error.cols))


@pytest.mark.parametrize("form", ["dense", "sparse", "inf"])
def test_max_cost(tools, form):
    """Partial assignments against a matrix with a private column for each row."""
    rng = np.random.default_rng(11)
    for _ in range(120):
        shape = tuple(int(i) for i in rng.integers(1, 10, 2))
        cost, allowed = tools.random_cost(rng, shape, rng.choice(["few", "negative", "distance"])), np.ones(shape, bool)
        given = cost
        if form != "dense":
            allowed = rng.random(shape) < 0.6
            given = tools.sparse_of(cost, allowed) if form == "sparse" else np.where(allowed, cost, np.inf)
        middle = float(np.median(cost))
        limits = [round(middle), middle + 0.25, rng.integers(-5, 6, shape[0]) + round(middle), -(10**6), 10**6]
        for limit in limits:
            found = tools.solve(given, max_cost=limit)
            expected = tools.best_partial(np.where(allowed, cost, np.inf), limit)
            assert tools.total_of(found, limit) == pytest.approx(expected, rel=1e-12, abs=1e-9)
            assert allowed[found.row, found.col].all()
            of_row = np.broadcast_to(limit, shape[0])[found.row]
            assert (cost[found.row, found.col] <= of_row).all()
            mirrored = -np.where(allowed, cost, np.inf) if form == "inf" else -given
            reverse = tools.solve(mirrored, max_cost=-np.asarray(limit), maximize=True)
            assert tools.total_of(reverse, -np.asarray(limit)) == pytest.approx(-expected, rel=1e-12, abs=1e-9)


def test_prices_are_as_documented(tools):
    """Also of more rows than columns, which solvers see the other way round, and of limits that differ."""
    rng = np.random.default_rng(31)
    for shape in ((6, 6), (4, 9), (9, 4), (3, 1), (1, 3), (40, 25), (5, 0)):
        for maximize in (False, True):
            cost = tools.random_cost(rng, shape, "negative")
            for limit in (None, 7, -20, 1000, rng.integers(-60, 60, shape[0])):
                found = tools.solve(cost, max_cost=limit, maximize=maximize, device="cpu")
                tools.check_prices(cost, found, limit, maximize)
                again = tools.solve(cost, max_cost=limit, maximize=maximize, device="cpu", start=found)
                tools.check_prices(cost, again, limit, maximize)
                price = 0 if limit is None else limit
                assert tools.total_of(again, price) == tools.total_of(found, price)


def test_prices_of_points_are_as_documented():
    """Of more points in the first set: one limit is taken for the second one inside."""
    x, y = np.random.default_rng(32).random((30, 2)), np.random.default_rng(33).random((12, 2))
    distance = np.linalg.norm(x[:, None] - y, axis=2)
    for limit in (0.1, 0.3, 9.0):
        found = assign.solve_points(x, y, max_cost=limit, device="cpu")
        found.check()
        u, v = found.row_price, found.col_price
        assert (distance - u[:, None] - v).min() > -1e-12
        assert u.max() <= limit + 1e-12
        assert v.max() <= 1e-12
        np.testing.assert_allclose(u[found.col_of_row < 0], limit)
        np.testing.assert_allclose(v[found.row_of_col < 0], 0, atol=1e-12)
        again = assign.solve_points(x, y, max_cost=limit, device="cpu", start=found)
        assert again.cost == pytest.approx(found.cost)


def test_sparse_inputs(tools):
    """All of SciPy's formats, and plain arrays; zeros stored are pairs."""
    rng = np.random.default_rng(2)
    cost = rng.integers(0, 3, (6, 8))
    allowed = rng.random((6, 8)) < 0.7
    best = tools.best_cost(np.where(allowed, cost, np.inf))
    matrix = tools.sparse_of(cost, allowed)
    for form in ("csr", "csc", "coo", "lil", "dok"):
        given = matrix if form == "csr" else matrix.asformat(form)
        if form in ("lil", "dok"):  # these drop zeros that are stored
            given = tools.sparse_of(cost + 1, allowed).asformat(form)
            assert tools.solve(given).cost == best + 6
        else:
            assert tools.solve(given).cost == best
    assert tools.solve(scipy.sparse.csr_matrix(matrix)).cost == best
    parts = (matrix.indptr, matrix.indices, matrix.data, matrix.shape)
    assert tools.solve(parts).cost == best
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(matrix.indptr, matrix.indptr[1:], strict=False)])
    shuffled = (matrix.indptr, matrix.indices[order], matrix.data[order].astype(np.float32), matrix.shape)
    assert tools.solve(shuffled).cost == best
    assert (shuffled[1] == matrix.indices[order]).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_nothing_to_match(tools, shape, dtype):
    for cost in (np.zeros(shape, dtype), scipy.sparse.csr_array(shape, dtype=dtype)):
        for options in ({}, {"max_cost": 3}, {"maximize": True}):
            found = tools.solve(cost, **options)
            assert found.cost == 0
            assert found.row.size == found.col.size == 0
            assert (found.row_price.shape, found.col_price.shape) == ((shape[0],), (shape[1],))


@pytest.mark.parametrize("maximize", [False, True])
def test_warm_start(tools, maximize):
    """Old prices of a similar problem, of any problem, and those of the problem itself."""
    rng = np.random.default_rng(8)
    for _ in range(40):
        shape = tuple(int(i) for i in rng.integers(1, 15, 2))
        cost = tools.random_cost(rng, shape)
        first = tools.solve(cost, maximize=maximize)
        changed = cost + rng.integers(-2, 3, shape)
        prices = (rng.integers(-99, 99, shape[0]), rng.normal(size=shape[1]))
        for start in (first, (first.row_price, first.col_price), prices):
            for costs in (cost, changed, changed.astype(np.float64)):
                found = tools.solve(costs, start=start, maximize=maximize)
                assert found.cost == tools.best_cost(costs, maximize)
            partial = tools.solve(changed, start=start, max_cost=2, maximize=maximize)
            expected = tools.solve(changed, max_cost=2, maximize=maximize)
            assert tools.total_of(partial, 2) == tools.total_of(expected, 2)


def test_relations(tools):
    """Adding to a row or column, scaling, transposing and permuting change the cost as they should."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        cost = tools.random_cost(rng, (9, 12))
        best = tools.solve(cost).cost
        plus = rng.integers(-100, 100, (9, 1))
        assert tools.solve(cost + plus).cost == best + plus.sum()
        assert tools.solve(cost * 7).cost == 7 * best
        assert tools.solve(cost.T).cost == best
        assert tools.solve(cost[rng.permutation(9)][:, rng.permutation(12)]).cost == best
        square = cost[:, :9]
        column = rng.integers(-100, 100, (1, 9))
        assert tools.solve(square + column).cost == tools.solve(square).cost + column.sum()


def test_callback_may_stop():
    def stop(stats):
        assert isinstance(stats, dict)
        raise StopIteration("enough")

    with pytest.raises(StopIteration, match="enough"):
        assign.solve(np.random.default_rng(0).random((50, 50)), callback=stop)


def test_certificate_finds_faults(tools):
    """Prices or pairs that are not right are refused, in every form, with the reason."""
    rng = np.random.default_rng(0)
    cost = rng.integers(0, 50, (6, 8))
    for given in (cost, scipy.sparse.csr_array(cost + 1)):
        found = tools.solve(given)
        row, col, u, v = found.row, found.col, found.row_price, found.col_price
        paid = given[row, col]
        for i in range(6):
            worse = u.copy()
            worse[i] += 1
            with pytest.raises(assign.CertificateError, match="cheaper than its prices"):
                replace(found, row_price=worse).check()
            worse[i] -= 2
            with pytest.raises(assign.CertificateError, match="costs more than its prices"):
                replace(found, row_price=worse).check()
        twice = col.copy()
        twice[1] = twice[0]
        with pytest.raises(assign.CertificateError, match="a column is matched twice"):
            replace(found, col=twice).check()
        with pytest.raises(assign.CertificateError, match="5 pairs, but 6 rows or columns"):
            replace(found, row=row[1:], col=col[1:], cost=int(paid[1:].sum())).check()
        alone = int(np.setdiff1d(np.arange(8), col)[0])
        lower = v.copy()
        lower[alone] -= 1
        with pytest.raises(assign.CertificateError, match="unmatched column has a price"):
            replace(found, col_price=lower).check()


def test_linear_sum_assignment_is_scipys_drop_in():
    """What SciPy documents and tests, and the same errors."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        shape = tuple(rng.integers(0, 12, 2))
        for cost in (rng.integers(-9, 9, shape), rng.random(shape), rng.random(shape) < 0.5):
            for maximize in (False, True):
                row, col = assign.linear_sum_assignment(cost, maximize)
                expected = scipy_solver(cost, maximize)
                assert row.dtype == expected[0].dtype
                assert col.dtype == expected[1].dtype
                assert (row == np.sort(row)).all()
                total = cost[row, col].sum(dtype=np.float64)
                assert total == pytest.approx(cost[expected].sum(dtype=np.float64), rel=1e-12, abs=1e-12)
    forbidden = [[np.inf, 1.0], [2.0, np.inf]]
    assert assign.linear_sum_assignment(cost_matrix=forbidden, maximize=False)[1].tolist() == [1, 0]
    assert assign.linear_sum_assignment([[-np.inf, 1], [1, 2]], maximize=True)[1].tolist() == [1, 0]


@pytest.mark.parametrize(
    "cost",
    [
        [[1, 2], [3, np.nan]],
        [[1, 2], [3, -np.inf]],
        [[np.inf, np.inf], [1, 2]],
        np.zeros((2, 2, 2)),
        [1, 2],
        [],
        None,
        3,
    ],
    ids=["nan", "-inf", "infeasible", "3-D", "1-D", "empty list", "None", "number"],
)
def test_linear_sum_assignment_refuses_what_scipy_refuses(cost):
    with pytest.raises(ValueError, match=r".") as theirs:
        scipy_solver(cost)
    with pytest.raises(ValueError, match=r".") as ours:
        assign.linear_sum_assignment(cost)
    if "expected" in str(theirs.value) or "infeasible" in str(theirs.value):
        assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    ("cost", "options", "error", "message"),
    [
        ([[1, np.nan]], {}, ValueError, "NaN; forbid a pair with .inf"),
        ([[1.0, -np.inf]], {}, ValueError, "cost must not hold -inf when it is minimised"),
        ([[1.0, np.inf]], {"maximize": True}, ValueError, "cost must not hold .inf when it is maximised"),
        ([1, 2, 3], {}, ValueError, "2 axes"),
        ([[1 + 2j]], {}, TypeError, "dtype complex128"),
        ([["a"]], {}, TypeError, "cost must be int32"),
        (np.zeros((2, 2), object), {}, TypeError, "dtype object"),
        ([[1]], {"maximize": 1}, TypeError, "maximize must be True or False"),
        ([[1]], {"max_cost": np.inf}, ValueError, "max_cost must be finite"),
        ([[1]], {"max_cost": "a"}, TypeError, "max_cost must be a number"),
        ([[1]], {"max_cost": [1, 2]}, ValueError, "max_cost must be a number or one per row, 1, got shape"),
        ([[1]], {"mask": [[1]]}, TypeError, "mask must be a bool array"),
        ([[1]], {"mask": [[True, True]]}, ValueError, "mask must have the shape of cost"),
        (scipy.sparse.eye_array(2), {"mask": np.ones((2, 2), bool)}, ValueError, "mask requires dense costs"),
        (scipy.sparse.csr_array([[np.inf]]), {}, ValueError, "sparse costs must be finite"),
        (([0, 1], [0], [1], (1,)), {}, TypeError, "shape must be two integers"),
        (([0, 2], [0], [1], (1, 1)), {}, ValueError, "indptr must end at 1"),
        (([0, 1], [3], [1], (1, 1)), {}, ValueError, "indices must be from 0 to 0"),
        (([0, 2], [0, 0], [1, 2], (1, 1)), {}, ValueError, "twice in one row"),
        (([0, 1], [0.0], [1], (1, 1)), {}, TypeError, "indices must be a one-dimensional array of integers"),
        (([0, 1], [0], [1, 2], (1, 1)), {}, ValueError, "cost must have one entry per index"),
        ([[1]], {"method": "hungary"}, ValueError, "method must be one of 'auto'"),
        ([[1]], {"method": 3}, TypeError, "method must be a name"),
        ([[1]], {"device": "gpu"}, ValueError, "device must be"),
        (
            [[1]],
            {"method": "cost_scaling", "beta": 2},
            TypeError,
            "unexpected parameter 'beta'; it accepts alpha, ",
        ),
        ([[1]], {"start": 3}, TypeError, "start must be an Assignment"),
        ([[1]], {"start": ([1, 2], [1])}, ValueError, "start must hold 1 and 1 prices"),
        ([[1]], {"start": ([np.nan], [1])}, ValueError, "start must hold finite prices"),
        (
            np.full((60, 60), 2**50),
            {"method": "cost_scaling"},
            ValueError,
            r"requires \|cost\| <= .*; use method=",
        ),
    ],
)
def test_bad_input(cost, options, error, message):
    with pytest.raises(error, match=message):
        assign.solve(cost, **options)


def test_infeasible_message_names_the_rows():
    cost = np.full((4, 4), np.inf)
    cost[:2, 1] = 1
    cost[2:] = 1
    expected = r"2 rows \(0, 1\) have only 1 allowed column \(1\) in total; allow more pairs, or pass max_cost to"
    with pytest.raises(assign.InfeasibleError, match=expected) as caught:
        assign.solve(cost)
    assert caught.value.rows.tolist() == [0, 1]
    with pytest.raises(assign.InfeasibleError, match=r"[1-3] columns? \(.*\) ha(s|ve) no allowed row"):
        assign.solve(np.full((5, 3), np.inf))
