"""A volume of thick slices gives the cut of its isotropic resampling, within what resampling does."""

import numpy as np
import pytest

import gridcut
from apps.segmentation.volume_view import direction_factors, directions
from benchmarks.thick_slices import dice, masks


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("connectivity", [26, 6])
def test_thick_slices_and_isotropic_voxels_agree(seed, connectivity):
    found = masks(seed, connectivity)
    truth, isotropic, thick = found["truth"], found["isotropic"], found["thick"]
    assert dice(isotropic, truth) > 0.98
    resampling = dice(found["resampled truth"], truth)
    assert dice(thick, truth) > resampling - 0.04
    assert dice(thick, isotropic) > resampling - 0.04
    assert dice(thick, truth) > dice(found["thick, spacing ignored"], truth)


@pytest.mark.parametrize(("connectivity", "most"), [(6, 1.16), (26, 1.1)])
@pytest.mark.parametrize("spacing", [(1, 1, 1), (2, 1, 1)])
def test_weights_measure_areas(connectivity, most, spacing):
    """The cost of a plane of area 1 is the same for all normals, as far as the neighbourhood permits."""
    offsets = np.array(gridcut.neighbourhood(connectivity))
    steps = offsets * np.array(spacing)
    weights = direction_factors(offsets, spacing) / np.linalg.norm(steps, axis=1)
    cost = np.abs(directions(2000) @ steps.T) @ weights
    assert cost.mean() == pytest.approx(1.5, rel=2e-3)
    assert cost.max() < 1.5 * most
