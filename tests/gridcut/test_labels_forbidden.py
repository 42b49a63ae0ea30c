"""Labels forbidden by infinite or huge costs, which must not reduce the precision of the others."""

import itertools

import numpy as np
import pytest

import gridcut
from tests.tiers import in_quick_tier

WEIGHTS = {(0, 1): 0.5, (1, 0): 0.25}
LINEAR = np.abs(np.subtract.outer(np.arange(3), np.arange(3))).astype(float)
HIGH = 1000.0  # more than all other terms of an energy here


def draw(rng, forbidden):
    """Dyadic costs, some of them forbidden but not all labels of a pixel; and the same with HIGH instead."""
    unary = rng.integers(-8, 9, (3, 2, 3)) / 4
    chosen = rng.random(unary.shape) < 0.4
    chosen[rng.integers(3)] = False
    return np.where(chosen, forbidden, unary), np.where(chosen, HIGH, unary)


@pytest.mark.parametrize("move", in_quick_tier(["alpha_expansion", "alpha_beta_swap"], "alpha_expansion".__eq__))
@pytest.mark.parametrize("forbidden", [np.inf, 3.4e38, 1e300])
def test_moves_are_those_of_high_costs(forbidden, move):
    solve = getattr(gridcut, move)
    rng = np.random.default_rng(521)
    for _ in range(15):
        unary, high = draw(rng, forbidden)
        found, expected = solve(unary, WEIGHTS), solve(high, WEIGHTS)
        found.check()
        assert found.energy == expected.energy
        assert (found.labels == expected.labels).all()


@pytest.mark.parametrize("forbidden", [np.inf, 1e20, 1e300])
def test_minima_are_those_of_all_labellings(forbidden):
    rng = np.random.default_rng(522)
    for _ in range(5):
        unary, high = draw(rng, forbidden)
        found = gridcut.convex_labels(unary, WEIGHTS, LINEAR, device="cpu")
        found.check()
        best = min(
            gridcut.energy_of(np.reshape(labels, (2, 3)), high, WEIGHTS, LINEAR)
            for labels in itertools.product(range(3), repeat=6)
        )
        assert found.energy == best


def test_label_solver():
    rng = np.random.default_rng(523)
    unary, high = draw(rng, np.inf)
    solver, expected = gridcut.LabelSolver(unary, WEIGHTS), gridcut.LabelSolver(high, WEIGHTS)
    for _ in range(3):
        assert (solver.solve().labels == expected.solve().labels).all()
        unary, high = draw(rng, 1e25)
        solver.update(unary=unary)
        expected.update(unary=high)


def test_invalid_costs():
    unary = np.ones((2, 2, 3))
    unary[:, 1, 2] = np.inf
    with pytest.raises(
        ValueError, match=r"unary forbids every label at pixel \(1, 2\): at least one cost per pixel must be finite"
    ):
        gridcut.alpha_expansion(unary, WEIGHTS)
    for value in (np.nan, -np.inf):
        unary[:, 1, 2] = value
        with pytest.raises(
            ValueError, match=rf"unary holds {value} at \(0, 1, 2\); costs must be finite; unary may be"
        ):
            gridcut.alpha_expansion(unary, WEIGHTS)
    with pytest.raises(ValueError, match="weights must be finite"):
        gridcut.alpha_expansion(np.ones((2, 2, 3)), {(0, 1): np.inf})
    with pytest.raises(ValueError, match=r"label_cost holds inf at \(0, 1\); costs must be finite"):
        gridcut.alpha_expansion(np.ones((2, 2, 3)), WEIGHTS, [[0, np.inf], [np.inf, 0]])


@pytest.mark.parametrize(
    "_where", [pytest.param("simulator", marks=pytest.mark.sim), pytest.param("gpu", marks=pytest.mark.gpu)]
)
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # raised by NumPy in the simulator only
@pytest.mark.parametrize("forbidden", [np.inf, 1e30])
def test_on_a_gpu(forbidden, _where):
    from gridcut.device.cuda import cuda

    unary, _ = draw(np.random.default_rng(524), forbidden)
    expected = gridcut.alpha_expansion(unary, WEIGHTS, restarts=0, device="cpu")
    for costs in (unary, cuda.to_device(unary)):
        found = gridcut.alpha_expansion(costs, WEIGHTS, restarts=0, device="cuda")
        labels = found.labels if isinstance(found.labels, np.ndarray) else found.labels.copy_to_host()
        assert (labels == expected.labels).all()
        assert found.energy == expected.energy
