"""The variational refinement: OpenCV's result, on images of all parities, whatever the number of threads."""

import cv2
import numpy as np
import pytest

from apps.flow import variational as module
from apps.flow.refine import warp
from apps.flow.variational import variational


def frames(shape, seed=0):
    """Two smooth random frames, and a random flow between them."""
    rng = np.random.default_rng(seed)

    def smooth(sigma, scale, *channels):
        noise = cv2.GaussianBlur(rng.normal(0, 1, (*shape, *channels)).astype(np.float32), (0, 0), sigma)
        return scale * noise / np.float32(noise.std())

    first = 128 + smooth(1.5, 40)
    flow = smooth(3, 1, 2)
    return first, warp(first, smooth(3, 1, 2))[0], flow


def opencv(first, second, flow, fixed_point_iterations, sor_iterations):
    step = cv2.VariationalRefinement.create()
    step.setAlpha(module.SMOOTHNESS_WEIGHT)
    step.setDelta(module.BRIGHTNESS_WEIGHT)
    step.setGamma(module.GRADIENT_WEIGHT)
    step.setFixedPointIterations(fixed_point_iterations)
    step.setSorIterations(sor_iterations)
    return step.calc(first, second, flow.copy())


@pytest.mark.parametrize("shape", [(40, 50), (41, 50), (40, 51), (41, 51), (16, 16), (17, 120)])
@pytest.mark.parametrize("iterations", [(6, 10), (3, 5), (1, 1)])
def test_result_of_opencv(shape, iterations):
    first, second, flow = frames(shape)
    found = variational(first, warp(second, flow)[0], flow, *iterations)
    expected = opencv(first, second, flow, *iterations)
    assert np.abs(expected - flow).max() > 0.05
    np.testing.assert_allclose(found, expected, atol=2e-4)


@pytest.mark.parametrize("shape", [(90, 61), (47, 64)])
def test_result_does_not_depend_on_threads(shape, monkeypatch):
    monkeypatch.setattr(module, "MIN_PIXELS_PER_THREAD", 1)
    first, second, flow = frames(shape, seed=1)
    warped = warp(second, flow)[0]
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(module, "thread_count", lambda threads=threads: threads)
        found.append(variational(first, warped, flow))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


def test_flow_that_fits_stays():
    first, _, _ = frames((40, 50))
    flow = np.full((40, 50, 2), (1.5, -2.0), np.float32)
    np.testing.assert_allclose(variational(first, first, flow), flow, atol=1e-4)
