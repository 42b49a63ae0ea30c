"""Large photographs: PNG files, work in blocks, and segmentation at a working size."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from apps.common.images import to_bytes, to_rgb
from apps.common.writing import Metadata, encoded_image
from apps.segmentation import fit
from apps.segmentation.fine_outline import placed_outline
from apps.segmentation.fit import find_labels
from apps.segmentation.hints import Hints
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.matte import cut_out, matte
from apps.segmentation.model import ImageView
from apps.segmentation.terms import UNIT


def scene(height=120, width=160):
    """A textured image with an ellipse of another colour, its mask, and strokes."""
    random = np.random.default_rng(7)
    mask = np.zeros((height, width), np.uint8)
    cv2.ellipse(mask, (width // 2, height // 2), (width // 4, height // 3), 25, 0, 360, 1, -1)
    base = np.where(mask[..., None] > 0, (180, 90, 40), (50, 110, 150)) + random.normal(0, 6, (height, width, 1))
    marks = np.full((height, width), OPEN, np.int8)
    marks[height // 2 - 2 : height // 2 + 2, width // 2 - width // 8 : width // 2 + width // 8] = OBJECT
    marks[: height // 20 + 1] = BACKGROUND
    return np.uint8(base.clip(0, 255)), mask > 0, marks


def profile(space):
    """Bytes that pass for an ICC profile of a colour space."""
    return (bytes(16) + space + bytes(16) + b"acsp").ljust(200, b"x")


@pytest.mark.parametrize("shape", [(1, 50), (7, 50, 3), (10, 50, 4), (5, 1)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_files_are_read_back_with_their_metadata(monkeypatch, shape, dtype):
    monkeypatch.setattr("apps.common.writing.PILLOW_PIXELS", 0)
    pixels = np.random.default_rng(1).integers(0, np.iinfo(dtype).max + 1, shape, dtype)
    icc = profile(b"GRAY" if len(shape) == 2 else b"RGB ")
    content = encoded_image(pixels, ".png", Metadata(icc, (300.0, 150.0)))
    read = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    assert np.array_equal(read if len(shape) == 2 else read[..., [2, 1, 0, 3][: shape[2]]], pixels)
    image = Image.open(io.BytesIO(content))
    image.verify()  # checksums of the chunks
    assert image.info["icc_profile"] == icc
    assert image.info["dpi"] == pytest.approx((300, 150), abs=0.1)


def test_a_cut_out_in_parts_equals_that_of_the_whole_image():
    rgb, mask, _ = scene(400, 420)
    rgb = cv2.blur(rgb, (5, 5))
    alpha, foreground = matte(to_rgb(rgb), mask)
    wanted = np.dstack([to_bytes(np.where(alpha[..., None] > 0, foreground, 0)), to_bytes(alpha)])
    assert len(np.unique(wanted[..., 3])) > 50
    for image in (rgb, to_rgb(rgb)):
        np.testing.assert_array_equal(cut_out(image, mask), wanted)


def test_the_outline_is_placed_along_the_edges_of_the_full_image():
    rgb, mask, marks = scene(480, 640)
    small = cv2.resize(mask.view(np.uint8), (160, 120), interpolation=cv2.INTER_AREA) > 0
    costs = np.where([small, ~small], 3 * UNIT, 0).astype(np.int32)
    guess = cv2.resize(small.view(np.uint8), (640, 480), interpolation=cv2.INTER_NEAREST).astype(np.int16)
    found = placed_outline(rgb, marks, guess, costs, 20.0)
    assert found[marks == OBJECT].all()
    assert not found[marks == BACKGROUND].any()
    assert np.count_nonzero(found != mask) < 0.2 * np.count_nonzero(guess != mask)


def test_tiles_do_not_show(monkeypatch):
    rgb, mask, marks = scene(300, 400)
    small = cv2.resize(mask.view(np.uint8), (100, 75), interpolation=cv2.INTER_AREA) > 0
    costs = np.where([small, ~small], 2 * UNIT, 0).astype(np.int32)
    guess = cv2.resize(small.view(np.uint8), (400, 300), interpolation=cv2.INTER_NEAREST).astype(np.int16)
    tiled = placed_outline(rgb, marks, guess, costs, 20.0)
    monkeypatch.setattr("apps.segmentation.image_sizes.TILE", 1000)
    assert np.array_equal(tiled, placed_outline(rgb, marks, guess, costs, 20.0))


@pytest.mark.parametrize("hint", ["strokes", "box", "start"])
def test_a_large_image_is_segmented_at_a_working_size(monkeypatch, hint):
    rgb, mask, marks = scene(480, 640)
    start = None
    if hint == "box":
        marks = np.full(mask.shape, BACKGROUND, np.int8)
        marks[40:440, 100:540] = OPEN
    elif hint == "start":
        marks, wide = np.full_like(marks, OPEN), cv2.dilate(mask.view(np.uint8), np.ones((9, 9), np.uint8)) > 0
        start = wide
    monkeypatch.setattr(fit, "BOX_PIXELS" if hint == "box" else "WORKING_PIXELS", 40_000)
    monkeypatch.setattr(fit, "LARGE_PIXELS", 20_000)
    monkeypatch.setattr(fit, "REDUCED_PIXELS", 5_000)
    hints = Hints(marks, mask=start)
    found = find_labels(ImageView(lambda: rgb, marks.shape), hints, "cpu")
    assert found.small is not None
    assert hint == "box" or len(found.energies) == 1  # the rounds are those of the reduced image
    union = np.count_nonzero(found.mask | mask)
    assert np.count_nonzero(found.mask & mask) > 0.98 * union
    of_floats = find_labels(ImageView(lambda: to_rgb(rgb), marks.shape), hints, "cpu")
    assert np.array_equal(found.mask, of_floats.mask)
