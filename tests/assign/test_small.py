"""Small matrices: the fast path through one compiled call, against the general path and SciPy."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import assign
from assign.dense import jonker_volgenant
from assign.dense.jonker_volgenant import MAX_COSTS, MIN_ROWS


def costs(n, dtype, seed=0, m=None):
    rng = np.random.default_rng([n, seed])
    shape = n, n if m is None else m
    numbers = rng.integers(0, 200, shape) if np.dtype(dtype).kind in "iu" else 200 * rng.random(shape) - 50
    return numbers.astype(dtype)


def best(cost, maximize=False):
    row, col = linear_sum_assignment(cost, maximize)
    return cost[row, col].sum(dtype=np.float64 if cost.dtype.kind == "f" else np.int64)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
@pytest.mark.parametrize(
    ("where", "value", "maximize"),
    [
        ((1, 2), np.nan, False),
        ((1, 2), -np.inf, False),
        ((1, 2), np.inf, True),
        ((slice(3), slice(2, None)), np.nan, False),
        ((slice(None), slice(None)), np.inf, False),
        ((slice(None), slice(None)), -np.inf, True),
    ],
)
def test_errors_are_those_of_the_general_path(shape, where, value, maximize):
    cost = costs(shape[0], "float64", m=shape[1])
    cost[where] = value
    with pytest.raises(ValueError, match="must not hold|no assignment exists") as expected:
        assign.solve(cost, maximize=maximize, method="shortest_paths")
    with pytest.raises(type(expected.value)) as caught:
        assign.solve(cost, maximize=maximize)
    assert str(caught.value) == str(expected.value)
    with pytest.raises(ValueError, match="invalid numeric entries|infeasible"):
        assign.linear_sum_assignment(cost, maximize)


@pytest.mark.parametrize("large", [2**61, -(2**61), -(2**63), 2**63 - 1])
def test_integers_too_large_for_prices(large):
    cost = np.array([[large, 0], [1, 2]])
    with pytest.raises(ValueError, match="so that prices fit int64"):
        assign.solve(cost)
    assert assign.linear_sum_assignment(cost)[1].tolist() == ([1, 0] if large > 0 else [0, 1])


def test_other_problems_take_the_general_path():
    cost = costs(6, "int64")
    for options in ({"max_cost": 50}, {"mask": cost < 150}, {"start": (np.zeros(6), np.zeros(6))}, {"callback": print}):
        assert assign.solve(cost, **options).method == "shortest_paths"
    assert assign.solve(costs(MAX_COSTS // 4 + 1, "int64", m=4)).method == "shortest_paths"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rectangles_of_floats_begin_with_whole_rows_at_any_size(dtype):
    rng = np.random.default_rng(4)
    uniform = rng.random((1000, MAX_COSTS // 1000 + 9)).astype(dtype)
    repeated = uniform[rng.integers(0, 100, 1000)]  # most of its rows are free after the first step
    for cost, method in ((uniform, "jonker_volgenant"), (uniform.T, "jonker_volgenant"), (repeated, "shortest_paths")):
        found = assign.solve(cost)
        found.check()
        assert found.method == method


HANDED_OVER = {
    "product": lambda n, m, rng: np.multiply.outer(rng.permutation(n), rng.permutation(m)),
    "distances on a line": lambda n, m, rng: abs(np.subtract.outer(rng.integers(0, 9**6, n), rng.integers(0, 9**6, m))),
    "low rank": lambda n, m, rng: rng.integers(0, 1000, (n, 3)) @ rng.integers(0, 1000, (3, m)),
    "uniform": lambda n, m, rng: rng.integers(0, 10**6, (n, m)),
    "repeated rows": lambda n, m, rng: rng.integers(0, 10**6, (9, m))[rng.integers(0, 9, n)],
}


@pytest.mark.parametrize("family", HANDED_OVER)
@pytest.mark.parametrize("scans", [-1, 1])
def test_lists_take_over_from_any_state(family, scans, monkeypatch):
    monkeypatch.setattr("assign.direct.SEARCH_SCANS", scans)
    monkeypatch.setattr("assign.direct.MIN_LIST_ROWS", 0)
    rng = np.random.default_rng(scans + 1)
    methods = set()
    for n, m in ((MIN_ROWS, MIN_ROWS), (MIN_ROWS, 150), (160, MIN_ROWS), (40, 40)):
        for kind in (np.int64, np.float64):
            cost = (HANDED_OVER[family](n, m, rng) // 3).astype(kind)
            for maximize in (False, True):
                found = assign.solve(cost, maximize=maximize)
                found.check()
                assert found.cost == best(cost, maximize)
                methods.add(found.method)
    assert "shortest_paths" in methods


def test_handed_over_and_infeasible():
    cost = costs(MIN_ROWS, "float64")
    cost[:3, 2:] = np.inf
    for given in (cost, cost[:-1], cost[:-1].T):
        with pytest.raises(assign.InfeasibleError) as caught:
            assign.solve(given)
        caught.value.check(given)


def test_threads_do_not_share_memory():
    matrices = [costs(n, "int64", seed) for n in (5, 30, 60) for seed in range(20)]
    expected = [best(cost) for cost in matrices]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            found = list(pool.map(assign.solve, matrices))
            assert [a.cost for a in found] == expected
    for each in found:
        each.check()


def test_memory_of_large_matrices_is_not_kept():
    assign.solve(costs(600, "int64"))
    assert jonker_volgenant.memory.numbers.size <= jonker_volgenant.KEPT_NUMBERS
