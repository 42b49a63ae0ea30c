"""Recorded events of nuclio, answered through a server, and what nuclio and CVAT read in the answers."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from cvat_cutmatch.interactor import handler

RECORDED = json.loads((Path(__file__).parent / "exchanges.json").read_text("utf-8"))["exchanges"]
FOUND = [one for one in RECORDED if "shape" in one]


@pytest.fixture(autouse=True)
def its_address(address, monkeypatch):
    monkeypatch.setenv("CUTMATCH_ADDRESS", address)


def answer_to(body):
    response = handler(SimpleNamespace(Response=SimpleNamespace), SimpleNamespace(body=body))
    assert response.content_type == "application/json"
    return response.status_code, json.loads(response.body)


def shape_of(mask):
    """A shape of CVAT: lengths of runs in the bounding box, row by row, and its first and last column and row."""
    ys = [y for y, row in enumerate(mask) if any(row)]
    xs = [x for x, column in enumerate(zip(*mask, strict=True)) if any(column)]
    x0, y0, x1, y1 = min(xs), min(ys), max(xs), max(ys)
    runs, value = [0], 0  # from zeros on
    for one in (value for row in mask[y0 : y1 + 1] for value in row[x0 : x1 + 1]):
        if one != value:
            runs.append(0)
            value = one
        runs[-1] += 1
    return [*runs, x0, y0, x1, y1]


@pytest.mark.parametrize("recorded", RECORDED)
def test_recorded_events_are_answered_again(recorded):
    for body in (recorded["body"], json.dumps(recorded["body"]).encode()):
        status, answer = answer_to(body)
        assert status == recorded["status"]
        assert "error" in answer if status == 400 else shape_of(answer["mask"]) == recorded["shape"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": None}, "base64"),
        ({"image": "/etc/passwd"}, "base64"),
        ({"image": "http://127.0.0.1/"}, "base64"),
        ({"pos_points": 1}, "not one of CVAT's"),
        ({"neg_points": [[1]]}, "points"),
        ({"neg_points": [[1, float("nan")]]}, "points"),
        ({"obj_bbox": [[1, 2]]}, "box"),
        ({"obj_bbox": [1, 2]}, "not one of CVAT's"),
        ({"obj_bbox": [[40, 40], [50, 50]]}, "contains no pixel"),
        ({"pos_points": [[1, 1]] * 2000}, "1000"),
    ],
)
def test_other_requests_are_rejected(change, message):
    status, answer = answer_to(FOUND[0]["body"] | change)
    assert (status, list(answer)) == (400, ["error"])
    assert message in answer["error"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", None])
def test_anything_else_is_rejected(body):
    assert answer_to(body)[0] == 400


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda address: "", "set CUTMATCH_ADDRESS"),
        (lambda address: "http://127.0.0.1:9/token/", "does not answer"),
        (lambda address: "somewhere", "does not answer"),
        (lambda address: address[:-9] + "/", "lacks the token"),
    ],
)
def test_other_addresses_are_reported(address, monkeypatch, change, message):
    monkeypatch.setenv("CUTMATCH_ADDRESS", change(address))
    status, answer = answer_to(FOUND[0]["body"])
    assert (status, message in answer["error"]) == (400, True), answer
