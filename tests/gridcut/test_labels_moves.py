"""Expansions and swaps: certified moves, local minima against enumeration, relations between results, validation."""

import numpy as np
import pytest

from gridcut import alpha_beta_swap, alpha_expansion, energy_of, neighbourhood
from gridcut.multilabel import descent
from gridcut.multilabel.restarts import fused
from gridcut.multilabel.validation import check_labels

LINEAR = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
COSTS = {"potts": None, "linear": LINEAR, "truncated": np.minimum(LINEAR, 2), "apart": [[0, 5], [5, 0]]}


def stripes(shape, count, seed):
    """A noisy image of stripes: unary costs, nearest neighbours with uneven weights."""
    rng = np.random.default_rng(seed)
    truth = np.broadcast_to(np.arange(shape[-1]) * count // shape[-1], shape)
    level = np.arange(count).reshape(-1, *(1 for _ in shape))
    unary = (10 * np.abs(truth + rng.normal(0, 0.8, shape) - level)).astype(np.int64)
    weights = {o: rng.integers(0, 12, shape) for o in neighbourhood({1: 2, 2: 4, 3: 6}[len(shape)])}
    return unary, weights


def test_later_expansions_are_local(monkeypatch):
    """First expansions load the whole grid, later ones only cells near the changes."""
    loaded = []

    def spied(cells, whole, *arguments):
        loaded.append((whole, cells.size))
        return make_move(cells, whole, *arguments)

    make_move = descent.make_move
    monkeypatch.setattr(descent, "make_move", spied)
    rng = np.random.default_rng(0)
    unary = rng.integers(0, 40, (5, 400, 320)).astype(np.uint8)
    result = alpha_expansion(unary, dict.fromkeys(neighbourhood(4), 8), max_cycles=2, device="cpu")
    result.check()
    assert loaded[:5] == [(True, 0)] * 5
    assert any(not whole and cells for whole, cells in loaded)


@pytest.mark.parametrize("cost", ["potts", "truncated"])
def test_every_path_to_a_cut_gives_the_same_moves(monkeypatch, cost):
    """Later cuts of the whole grid or near the changes, or as usual."""
    unary, weights = stripes((40, 50), 4, 6)
    found = []
    for per_change in (4, 0, 10**9):
        monkeypatch.setattr(descent, "MIN_CELLS_PER_CHANGE", per_change)
        found.append(alpha_expansion(unary, weights, COSTS[cost], start=np.zeros((40, 50), int)))
        found[-1].check()
    for other in found[1:]:
        assert other.stats["energies"] == found[0].stats["energies"]
        assert (other.labels == found[0].labels).all()


def test_order_cycles_and_callback():
    unary, weights = stripes((7, 8), 4, 8)
    seen = []
    result = alpha_expansion(unary, weights, order=[2, 0], restarts=0, max_cycles=1, callback=seen.append)
    assert [event["labels"] for event in seen] == [(-1, 2), (-1, 0)]
    assert [event["energy"] for event in seen] == result.stats["energies"][1:]
    assert result.stats["cycles"] == 1

    def stop(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        alpha_expansion(unary, weights, callback=stop)


@pytest.mark.slow
def test_restarts_without_edges():
    alpha_expansion(np.random.default_rng(5).integers(0, 20, (4, 14, 15)), {}, LINEAR, restarts=3).check()


def test_restarts_never_raise_the_energy():
    gained = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        unary, weights = rng.integers(0, 20, (4, 14, 15)), {o: rng.integers(0, 12, (14, 15)) for o in neighbourhood(4)}
        plain = alpha_expansion(unary, weights, LINEAR, restarts=0)
        more = alpha_expansion(unary, weights, LINEAR, restarts=4)
        more.check()
        assert more.energy <= plain.energy
        gained += more.energy < plain.energy
        assert more.stats["energies"] == sorted(more.stats["energies"], reverse=True)
        assert more.stats["converged"]
    assert gained > 0
    for wrong, error in ((-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="restarts"):
            alpha_expansion(unary, weights, LINEAR, restarts=wrong)


def test_fusion_is_the_best_of_all_choices():
    """Against every choice of components: energies add up over components, also with long offsets."""
    rng = np.random.default_rng(2)
    unary = rng.integers(0, 9, (3, 7, 8))
    weights = {(0, 1): rng.integers(0, 5, (7, 8)), (2, 1): 3}
    problem = check_labels(unary, weights, None, metric=True)
    here = rng.integers(0, 3, (7, 8))
    there = np.where(rng.random((7, 8)) < 0.3, rng.integers(0, 3, (7, 8)), here)
    found = fused(here, there, problem)
    energy = energy_of(found, unary, weights)
    assert energy <= min(energy_of(here, unary, weights), energy_of(there, unary, weights))
    assert ((found == here) | (found == there)).all()
    for where in np.argwhere(here != there):  # no single component chosen otherwise
        trial = found.copy()
        trial[tuple(where)] = here[tuple(where)] + there[tuple(where)] - found[tuple(where)]
        again = fused(found, trial, problem)
        assert energy_of(again, unary, weights) <= energy


def test_too_many_kinds_of_edges():
    with pytest.raises(ValueError, match="33 kinds of edges"):
        alpha_expansion(np.zeros((2, 6, 9)), {(i // 8 + 1, i % 8): 1 for i in range(33)})


GOOD = {"unary": np.zeros((3, 4, 5), int), "weights": {(0, 1): 2, (1, 0): 3}}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"unary": np.zeros(3)}, ValueError, "unary must have shape"),
        ({"unary": np.full((3, 4, 5), np.nan)}, ValueError, r"unary holds nan at \(0, 0, 0\)"),
        ({"unary": np.zeros((3, 4, 5), complex)}, TypeError, "unary must hold"),
        ({"unary": np.full((3, 4, 5), 2**61)}, ValueError, "too large"),
        ({"weights": [1, 2]}, TypeError, "weights must be a mapping"),
        ({"weights": {(0, 1): np.ones((2, 2))}}, ValueError, "scalar or have the grid's shape"),
        ({"weights": {(0, 1): -1}}, ValueError, r"holds -1 at \(0, 0\)"),
        ({"weights": {(0, 1): np.inf}}, ValueError, "finite"),
        ({"label_cost": np.ones((2, 2))}, ValueError, r"must have shape \(3, 3\)"),
        ({"label_cost": np.ones((3, 3))}, ValueError, r"\[0, 0\] = 1.0 is not 0 for equal labels"),
        ({"label_cost": [[0, 1, 1], [2, 0, 1], [1, 1, 0]]}, ValueError, r"\[0, 1\] = 1 differs"),
        ({"label_cost": [[0, -1, 1], [-1, 0, 1], [1, 1, 0]]}, ValueError, r"\[0, 1\] = -1 is negative"),
        ({"start": np.zeros((4, 4), int)}, ValueError, "start must have the grid's shape"),
        ({"start": np.full((4, 5), 3)}, ValueError, "between 0 and 2"),
        ({"start": np.zeros((4, 5))}, TypeError, "start must hold integer"),
        ({"max_cycles": 0}, ValueError, "max_cycles must be 1 or more"),
        ({"device": "gpu"}, ValueError, "device must be"),
    ],
)
@pytest.mark.parametrize("solve", [alpha_expansion, alpha_beta_swap])
def test_bad_arguments(solve, change, error, words):
    with pytest.raises(error, match=words):
        solve(**{**GOOD, **change})


def test_only_expansions_need_a_metric():
    squares = LINEAR[:3, :3] ** 2
    with pytest.raises(
        ValueError, match=r"label_cost\[0, 2\] = 4 is more than .*\[0, 1\].*\[1, 2\] = 2; use alpha_beta"
    ):
        alpha_expansion(**GOOD, label_cost=squares)
    with pytest.raises(ValueError, match="not a metric"):
        alpha_expansion(**GOOD, label_cost=squares * 0.1)
    alpha_beta_swap(**GOOD, label_cost=squares).check()


@pytest.mark.parametrize(
    ("order", "error"), [([0, 3], ValueError), ([0, 0], ValueError), ([0.5], TypeError), ("ab", TypeError)]
)
def test_bad_order(order, error):
    with pytest.raises(error, match="order"):
        alpha_expansion(**GOOD, order=order)
