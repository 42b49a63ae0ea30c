"""Boxes and strokes of several objects are one problem with several labels, in whatever order they were drawn."""

import numpy as np
import pytest

from apps import segment, segment_labels
from apps.common.images import InputError
from apps.session import Session
from apps.session.canvas import Canvas
from apps.session.record_checks import make_stroke
from apps.session.session_records import objects_of
from tests.apps.conftest import iou
from tests.apps.session.scenes import near_polyline, photo_of_two_objects

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
    assert iou(flowers.labels == 1, first) > 0.95
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
    """They are stored."""
    for label in (2, 3):
        flowers.box(BOXES[label], label)
    flowers.wait()
    for label in BOXES:
        assert iou(flowers.labels == label, TRUTH == label) > 0.9
    assert {label: one.box for label, one in objects_of(flowers.records).boxes.items()} == BOXES
    flowers.save(tmp_path / "a.sqlite", "photo.png")
    with Session.load(tmp_path / "a.sqlite", IMAGE, device="cpu") as loaded:
        loaded.wait()
        np.testing.assert_array_equal(loaded.labels, flowers.labels)


@pytest.mark.parametrize("boxed", [(1, 2, 3), (1, 3), (2,)])
@pytest.mark.parametrize("is_locked", [False, True])
def test_the_labels_are_those_of_the_library_in_any_order(boxed, is_locked):
    """Three objects and the background, by boxes and strokes; a locked object takes no part in the library's image."""
    places = {1: [(17, 19), (24, 19)], 2: [(50, 25), (58, 25)], 3: [(23, 45), (29, 45)], 0: [(2, 57), (10, 57)]}
    strokes = {label: points for label, points in places.items() if label not in boxed}
    canvas = Canvas(TRUTH.shape, TRUTH.shape)
    canvas.change_to([make_stroke(points, 1.5, label, TRUTH.shape) for label, points in strokes.items()])
    marks = canvas.all_marks()
    marks = np.where(marks == -1, 0, np.where(marks == 0, 9, marks))
    boxes = {label: BOXES[label] for label in boxed}
    expected = segment_labels(IMAGE, marks, boxes=boxes, background=9, device="cpu")
    expected.check()
    assert all(iou(expected.labels == label, TRUTH == label) > 0.9 for label in BOXES)
    found = []
    for order in ((0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)):
        with Session(IMAGE, device="cpu") as session:
            if is_locked:  # beside the others, where the image is background
                session.stroke([(66, 50)], 3, 7)
                session.lock(7)
                session.clear()
            locked = session.labels == 7
            for label in order:
                if label in boxes:
                    session.box(boxes[label], label)
                else:
                    session.stroke(strokes[label], 1.5, label)
            session.wait()
            found.append(session.labels)
            if is_locked:
                np.testing.assert_array_equal(session.labels == 7, locked)
                assert all(iou(session.labels == label, TRUTH == label) > 0.9 for label in BOXES)
                session.unlock(7)
                session.wait()
            np.testing.assert_array_equal(session.labels, expected.labels)
    assert all(np.array_equal(one, found[0]) for one in found)


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
        assert iou(flowers.labels == 2, before == 2) > 0.95
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


def test_the_other_object_that_fits_a_box():
    photo, box = photo_of_two_objects()
    with pytest.warns(UserWarning, match="another object fits the box"):
        found = segment(photo, box=box, device="cpu")
    with Session(photo, device="cpu") as session:
        assert session.rival is None
        with pytest.raises(InputError, match="no other object"):
            session.take_rival()
        session.box(box)
        session.wait()
        assert session.state["message"] == "another object fits the box"
        np.testing.assert_array_equal(session.mask, found.mask)
        np.testing.assert_array_equal(session.rival, found.rival)
        session.take_rival()
        session.wait()
        np.testing.assert_array_equal(session.mask, found.rival)
        assert (session.rival, session.state["message"]) == (None, "")
        assert session.result().certified
        session.undo()
        session.wait()
        np.testing.assert_array_equal(session.mask, found.mask)
        np.testing.assert_array_equal(session.rival, found.rival)
        session.stroke([(72.5, 114.5)], 1.5)  # inside the object: it stays as it is
        session.wait()
        assert session.rival is None
        np.testing.assert_array_equal(session.mask, found.mask)
        assert session.result().certified
