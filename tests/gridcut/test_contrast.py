"""contrast_edges against the formula, evaluated pair by pair."""

import itertools
import math

import numpy as np
import pytest

from gridcut import contrast
from gridcut.contrast import contrast_edges

HALF = {
    2: 1,
    4: 2,
    8: 4,
    6: 3,
    18: 9,
    26: 13,
}


def reference(image, axes, offsets, weight, spacing, beta):
    """The formula of the docstring, one pair of pixels at a time."""
    image = np.asarray(image, float)
    shape = image.shape[:axes]
    spacing = np.broadcast_to(1.0 if spacing is None else spacing, (axes,))
    pairs = {}
    for offset in offsets:
        for p in itertools.product(*map(range, shape)):
            q = tuple(x + o for x, o in zip(p, offset, strict=True))
            if all(0 <= x < n for x, n in zip(q, shape, strict=True)):
                pairs[offset, p] = float(np.sum((image[p] - image[q]) ** 2))
    if beta == "auto":
        mean = np.mean(list(pairs.values())) if pairs else 0.0
        beta = 1 / (2 * mean) if mean > 0 else 0.0
    out = {offset: np.zeros(shape) for offset in offsets}
    for (offset, p), squared in pairs.items():
        out[offset][p] = weight * math.exp(-beta * squared) / np.linalg.norm(offset * spacing)
    return out


def assert_like_reference(image, connectivity, axes, weight=50.0, spacing=None, beta="auto"):
    edges = contrast_edges(image, weight, connectivity, spacing=spacing, beta=beta, dtype=np.float64)
    expected = reference(image, axes, list(edges), weight, spacing, beta)
    for offset, weights in edges.items():
        np.testing.assert_allclose(weights, expected[offset], rtol=1e-8, atol=1e-30, err_msg=str(offset))
    return edges


@pytest.mark.parametrize("connectivity", HALF)
@pytest.mark.parametrize(
    ("channels", "dtype"),
    [(None, np.uint8), (3, np.uint8)]
    + [pytest.param(*row, marks=pytest.mark.slow) for row in ((1, np.uint16), (5, np.float32))],
)
def test_every_connectivity_and_kind_of_image(connectivity, channels, dtype):
    axes = {2: 1, 4: 2, 8: 2}.get(connectivity, 3)
    shape = (4, 3, 5)[:axes] + (() if channels is None else (channels,))
    image = np.random.default_rng(0).uniform(0, 200, shape).astype(dtype)
    edges = assert_like_reference(image, connectivity, axes)
    assert len(edges) == HALF[connectivity]
    assert all(tuple(-x for x in offset) not in edges for offset in edges)


@pytest.mark.parametrize("threads", [1, 2, 3, 50])
@pytest.mark.parametrize(("shape", "connectivity"), [((7, 5), 8), ((2, 3, 4), 26), ((6,), 2)])
def test_lines_shared_among_threads(threads, shape, connectivity, monkeypatch):
    """More threads than lines too; each line is written once, whatever the number of threads."""
    monkeypatch.setattr(contrast, "SHARED_VALUES", 1)
    monkeypatch.setattr(contrast, "thread_count", lambda: threads)
    image = np.random.default_rng(3).integers(0, 255, (*shape, 3), dtype=np.uint8)
    assert_like_reference(image, connectivity, len(shape))


@pytest.mark.parametrize("spacing", [2.0, (1.0, 3.0), (5.0, 0.5)])
@pytest.mark.parametrize("beta", ["auto", 0.0, 1e-3, 10.0])
def test_spacing_and_beta(spacing, beta):
    image = np.random.default_rng(1).integers(0, 255, (6, 7), np.uint8)
    assert_like_reference(image, 8, 2, weight=7.0, spacing=spacing, beta=beta)


def test_long_offsets_and_offsets_beyond_the_grid():
    image = np.random.default_rng(3).normal(size=(4, 5))
    edges = assert_like_reference(image, [(0, 1), (1, 2), (2, -3), (0, 9), (7, 0)], 2)
    assert not edges[0, 9].any()
    assert not edges[7, 0].any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (0, 3), (3, 0)])
def test_small_and_empty_images(shape):
    edges = contrast_edges(np.zeros(shape), 3.0, 4)
    assert {o: w.shape for o, w in edges.items()} == {(0, 1): shape, (1, 0): shape}
    assert all(np.isfinite(w).all() for w in edges.values())


def test_integer_weights_are_the_rounded_ones():
    image = np.random.default_rng(4).integers(0, 255, (9, 8, 3), dtype=np.uint8)
    exact = contrast_edges(image, 5000, 8, dtype=np.float64)
    for dtype in (np.uint16, np.int32, np.int64):
        rounded = contrast_edges(image, 5000, 8, dtype=dtype)
        for offset, weights in rounded.items():
            assert weights.dtype == dtype
            np.testing.assert_array_equal(weights, np.rint(exact[offset]))


def test_channel_axis_and_memory_order_do_not_matter():
    image = np.random.default_rng(5).normal(size=(6, 5, 3))
    expected = contrast_edges(image)
    for other in (contrast_edges(np.moveaxis(image, -1, 0), channel_axis=0), contrast_edges(image.copy("F"))):
        for offset, weights in expected.items():
            np.testing.assert_array_equal(weights, other[offset])
            assert weights.flags.c_contiguous


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (TypeError, "image must hold integers", dict(image=np.zeros((3, 3), complex))),
        (TypeError, "dtype must be one of", dict(dtype=np.int8)),
        (ValueError, "NaN or infinity", dict(image=[[0.0, np.nan]])),
        (ValueError, "overflow", dict(image=[[0.0, 1e300]])),
        (ValueError, "2 axes .grey. or 3", dict(image=np.zeros(4))),
        (ValueError, "3 axes .grey. or 4", dict(connectivity=6)),
        (ValueError, "must have 3 axes", dict(channel_axis=0)),
        (ValueError, "connectivity must be one of", dict(connectivity=5)),
        (ValueError, "twice, or its opposite", dict(connectivity=[(0, 1), (0, -1)])),
        (ValueError, "a pixel to itself", dict(connectivity=[(0, 0)])),
        (ValueError, "tuples of 1, 2 or 3", dict(connectivity=[])),
        (ValueError, "must have 2 entries", dict(connectivity=[(0, 1), (1,)])),
        (ValueError, r"spacing must be a number, or one per axis \(2\); got 3 values", dict(spacing=(1, 1, 1))),
        (TypeError, "connectivity must be a number of neighbours or a list", dict(connectivity=4.5)),
        (ValueError, "weight must be", dict(weight=-1)),
        (ValueError, r"above the maximum of uint8 \(255\)", dict(weight=300, dtype=np.uint8)),
        (ValueError, "spacing must be", dict(spacing=(1, 0))),
        (ValueError, "beta must be", dict(beta="fast")),
        (ValueError, "beta must be", dict(beta=-1.0)),
    ],
)
def test_bad_arguments(error, message, arguments):
    arguments = {"image": np.zeros((3, 3)), **arguments}
    with pytest.raises(error, match=message):
        contrast_edges(**arguments)
