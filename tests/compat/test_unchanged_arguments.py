"""No face changes an argument that is an array; those of SciPy and PyMaxflow are in the files test_untouched.py."""

import cv2
import numpy as np
import pytest

import apps.compat.cv2
import assign.compat.lap as lap

RNG = np.random.default_rng(2)
IMAGE = RNG.integers(0, 60, (30, 40, 3), dtype=np.uint8)
IMAGE[8:20, 10:25] += 150
COSTS = RNG.integers(1, 50, (3, 12, 12))


CALLS = {
    "grabCut": (
        lambda image: apps.compat.cv2.grabCut(image, None, (8, 6, 20, 18), None, None, 2, cv2.GC_INIT_WITH_RECT),
        IMAGE,
    ),
    "lapjv": (lap.lapjv, COSTS[0]),
    "lapjv with a limit": (lambda cost: lap.lapjv(cost, cost_limit=20), COSTS[0][:5] * 1.5),
    "lapjvx": (lap.lapjvx, COSTS[0]),
    "lapmod": (
        lambda costs, starts, columns: lap.lapmod(12, costs, starts, columns),
        COSTS[0].ravel(),
        np.arange(0, 145, 12),
        np.tile(np.arange(12), 12),
    ),
}


@pytest.mark.parametrize("writeable", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_arrays(name, writeable):
    function, *given = CALLS[name]
    arrays = [array.copy() for array in given]
    for array in arrays:
        array.flags.writeable = writeable
    function(*arrays)
    for array, before in zip(arrays, given, strict=True):
        assert (array == before).all()
