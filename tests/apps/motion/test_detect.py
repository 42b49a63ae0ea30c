"""Particles and corners drawn at known places."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from apps.tracking.detect import Finder, choose_finder, particles


def drawn(spread, seed=0, side=200, spacing=22, noise=0.01, level=0.3, height=0.4):
    """Gaussian spots on a jittered grid: frame (side, side) and places."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*[np.arange(15.0, side - 14, spacing)] * 2), axis=-1).reshape(-1, 2)
    places = grid + rng.uniform(-2, 2, grid.shape)
    y, x = np.mgrid[:side, :side]
    frame = np.full((side, side), level)
    for px, py in places:
        frame += height * np.exp(-((x - px) ** 2 + (y - py) ** 2) / (2 * spread**2))
    return (frame + rng.normal(0, noise, frame.shape)).astype(np.float32), places


@pytest.mark.parametrize(("spread", "size"), [(1.2, 5), (1.7, 7), (2.2, 9)])
@pytest.mark.parametrize("dark", [False, True])
def test_particles_to_a_tenth_of_a_pixel(spread, size, dark):
    frame, places = drawn(spread)
    frame = 1 - frame if dark else frame
    finder = choose_finder(np.repeat(frame[..., None], 3, axis=2))
    assert finder.kind == ("dark" if dark else "bright")
    assert abs(finder.size - size) <= 2
    found, mass = finder(frame)
    assert len(found) == len(places)
    distance, index = cKDTree(found).query(places)
    assert len(np.unique(index)) == len(places)
    assert np.sqrt((distance**2).mean()) < 0.06
    assert (mass > 0).all()


def test_close_particles_stay_apart():
    y, x = np.mgrid[:60, :60]
    frame = np.zeros((60, 60))
    for px in (25.0, 32.0):
        frame += np.exp(-((x - px) ** 2 + (y - 30) ** 2) / (2 * 1.5**2))
    found, _ = particles(
        frame.astype(np.float32) + np.random.default_rng(0).normal(0, 0.01, frame.shape).astype("f4"), 7
    )
    assert len(found) == 2
    assert np.abs(np.sort(found[:, 0]) - (25, 32)).max() < 0.5


def test_corners_of_a_square():
    frame = np.zeros((80, 80), np.float32)
    frame[20:50, 30:60] = 0.8
    found, weight = Finder("corners", 7)(frame)
    assert len(found) == 4
    truth = np.array([[29.5, 19.5], [59.5, 19.5], [29.5, 49.5], [59.5, 49.5]])
    assert cKDTree(found).query(truth)[0].max() < 0.7
    assert weight.max() == pytest.approx(weight[0])
