"""The first labelling of stereo, the band of labels around it, and expansions within the band."""

import cv2
import numpy as np

from apps.stereo_matching.disparities import stereo


def test_no_expansion_within_the_band_improves_the_labelling():
    random = np.random.default_rng(2)
    right = cv2.GaussianBlur(random.uniform(0, 255, (40, 70, 3)), (0, 0), 1.0)
    left = np.roll(right, 4, axis=1)
    left[10:25, 20:40] = np.roll(right, 9, axis=1)[10:25, 20:40]
    result = stereo(np.uint8(left), np.uint8(right), max_disparity=11, device="cpu")
    result.check()
    assert all(solved.stats["converged"] for solved in result.solved)
