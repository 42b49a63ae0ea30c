"""Library functions called with invalid arrays and numbers: an immediate ValueError or TypeError.

Every message names what is wrong; none comes from inside NumPy, OpenCV or a kernel.
"""

from pathlib import Path

import numpy as np
import pytest

from apps import Detections, denoise, flow, match, refine, segment, stereo, superpixels, track
from apps.common.images import InputError, to_rgb
from apps.motion.points import grey_frame
from apps.segmentation.multilabel import segment_labels, segment_volume

GOOD = np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)
FLOATS = (GOOD / 255).astype(np.float32)
SEEDS = np.zeros((48, 64), np.uint8)
SEEDS[:2], SEEDS[-2:] = 1, 2
VOLUME = np.random.default_rng(1).uniform(0, 1, (4, 6, 7))
VOLUME_SEEDS = np.zeros((4, 6, 7), np.uint8)
VOLUME_SEEDS[0], VOLUME_SEEDS[-1] = 1, 2

CALLS = {
    "segment": lambda a: segment(a, box=(5, 5, 20, 20)),
    "segment_labels": lambda a: segment_labels(a, SEEDS),
    "refine": lambda a: refine(a, SEEDS == 1, device="cpu"),
    "denoise": lambda a: denoise(a),
    "superpixels": lambda a: superpixels(a, 10),
    "stereo, left": lambda a: stereo(a, FLOATS),
    "stereo, right": lambda a: stereo(FLOATS, a),
    "flow, first": lambda a: flow(a, FLOATS),
    "flow, second": lambda a: flow(FLOATS, a),
    "match": lambda a: match(a, GOOD),
}
HOLED = FLOATS.copy()
HOLED[3, 4, 1] = np.nan
IMAGES = {
    "NaN": HOLED,
    "infinity": np.where(np.isnan(HOLED), np.inf, HOLED),
    "above 1": 255 * FLOATS,
    "int32": GOOD.astype(np.int32) - 1,
    "uint32": GOOD.astype(np.uint32) + 1,
    "int64": GOOD.astype(np.int64) * 257,
    "grey and alpha": GOOD[..., :2],
    "complex": FLOATS.astype(complex),
    "objects": GOOD.astype(object),
    "text": GOOD.astype(str),
    "dates": GOOD[..., 0].astype("M8[s]"),
    "one axis": FLOATS[0, :, 0],
    "four axes": FLOATS[None],
    "five channels": np.repeat(FLOATS, 2, axis=2)[..., :5],
    "no pixel": FLOATS[:0],
    "ragged": [[0.1, 0.2], [0.3]],
    "nothing": None,
    "a path": "photo.png",
    "a number": 0.5,
}


@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("call", CALLS)
def test_invalid_images_are_rejected(call, kind):
    with pytest.raises(InputError, match="must hold|must be|holds (NaN|floats)|need|ragged") as caught:
        CALLS[call](IMAGES[kind])
    assert "\n" not in str(caught.value)
    assert "--" not in str(caught.value)  # options are the command's


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("photo.png", r"got a str: read the file first, e.g. imageio.v3.imread\(path\)"),
        (Path("photo.png"), "Path: read the file first"),
        (None, "got None, which cv2.imread returns for a file that it cannot read"),
        (GOOD[..., :2], r"of shape \(H, W\), \(H, W, 3\) or \(H, W, 4\), got shape \(48, 64, 2\)"),
        (GOOD.astype(int) - 300, r"integers in \[0, 255\], uint16, or floats in \[0, 1\], got int64 from -300 to -"),
    ],
)
@pytest.mark.parametrize("call", [to_rgb, CALLS["segment"]])
def test_what_is_no_image_says_what_to_pass(call, image, message):
    with pytest.raises(InputError, match=message):
        call(image)


@pytest.mark.parametrize("image", [GOOD.astype(np.int64), GOOD.tolist(), GOOD.astype(np.uint32)], ids=type)
def test_integers_that_fit_in_8_bits_are_accepted(image):
    np.testing.assert_array_equal(to_rgb(image), to_rgb(GOOD))
    np.testing.assert_array_equal(grey_frame(image), grey_frame(GOOD))


def change(array, at, value, dtype=None):
    array = array.astype(dtype or array.dtype)
    array[at] = value
    return array


OTHERS = {
    "strokes of floats": (lambda: segment(GOOD, strokes=SEEDS.astype(float)), "strokes must hold integer codes"),
    "strokes of colours": (
        lambda: segment(GOOD, strokes=GOOD.astype(np.uint16)),
        "strokes in colour must be uint8",
    ),
    "strokes of another size": (lambda: segment(GOOD, strokes=SEEDS[:-1]), "make them the same size"),
    "box of fractions": (lambda: segment(GOOD, box=(1.5, 2, 9, 9)), "box needs four integers"),
    "box of three": (lambda: segment(GOOD, box=(1, 2, 9)), "box needs four integers"),
    "trimap of labels": (lambda: segment(GOOD, trimap=SEEDS), "unknown values 0, 1, 2; use 0 background, 128 unknown"),
    "path of strokes": (
        lambda: segment(GOOD, strokes="strokes.png"),
        "strokes must be an array, got a str: read",
    ),
    "start of another size": (lambda: segment(GOOD, start=(SEEDS == 1)[:, :9]), "start is 9x48 pixels, but the image"),
    "nothing to keep": (lambda: segment(GOOD, box=(5, 5, 20, 20), keep="touching"), "keep touching needs object"),
    "one seed": (lambda: segment_labels(GOOD, SEEDS == 1), "strokes must be integers|strokes hold only 1"),
    "seeds everywhere": (lambda: segment_labels(GOOD, np.maximum(SEEDS, 1)), "strokes marks every pixel"),
    "keep of labels": (
        lambda: segment_labels(GOOD, SEEDS, keep="largest"),
        "keep must be one of touching, all, got .largest.",
    ),
    "negative smoothness": (lambda: denoise(GOOD, smoothness=-1), "smoothness must be from 0 to 10000"),
    "long disparity": (lambda: stereo(GOOD, GOOD, max_disparity=99), "max_disparity must be 1 to 63"),
    "rounds, none": (lambda: segment(GOOD, strokes=SEEDS, rounds=0), "rounds must be 1 or more"),
    "seeds of floats": (lambda: segment_labels(GOOD, SEEDS + 0.5), "strokes must be integers, got float64"),
    "volume, NaN": (lambda: segment_volume(change(VOLUME, (1, 1, 1), np.nan), VOLUME_SEEDS), "volume holds NaN"),
    "spacing, uneven": (
        lambda: segment_volume(VOLUME, VOLUME_SEEDS, spacing=(1e-300, 1, 1)),
        "within a factor of 1000",
    ),
    "mask of text": (lambda: denoise(GOOD, mask=SEEDS.astype(str)), "mask must be an array of numbers"),
    "regularity, too small": (
        lambda: superpixels(GOOD, 5, regularity=1e-300),
        "regularity must be a colour difference",
    ),
    "detections of text": (lambda: track([["a"]], search_range=3), "detections must be"),
    "detections, NaN": (
        lambda: track([np.full((3, 2), np.nan)], search_range=3),
        "number 0: x is nan, expected a",
    ),
    "detections, far": (lambda: track([np.full((3, 2), 1e300)], search_range=3), r"above the maximum of 1e\+12"),
    "detections, frames of floats": (
        lambda: track(Detections(np.zeros(3), np.zeros((3, 2))), search_range=3),
        "integer frame numbers",
    ),
    "search range, far": (
        lambda: track([np.zeros((1, 2))], search_range=1e300),
        r"search_range must be at most 1e\+12",
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_invalid_arguments_are_rejected(kind):
    call, message = OTHERS[kind]
    with pytest.raises((InputError, TypeError), match=message) as caught:
        call()
    assert "--" not in str(caught.value)  # options are the command's
