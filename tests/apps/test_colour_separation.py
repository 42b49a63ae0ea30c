"""The comparison of labellings by colour histograms, and the edges of boxes."""

import numpy as np

from apps.segmentation import fit
from apps.segmentation.colour_models import lab_image, make_palette
from apps.segmentation.fit import colour_cost
from apps.segmentation.model import BOX_SHARES
from apps.segmentation.segmentation import segment_marked
from apps.segmentation.strokes import marks_of_box


def two_colours():
    """Float RGB of a square of one colour on another, and the square."""
    square = np.zeros((30, 40), bool)
    square[10:20, 15:30] = True
    image = np.full((30, 40, 3), 0.2, np.float32)
    image[square] = (0.8, 0.5, 0.2)
    return image, square


def test_the_colour_cost_is_the_entropy_of_both_labels():
    image, square = two_colours()
    palette = make_palette(image, lab_image(image))
    assert colour_cost(palette, square) == 0
    half = square.copy()
    half[:, 20:] = False  # the background then contains both colours
    n, inside = (~half).sum(), (square & ~half).sum()
    expected = -inside * np.log(inside / n) - (n - inside) * np.log((n - inside) / n)
    np.testing.assert_allclose(colour_cost(palette, half), expected, rtol=1e-12)
    for mask in (half, np.zeros_like(half), np.ones_like(half)):
        np.testing.assert_allclose(colour_cost(palette, mask), colour_cost(palette, ~mask), rtol=1e-12)


def test_a_box_takes_the_labelling_whose_colours_overlap_least(monkeypatch):
    image, square = two_colours()
    marks = marks_of_box((12, 7, 33, 23), square.shape)
    marked_energies = []
    real = fit.fitted

    def whole_box_first(*arguments):
        found = real(*arguments)
        marked_energies.append(found.energies[-1])
        if len(marked_energies) > 1:
            return found
        return found._replace(labels=(marks != 0).astype(np.int16), energies=(-1e9,))

    monkeypatch.setattr(fit, "fitted", whole_box_first)
    mask = segment_marked(image, marks, device="cpu").mask
    assert len(marked_energies) == len(BOX_SHARES)
    np.testing.assert_array_equal(mask, square)
