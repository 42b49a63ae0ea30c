"""The comparison of labellings by colour histograms, and the edges of boxes."""

import numpy as np

from apps.segmentation import fit
from apps.segmentation.colour_models import lab_image, make_palette
from apps.segmentation.fit import Found, colour_cost, find_labels
from apps.segmentation.hints import Hints
from apps.segmentation.model import BOX_SHARES, ImageView, rival_of
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
    starts = []
    real = fit.found_from

    def whole_box_first(*arguments):
        found = real(*arguments)
        starts.extend(found)
        found[0] = found[0]._replace(labels=(arguments[3] != 0).astype(np.int16), energies=(-1e9,))
        return found

    monkeypatch.setattr(fit, "found_from", whole_box_first)
    mask = find_labels(ImageView(lambda: image, marks.shape), Hints(marks), "cpu").mask
    assert len(starts) == len(BOX_SHARES) + 2  # those of the rival prior
    np.testing.assert_array_equal(mask, square)


def test_a_box_prefers_the_labelling_that_it_fits():
    image = np.full((30, 60, 3), 0.2, np.float32)
    image[10:20, 10:20] = image[10:20, 40:50] = (0.8, 0.5, 0.2)
    hints = Hints(marks_of_box((8, 8, 52, 22), image.shape[:2]))
    view = ImageView(lambda: image, image.shape[:2])

    def chosen(*columns):
        results = [Found(np.zeros(view.shape, np.int16), None, (0.0,), hints.marks, None) for _ in columns]
        for one, places in zip(results, columns, strict=True):
            for place in places:
                one.labels[10:20, place : place + 10] = 1
        best = fit._best_of(
            view, hints, [[one] for one in results], view.edges(is_box=True), rival_of(view, hints).near
        )
        names = [k for k, one in enumerate(results) if one.labels is best.labels]
        return names[0], None if best.rival is None else [one is best.rival for one in results].index(True)

    assert chosen((10,), (10, 40), (40,)) == (1, None)
    assert chosen((10, 40), (10, 40)) == (0, None)
    assert chosen((40,), (10,)) == (0, 1)  # alike: the image does not decide
