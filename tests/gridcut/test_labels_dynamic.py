"""LabelSolver: after every update the moves are certified, and no expansion helps after convergence."""

import numpy as np
import pytest

from gridcut import energy_of, neighbourhood
from gridcut.multilabel.label_solver import LabelSolver
from gridcut.multilabel.labelling import move_minimum

LINEAR = np.minimum(np.abs(np.subtract.outer(np.arange(4), np.arange(4))), 2)


def noise(seed, shape=(11, 12)):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 30, (4, *shape)), {o: rng.integers(0, 9, shape) for o in neighbourhood(4)}


def certified(solver, unary, weights, cost=LINEAR):
    result = solver.solve()
    result.check()
    assert result.stats["converged"]
    assert result.energy == energy_of(result.labels, unary, weights, cost)
    problem = result._history.problem
    for label in range(4):
        assert move_minimum(result.labels, -1, label, problem) * problem.unit == result.stats["energies"][-1]
    return result


@pytest.mark.parametrize("restarts", [0, 2])
def test_updates(restarts):
    for seed in range(3):
        unary, weights = noise(seed)
        solver = LabelSolver(unary, weights, LINEAR, restarts=restarts)
        solver.solve(max_cycles=1 if seed else None).check()
        rng = np.random.default_rng(100 + seed)
        for _ in range(3):
            y, x = rng.integers(0, 8, 2)
            unary[:, y : y + 3, x : x + 3] = rng.integers(0, 30, (4, 3, 3))
            solver.update(unary=unary)
            last = certified(solver, unary, weights)
        unary = unary + rng.integers(-2, 3, unary.shape)
        weights = noise(50 + seed)[1]
        solver.update(unary=unary)
        solver.update(weights=weights)
        result = certified(solver, unary, weights)
        assert result.stats["energies"][0] == energy_of(last.labels, unary, weights, LINEAR)


def test_no_change_means_no_move():
    unary, weights = noise(7)
    solver = LabelSolver(unary, weights, LINEAR)
    first = solver.solve()
    solver.update(unary=unary)
    again = solver.solve()
    assert again.stats["moves"] == 0
    assert np.array_equal(first.labels, again.labels)


def test_an_error_changes_nothing():
    unary, weights = noise(10)
    solver = LabelSolver(unary, weights, LINEAR)
    energy = solver.solve().energy
    for wrong, error, words in (
        ({"unary": unary[:, 1:]}, ValueError, "unary must keep its shape"),
        ({"unary": np.full(unary.shape, np.nan)}, ValueError, "unary holds nan"),
        ({"weights": {(0, 1): -1}}, ValueError, "weights"),
        ({"weights": 3}, TypeError, "weights must be a mapping"),
    ):
        with pytest.raises(error, match=words):
            solver.update(**wrong)
        assert solver.solve().energy == energy
