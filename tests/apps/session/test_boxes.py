"""A box belongs to the object that it was drawn for, and what was found of other objects stays."""

import numpy as np
import pytest
from PIL import Image

from apps import cli, segment
from apps.common.images import InputError
from apps.session import Session
from apps.session.session_records import boxes_of
from tests.apps.conftest import iou
from tests.apps.session.scenes import near_polyline

BOXES = {1: (6, 4, 34, 34), 2: (38, 8, 70, 42), 3: (14, 34, 38, 56)}


def flowers_scene(seed=0):
    """An image of three discs of one colour, uint8 (H, W, 3), and their labels."""
    y, x = np.mgrid[:60, :76]
    labels = np.zeros(y.shape, np.int16)
    for label, (x0, y0, x1, y1) in BOXES.items():
        radius = min(x1 - x0, y1 - y0) / 2 - 3
        labels[(y - (y0 + y1) / 2) ** 2 + (x - (x0 + x1) / 2) ** 2 < radius**2] = label
    image = np.random.default_rng(seed).normal(90, 12, (*y.shape, 3)) + (labels > 0)[..., None] * np.array([70, 20, 50])
    return np.uint8(image.clip(0, 255)), labels


IMAGE, TRUTH = flowers_scene()


@pytest.fixture
def flowers():
    """A session with a box around the first object, which is found."""
    with Session(IMAGE, device="cpu") as session:
        session.box(BOXES[1])
        session.wait()
        np.testing.assert_array_equal(session.mask, segment(IMAGE, box=BOXES[1], device="cpu").mask)
        yield session


def draw_second(session, kind):
    if kind == "box":
        session.box(BOXES[2], label=2)
    else:
        session.stroke([(48, 25), (60, 25)], 2, label=2)
    session.wait()


@pytest.mark.parametrize("kind", ["box", "stroke"])
def test_a_second_object_takes_nothing_from_the_first(flowers, kind):
    first = flowers.labels == 1
    draw_second(flowers, kind)
    np.testing.assert_array_equal(flowers.labels == 1, first)
    assert iou(flowers.labels == 2, TRUTH == 2) > 0.9
    assert {1, 2} <= {*flowers.objects}
    assert not any(one["locked"] for one in flowers.objects.values())
    result = flowers.result()
    assert result.certified
    assert result.values == (0, 1, 2)


@pytest.mark.parametrize("kind", ["box", "stroke"])
def test_a_second_object_takes_nothing_from_a_locked_one(flowers, kind):
    first = flowers.labels == 1
    flowers.lock(1)
    flowers.wait()
    np.testing.assert_array_equal(flowers.labels == 1, first)
    before = flowers.records
    for draw in (lambda: flowers.box((10, 4, 70, 42)), lambda: flowers.start_from(TRUTH > 0)):
        with pytest.raises(InputError, match="object 1 is locked; unlock it first"):
            draw()
    assert flowers.records == before
    draw_second(flowers, kind)
    flowers.box((2, 2, 74, 58), label=3)  # around all of it
    flowers.wait()
    np.testing.assert_array_equal(flowers.labels == 1, first)


def test_three_boxes_of_three_objects(flowers, tmp_path):
    """They are stored, and the command that resumes the session finds all objects."""
    for label in (2, 3):
        flowers.box(BOXES[label], label)
    flowers.wait()
    for label in BOXES:
        assert iou(flowers.labels == label, TRUTH == label) > 0.9
    assert {label: one.box for label, one in boxes_of(flowers.records).items()} == BOXES
    Image.fromarray(IMAGE).save(tmp_path / "photo.png")
    flowers.save(tmp_path / "a.sqlite", "photo.png")
    with Session.load(tmp_path / "a.sqlite", IMAGE, device="cpu") as loaded:
        loaded.wait()
        np.testing.assert_array_equal(loaded.labels, flowers.labels)
    line = ["segment", tmp_path / "photo.png", "--resume-session", tmp_path / "a.sqlite", "--out", tmp_path / "out"]
    assert cli.main([*map(str, line)]) == 0
    assert iou(np.array(Image.open(tmp_path / "out" / "photo-mask.png")) > 0, TRUTH > 0) > 0.9


def test_a_stroke_corrects_the_object_on_which_it_lies(flowers):
    """Of its own label, of another one, or of the background; the objects beside it keep their pixels."""
    flowers.box(BOXES[2], 2)
    flowers.box(BOXES[3], 3)
    flowers.wait()
    before = flowers.labels
    for label, points in ((0, [(10, 19), (14, 19)]), (3, [(10, 19), (14, 19)]), (1, [(20, 20), (20, 32)])):
        flowers.stroke(points, 1.5, label)
        flowers.wait()
        drawn = near_polyline(*np.meshgrid(np.arange(76) + 0.5, np.arange(60) + 0.5), np.array(points, float), 1.5)
        assert (flowers.labels[drawn] == label).all()
        np.testing.assert_array_equal(flowers.labels == 2, before == 2)
        assert (flowers.labels == 1).sum() > 0.3 * (before == 1).sum()
        assert flowers.undo()
        flowers.wait()
        np.testing.assert_array_equal(flowers.labels, before)


def test_a_box_of_another_object_in_a_volume_is_refused():
    volume = np.zeros((6, 12, 14))
    volume[2:4, 4:8, 4:9] = 1
    with Session(volume, device="cpu") as session:
        session.box((2, 2, 1, 11, 10, 5))
        session.wait()
        before = session.labels
        with pytest.raises(InputError, match="a box in a volume finds object 1; draw strokes for object 2"):
            session.box((2, 2, 1, 11, 10, 5), label=2)
        np.testing.assert_array_equal(session.labels, before)
