"""The battery: every public function and method of assign over one table of instances, against independent oracles.

`check()` of the package and the checker of tests/assign/oracles.py must both accept each result, and no argument may
change.  The longer form draws its instances at random:  pytest -m thorough tests/assign/test_battery.py
"""

import copy
import pickle
from collections import Counter
from itertools import product

import numpy as np
import pytest
import scipy.sparse

import assign
from tests.assign import instances, oracles
from tests.assign.oracles import METHODS, SCALING

SEED = 20240601
THOROUGH = 12_000


def same(one, other) -> bool:
    """Whether two arguments hold the same, bit for bit."""
    if scipy.sparse.issparse(one):
        if one.format not in ("csr", "csc", "coo"):
            one, other = one.tocoo(), other.tocoo()
        names = ("row", "col", "data") if one.format == "coo" else ("indptr", "indices", "data")
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return one is other or one == other


def run(instance, method="auto", start=None, counts=None):
    """Call the function of an instance and verify what it returns; the result, or None if there is no assignment."""
    before = copy.deepcopy((instance.arguments, instance.options))
    counts = Counter() if counts is None else counts
    options = dict(instance.options)
    if instance.function == "solve" and method != "auto":
        options["method"] = method
    if start is not None:
        options["start"] = start
    function = {"solve": assign.solve, "points": assign.solve_points, "batch": assign.solve_batch}[instance.function]
    try:
        found = function(*instance.arguments, **options, device="cpu")
    except assign.InfeasibleError as error:
        oracles.verify_infeasible(instance.truth, error)
        pickle.loads(pickle.dumps(error)).check(instance.arguments[0], instance.options.get("mask"))
        found = None
    except ValueError as error:
        if method in SCALING and "requires |cost| <=" in str(error):
            assert 4 * instance.truth.largest * (sum(instance.truth.cost.shape) + 1) ** 2 > 2**62
            counts["refused as too large"] += 1
            return None
        raise
    assert same(before, (instance.arguments, instance.options))
    if found is not None:
        found.check()
        if instance.function == "batch":
            verify_batch(instance, found)
        else:
            sign = instance.sign
            u, v = sign * found.row_price, sign * found.col_price
            assert type(found.cost) is (int if all_whole(instance) else float)
            oracles.verify(instance.truth, found.row, found.col, sign * found.cost, u, v)
    for truth in instance.truth if instance.function == "batch" else [instance.truth]:
        best, by = truth.optimum
        counts.update(by)
        counts["infeasible" if best is None else "optimal"] += 1
    return found


def all_whole(instance) -> bool:
    """Whether the costs passed in are integers, whatever max_cost is."""
    given = instance.arguments[0]
    if instance.function == "points":
        return False
    values = given[2] if isinstance(given, tuple) else given.data if scipy.sparse.issparse(given) else np.asarray(given)
    return values.dtype.kind != "f"


def verify_batch(instance, found) -> None:
    sign = instance.sign
    assert len(found) == len(instance.truth)
    for b, truth in enumerate(instance.truth):
        n, m = truth.cost.shape
        assert (found.col_of_row[b, n:] == -1).all()
        assert not found.row_price[b, n:].any()
        assert not found.col_price[b, m:].any()
        assert found.feasible[b] == (truth.optimum[0] is not None)
        if found.feasible[b]:
            row = np.flatnonzero(found.col_of_row[b, :n] >= 0)
            u, v = sign * found.row_price[b, :n], sign * found.col_price[b, :m]
            oracles.verify(truth, row, found.col_of_row[b, row], sign * found.cost[b].item(), u, v)
        else:
            assert (found.col_of_row[b] == -1).all()
            assert found.cost[b] == 0


def failing(instance, seed):
    """The start of a message; the instance can be made again from the seed."""
    return f"{instance}, drawn by default_rng({list(seed)})"


def over(drawn, method="auto"):
    """Run instances drawn as (seed, instance), and count what was compared with what."""
    counts = Counter()
    for seed, instance in drawn:
        try:
            run(instance, method, counts=counts)
        except Exception as error:
            raise AssertionError(f"{failing(instance, seed)}, {method}: {type(error).__name__}: {error}") from error
    return counts


def table(function, kinds, repeated=1):
    """Instances of a function, each with its own seed."""
    for k, (shape, (dtype, family), limit, maximize) in enumerate(kinds * repeated):
        seed = (SEED, instances.SHAPES.index(shape) if shape in instances.SHAPES else 99, k)
        rng = np.random.default_rng(seed)
        yield seed, instances.matrix(rng, function, shape, dtype, family, limit, maximize)


# Of each pair of costs' dtype and family; the quick tier takes NumPy's own dtypes.
USUAL = ("int64", "float64")
each_kind = pytest.mark.parametrize("usual", [True, pytest.param(False, marks=pytest.mark.slow)])


def of_kind(sorts, usual):
    return [sort for sort in sorts if (sort[0] in USUAL) == usual]


SORTS = [*product(instances.WHOLE[1:], instances.FAMILIES[:-1]), *product(instances.FLOATS, instances.FLOAT_FAMILIES)]
SORTS += [("bool", "few"), ("int32", "bound"), ("int64", "bound"), ("uint32", "bound")]


@each_kind
@pytest.mark.parametrize("function", ["dense", "mask", "sparse"])
@pytest.mark.parametrize("maximize", [False, True])
def test_every_dtype_family_and_shape(function, maximize, usual):
    """Each shape with each sort of costs, once; the layouts and the forms of sparse matrices take turns."""
    kinds = list(product(instances.SHAPES, of_kind(SORTS, usual), ["none"], [maximize]))
    chosen = kinds[::3] if function == "dense" else kinds[1::4]
    counts = over(table(function, chosen))
    assert counts["optimal"] + counts["infeasible"] == len(chosen)
    assert counts["exhaustive"] == len(chosen)
    assert counts["infeasible"] > 0 or function == "dense"


@each_kind
@pytest.mark.parametrize("limit", instances.LIMITS[1:])
@pytest.mark.parametrize("function", ["dense", "mask", "sparse"])
def test_every_limit(function, limit, usual):
    sorts = [("int32", "few"), ("int64", "negative"), ("uint8", "distance"), ("float64", "uniform")]
    sorts += [("float32", "few"), ("float64", "wide"), ("int16", "equal")]
    kinds = list(product(instances.SHAPES, of_kind(sorts, usual), [limit], [False, True]))
    counts = over(table(function, kinds))
    assert counts["optimal"] == len(kinds)


@pytest.mark.parametrize(
    ("method", "function"), [("jonker_volgenant", "dense"), *product(METHODS[1:], ["dense", "mask", "sparse"])]
)
def test_every_method(method, function):
    sorts = [("int64", "few"), ("int64", "distance"), ("int64", "bound"), ("float64", "uniform"), ("float64", "big M")]
    kinds = list(product(instances.SHAPES, sorts, ["none", "fraction"], [False]))[:: 1 if function == "dense" else 3]
    kinds = [kind for kind in kinds if kind[1][1] != "bound" or kind[2] == "none"]
    counts = over(table(function, kinds), method)
    assert counts["optimal"] + counts["infeasible"] + counts["refused as too large"] == len(kinds)
    assert counts["optimal"] > 20
    if method in SCALING and function == "dense":
        assert counts["refused as too large"] > 0


@each_kind
@pytest.mark.parametrize("function", ["dense", "sparse"])
@pytest.mark.parametrize("shape", instances.LARGER)
def test_larger_sizes(function, shape, usual):
    sorts = [("int32", "few"), ("int64", "product"), ("float64", "uniform"), ("float32", "two scales")]
    kinds = list(product([shape], of_kind(sorts, usual), ["none", "whole", "fraction"], [False, True]))
    counts = over(table(function, kinds))
    assert counts["linear_sum_assignment"] == 12


@pytest.mark.parametrize("metric", instances.METRICS)
def test_points(metric):
    shapes = [(n, m) for n in (0, 1, 3, 6) for m in (0, 1, 4, 7)]
    seeds = [(SEED, n, m, k) for n, m in shapes for k in range(6)]
    counts = over((s, instances.points(np.random.default_rng(s), s[1:3], metric, (s[3] % 3) * 0.25)) for s in seeds)
    assert counts["exhaustive"] == len(seeds)


@each_kind
def test_batches(usual):
    seeds = [(SEED, k) for k in range(300)]
    shapes = [(5, 6), (6, 5), (4, 4), (1, 1), (0, 3), (2, 0)]
    dtypes = USUAL if usual else instances.BATCH_DTYPES
    counts = over((s, instances.batch(np.random.default_rng(s), shapes[s[1] % 6], dtypes=dtypes)) for s in seeds)
    assert counts["infeasible"] >= 5
    assert counts["optimal"] > 500


STARTS = ["exact", "near", "another", "far", "very far"]


def start_of(rng, found, kind):
    """Prices to start from."""
    u, v = found.row_price.astype(np.float64), found.col_price.astype(np.float64)
    size = 1 + max(np.abs(u).max(initial=0), np.abs(v).max(initial=0))
    if kind == "exact":
        return found
    if kind == "near":
        return u + size * 0.01 * rng.normal(size=u.shape), v + size * 0.01 * rng.normal(size=v.shape)
    far = min({"another": 1, "far": 1e4, "very far": 1e16}[kind] * float(size), 1e300)
    return far * rng.normal(size=u.shape), far * rng.normal(size=v.shape)


@pytest.mark.parametrize("kind", STARTS)
@pytest.mark.parametrize("function", ["dense", "mask", "sparse"])
def test_starts(function, kind):
    """From prices of any size, and those of a feasible problem where there is none."""
    sorts = [("int64", "few"), ("int64", "negative"), ("float64", "uniform"), ("float64", "wide")]
    kinds = list(product(instances.SHAPES, sorts, ["none", "fraction"], [False]))
    counts = Counter()
    for seed, instance in table(function, kinds):
        if np.prod(instance.truth.cost.shape) > 40:
            continue
        rng = np.random.default_rng([*seed, STARTS.index(kind)])
        shape = instance.truth.cost.shape
        easy = assign.solve(np.where(instance.truth.allowed, instance.truth.cost, 0).astype(np.float64).reshape(shape))
        try:
            run(instance, start=start_of(rng, easy, kind), counts=counts)
        except Exception as error:
            raise AssertionError(f"{failing(instance, seed)}, start {kind}: {type(error).__name__}: {error}") from error
    assert counts["infeasible"] > 0 or function == "dense"
    assert counts["optimal"] > 50


@each_kind
def test_linear_sum_assignment_over_the_table(usual):
    """SciPy's own face takes every dense instance without a limit; the sums are those of the oracles."""
    solved = refused = 0
    sorts = of_kind(SORTS, usual)
    for seed, instance in table("dense", list(product(instances.SHAPES, sorts, ["none"], [False, True]))[::2]):
        best, _ = instance.truth.optimum
        cost = np.asarray(instance.arguments[0])
        if best is None:
            refused += 1
            with pytest.raises(ValueError, match="cost matrix is infeasible"):
                assign.linear_sum_assignment(cost, maximize=instance.sign < 0)
            continue
        solved += 1
        row, col = assign.linear_sum_assignment(cost, maximize=instance.sign < 0)
        assert (row == np.sort(row)).all(), failing(instance, seed)
        total = sum(map(oracles.Fraction, instance.truth.cost[row, col]))
        size = float(sum(map(abs, instance.truth.cost[row, col])))
        assert abs(float(total - best)) <= (0 if instance.truth.whole else 1e-12 * size), failing(instance, seed)
    assert solved > 200
    assert refused > 0


@pytest.mark.thorough
def test_random_instances():
    """All functions, "auto" and a random method, and starts from random prices."""
    counts = Counter()
    for k in range(THOROUGH):
        seed = (SEED, 0, k)
        rng = np.random.default_rng(seed)
        instance = instances.draw(rng)
        counts[instance.name.partition(" ")[0]] += 1
        what = "auto"
        try:
            found = run(instance, counts=counts)
            if instance.function == "solve":
                what = str(rng.choice(METHODS[1:]))
                run(instance, what, counts=counts)
                if found is not None:
                    kind = str(rng.choice(STARTS))
                    what = f"start {kind}"
                    run(instance, start=start_of(rng, found, kind), counts=counts)
        except Exception as error:
            raise AssertionError(f"{failing(instance, seed)}, {what}: {type(error).__name__}: {error}") from error
    print(f"\n{THOROUGH} instances of seed {SEED}: {dict(counts)}")
    assert sum(counts[name] for name in ("dense", "mask", "sparse", "points", "batch")) == THOROUGH
