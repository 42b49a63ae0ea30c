"""The recipe finds what `apps.segment` finds."""

from pathlib import Path

import numpy as np
import pytest

from apps import segment
from apps.common.images import read_image, to_bytes
from apps.segmentation.plain_segment import plain_segment
from apps.segmentation.strokes import read_strokes

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize("name", ["astronaut", "chelsea", "rocket"])
def test_the_recipe_and_segment_agree(name):
    import skimage.data

    image = skimage.data.rocket() if name == "rocket" else to_bytes(read_image(DATA / f"{name}.jpg"))
    marks = read_strokes(DATA / f"{name}-strokes.png", image=image)
    strokes = np.array([0, 2, 1], np.uint8)[marks + 1]
    mask, other = plain_segment(image, strokes), segment(image, strokes=strokes, device="cpu").mask
    assert mask[marks == 1].all()
    assert not mask[marks == 0].any()
    assert (mask & other).sum() >= 0.9 * (mask | other).sum()
