"""Parts and holes of objects against simple computations."""

import numpy as np
import pytest
from scipy import ndimage

from apps.segmentation.connected_parts import fill_holes, keep_parts, tidied
from tests.apps.session import scenes

SHAPES = [(1, 1), (1, 30), (30, 1), (17, 23), (5, 8, 9), (1, 6, 7), (6, 1, 5)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_parts_without_a_mark_become_background(shape, share, dtype):
    rng = np.random.default_rng([*shape, int(100 * share)])
    for _ in range(20):
        labels = np.where(rng.random(shape) < share, rng.integers(1, 3, shape), 0).astype(dtype)
        marks = np.where(rng.random(shape) < 0.05, rng.integers(0, 3, shape), -1).astype(dtype)
        expected = scenes.touching(labels, marks)
        assert keep_parts(labels, marks, "touching") is labels
        np.testing.assert_array_equal(labels, expected)


def numbered(mask, is_object):
    """The number of each pixel's part, 0 outside the mask, and the sizes of the parts."""
    part, _ = ndimage.label(mask, np.ones((3, 3)) if is_object and mask.ndim == 2 else None)
    sizes = np.bincount(part.ravel())
    sizes[0] = 0
    return part, sizes


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_sizes_and_holes(shape, share):
    rng = np.random.default_rng([*shape, int(100 * share)])
    for _ in range(20):
        mask = rng.random(shape) < share
        marks = np.where(rng.random(shape) < 0.05, rng.integers(0, 2, shape), -1).astype(np.int8)
        part, sizes = numbered(mask, True)
        largest = keep_parts(mask.astype(np.int8), marks, "largest") > 0
        np.testing.assert_array_equal(largest, (part == sizes.argmax()) & mask)
        part, sizes = numbered(~mask, False)
        inner = tuple(slice(1, -1) for _ in shape)
        held = np.ones(shape, bool)
        held[inner] = marks[inner] == 0
        np.testing.assert_array_equal(fill_holes(mask, marks), ~(~mask & np.isin(part, part[held])))
        part, sizes = numbered(mask, True)
        kept = mask & ((sizes[part] >= 3) | np.isin(part, part[mask & (marks == 1)]))
        part, sizes = numbered(~kept, False)
        stays = (sizes[part] >= 3) | np.isin(part, part[~kept & (marks == 0)])
        if shape[-1] > 3:  # narrower parts of the background may have nothing beside them
            np.testing.assert_array_equal(tidied(mask.astype(np.int8), marks, 3) > 0, ~(~kept & stays))


def test_small_parts_of_several_objects_go_to_their_neighbours():
    labels = np.full((8, 9), 2, np.int16)
    labels[:, 5:] = 3
    marks = np.full(labels.shape, -1, np.int16)
    expected = labels.copy()
    labels[1, 1], labels[1, 7], labels[4, 2], labels[5, 2] = 3, 2, 3, 4
    labels[6, 7] = marks[6, 7] = expected[6, 7] = 4
    np.testing.assert_array_equal(tidied(labels, marks, 3), expected)
