"""Convex costs and roof duality against all labellings of small grids."""

import numpy as np
import pytest

from gridcut import BinaryEnergy, convex_labels, roof_duality

METHOD = "push_relabel"  # compiles faster for neighbourhoods that nothing else needs


def random_problem(shape, count, seed, offsets):
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 20, (count, *shape)), {o: rng.integers(0, 7, shape) for o in offsets}


def distance(count):
    return np.abs(np.subtract.outer(np.arange(count), np.arange(count)))


def test_convex_labels_rejects_other_costs():
    unary, weights = random_problem((4,), 4, 0, [(1,)])
    with pytest.raises(ValueError, match=r"not convex: \[1, 3\] \+ \[2, 2\] = 1 is less than \[1, 2\] \+ \[2, 3\] = 2"):
        convex_labels(unary, weights, [[0, 1, 3, 4], [1, 0, 1, 1], [3, 1, 0, 1], [4, 1, 1, 0]])
    with pytest.raises(ValueError, match="not convex"):
        convex_labels(unary, weights, np.minimum(distance(4), 1))
    with pytest.raises(ValueError, match="two labels or more"):
        convex_labels(unary[:1], weights, [[0]])


@pytest.mark.slow
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
