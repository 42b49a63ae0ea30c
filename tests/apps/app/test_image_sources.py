"""Grey values of volumes as the page gets them, at the limits of their types."""

import json
import warnings

import numpy as np
import pytest

from apps.app.image_sources import Image
from apps.volumes.voxel_geometry import Volume

TINY = np.nextafter(0.0, 1.0)
PAIRS = [(1e300, 1e300), (-np.finfo(float).max, np.finfo(float).max), (0.0, TINY), (2.0**53, 2.0**53 + 2), (7.5, 8.5)]


def check(values, constant):
    image = Image(values, volume=Volume(values, "npy"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        json.dumps([image.range, image.window], allow_nan=False)
        level, width = image.window
        shown = np.concatenate([np.frombuffer(image.content(0, k)[0], "<u2") for k in range(len(values))])
    assert -1 <= level <= 1
    assert 0 < width <= 1
    assert shown.min() == 0
    assert shown.max() == (0 if constant else 65535)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_real_values(pair, dtype):
    with np.errstate(over="ignore"):
        low, high = np.array(pair).astype(dtype)
    if np.isfinite([low, high]).all():
        values = np.full((4, 8, 8), low)
        values[2:] = high
        check(values, low == high)
