"""The k cheapest assignments: against all permutations, and their certificate."""

import dataclasses
from itertools import permutations

import numpy as np
import pytest

import assign


def every_cost(cost):
    """The costs of all assignments, ascending; n <= m."""
    rows = np.arange(len(cost))
    totals = [cost[rows, list(p)].sum() for p in permutations(range(cost.shape[1]), len(cost))]
    return np.sort([t for t in totals if np.isfinite(t)])


@pytest.mark.parametrize("dtype", ["int64", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 3), (5, 5), (3, 6), (2, 7)])
def test_equal_to_all_permutations(dtype, shape):
    rng = np.random.default_rng(sum(shape))
    for trial in range(12):
        cost = rng.integers(-4, 9, shape).astype(dtype) if trial % 2 else (rng.random(shape) * 1e4).astype(dtype)
        if dtype == "float64" and trial % 3 == 0:
            cost[rng.random(shape) < 0.25] = np.inf
        expected = every_cost(cost)
        if not len(expected):
            continue
        for k in (1, 4, len(expected) + 3):
            found = assign.k_best(cost, k)
            found.check()
            np.testing.assert_allclose(found.cost, expected[:k], rtol=1e-12, atol=1e-9)
        wide = assign.k_best(-cost.T, 5, maximize=True)
        wide.check()
        np.testing.assert_allclose(wide.cost, -expected[:5], rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_one_assignment_only_if_there_are_no_rows_or_one_pair(shape):
    found = assign.k_best(np.zeros(shape), 4)
    found.check()
    assert found.col_of_row.tolist() == [[0] if shape == (1, 1) else [-1] * shape[0]]


def test_a_missing_or_changed_assignment_is_found():
    found = assign.k_best(np.random.default_rng(1).integers(0, 50, (5, 6)), 8)
    without = np.delete(np.arange(8), 3)
    wrong = [
        dataclasses.replace(found, col_of_row=found.col_of_row[without], cost=found.cost[without]),
        dataclasses.replace(found, cost=found.cost + 1),
        dataclasses.replace(found, col_of_row=found.col_of_row + 7),
        dataclasses.replace(found, col_of_row=np.repeat(found.col_of_row[:1], 8, 0), cost=found.cost[[0] * 8]),
    ]
    for other in wrong:
        with pytest.raises(assign.CertificateError):
            other.check()


@pytest.mark.parametrize(
    ("cost", "k", "error", "message"),
    [
        ([[1]], 0, ValueError, "k must be"),
        ([[1]], 1.5, TypeError, "k must be"),
        ([1], 1, ValueError, "cost must be a matrix with 2 axes"),
        ([[2**55]], 1, ValueError, "below 2\\^52"),
        ([[np.inf]], 1, assign.InfeasibleError, "column"),
    ],
)
def test_arguments_are_checked(cost, k, error, message):
    with pytest.raises(error, match=message):
        assign.k_best(cost, k)
