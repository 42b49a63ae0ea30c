"""All encodings of strokes are equivalent, and unknown values are rejected by name."""

import numpy as np
import pytest
from PIL import Image

from apps.common.images import InputError
from apps.run.inputs import find_by_stem
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.strokes import (
    marks_of,
    read_strokes,
    read_trimap,
)

MARKS = np.array([[OPEN, OBJECT, BACKGROUND], [OBJECT, OPEN, BACKGROUND]], np.int8)
INDICES = np.array([2, 1, 0], np.uint8)[MARKS]
RED, BLUE = (255, 0, 0), (0, 0, 255)


def painted(ground):
    colours = np.full((*MARKS.shape, 3), ground, np.uint8)
    colours[MARKS == OBJECT] = RED
    colours[MARKS == BACKGROUND] = BLUE
    return colours


@pytest.mark.parametrize(
    "codes",
    [
        INDICES,
        np.array([0, 1, 3], np.uint8)[MARKS],
        np.array([0, 255, 128], np.uint8)[MARKS],
        painted(255),
        painted(0),
        painted(90),
    ],
    ids=["index", "grabcut", "grey", "white", "black", "image"],
)
def test_encodings_agree(codes, tmp_path):
    np.testing.assert_array_equal(marks_of(codes), MARKS)
    Image.fromarray(codes).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_strokes(tmp_path / "a.png"), MARKS)


def test_trimap(tmp_path):
    Image.fromarray(np.array([[0, 3, 128, 250, 255]], np.uint8)).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_trimap(tmp_path / "a.png"), [[BACKGROUND, BACKGROUND, OPEN, OBJECT, OBJECT]])
    Image.fromarray(INDICES).save(tmp_path / "b.png")
    with pytest.raises(InputError, match="unknown values 0, 1, 2; use 0 background, 128 unknown, 255 object"):
        read_trimap(tmp_path / "b.png")
    Image.fromarray(painted(255)).save(tmp_path / "c.png")
    with pytest.raises(InputError, match="is coloured"):
        read_trimap(tmp_path / "c.png")


def test_files_are_found_by_stem(tmp_path):
    (tmp_path / "a.png").touch()
    (tmp_path / "a.b.png").touch()
    assert find_by_stem(tmp_path, "a", "--strokes").name == "a.png"
    with pytest.raises(InputError, match="has no file named 'c'"):
        find_by_stem(tmp_path, "c", "--strokes")
    (tmp_path / "a.jpg").touch()
    with pytest.raises(InputError, match="has 2 files named 'a'"):
        find_by_stem(tmp_path, "a", "--strokes")
