"""check() proves what the caller holds: every field of every result altered in every way, and changed arguments.

An altered field must raise CertificateError, except where the result is just as good: other pairs of the same cost,
other prices that prove it.  The counts of alterations are asserted, so that none is left out silently.
"""

import copy
import pickle
import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest
import scipy.sparse

import assign
from assign import CertificateError

RNG = np.random.default_rng(77)
COST = RNG.integers(-(10**6), 10**6, (6, 9))
FLOATS = RNG.normal(size=(6, 9))
MASK = RNG.random((6, 9)) < 0.7
MASK[np.arange(6), np.arange(6)] = True
X, Y = RNG.random((7, 2)), RNG.random((9, 2))
LIMIT = RNG.integers(-500_000, 500_000, 6)
BATCH = RNG.integers(0, 10**6, (5, 4, 6))
HOLES = np.where(RNG.random((6, 4, 4)) < 0.4, RNG.random((6, 4, 4)), np.inf)

RESULTS = {
    "integers": lambda: assign.solve(COST),
    "square": lambda: assign.solve(COST[:, :6]),
    "more rows": lambda: assign.solve(COST.T),
    "int16": lambda: assign.solve((COST // 100).astype(np.int16)),
    "floats": lambda: assign.solve(FLOATS),
    "float32, more rows": lambda: assign.solve(FLOATS.T.astype(np.float32)),
    "maximize": lambda: assign.solve(COST, maximize=True),
    "mask": lambda: assign.solve(COST, mask=MASK),
    "inf, maximize": lambda: assign.solve(np.where(MASK, FLOATS, -np.inf), maximize=True),
    "sparse": lambda: assign.solve(scipy.sparse.csr_array(np.where(MASK, COST, 0))),
    "sparse floats": lambda: assign.solve(scipy.sparse.coo_array(np.where(MASK, FLOATS, 0))),
    "limit": lambda: assign.solve(COST, max_cost=-400_000),
    "limit, more rows": lambda: assign.solve(COST.T, max_cost=-400_000),
    "limits": lambda: assign.solve(COST, max_cost=LIMIT),
    "limits, more rows": lambda: assign.solve(COST[:, :4], max_cost=LIMIT),
    "fraction, mask": lambda: assign.solve(COST, mask=MASK, max_cost=-300_000.5, maximize=False),
    "limit, maximize": lambda: assign.solve(COST, max_cost=400_000, maximize=True),
    "cost scaling": lambda: assign.solve(COST, method="cost_scaling"),
    "points": lambda: assign.solve_points(X, Y),
    "points, more rows": lambda: assign.solve_points(Y, X, metric="cityblock"),
    "points, limit": lambda: assign.solve_points(X, Y, max_cost=0.3),
}
FIELDS = ("row", "col", "cost", "row_price", "col_price")


def refused(found) -> bool:
    """Whether check() raises CertificateError; any other exception is a fault of its own."""
    try:
        found.check()
    except CertificateError:
        return True
    return False


def alterations(name: str, value):
    """Each as its name and the altered value of a field; those that leave it as it is are left out by `altered`."""
    if name == "cost":
        kind = type(value)
        yield from {"shift": value + kind(1), "scale": kind(value * 2), "negative": -value, "zero": kind(0)}.items()
        yield from {"dtype": complex(value), "none": None, "text": str(value), "nan": float("nan")}.items()
        yield "replaced", kind(12345)
        return
    another = np.arange(3, 3 + 7 * len(value), 7).astype(value.dtype)
    bounds = {"lowest": -(2**63), "highest": 2**63 - 1} if value.dtype.kind == "i" else {"inf": np.inf, "nan": np.nan}
    yield "flip", value[::-1]
    yield "permute", np.roll(value, 1)
    yield "shift", value + value.dtype.type(1)
    yield "shift one", value + (np.arange(len(value)) == 1).astype(value.dtype)
    yield "scale", value * value.dtype.type(3)
    yield "replaced", another
    yield "dtype", value.astype(np.int32 if name in ("row", "col") else np.float32)
    yield "objects", value.astype(object)
    yield "shorter", value[:-1]
    yield "longer", np.append(value, value[-1:])
    yield "2-D", value[None]
    yield "list", value.tolist()
    for kind, number in bounds.items():
        worse = value.copy()
        worse[0] = number
        yield kind, worse


def altered(name: str, value):
    for kind, other in alterations(name, value):
        same = type(other) is type(value) and np.array_equal(other, value)
        if not (same and getattr(other, "dtype", None) == getattr(value, "dtype", None)):
            yield kind, other


@pytest.mark.parametrize("kind", RESULTS)
def test_every_field_of_an_assignment(kind):
    found = RESULTS[kind]()
    found.check()
    assert len(found.row) >= 2
    tried = {}
    for name in FIELDS:
        for how, value in altered(name, getattr(found, name)):
            worse = replace(found, **{name: value})
            assert refused(worse), f"{name}: {how} passed"
            tried[name] = tried.get(name, 0) + 1
    assert tried["cost"] == 9
    assert all(tried[name] >= 13 for name in FIELDS if name != "cost"), tried
    assert {f.name for f in fields(found)} == {*FIELDS, "device", "method", "stats", "_given"}
    found.check()


@pytest.mark.parametrize("name", ["row", "col", "row_price", "col_price"])
def test_fields_altered_in_place(name):
    for kind in ("integers", "floats", "points", "sparse", "limit"):
        found = RESULTS[kind]()
        getattr(found, name)[:2] = getattr(found, name)[:2][::-1]
        with pytest.raises(CertificateError):
            found.check()


def test_fields_of_another_problem():
    """A right result in whole or in part, but of other costs."""
    one, other = assign.solve(COST), assign.solve(2 * COST[::-1])
    for name in ("col", "cost", "row_price", "col_price", "_given"):
        with pytest.raises(CertificateError):
            replace(one, **{name: getattr(other, name)}).check()


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


CHANGES = {
    "matrix": lambda: (a := COST.copy(), assign.solve(a)),
    "int16": lambda: (a := (COST // 100).astype(np.int16), assign.solve(a)),
    "maximize": lambda: (a := COST.copy(), assign.solve(a, maximize=True)),
    "Fortran": lambda: (a := np.asfortranarray(FLOATS), assign.solve(a)),
    "masked": lambda: (a := COST.copy(), assign.solve(a, mask=np.ones((6, 9), bool))),
    "more rows": lambda: (a := COST.T.copy(), assign.solve(a)),
    "limits": lambda: (a := LIMIT.copy(), assign.solve(COST, max_cost=a)),
    "points": lambda: (a := X.copy(), assign.solve_points(a, Y)),
    "batch": lambda: (a := BATCH.copy(), assign.solve_batch(a)),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_changed_arguments_are_noticed(kind):
    """Whatever was copied inside, the arguments themselves are read again."""
    argument, found = CHANGES[kind]()
    found.check()
    before = argument.copy()
    argument[:] = argument[::-1] * 2 + 1
    with pytest.raises(CertificateError):
        found.check()
    argument[:] = before
    found.check()


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


BATCHES = {
    "integers": lambda: assign.solve_batch(BATCH),
    "floats, more rows": lambda: assign.solve_batch(np.swapaxes(BATCH, 1, 2) / 7),
    "maximize": lambda: assign.solve_batch(BATCH, maximize=True),
    "limits": lambda: assign.solve_batch(BATCH, max_cost=RNG.integers(10**5, 4 * 10**5, (5, 4))),
    "fraction": lambda: assign.solve_batch(BATCH, max_cost=250_000.5),
    "sizes": lambda: assign.solve_batch([COST, COST.T, COST[:3, :3], FLOATS]),
    "holes": lambda: assign.solve_batch(HOLES),
}
BATCH_FIELDS = ("col_of_row", "row_price", "col_price", "feasible", "cost")


def batch_alterations(name: str, value):
    """As `alterations`, of every array of a batch."""
    yield "shorter", value[:-1]
    yield "objects", value.astype(object)
    yield "dtype", value.astype(np.int16 if value.dtype != np.int16 else np.int8)
    yield "list", value.tolist()
    if name == "feasible":
        for b in range(len(value)):
            worse = value.copy()
            worse[b] = not worse[b]
            yield f"item {b}", worse
        return
    yield "items exchanged", value[::-1]
    yield "permute", np.roll(value, 1, axis=-1)
    yield "shift", value + value.dtype.type(1)
    yield "scale", value * value.dtype.type(3)
    for number in (-(2**31), -2, 2**31 - 1) if name == "col_of_row" else (-(2**62), 2**62):
        worse = value.copy()
        worse.flat[-1] = number
        yield f"last {number}", worse
        worse = value.copy()
        worse.flat[0] = number
        yield f"first {number}", worse


@pytest.mark.parametrize("kind", BATCHES)
def test_every_field_of_a_batch(kind):
    found = BATCHES[kind]()
    found.check()
    tried = dict.fromkeys(BATCH_FIELDS, 0)
    for name in BATCH_FIELDS:
        for how, value in batch_alterations(name, getattr(found, name)):
            if name == "cost":
                worse = copy.copy(found)
                vars(worse)["cost"] = value
            else:
                worse = replace(found, **{name: value})
            if isinstance(value, np.ndarray) and np.array_equal(value, getattr(found, name)):
                if value.dtype == getattr(found, name).dtype:
                    continue
            assert refused(worse), f"{name}: {how} passed"
            tried[name] += 1
    assert tried["col_of_row"] == 14
    assert tried["feasible"] == 4 + len(found)
    assert min(tried.values()) >= 8, tried
    assert {f.name for f in fields(found)} == {*BATCH_FIELDS[:-1], "device", "stats", "_given", "_library"}


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


@pytest.mark.parametrize("kind", [*RESULTS, *(f"batch of {name}" for name in BATCHES)])
def test_results_pickle_and_copy(kind):
    """By value; the copy proves itself, also where the original's arguments are changed later, and notices faults."""
    found = RESULTS[kind]() if kind in RESULTS else BATCHES[kind.removeprefix("batch of ")]()
    names = FIELDS if kind in RESULTS else BATCH_FIELDS
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert type(copied) is type(found)
        for name in names:
            assert np.array_equal(getattr(copied, name), getattr(found, name))
        copied.check()
        name = names[0] if kind in RESULTS else "row_price"
        with pytest.raises(CertificateError):
            replace(copied, **{name: getattr(copied, name)[::-1]}).check()
        assert "\n" not in repr(copied)
    deep = copy.deepcopy(found)
    deep.row_price[:1] += 1
    found.check()


def test_proofs_hold_without_assertions():
    """python -O leaves assert statements out; the certificates are none."""
    script = """
import dataclasses, numpy as np, assign
cost = np.arange(12).reshape(3, 4) ** 2 % 7
found = assign.solve(cost)
batch = assign.solve_batch(cost[None])
points = assign.solve_points(cost, cost + 1)
wrong = [dataclasses.replace(found, cost=999), dataclasses.replace(found, col=found.col[::-1] - 7)]
wrong += [dataclasses.replace(found, row_price=found.row_price + 1)]
wrong += [dataclasses.replace(batch, col_of_row=batch.col_of_row + 1), dataclasses.replace(points, cost=-1.0)]
refused = 0
for result in wrong:
    try:
        result.check()
    except assign.CertificateError:
        refused += 1
assert False  # left out
print("refused", refused, "of", len(wrong))
"""
    done = subprocess.run([sys.executable, "-O", "-c", script], capture_output=True, text=True, timeout=600)
    assert done.stdout == "refused 5 of 5\n", done.stderr
