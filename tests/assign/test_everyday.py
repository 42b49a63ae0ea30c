"""The families of `python -m benchmarks assign_everyday`, small: certified, as cheap as SciPy says, always the same."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import assign
from benchmarks.assign_everyday import DTYPES, FAMILIES, SHAPES, build
from tests.tiers import in_quick_tier

# A process with a history of its own prints a digest of the pairs of matrices with ties.
ANSWERS = """
import hashlib, sys
import numpy as np
import assign
from assign.compat import lap

rng = np.random.default_rng(int(sys.argv[1]))
doors = (assign.linear_sum_assignment, lambda cost: lap.lapjv(cost, True), lambda cost: [assign.solve(cost).col])
for _ in range(rng.integers(30)):
    n = rng.integers(2, 200)
    doors[rng.integers(3)](rng.integers(0, 9, (n, n)).astype(rng.choice(["float64", "int32"])))
found = {}
for k in rng.permutation(24):
    n = (8, 33, 34, 60, 100, 190, 330, 500)[k % 8]
    cost = np.random.default_rng(k).integers(0, 5, (n, n + k // 16)).astype(("float64", "float32", "int32")[k % 3])
    for door in rng.permutation(3):
        found[int(k), int(door)] = [np.asarray(part).tobytes() for part in doors[door](cost)]
print(hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest())
"""


@pytest.mark.parametrize("dtype", in_quick_tier(DTYPES, "float64".__eq__))
@pytest.mark.parametrize("family", FAMILIES)
def test_certified_and_as_cheap_as_scipys(family, dtype):
    for n in (7, 130):
        for shape in SHAPES:
            cost = build(family, shape, n, dtype)
            for given, maximize in ((cost, False), (-cost, True)):
                found = assign.solve(given, maximize=maximize)
                found.check()
                best = given[linear_sum_assignment(given, maximize)].sum(dtype=np.float64)
                assert found.cost == pytest.approx(best, rel=1e-9, abs=1e-9)
                row, col = assign.linear_sum_assignment(given, maximize)
                assert given[row, col].sum(dtype=np.float64) == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.thorough
def test_random_small_matrices():
    rng = np.random.default_rng(100_000)
    names, shapes = list(FAMILIES), list(SHAPES)
    for k in range(100_000):
        cost = build(names[k % len(names)], shapes[rng.integers(3)], int(rng.integers(2, 26)), DTYPES[k % 3], seed=k)
        maximize = bool(rng.integers(2))
        found = assign.solve(cost, maximize=maximize)
        found.check()
        best = cost[linear_sum_assignment(cost, maximize)].sum(dtype=np.float64)
        assert found.cost == pytest.approx(best, rel=1e-9, abs=1e-9), (names[k % len(names)], cost.shape, k)
        row, col = assign.linear_sum_assignment(cost, maximize)
        assert cost[row, col].sum(dtype=np.float64) == pytest.approx(best, rel=1e-9, abs=1e-9), k


@pytest.mark.parametrize(
    "count", [pytest.param(3, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.thorough)]
)
def test_same_pairs_in_processes_with_different_histories(count):
    digests = {
        subprocess.run([sys.executable, "-c", ANSWERS, str(k)], capture_output=True, text=True, check=True).stdout
        for k in range(count)
    }
    assert len(digests) == 1
