"""graph_cut has random_walker's signature, forms of results and exceptions, and finds what was drawn."""

import inspect

import numpy as np
import pytest
from skimage.measure import label
from skimage.segmentation import random_walker

from apps.compat.skimage import graph_cut


def discs():
    """Two discs of one grey value that touch, and their background, with one seed each."""
    y, x = np.mgrid[:60, :80]
    first, second = np.hypot(y - 30, x - 25) < 15, np.hypot(y - 30, x - 50) < 15
    truth = np.where(first, 1, np.where(second, 2, 3))
    data = (first | second) + np.random.default_rng(0).normal(0, 0.1, truth.shape)
    labels = np.zeros(truth.shape, np.int32)
    labels[30, 25], labels[30, 50], labels[3, 3] = 1, 2, 3
    return data, labels, truth


def ball():
    z, y, x = np.mgrid[:16, :24, :28]
    truth = 1 + (np.sqrt((2 * (z - 8)) ** 2 + (y - 12) ** 2 + (x - 14) ** 2) < 9)
    data = truth + np.random.default_rng(1).normal(0, 0.3, truth.shape)
    labels = np.zeros(truth.shape, np.int16)
    labels[8, 11:14, 13:16], labels[0] = 2, 1
    return data, labels, truth


def test_signature_is_that_of_random_walker():
    ours, theirs = (inspect.signature(one).parameters for one in (graph_cut, inspect.unwrap(random_walker)))
    assert [(one.name, one.kind, one.default) for one in ours.values()] == [
        (one.name, one.kind, one.default) for one in theirs.values()
    ]


def test_several_labels_from_one_seed_each():
    data, labels, truth = discs()
    found = graph_cut(data, labels)
    assert (found.dtype, found.shape) == (labels.dtype, labels.shape)
    assert (found != truth).mean() < 0.01
    assert (found != truth).mean() <= (random_walker(data, labels, mode="bf") != truth).mean()


@pytest.mark.parametrize(
    ("made", "spacing"),
    [(discs, (2, 1)), pytest.param(ball, (2, 1, 1), marks=pytest.mark.slow)],  # 26 neighbours: kernels of their own
)
def test_spacing(made, spacing):
    data, labels, truth = made()
    assert (graph_cut(data, labels, spacing=spacing) != truth).mean() < 0.01


@pytest.mark.parametrize("axis", [0, -1])
def test_channels(axis):
    data, labels, truth = discs()
    colours = np.stack((data, 0.3 * data, 0 * data), axis)
    assert (graph_cut(colours, labels, channel_axis=axis) != truth).mean() < 0.01


def test_excluded_pixels_and_what_they_enclose():
    data, labels, truth = discs()
    labels[:, 38:41] = -5  # a wall between the discs
    labels[40:45, 60:65] = -1
    labels[42, 62] = 0  # enclosed
    walls = labels < 0
    walls[42, 62] = True
    found, expected = graph_cut(data, labels), random_walker(data, labels, mode="bf")
    assert ((found == -1) == walls).all()
    assert ((expected == -1) <= walls).all()
    truth[:, 41:] = 2  # the only seed behind the wall
    assert (found[~walls] != truth[~walls]).mean() < 0.01
    np.testing.assert_array_equal(found[:, 41:][~walls[:, 41:]], 2)


@pytest.mark.parametrize(("labels", "expected"), [
    ([[0, -1, 2], [0, 0, -1], [1, 0, 0]], [[1, -1, 2], [1, 1, -1], [1, 1, 1]]),
    ([[0, -1, 2], [0, -1, 0], [1, 0, -1]], [[1, -1, 2], [1, -1, 2], [1, 1, -1]]),
])  # fmt: skip
def test_a_seed_behind_a_corner_is_isolated(labels, expected):
    """The image of scikit-image's issue 5034, and the markers of its test."""
    data = np.array([[12823, 12787, 12710], [12883, 13425, 12067], [11934, 11929, 12309]])
    np.testing.assert_array_equal(graph_cut(data, np.array(labels), beta=10), expected)


@pytest.mark.parametrize("seed", range(9))
def test_each_label_has_a_seed_in_the_part_of_its_pixel(seed):
    """Random walls and seeds, against connected components by scikit-image; parts without a seed are excluded."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(*((6, 60), (3, 14), (2, 8))[seed % 3], 1 + seed % 3)
    labels = np.where(rng.random(shape) < rng.uniform(0.1, 0.6), -1, 0)
    count = rng.integers(2, 5)
    seeds = rng.random(shape) < 0.15
    labels[seeds] = rng.integers(1, count + 1, seeds.sum())
    labels.flat[: count + 1] = *range(1, count + 1), 0
    found = graph_cut(rng.random(shape), labels)
    part = label(labels >= 0, connectivity=1)
    of_label = [set(part[labels == value]) for value in range(1, count + 1)]
    for at in zip(*np.nonzero(labels == 0), strict=True):
        reached = {value for value in range(1, count + 1) if part[at] in of_label[value - 1]}
        assert found[at] in (reached or {-1}), (at, found[at], reached)
    np.testing.assert_array_equal(found[labels > 0], labels[labels > 0])
    assert (found[labels < 0] == -1).all()


def test_full_probabilities_and_copies():
    data, labels, _ = discs()
    found = graph_cut(data, labels)
    full = graph_cut(data, labels, return_full_prob=True)
    expected = random_walker(data, labels, mode="bf", return_full_prob=True)
    assert (full.shape, full.dtype) == (expected.shape, expected.dtype)
    assert (full.argmax(axis=0) + 1 == found).all()
    assert (full.sum(axis=0) == 1).all()
    given = labels.copy()
    assert graph_cut(data, given, copy=False) is given
    assert (given == found).all()
    assert graph_cut(data, labels) is not labels


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int64])
def test_labels_of_other_dtypes(dtype):
    data, labels, _ = discs()
    walls = labels.astype(dtype)
    if dtype is not np.uint8:
        labels[:, 38:41] = walls[:, 38:41] = -2
    found = graph_cut(data, walls)
    assert found.dtype == random_walker(data, walls, mode="bf").dtype == dtype
    assert (found == graph_cut(data, labels)).all()
    assert graph_cut(data, walls, copy=False) is walls
    assert (walls == found).all()


def test_nothing_to_label():
    """The labels are returned as they were given, as by random_walker."""
    data, labels, truth = discs()
    walls = np.where(labels == 0, -4, 9 * labels)
    islands = walls.copy()
    islands[45, 70] = islands[0, 0] = 0  # neither reaches a seed
    provided, isolated = "Returning provided labels", "All unlabeled pixels are isolated"
    for given, text in ((truth, provided), (7.0 * truth, provided), (walls, provided), (islands, isolated)):
        with pytest.warns(UserWarning, match=text):
            expected = random_walker(data, given, mode="bf")
        with pytest.warns(UserWarning, match=text):
            found = graph_cut(data, given)
        assert found is not given
        assert found.dtype == expected.dtype
        assert (found == expected).all()
        with pytest.warns(UserWarning, match=text):
            assert graph_cut(data, given, return_full_prob=True).shape == (3, *data.shape)
        with pytest.warns(UserWarning, match=text):
            assert graph_cut(data, given, copy=False) is given
        assert (given == expected).all()
    one = (labels == 1).astype(int)
    assert (graph_cut(data, one) == 1).all()


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


DATA, LABELS, _ = discs()


@pytest.mark.parametrize(
    ("arguments", "keywords", "text"),
    [
        ((DATA, 0 * LABELS), {}, "No seeds provided"),
        ((DATA, LABELS[:5]), {}, "Incompatible data and labels shapes"),
        ((DATA, LABELS), {"mode": "fast"}, "not a valid mode"),
        ((DATA, LABELS), {"spacing": (1, 2, 3)}, "`spacing` incorrect"),
        ((np.zeros((2,) * 5), np.ones((2,) * 5, int)), {}, "data must"),
    ],
)
def test_exceptions_are_those_of_random_walker(arguments, keywords, text):
    with pytest.raises(ValueError, match=r"."):
        random_walker(*arguments, **keywords)
    with pytest.raises(ValueError, match=text):
        graph_cut(*arguments, **keywords)


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "text"),
    [
        ((DATA, LABELS.astype(complex)), {}, TypeError, "labels must be integers, got dtype complex128"),
        ((DATA, LABELS.astype(str)), {}, TypeError, "labels must be integers, got dtype"),
        ((DATA, LABELS + 0.5), {}, ValueError, r"labels must be integers, got 0.5 at \(0, 0\)"),
        ((DATA, np.where(LABELS == 1, np.inf, LABELS)), {}, ValueError, r"got inf at \(30, 25\)"),
        ((DATA, np.where(LABELS == 1, np.nan, LABELS)), {}, ValueError, r"got nan at \(30, 25\)"),
        ((DATA.astype(complex), LABELS), {}, TypeError, "data must hold real numbers"),
        ((np.full(DATA.shape, np.nan), LABELS), {}, ValueError, "data holds NaN"),
        ((DATA, LABELS, -1), {}, ValueError, "beta must be finite and 0 or more"),
        ((DATA, LABELS), {"spacing": (1, 0)}, ValueError, "`spacing` incorrect"),
        ((DATA, LABELS), {"channel_axis": 7}, ValueError, "channel_axis must be an axis"),
        ((DATA, read_only(LABELS)), {"copy": False}, ValueError, "labels is read-only"),
        ((np.zeros((0, 3)), np.zeros((0, 3), int)), {}, ValueError, "must not be empty"),
    ],
)
def test_other_exceptions(arguments, keywords, error, text):
    with pytest.raises(error, match=text):
        graph_cut(*arguments, **keywords)
