"""Convex costs and roof duality against all labellings of small grids."""

from itertools import product

import numpy as np
import pytest

from gridcut import BinaryEnergy, alpha_expansion, binary_minimum, convex_labels, energy_of, roof_duality
from gridcut.core.terms import ends

METHOD = "push_relabel"  # compiles faster for neighbourhoods that nothing else needs


def all_labellings(count, shape):
    return np.array(list(product(range(count), repeat=int(np.prod(shape))))).reshape(-1, *shape)


def all_energies(labellings, unary, weights, cost):
    """Energy of each labelling."""
    total = np.take_along_axis(unary[:, None], labellings[None], 0)[0].reshape(len(labellings), -1).sum(1)
    for offset, weight in weights.items():
        p, q = ends(unary.shape[1:], (offset,))
        paid = np.asarray(cost)[labellings[(slice(None), *p)], labellings[(slice(None), *q)]] * weight[p]
        total = total + paid.reshape(len(labellings), -1).sum(1)
    return total


def random_problem(shape, count, seed, offsets):
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 20, (count, *shape)), {o: rng.integers(0, 7, shape) for o in offsets}


def distance(count):
    return np.abs(np.subtract.outer(np.arange(count), np.arange(count)))


CONVEX = [
    ((7,), [(1,)], distance(3)),
    ((6,), [(1,)], distance(3) ** 2),
    ((2, 3), [(0, 1), (1, 0)], distance(4)),
    ((2, 2, 2), [(0, 0, 1), (0, 1, 0), (1, 0, 0)], distance(3)),
]


@pytest.mark.parametrize(
    ("shape", "offsets", "cost", "is_float"), [*((*problem, False) for problem in CONVEX), (*CONVEX[0], True)]
)
def test_convex_labels_are_minimal(shape, offsets, cost, is_float):
    labellings = all_labellings(len(cost), shape)
    for seed in range(5):
        unary, weights = random_problem(shape, len(cost), seed, offsets)
        factor = 0.1 if is_float else 1
        unary = unary * factor
        result = convex_labels(unary, weights, cost * factor)
        result.check()
        energies = all_energies(labellings, unary, weights, cost * factor)
        assert result.energy == pytest.approx(energies.min(), abs=1e-6 if is_float else 0)
        if not is_float:
            least = labellings[energies == energies.min()]
            assert np.array_equal(result.labels, least.max(0)), "the largest of all minima"


def test_convex_labels_bound_expansions():
    unary, weights = random_problem((12, 13), 6, 0, [(0, 1), (1, 0)])
    least = convex_labels(unary, weights, distance(6))
    least.check()
    found = alpha_expansion(unary, weights, distance(6))
    assert least.energy <= found.energy
    assert alpha_expansion(unary, weights, distance(6), start=least.labels).energy == least.energy
    assert energy_of(least.labels, unary, weights, distance(6)) == least.energy


def test_convex_labels_rejects_other_costs():
    unary, weights = random_problem((4,), 4, 0, [(1,)])
    with pytest.raises(ValueError, match=r"not convex: \[1, 3\] \+ \[2, 2\] = 1 is less than \[1, 2\] \+ \[2, 3\] = 2"):
        convex_labels(unary, weights, [[0, 1, 3, 4], [1, 0, 1, 1], [3, 1, 0, 1], [4, 1, 1, 0]])
    with pytest.raises(ValueError, match="not convex"):
        convex_labels(unary, weights, np.minimum(distance(4), 1))
    with pytest.raises(ValueError, match="two labels or more"):
        convex_labels(unary[:1], weights, [[0]])


ROOFS = [((6,), [(1,)]), ((3, 3), [(0, 1), (1, 0)]), ((8, 1, 1), [(1, 0, 0)])]


@pytest.mark.parametrize(
    ("shape", "offsets", "is_float"), [*((*problem, False) for problem in ROOFS), (*ROOFS[0], True)]
)
def test_roof_duality_labels_are_those_of_all_minima(shape, offsets, is_float):
    labelled = []
    every = all_labellings(2, shape)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        scale = 0.25 if is_float else 1  # exact: inexact floats would have no ties
        high = 3 + 2 * seed
        pairwise = {o: rng.integers(-9, 10, (2, 2, *shape)) * scale for o in offsets}
        energy = BinaryEnergy(rng.integers(-high, high, (2, *shape)) * scale, pairwise)
        roof = roof_duality(energy, method=METHOD)
        roof.check()
        values = np.array([energy.value(x) for x in every])
        least = every[values <= values.min() + 1e-9]
        assert roof.bound <= values.min() + 1e-9
        known = roof.labels >= 0
        assert (least[:, known] == roof.labels[known]).all()
        assert set(np.unique(roof.labels)) <= {-1, 0, 1}
        if known.all():
            assert roof.bound == pytest.approx(values.min())
        labelled.append(known.mean())
    assert np.mean(labelled) > 0.3


def test_roof_duality_of_submodular_energies_is_their_minimum():
    rng = np.random.default_rng(1)
    unary = rng.integers(0, 10**6, (2, 6, 7))
    energy = BinaryEnergy(unary, {(0, 1): [[0, 99999], [88888, 0]], (1, 0): [[0, 55555], [66666, 0]]})
    roof, least = roof_duality(energy, method=METHOD), binary_minimum(energy)
    roof.check()
    assert roof.bound == least.value
    assert np.array_equal(roof.labels, least.labels)


def test_roof_duality_leaves_a_frustrated_ring_open():
    """Three of the four edges of a square prefer different labels, one prefers equal labels: no label is persistent."""
    differ, agree = np.array([[1, 0], [0, 1]]), np.array([[0, 1], [1, 0]])
    right = np.stack([differ, agree], -1)[..., None] * np.ones(2, int)
    roof = roof_duality(BinaryEnergy(np.zeros((2, 2, 2), int), {(0, 1): right, (1, 0): differ}), method=METHOD)
    roof.check()
    assert (roof.labels == -1).all()
    assert roof.bound == 0


def test_roof_duality_rejects_bad_energies():
    with pytest.raises(TypeError, match="energy must be a BinaryEnergy"):
        roof_duality(np.zeros((2, 3)))
    triple = {((1,), (2,)): np.zeros((2, 2, 2))}
    with pytest.raises(ValueError, match="triple"):
        roof_duality(BinaryEnergy(np.zeros((2, 5)), triple=triple))
