"""Words and scales of figures: what they say, and that they fit figures of any size."""

import cv2
import numpy as np
import pytest

from apps.common import figures
from apps.common.figures import MIN_LETTER, MIN_SIDE, length_bar, side_by_side, stacked, with_scale

COLOURS = cv2.COLORMAP_TURBO


@pytest.fixture
def said(monkeypatch):
    """The words of all captions."""
    words, caption = [], figures.caption
    monkeypatch.setattr(figures, "caption", lambda text, height: (words.append(text), caption(text, height))[1])
    return words


def test_figures_of_different_sizes_are_put_together():
    one, other = np.zeros((5, 7, 3), np.uint8), np.full((3, 2, 3), 9, np.uint8)
    row = side_by_side(one, other, gap=2)
    assert row.shape == (5, 11, 3)
    assert (row[:3, 9:] == 9).all()
    assert (row[3:, 9:] == 255).all()
    assert (row[:, 7:9] == 255).all()
    column = stacked(one, other)
    assert column.shape == (8, 7, 3)
    assert (column[5:, :2] == 9).all()
    assert (column[5:, 2:] == 255).all()


@pytest.mark.parametrize("shape", [(1, 1), (24, 30), (300, 20), (20, 300), (1500, 2000)])
def test_a_scale_fits_figures_of_any_size(shape):
    figure = with_scale(np.arange(shape[0] * shape[1], dtype=float).reshape(shape), 0, 10, COLOURS)
    zoom = max(1, -(-MIN_SIDE // max(shape)))
    assert figure.shape[1] >= zoom * shape[1]
    letters = np.flatnonzero((figure[-2 * figures.letter_height(figure.shape) :, :, 0] < 128).any(axis=1))
    assert np.ptp(letters) + 2 >= max(MIN_LETTER, sum(shape) // 120), "letters grow with the figure"
    assert (figure[-1] == 255).all()


@pytest.mark.parametrize(
    ("scale", "length", "pixels"), [(1.0, "200 px", 200), (4.0, "50 px", 200), (0.03, "5000 px", 150)]
)
def test_a_bar_has_a_round_length(said, scale, length, pixels):
    bar = length_bar(scale, 1000, 12, " px")
    assert said == [length]
    assert (bar[11] == 0).all(axis=1).sum() == pixels
