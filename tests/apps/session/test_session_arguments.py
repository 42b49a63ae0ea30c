"""Arguments of a session: images of every kind, strokes anywhere, and what is rejected."""

import sys

import numpy as np
import pytest

from apps.common.images import InputError
from apps.session import Session


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, bool])
def test_images_of_every_kind(dtype):
    image = np.zeros((20, 30))
    image[5:15, 10:20] = 1
    scale = {np.uint8: 255, np.uint16: 65535}.get(dtype, 1)
    with Session((image * scale).astype(dtype), device="cpu") as session:
        session.stroke([(12, 10), (18, 10)], 1)
        session.stroke([(2, 2), (28, 2)], 1, 0)
        session.wait()
        np.testing.assert_array_equal(session.mask, image > 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], 2), "points must have shape"),
        (([[1, 2, 3]], 2), "points must have shape"),
        (("abc", 2), "points must be numbers"),
        (([[np.nan, 0]], 2), "points hold NaN"),
        (([[1e9, 0]], 2), "points hold"),
        (([[1, 1]], 0), "radius must be above 0"),
        (([[1, 1]], np.inf), "radius must be above 0"),
        (([[1, 1]], 1, -1), "label must be 0"),
        (([[1, 1]], 1, 255), "label must be 0"),
        (([[1, 1]], 1, 1, 0, 3), "axis and slice"),
    ],
)
def test_bad_strokes_change_nothing(session, arguments, message):
    before, records = session.state["version"], session.records
    with pytest.raises(InputError, match=message):
        session.stroke(*arguments)
    assert (session.state["version"], session.records) == (before, records)


@pytest.mark.parametrize(
    ("image", "options", "message"),
    [
        ([[1, 2], [3]], {}, "image must be an array"),
        (np.zeros((4, 5, 2, 2)), {}, "image must be one grey"),
        (np.full((4, 5), 3.0), {}, "scale them"),
        (np.zeros((4, 5), np.uint8), {"keep": "largest"}, "keep must be one of"),
        (np.zeros((4, 5), np.uint8), {"device": "tpu"}, "device must be one of"),
        (np.zeros((4, 5), np.uint8), {"spacing": (1, 1, 1)}, "volume must hold"),
        (np.zeros((4, 5, 6), np.uint8), {"spacing": (1, 1)}, "spacing needs three"),
        (np.zeros((4, 5, 6), complex), {}, "volume must hold"),
        (np.full((4, 5, 6), np.nan), {}, "NaN"),
    ],
)
def test_bad_images(image, options, message):
    with pytest.raises(InputError, match=message):
        Session(image, **{"device": "cpu", **options})


def test_a_widget_without_its_extra_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "apps.app.notebook", raising=False)
    with Session(np.zeros((20, 30)), device="cpu") as session:
        with pytest.raises(ImportError, match=r"anywidget; pip install anywidget traitlets, or"):
            session.widget()
