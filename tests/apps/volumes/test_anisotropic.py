"""A volume of thick slices gives the cut of its isotropic resampling, within what resampling does."""

import pytest

from benchmarks.thick_slices import dice, masks


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_thick_slices_and_isotropic_voxels_agree(seed):
    found = masks(seed)
    truth, isotropic, thick = found["truth"], found["isotropic"], found["thick"]
    assert dice(isotropic, truth) > 0.98
    resampling = dice(found["resampled truth"], truth)
    assert dice(thick, truth) > resampling - 0.04
    assert dice(thick, isotropic) > resampling - 0.04
    assert dice(thick, truth) > dice(found["thick, spacing ignored"], truth)
