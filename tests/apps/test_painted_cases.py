"""Stroke files at random are read right, or refused: very few of the odd ones are read wrongly, and no usual one."""

import numpy as np
import pytest
from PIL import Image

from apps.common.images import InputError
from apps.segmentation.strokes import read_labels
from tests.apps.painted_cases import FAMILIES, USUAL, judge, make
from tests.tiers import in_quick_tier


@pytest.mark.parametrize("seeds", in_quick_tier([range(2), range(2, 25)], lambda seeds: seeds.start == 0))
@pytest.mark.parametrize("family", FAMILIES)
def test_hardly_a_file_is_misread(tmp_path, family, seeds):
    cases = [make(family, seed) for seed in seeds]
    verdicts = [(*judge(case, tmp_path), case.text) for case in cases]
    wrong = [verdict for verdict in verdicts if verdict[0] == "wrong"]
    assert len(wrong) <= (family not in USUAL and len(seeds) > 20), wrong


@pytest.mark.parametrize("family", USUAL)
def test_usual_files_are_read(tmp_path, family):
    verdicts = [judge(make(family, seed), tmp_path)[0] for seed in range(10)]
    assert verdicts.count("right") >= 8


FLAT = np.zeros((12, 16), np.uint8)
FLAT[1:5, 2:9], FLAT[7:11, 4:12] = 1, 2
SWAPPED = ((255, 255, 255), (0, 0, 255), (255, 0, 0))


def saved(path, codes, colours):
    image = Image.fromarray(codes, "P")
    image.putpalette([value for colour in colours for value in colour])
    image.save(path)
    return path


def test_the_indices_of_other_palettes_are_read_on_request(tmp_path):
    path = saved(tmp_path / "a.png", FLAT, SWAPPED)
    np.testing.assert_array_equal(read_labels(path), np.array([0, 2, 1])[FLAT])
    np.testing.assert_array_equal(read_labels(path, encoding="index"), FLAT)
    with pytest.raises(InputError, match="has 60 painted pixels, .*cyan have a meaning.* --encoding index"):
        read_labels(saved(tmp_path / "b.png", np.uint8(2) - FLAT, ((0, 0, 0), (255, 128, 0), (255, 255, 255))))


def test_a_palette_painting_of_objects_is_read_by_colour(tmp_path):
    """The ground is not index 0: as indices, the paper would be an object."""
    path = saved(tmp_path / "a.png", np.uint8(2) - FLAT, ((255, 0, 0), (0, 0, 255), (255, 255, 255)))
    np.testing.assert_array_equal(read_labels(path), np.array([0, 2, 1])[FLAT])
