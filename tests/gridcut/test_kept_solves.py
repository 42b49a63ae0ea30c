"""Solves on a GPU that reuse the arrays and launches of an earlier one: gridcut/cuda/device_flow.py."""

import numpy as np
import pytest

import gridcut
from gridcut.device.arrays import kept_objects

SHAPE = (5, 7)
CUDA = [
    pytest.param("simulator", marks=pytest.mark.sim),
    pytest.param("gpu", marks=pytest.mark.gpu),
]
pytestmark = pytest.mark.parametrize("device", CUDA, indirect=True)


@pytest.fixture
def device(request):
    """No solve is kept before a test or after it."""
    kept_objects()[0].clear()
    yield request.param
    kept_objects()[0].clear()


def problem(seed, largest=9):
    rng = np.random.default_rng(seed)
    source, sink, right, down = (rng.integers(0, largest + 1, SHAPE).astype(np.int32) for _ in range(4))
    return source, sink, {(0, 1): right, (1, 0): down}


def check(cut, arguments):
    cpu = gridcut.max_flow(*arguments, device="cpu")
    assert cut.value == cpu.value
    assert (np.asarray(cut.labels) == cpu.labels).all()
    cut.check()


def solve(arguments):
    return gridcut.max_flow(*arguments, device="cuda")


def test_wider_numbers_get_another_state(device):
    for largest in (9, 2**20, 9, 2**40, 8):
        arguments = problem(1, largest) if largest < 2**31 else (*problem(1)[:2], {(0, 1): np.full(SHAPE, largest)})
        check(solve(arguments), arguments)


def test_a_cut_keeps_its_state_while_others_are_found(device):
    first = solve(problem(1))
    second = solve(problem(2))
    assert len(kept_objects()[0]) == 2
    check(first, problem(1))
    check(second, problem(2))


def test_an_invalid_capacity_after_a_valid_problem(device):
    check(solve(problem(1)), problem(1))
    source, sink, edges = problem(2)
    sink[3, 4] = -1
    with pytest.raises(ValueError, match=r"sink holds -1 at \(3, 4\)"):
        solve((source, sink, edges))
    check(solve(problem(3)), problem(3))


def test_arrays_on_the_gpu_are_read_again(device):
    cuda = pytest.importorskip("numba.cuda")
    arrays = problem(1)
    source, sink, right, down = map(cuda.to_device, (*arrays[:2], *arrays[2].values()))
    for seed in range(3):
        now = problem(seed)
        for there, here in zip((source, sink, right, down), (*now[:2], *now[2].values()), strict=True):
            there.copy_to_device(here)
        cut = solve((source, sink, {(0, 1): right, (1, 0): down}))
        cpu = gridcut.max_flow(*now, device="cpu")
        assert cut.value == cpu.value
        assert (cut.labels.copy_to_host() == cpu.labels).all()
    assert len(kept_objects()[0]) <= 2


def test_floats_masks_and_other_methods_are_not_kept(device):
    source, sink, edges = problem(1)
    solve((source.astype(float), sink, edges))
    gridcut.max_flow(source, sink, edges, mask=source > 2, device="cuda")
    assert not kept_objects()[0]
