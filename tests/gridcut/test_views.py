"""Views of read-only arrays, for which no kernel is compiled once more."""

import numpy as np
import pytest

import assign
from assign.batch.batch import solve_shares
from gridcut.device.arguments import unmarked


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 4)])
@pytest.mark.parametrize("dtype", ["int32", "float64", ">i4"])
def test_views_of_read_only_arrays(shape, dtype):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    assert unmarked(array) is array
    for frozen in (array.copy(), array.copy().T, array.copy()[..., None][..., 0]):
        frozen.flags.writeable = False
        view = unmarked(frozen)
        assert view.flags.writeable
        assert (view.dtype, view.shape) == (frozen.dtype, frozen.shape)
        assert np.array_equal(view, frozen)
        assert not view.size or np.shares_memory(view, frozen)
        assert not frozen.flags.writeable


def test_read_only_costs_have_no_kernels_of_their_own():
    costs = np.random.default_rng(1).random((3, 4, 4))
    limit = np.full((3, 4), 0.5)
    assign.solve_batch(costs, max_cost=limit, device="cpu", threads=1).check()
    before = set(solve_shares.overloads)
    costs.flags.writeable = limit.flags.writeable = False
    assign.solve_batch(costs, max_cost=limit, device="cpu", threads=1).check()
    assert set(solve_shares.overloads) == before
