"""Parts of objects without a mark, and costs of a whole grid, against simple computations."""

import numpy as np
import pytest

from apps.session.label_costs import LabelCosts
from apps.session.object_parts import touching
from tests.apps.session import scenes


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1), (17, 23), (5, 8, 9), (1, 6, 7), (6, 1, 5)])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_parts_without_a_mark_become_background(shape, share):
    rng = np.random.default_rng([*shape, int(100 * share)])
    for _ in range(20):
        labels = np.where(rng.random(shape) < share, rng.integers(1, 3, shape), 0).astype(np.int16)
        marks = np.where(rng.random(shape) < 0.05, rng.integers(0, 3, shape), -1).astype(np.int16)
        expected = scenes.touching(labels, marks)
        assert touching(labels, marks) is labels
        np.testing.assert_array_equal(labels, expected)


def test_parts_that_meet_late_are_one():
    """A comb: its teeth meet in the last row only, where the mark is."""
    labels = np.zeros((9, 21), np.int16)
    labels[:, ::2] = labels[-1] = 1
    marks = np.full(labels.shape, -1, np.int16)
    marks[-1, 7] = 1
    np.testing.assert_array_equal(touching(labels.copy(), marks), labels)
    marks[-1, 7] = 0
    assert not touching(labels, marks).any()


@pytest.mark.parametrize("shape", [(6, 7), (3, 5, 4)])
@pytest.mark.parametrize("has_location", [False, True])
def test_costs_of_a_whole_grid(shape, has_location):
    rng = np.random.default_rng(0)
    location = rng.integers(0, 99, (3, *shape)).astype(np.int16) if has_location else None
    costs = LabelCosts((0, 2, 5), rng.integers(0, 999, (3, 4)).astype(np.int32), rng.integers(0, 4, shape), location, 0)
    marks = rng.choice(np.array([-1, -1, 0, 2, 5], np.int16), shape)
    everywhere = tuple(slice(None) for _ in shape)
    np.testing.assert_array_equal(costs.everywhere(marks), costs.at(everywhere, marks))
