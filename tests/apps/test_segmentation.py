"""The library call: finds the object, never increases the energy, respects strokes."""

import numpy as np
import pytest

from apps import segment
from apps.segmentation.mask_scores import score
from apps.session import Session


@pytest.mark.parametrize("given", ["strokes", "trimap", "box"])
def test_finds_the_disc(scene, given, device):
    where = {"strokes": scene.strokes, "trimap": scene.trimap, "box": scene.box}[given]
    result = segment(scene.image, **{given: where}, device=device)
    truth = np.uint8(255) * scene.truth.astype(np.uint8)
    assert score(result.mask, truth, result.fixed)["iou_percent"] >= 95
    assert result.mask.dtype == bool
    assert result.mask.shape == scene.truth.shape
    assert result.device == device
    on_cpu = segment(scene.image, **{given: where}, device="cpu")
    assert (result.mask == on_cpu.mask).all(), "cuts are unique"
    assert result.energies == on_cpu.energies
    assert set(result.seconds) == {"compile", "total"}


@pytest.mark.filterwarnings("ignore:the object is empty")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("given", ["strokes", "box"])
def test_energy_never_increases(scene, given, seed):
    rng = np.random.default_rng(seed)
    noisy = np.clip(scene.image + rng.normal(0, 70, scene.image.shape), 0, 255).astype(np.uint8)
    result = segment(noisy, **{given: scene.strokes if given == "strokes" else scene.box})
    assert len(result.energies) >= 1
    assert all(a >= b for a, b in zip(result.energies, result.energies[1:], strict=False))
    if given == "strokes":
        assert result.mask[scene.strokes == 1].all()
        assert not result.mask[scene.strokes == 2].any()
    else:
        x0, y0, x1, y1 = scene.box
        outside = np.ones_like(result.mask)
        outside[y0:y1, x0:x1] = False
        assert not result.mask[outside].any()


def test_result_does_not_depend_on_the_pixel_dtype(scene):
    mask = segment(scene.image, strokes=scene.strokes).mask
    deep = segment(scene.image.astype(np.uint16) * 257, strokes=scene.strokes).mask
    floats = segment(scene.image / np.float32(255), strokes=scene.strokes).mask
    alpha = np.full((32, 32, 1), 200, np.uint8)
    rgba = segment(np.dstack([scene.image, alpha]), strokes=scene.strokes).mask
    assert (deep == mask).mean() > 0.999
    assert (floats == mask).mean() > 0.999
    np.testing.assert_array_equal(rgba, mask)


def test_keep(scene):
    scene.image[2:9, 24:31] = (200, 120, 60)  # a second bright part without a stroke
    scene.strokes[:4] = 0
    touching = segment(scene.image, strokes=scene.strokes).mask
    everything = segment(scene.image, strokes=scene.strokes, keep="all").mask
    assert not touching[5, 27]
    assert touching[16, 15]
    assert everything[5, 27]
    largest = segment(scene.image, strokes=scene.strokes, keep="largest").mask
    assert not largest[5, 27]


def test_scores():
    truth = np.array([[255, 255, 128, 0, 0]], np.uint8)
    marks = np.array([[1, -1, -1, -1, -1]], np.int8)
    result = score(np.array([[True, False, True, True, False]]), truth, marks)
    assert result["iou_percent"] == pytest.approx(100 / 3)
    assert result["error_percent"] == pytest.approx(200 / 3)


@pytest.mark.parametrize("hint", ["strokes", "box"])
def test_pin_holes_are_filled_by_default(hint):
    """Those of less than 10 pixels without a mark, here and in a session; min_area=1 fills none."""
    image = np.full((320, 330), 40, np.uint8)
    image[60:260, 70:270] = 210
    holes = {(100, 100): (3, 3), (100, 200): (2, 4), (200, 100): (3, 4), (200, 200): (3, 3)}  # the last one is marked
    for (y, x), (height, width) in holes.items():
        image[y : y + height, x : x + width] = 40
    codes = np.zeros(image.shape, np.uint8)
    codes[200, 200] = 2
    if hint == "strokes":
        codes[150, 80:260], codes[5, 5:325] = 1, 2
    box = None if hint == "strokes" else (50, 40, 290, 280)
    found = segment(image, strokes=codes, box=box, device="cpu").mask
    assert [bool(found[place]) for place in holes] == [True, True, False, False]
    kept = segment(image, strokes=codes, box=box, min_area=1, device="cpu").mask
    assert not any(kept[place] for place in holes)
    with Session(image, device="cpu") as session:
        if box is not None:
            session.box(box)
        session.stroke([(200.5, 200.5)], 0.5, 0)
        if box is None:
            session.stroke([(80.5, 150.5), (259.5, 150.5)], 0.5)
            session.stroke([(5.5, 5.5), (324.5, 5.5)], 0.5, 0)
        session.wait()
        np.testing.assert_array_equal(session.mask, found)
