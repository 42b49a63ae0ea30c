"""The comparison of labellings by colour histograms, and the edges of boxes."""

import numpy as np

from apps.segmentation import fit
from apps.segmentation.colour_models import lab_image, make_palette
from apps.segmentation.colour_separation import colour_cost
from apps.segmentation.model import BOX_SHARES
from apps.segmentation.segmentation import segment_marked
from apps.segmentation.strokes import marks_of_box
from apps.segmentation.terms import mean_squared_step, with_wide_steps


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
    real = fit._fitted

    def whole_box_first(*arguments):
        found = real(*arguments)
        marked_energies.append(found.energies[-1])
        if len(marked_energies) > 1:
            return found
        return found._replace(labels=(marks != 0).astype(np.int16), energies=(-1e9,))

    monkeypatch.setattr(fit, "_fitted", whole_box_first)
    mask = segment_marked(image, marks, device="cpu").mask
    assert len(marked_energies) == len(BOX_SHARES)
    np.testing.assert_array_equal(mask, square)


def test_wide_steps_lower_texture_and_keep_soft_outlines():
    rng = np.random.default_rng(0)
    lab = rng.normal(50, 4, (40, 60, 3)).astype(np.float32)
    lab[:, :, 0] += 30 / (1 + np.exp(-(np.arange(60) - 30) / 2)).astype(np.float32)  # an outline some pixels wide
    wide = with_wide_steps(lab, 2.0)
    np.testing.assert_allclose(mean_squared_step(wide), mean_squared_step(lab), rtol=1e-5)
    before, after = (((one[:, 1:] - one[:, :-1]) ** 2).sum(axis=2).mean(axis=0) for one in (lab, wide))
    outline, texture = slice(28, 32), slice(5, 20)
    assert after[outline].mean() > 2 * before[outline].mean()
    assert after[texture].mean() < before[texture].mean()


def test_rounding_errors_of_a_flat_blurred_image_are_not_amplified():
    wide = with_wide_steps(np.full((9, 9, 3), 7, np.float32), 2.0)
    for axis in (0, 1):
        assert np.abs(np.diff(wide, axis=axis)).max() < 1e-3
