"""The prior of few marks, and objects that cannot be meant."""

import numpy as np
import pytest

from apps.segmentation.fit import find_labels, is_plausible
from apps.segmentation.hints import Hints
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.model import ImageView
from apps.segmentation.strokes import marks_of_box


@pytest.fixture
def two_objects():
    """Float RGB of two equal squares, and the left one."""
    rng = np.random.default_rng(3)
    image = rng.normal(0.4, 0.03, (90, 140, 3)).astype(np.float32)
    left = np.zeros((90, 140), bool)
    left[25:65, 20:60] = True
    image[left | left[:, ::-1]] += np.float32(0.3)
    return np.clip(image, 0, 1), left


def dot(shape, y, x):
    out = np.zeros(shape, bool)
    out[y - 1 : y + 2, x - 1 : x + 2] = True
    return out


def test_two_dots_find_the_object(two_objects):
    image, left = two_objects
    marks = np.full(left.shape, OPEN, np.int8)
    marks[dot(left.shape, 45, 40)] = OBJECT
    marks[dot(left.shape, 10, 70)] = BACKGROUND
    result = find_labels(ImageView(lambda: image, marks.shape), Hints(marks), "cpu")
    assert (result.mask == left).mean() > 0.99


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        (slice(0, 0), slice(0, 0), False),
        (slice(10, 12), slice(10, 30), False),
        (slice(10, 30), slice(10, 12), False),
        (slice(10, 20), slice(10, 20), True),
    ],
)
def test_an_object_spans_half_of_its_box(rows, columns, expected):
    mask = np.zeros((40, 40), bool)
    mask[rows, columns] = True
    assert is_plausible(mask, marks_of_box((10, 10, 30, 30), (40, 40))) == expected
