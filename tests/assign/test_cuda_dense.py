"""Dense assignment on a GPU, its parts in numba's simulator: certificates of everything, values against SciPy."""

import numpy as np
import pytest

from assign.core.infeasible import InfeasibleError
from tests.assign.oracles import proved

DTYPES = ["int32", "int64", "float32", "float64"]


def on_gpu(array):
    from gridcut.device.cuda import cuda

    return cuda.to_device(np.ascontiguousarray(array))


def solved(cost, limit=None, **options):
    """Pairs, prices and counts, on the host, after the proof that they are optimal and the comparison with SciPy."""
    from assign.dense.dense_cuda import solve
    from gridcut.device.arrays import download

    *arrays, stats = solve(on_gpu(cost), limit=limit, **options)
    col_of, u, v = map(download, arrays)
    proved(cost, col_of, u, v, limit)
    return col_of, u, v, stats


def instance(family, n, m, seed, dtype="int32"):
    rng = np.random.default_rng(seed)
    if family == "uniform":
        cost = rng.integers(-1000, 10**6, (n, m))
    elif family == "ties":
        cost = rng.integers(0, 4, (n, m))
    elif family == "same":
        cost = np.full((n, m), 7)
    elif family == "product":
        cost = np.outer(np.arange(1, n + 1), np.arange(1, m + 1))
    elif family == "fixed":
        cost = rng.integers(0, 10**5, (n, 1)) + rng.integers(0, 10**5, m) + rng.integers(0, 50, (n, m))
    else:
        cost = np.linalg.norm(rng.random((n, 1, 2)) - rng.random((m, 2)), axis=-1) * 1e4
        cost = np.rint(cost) if dtype.startswith("int") else cost
    return cost.astype(dtype)


FAMILIES = ["uniform", "ties", "same", "product", "fixed", "points"]
SMALL = [(1, 1), (1, 5), (2, 2), (7, 7), (14, 14), (12, 13), (9, 30)]


@pytest.mark.sim
@pytest.mark.parametrize(
    ("family", "shape"), [*zip(FAMILIES, SMALL, strict=False), ("product", (12, 13)), ("points", (9, 30))]
)
def test_simulated(family, shape):
    cost = instance(family, *shape, seed=3)
    solved(cost)


@pytest.mark.sim
@pytest.mark.parametrize("dtype", DTYPES)
def test_simulated_dtypes(dtype):
    cost = instance("points", 14, 14, 1, dtype)
    _, u, v, _ = solved(cost)
    assert u.dtype == v.dtype == (np.float64 if dtype.startswith("float") else np.int64)


@pytest.mark.sim
@pytest.mark.parametrize("sign", [1, -1])
def test_simulated_integers_of_many_bits(sign):
    """More bits than a quantity has: prices are rounded, the result is exact."""
    cost = sign * instance("uniform", 13, 13, 5, "int64") * (1 << 33) + np.arange(13)
    solved(cost)


@pytest.mark.sim
def test_simulated_infeasible():
    cost = instance("points", 12, 12, 2, "float64")
    cost[2:6, 3:] = np.inf
    with pytest.raises(InfeasibleError) as caught:
        solved(cost)
    rows, cols = caught.value.rows, caught.value.cols
    assert len(rows) > len(cols)
    assert set(np.flatnonzero(np.isfinite(cost[rows]).any(0))) == set(cols)


@pytest.mark.sim
@pytest.mark.parametrize("shape", [(10, 10), (6, 12)], ids=str)
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_simulated_limits(shape, share):
    cost = instance("uniform", *shape, 8)
    limit = np.full(shape[0], int(share * 1e6) - 500)
    solved(cost, limit)


@pytest.mark.sim
def test_simulated_warm_start():
    cost = instance("points", 16, 16, 4)
    _, u, v, _ = solved(cost)
    cost[3] += 100
    *_, stats = solved(cost, start=(u, v))
    assert stats["augmentations"] <= 16
    solved(cost, start=(u, np.random.default_rng(0).integers(-500, 500, 16)))


@pytest.mark.sim
@pytest.mark.parametrize(("is_integer", "squared"), [(False, True), (True, False)])
def test_simulated_points(is_integer, squared):
    from assign.dense.dense_cuda import solve_points
    from gridcut.device.arrays import download

    rng = np.random.default_rng(6)
    x, y = rng.random((10, 3)), rng.random((12, 3))
    cost = ((x[:, None] - y) ** 2).sum(-1)
    cost = (cost if squared else np.sqrt(cost)) * 1000
    cost = np.floor(cost + 0.5).astype(np.int64) if is_integer else cost
    *arrays, _ = solve_points(x, y, squared=squared, factor=1000.0, is_integer=is_integer)
    col_of, u, v = map(download, arrays)
    proved(cost, col_of, u, v)


def oracle(cost, width):
    """Lists like those of the GPU, of any width, made by NumPy; and rows."""
    from assign.dense import arc_list_paths as paths

    infinity = paths.infinity_of(cost.dtype)

    def lists(rows, v):
        key = cost[rows] - v
        order = np.argsort(key, axis=1)[:, :width].astype(np.int32)
        bound = np.take_along_axis(key, order, 1)[:, -1] if width < cost.shape[1] else np.full(len(rows), infinity)
        costs = np.take_along_axis(cost[rows], order, 1)
        return paths.Lists(order, costs, np.take_along_axis(key, order, 1), bound)

    return lists


@pytest.mark.slow
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("width", [1, 50])
@pytest.mark.parametrize("shape", [(30, 30), (20, 50)], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_paths_over_lists(family, shape, width, limited):
    """The end on the CPU alone, from any prices, with lists far too short."""
    from assign.dense import arc_list_paths as paths

    rng = np.random.default_rng(width)
    n, m = shape
    cost = instance(family, n, m, 1, "int64")
    limit = rng.integers(0, cost.max() + 1, n) if limited else None
    v = np.zeros(m, np.int64) if limited else rng.integers(-int(cost.max()) // 4 - 1, 1, m)
    lists = oracle(cost, width)
    known = lists(np.arange(n), v)
    s = paths.make_search(np.empty(n, np.int64), v, limit)
    paths.row_prices(known, s)
    paths.match_tight(known, s, np.full(m, -1, np.int32))
    while (status := paths.augment(known, s)) != paths.DONE:
        rows = s.requested[: s.state[paths.REQUESTED]]
        if status == paths.NEED_LISTS:
            for old, new in zip(known, lists(rows, s.v), strict=True):
                old[rows] = new
        else:
            assert status == paths.NEED_ROW
            s.full_row[:] = cost[rows[0]]
    proved(cost, s.col_of, s.u, s.v, limit)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [*SMALL, (255, 257), (400, 1000), (999, 1000), (1500, 1500)], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_on_gpu(family, shape):
    cost = instance(family, *shape, seed=3)
    solved(cost)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", ["uniform", "points", "ties"])
def test_dtypes_on_gpu(family, dtype):
    cost = instance(family, 700, 700, 1, dtype)
    solved(cost)


@pytest.mark.gpu
def test_forbidden_pairs_on_gpu():
    rng = np.random.default_rng(0)
    cost = instance("points", 600, 600, 2, "float32")
    cost[rng.random((600, 600)) < 0.9] = np.inf
    np.fill_diagonal(cost, 1e6)
    solved(cost)
    cost[:40, 39:] = np.inf
    with pytest.raises(InfeasibleError) as caught:
        solved(cost)
    assert len(caught.value.rows) > len(caught.value.cols)


@pytest.mark.gpu
def test_limits_on_gpu():
    cost = instance("points", 300, 400, 2)
    limit = np.full(300, 300)
    solved(cost, limit)
