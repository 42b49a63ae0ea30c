"""`Session.set_strokes`: strokes of an array instead of points, in images and volumes."""

import numpy as np
import pytest

from apps.common.images import InputError
from apps.session import Session
from apps.session.session_records import Marks
from tests.apps.session.scenes import disc_scene


def both_kinds(shape):
    """Marks of an object in the middle, and of the background along the first line."""
    marks = np.full(shape, -1)
    marks[..., 2, 3:-3] = 0
    marks[..., shape[-2] // 2, shape[-1] // 2 - 3 : shape[-1] // 2 + 3] = 1
    return marks


@pytest.fixture
def image():
    return disc_scene()[0]


def test_the_answer_is_that_of_strokes_on_the_same_pixels(session, image):
    with Session(image, device="cpu") as other:
        other.set_strokes(session._answered.answers._canvas.all_marks())
        other.wait()
        np.testing.assert_array_equal(other.labels, session.labels)
        assert other.state["energy"] == session.state["energy"]
        assert other.result().certified


def test_it_replaces_all_marks_and_is_undone_at_once(session, image):
    session.box((6, 1, 50, 39))
    session.wait()
    before, strokes = session.labels, session.records
    marks = both_kinds(image.shape[:2])
    session.set_strokes(marks)
    assert [*map(type, session.records)] == [Marks]
    np.testing.assert_array_equal(session._answered.answers._canvas.all_marks(), marks)
    session.wait()
    after = session.labels
    assert session.undo()
    assert session.records == strokes
    session.wait()
    np.testing.assert_array_equal(session.labels, before)
    assert session.redo()
    assert [*map(type, session.records)] == [Marks]
    session.wait()
    np.testing.assert_array_equal(session.labels, after)
    assert not session.redo()


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        (np.zeros((40, 55), int), "strokes is 55x40 pixels, but the image is 56x40"),
        (np.zeros((40, 56)), "strokes must hold integers, got float64"),
        (np.zeros((40, 56), bool), "strokes must hold integers, got bool"),
        (np.full((40, 56), 255), "1 to 254 for an object, got 255 to 255"),
        (np.full((40, 56), -2), "-1 for none.* got -2 to -2"),
        ([[1], [1, 2]], "strokes must be an array"),
    ],
)
def test_bad_marks_change_nothing(session, marks, message):
    before = session.state["version"], session.records
    with pytest.raises(InputError, match=message):
        session.set_strokes(marks)
    assert (session.state["version"], session.records) == before
