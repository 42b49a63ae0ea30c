"""The energies of a paper, and their minima by the methods of `gridcut.max_flow`."""

import itertools

import numpy as np
import pytest
from PIL import Image

from apps.segmentation import published_energy as published
from apps.segmentation.strokes import read_strokes
from gridcut import binary_minimum


@pytest.mark.parametrize("kind", ["f2", "f3"])
def test_the_energy_is_the_formula(kind):
    rng = np.random.default_rng(2)
    rgb = rng.integers(0, 255, (3, 4, 3), np.uint8)
    marks = np.full((3, 4), -1)
    marks[0, 0], marks[2, 3] = 0, 1
    energy = published.energy_of_strokes(rgb, marks, kind)
    grey = rgb.mean(2)
    for bits in itertools.islice(itertools.product((0, 1), repeat=12), 0, None, 37):
        x = np.reshape(bits, (3, 4))
        total = sum(energy.unary[x[p], *p] for p in np.ndindex(3, 4))
        for line, step in [(x, grey), (x.T, grey.T)]:
            weight = np.rint(100 * np.exp(-(np.diff(step) ** 2) / 200))
            total += (weight * (np.diff(line) != 0)).sum()
            if kind == "f3":
                total += 40 * ((line[:, 2:] != line[:, 1:-1]) | (line[:, 2:] != line[:, :-2])).sum()
        assert energy.value(x.astype(bool)) == total


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["f2", "f3"])
def test_every_method_finds_the_same_object(files, kind):
    rgb, marks = np.array(Image.open(files / "photo.png")), read_strokes(files / "strokes.png")
    energy = published.energy_of_strokes(rgb, marks, kind)
    found = [binary_minimum(energy, device="cpu", method=method) for method in ("ibfs", "push_relabel", "lock_free")]
    for one in found:
        one.check()
        np.testing.assert_array_equal(one.labels, found[0].labels)
        assert one.value == found[0].value
    assert (found[0].labels[marks >= 0] == marks[marks >= 0]).all()
    assert 0 < np.count_nonzero(found[0].labels) < marks.size
