"""The function for CVAT: recorded events of nuclio, and what nuclio and CVAT read in the answers."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from apps.app.cvat_interactor import handler

RECORDED = json.loads((Path(__file__).parent / "exchanges" / "cvat.json").read_text("utf-8"))["exchanges"]
FOUND = [one for one in RECORDED if "shape" in one]


def answer_to(body):
    response = handler(SimpleNamespace(Response=SimpleNamespace), SimpleNamespace(body=body))
    assert response.content_type == "application/json"
    return response.status_code, json.loads(response.body)


def shape_of(mask):
    """A shape of CVAT: lengths of runs in the bounding box, row by row, and its first and last column and row."""
    rows, columns = np.nonzero(mask)
    y0, y1, x0, x1 = (int(one) for one in (rows.min(), rows.max(), columns.min(), columns.max()))
    flat = np.ravel(mask[y0 : y1 + 1, x0 : x1 + 1]).astype(int)
    runs = np.diff(np.flatnonzero(np.diff(flat, prepend=1 - flat[0], append=1 - flat[-1]))).tolist()
    return ([0] if flat[0] else []) + runs + [x0, y0, x1, y1]


@pytest.mark.parametrize("recorded", RECORDED)
def test_recorded_events_are_answered_again(recorded):
    for body in (recorded["body"], json.dumps(recorded["body"]).encode()):
        status, answer = answer_to(body)
        assert status == recorded["status"]
        assert "error" in answer if status == 400 else shape_of(np.array(answer["mask"])) == recorded["shape"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": None}, "base64"),
        ({"image": "/etc/passwd"}, "base64"),
        ({"image": "http://127.0.0.1/"}, "base64"),
        ({"pos_points": 1}, "pos_points"),
        ({"neg_points": [[1]]}, "neg_points"),
        ({"neg_points": [[1, float("nan")]]}, "neg_points"),
        ({"obj_bbox": [[1, 2]]}, "box"),
        ({"obj_bbox": [[40, 40], [50, 50]]}, "contains no pixel"),
        ({"pos_points": [[1, 1]] * 2000}, "1000"),
    ],
)
def test_other_requests_are_rejected(change, message):
    status, answer = answer_to(FOUND[0]["body"] | change)
    assert (status, list(answer)) == (400, ["error"])
    assert message in answer["error"]
    assert answer_to(FOUND[0]["body"])[0] == 200


@pytest.mark.parametrize("body", [b"", b"[]", b"{"])
def test_anything_else_is_rejected(body):
    assert answer_to(body)[0] == 400
