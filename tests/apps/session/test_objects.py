"""Objects of a session: names and colours, and their removal."""

import json

import numpy as np
import pytest

from apps.common.images import InputError
from apps.session import Session

CELL = {"name": "cell", "colour": (10, 20, 30), "locked": False}


def marked(session):
    """Two objects and a background, described and found."""
    session.stroke([(28, 20)], 2)
    session.stroke([(3, 3), (50, 3)], 2, 0)
    session.stroke([(10, 30)], 2, 200)
    session.describe(200, "cell", (10, 20, 30))
    session.wait()
    return session.labels


def test_names_are_undone_stored_and_exported(session, disc, tmp_path):
    image, _ = disc
    labels = marked(session)
    expected = {1: {"name": "", "colour": None, "locked": False}, 200: CELL}
    assert session.objects == expected
    session.describe(1, "cell")
    session.undo()
    assert session.objects == expected
    session.redo()
    session.save(tmp_path / "a.json")
    with Session.load(tmp_path / "a.json", image, device="cpu") as loaded:
        assert loaded.objects == session.objects
        loaded.wait()
        np.testing.assert_array_equal(loaded.labels, labels)
    coco = json.loads(session.export(tmp_path / "c.json", "coco").read_bytes())
    assert [one["name"] for one in coco["categories"]] == ["cell"]
    assert [one["category_id"] for one in coco["annotations"]] == [1, 1]
    feature = json.loads(session.export(tmp_path / "g.json", "geojson").read_bytes())["features"][-1]
    assert feature["properties"]["classification"] == {"name": "cell", "color": [10, 20, 30]}


def test_a_deleted_object_leaves_no_trace(session, disc):
    """The result is that of the other strokes; the same label may be used again."""
    image, _ = disc
    with Session(image, device="cpu") as other:
        other.restore(session.records)
        other.wait()
        labels = marked(session)
        session.delete(200)
        session.wait()
        assert 200 not in session.objects
        assert session.state["labels"] == [0, 1]
        other.stroke([(28, 20)], 2)
        other.stroke([(3, 3), (50, 3)], 2, 0)
        other.wait()
        np.testing.assert_array_equal(session.labels, other.labels)
        session.undo()
        session.wait()
        np.testing.assert_array_equal(session.labels, labels)
        session.redo()
        session.stroke([(20, 30)], 2, 200)
        assert session._answered.answers._canvas.all_marks()[30, 20] == 200
        assert session._answered.answers._canvas.all_marks()[30, 10] == -1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "label must be 1 to 254"),
        ((255,), "label must be 1 to 254"),
        ((1, "a\nb"), "name must be at most 100 characters"),
        ((1, 101 * "a"), "name must be at most 100 characters"),
        ((1, "a", (1, 2)), "colour must be None or R, G, B"),
        ((1, "a", (1, 2, 256)), "colour must be None or R, G, B"),
    ],
)
def test_bad_descriptions_change_nothing(session, arguments, message):
    before = session.records
    with pytest.raises(InputError, match=message):
        session.describe(*arguments)
    assert session.records == before
