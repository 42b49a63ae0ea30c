"""What a user of a session relies on: messages, undo, erasing, boxes, start masks, several objects."""

import numpy as np

from apps.session import Session
from tests.apps.conftest import iou


def test_one_kind_of_stroke_is_no_error(disc):
    image, truth = disc
    with Session(image, device="cpu") as session:
        assert session.state["message"] == "mark the object"
        assert not session.mask.any()
        session.stroke([(28, 20)], 3)
        assert session.state["message"] == "mark the background"
        assert session.wait()
        assert iou(session.mask, truth) > 0.9, "the sides of the image are probably background"
        assert session.result().certified
        session.clear()
        session.stroke([(3, 3)], 3, 0)
        assert session.state["message"] == "mark an object"
        assert not session.mask.any()
        assert session.wait()
        result = session.result()
        assert (result.certified, result.energy, result.values) == (False, None, (0,))


def test_two_strokes_find_the_object(session, disc):
    _, truth = disc
    assert iou(session.mask, truth) > 0.95
    state = session.state
    assert (state["exact"], state["pending"], state["message"]) == (True, False, "")
    assert state["labels"] == [0, 1]
    assert not state["certified"]
    assert session.result().certified
    assert session.state["certified"]


def test_a_start_mask_is_a_hint(disc):
    image, truth = disc
    with Session(image, device="cpu") as session:
        session.start_from(np.roll(truth, 2, axis=1))
        assert session.wait()
        assert iou(session.mask, truth) > iou(np.roll(truth, 2, axis=1), truth)
        session.stroke([(28, 20)], 3, 0)
        assert not session.mask[19:21, 27:29].any()


def test_several_objects():
    image = np.full((30, 60, 3), 60, np.uint8)
    image[8:22, 8:22], image[8:22, 38:52] = (200, 60, 60), (60, 60, 200)
    with Session(image, device="cpu") as session:
        session.stroke([(15, 15)], 3, 1)
        session.stroke([(45, 15)], 3, 2)
        assert session.state["labels"] == [1, 2]
        session.stroke([(3, 3), (57, 3)], 2, 0)
        session.wait()
        expected = np.zeros((30, 60), np.int16)
        expected[8:22, 8:22], expected[8:22, 38:52] = 1, 2
        np.testing.assert_array_equal(session.labels, expected)
        assert session.result().values == (0, 1, 2)
        session.stroke([(45, 15)], 3, 1, final=False)
        assert (session.labels[13:17, 43:47] == 1).all()
        session.undo()
        session.wait()
        np.testing.assert_array_equal(session.labels, expected)


def test_one_click_finds_an_object():
    """On a flat image with another object, which a mark of the background is not needed to exclude."""
    image = np.full((80, 120, 3), 90, np.uint8)
    image[20:60, 15:50] = image[20:60, 70:105] = (200, 120, 60)
    truth = np.zeros((80, 120), bool)
    truth[20:60, 15:50] = True
    with Session(image, device="cpu") as session:
        session.stroke([(32, 40)], 2, 3)
        assert session.wait()
        np.testing.assert_array_equal(session.labels == 3, truth)
        assert session.result().certified
        before = session.labels
        session.erase([(32, 40)], 4)
        session.undo()
        session.wait()
        np.testing.assert_array_equal(session.labels, before)
