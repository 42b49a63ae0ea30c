"""Proposed places on frames that are low or narrow."""

import numpy as np
import pytest

from apps.motion.candidates import proposals


@pytest.mark.parametrize("shape", [(24, 200), (28, 300), (200, 20), (16, 16)], ids=str)
def test_low_and_narrow_frames(shape):
    """OpenCV's dense search ends the process on some of them."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 256, shape, dtype=np.uint8)
    points = rng.random((20, 2)) * (shape[1] - 1, shape[0] - 1)
    position, found = proposals(first, first, points)
    assert position.shape == (20, 3, 2)
    assert np.abs(position[found] - np.repeat(points[:, None], 3, axis=1)[found]).max() < 0.5
