"""Parts and holes of objects against simple computations."""

import numpy as np
import pytest
from scipy import ndimage

from apps.segmentation.connected_parts import fill_holes, keep_parts, strokes_of, tidied
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


@pytest.mark.parametrize("shape", [(17, 23), (5, 8, 9)])
def test_strokes_are_the_parts_of_the_marks(shape):
    marks = np.random.default_rng(shape).choice(np.array([-1, -1, 0, 1], np.int8), shape)
    places, strokes = strokes_of(marks)
    parts = np.where(marks == 0, numbered(marks == 0, True)[0], -numbered(marks == 1, True)[0]).ravel()
    np.testing.assert_array_equal(places, np.flatnonzero(marks >= 0))
    pairs = set(zip(strokes.tolist(), parts[places].tolist(), strict=True))
    assert len(pairs) == len(np.unique(strokes)) == len(np.unique(parts[places]))
    assert strokes_of(np.full(shape, -1, np.int8))[1].size == 0


def test_parts_that_meet_late_are_one():
    """A comb: its teeth meet in the last row only, where the mark is."""
    labels = np.zeros((9, 21), np.int16)
    labels[:, ::2] = labels[-1] = 1
    marks = np.full(labels.shape, -1, np.int16)
    marks[-1, 7] = 1
    np.testing.assert_array_equal(keep_parts(labels.copy(), marks, "touching"), labels)
    marks[-1, 7] = 0
    assert not keep_parts(labels, marks, "touching").any()


def test_a_diagonal_line_is_one_part_and_separates_the_background():
    line = np.eye(6, dtype=np.int8)
    marks = np.full(line.shape, -1, np.int8)
    ring = np.zeros((5, 5), bool)
    ring[(1, 2, 2, 3), (2, 1, 3, 2)] = True
    assert fill_holes(ring, marks[:5, :5])[2, 2]
    np.testing.assert_array_equal(keep_parts(line.copy(), marks, "largest"), line)
    np.testing.assert_array_equal(tidied(line.copy(), marks, 6, keep_one=True), line)
    marks[0, 0] = 1
    np.testing.assert_array_equal(keep_parts(line.copy(), marks, "touching"), line)


def test_small_parts_of_several_objects_go_to_their_neighbours():
    labels = np.full((8, 9), 2, np.int16)
    labels[:, 5:] = 3
    marks = np.full(labels.shape, -1, np.int16)
    expected = labels.copy()
    labels[1, 1], labels[1, 7], labels[4, 2], labels[5, 2] = 3, 2, 3, 4
    labels[6, 7] = marks[6, 7] = expected[6, 7] = 4
    np.testing.assert_array_equal(tidied(labels, marks, 3), expected)


def test_islands_are_small_beside_the_largest_part():
    labels = np.zeros((20, 30), np.int16)
    labels[2:18, 2:18] = labels[2:4, 22:24] = labels[8:10, 22:24] = 1
    marks = np.full(labels.shape, -1, np.int16)
    marks[2, 22] = 1
    expected = labels.copy()
    expected[8:10, 22:24] = 0
    np.testing.assert_array_equal(tidied(labels, marks, 1, 0.05), expected)
