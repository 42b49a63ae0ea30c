"""Costs of a whole grid against those of single pixels."""

import numpy as np
import pytest

from apps.segmentation.grid_cut import LabelCosts


@pytest.mark.parametrize("shape", [(6, 7), (3, 5, 4)])
@pytest.mark.parametrize("has_location", [False, True])
def test_costs_of_a_whole_grid(shape, has_location):
    rng = np.random.default_rng(0)
    location = rng.integers(0, 99, (3, *shape)).astype(np.int16) if has_location else None
    costs = LabelCosts((0, 2, 5), rng.integers(0, 999, (3, 4)).astype(np.int32), rng.integers(0, 4, shape), location, 0)
    marks = rng.choice(np.array([-1, -1, 0, 2, 5], np.int16), shape)
    everywhere = tuple(slice(None) for _ in shape)
    np.testing.assert_array_equal(costs.everywhere(marks), costs.at(everywhere, marks))
