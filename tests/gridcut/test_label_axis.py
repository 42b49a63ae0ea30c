"""Costs of (H, W, labels) are recognised if another argument or the shape shows it; the message has the remedy."""

import warnings

import numpy as np
import pytest

import gridcut

SHAPE = (70, 80)
COUNT = 4
POTTS = 1 - np.eye(COUNT, dtype=int)
NEAR = {(0, 1): 3, (1, 0): 3}
REMEDY = r"pass numpy\.moveaxis\(unary, -1, 0\)"


def costs(*shape):
    return np.random.default_rng(0).integers(0, 9, shape)


@pytest.mark.parametrize("call", [gridcut.alpha_expansion, gridcut.alpha_beta_swap, gridcut.convex_labels])
def test_label_costs_tell_the_number_of_labels(call):
    with pytest.raises(ValueError, match=r"label_cost must have shape \(70, 70\).*" + REMEDY):
        call(costs(*SHAPE, COUNT), NEAR, POTTS)
    with pytest.raises(ValueError, match="label_cost must have shape") as error:
        call(costs(3, *SHAPE), NEAR, POTTS)
    assert "moveaxis" not in str(error.value)


@pytest.mark.parametrize("call", [gridcut.alpha_expansion, gridcut.alpha_beta_swap])
def test_weights_tell_the_grid(call):
    weights = {(0, 1): np.ones(SHAPE, int), (1, 0): 3}
    with pytest.raises(ValueError, match=r"weights\[\(0, 1\)\] must be a scalar or have the grid's shape.*" + REMEDY):
        call(costs(*SHAPE, COUNT), weights)
    with pytest.raises(ValueError, match="the grid's shape") as error:
        call(costs(COUNT, 70, 81), weights)
    assert "moveaxis" not in str(error.value)


def test_where_only_the_shape_tells_there_is_a_warning():
    with pytest.warns(UserWarning, match=r"\(70, 80, 4\), 70 labels on a grid of the shape \(80, 4\).*" + REMEDY):
        found = gridcut.alpha_expansion(costs(*SHAPE, COUNT), NEAR, max_cycles=1, device="cpu")
    assert found.labels.shape == (80, 4)


@pytest.mark.parametrize("shape", [(COUNT, *SHAPE), (60, 80, 4), (70, 80, 17), (70, 60, 4), (70, 12)])
def test_other_shapes_give_no_warning(shape):
    near = NEAR if len(shape) == 3 else {(1,): 3}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gridcut.alpha_expansion(costs(*shape), near, max_cycles=1, device="cpu")


def test_binary_energies():
    with pytest.raises(ValueError, match=r"got \(70, 80, 2\); " + REMEDY):
        gridcut.BinaryEnergy(costs(*SHAPE, 2))
    with pytest.raises(ValueError, match=r"got \(70, 80, 3\)$"):
        gridcut.BinaryEnergy(costs(*SHAPE, 3))
