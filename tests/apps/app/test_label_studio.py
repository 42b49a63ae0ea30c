"""Label Studio's protocol: requests that its client sent, and what it read in the answers."""

import base64
import copy
import json
from pathlib import Path

import numpy as np
import pytest

from apps.app.image_sources import Source
from apps.app.label_studio import MAX_COUNT, decode_rle, encode_rle

RECORDED = json.loads((Path(__file__).parent / "exchanges" / "label_studio.json").read_text("utf-8"))
PREDICTIONS = [one for one in RECORDED["exchanges"] if "decoded" in one]


def as_mask(rows):
    return np.array([[pixel == "#" for pixel in row] for row in rows])


@pytest.fixture
def post(served):
    """function(body, path) -> the response to a request."""
    client = served(for_programs=True)
    return lambda body, path="/label-studio/predict": client.post(
        f"/{client.guard.token}{path}", content=json.dumps(body)
    )


def brush_of(answer):
    return answer["results"][0]["result"][0]


@pytest.mark.parametrize("recorded", RECORDED["exchanges"])
def test_recorded_requests_are_answered_again(served, recorded):
    client = served(for_programs=True)
    address = f"/{client.guard.token}{recorded['path']}"
    response = client.request(recorded["method"], address, json=recorded["body"])
    answer, expected = response.json(), recorded["answer"]
    if "decoded" in recorded:
        region, read = brush_of(answer), as_mask(recorded["decoded"])
        assert np.array_equal(decode_rle(region["value"]["rle"], 4 * read.size)[3::4].reshape(read.shape) > 0, read)
        region["id"] = brush_of(expected)["id"]  # random
    assert (response.status_code, answer) == (recorded["status"], expected)


def test_a_brush_of_label_studio_is_read():
    """Its encoder writes counts of four lengths, and single values."""
    regions = [region for one in PREDICTIONS for region in one["body"]["params"]["context"]["result"]]
    (rle,) = [region["value"]["rle"] for region in regions if region["type"] == "brushlabels"]
    painted = as_mask(RECORDED["painted"])
    assert np.array_equal(decode_rle(rle, 4 * painted.size), np.repeat(np.uint8(255) * painted.ravel(), 4))
    assert rle != encode_rle(painted)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (70, 2 * MAX_COUNT // 256)])
def test_codes_are_read_again(shape):
    rng = np.random.default_rng(0)
    for share in (0, 0.001, 0.5, 1):
        mask = rng.random(shape) < share
        assert np.array_equal(decode_rle(encode_rle(mask), 4 * mask.size)[3::4].reshape(shape) > 0, mask)


@pytest.mark.parametrize(
    "address",
    [
        "/data/upload/3/1a2b3c4d-photo.png",
        "/data/local-files/?d=project/photo.png",
        "http://127.0.0.1:8080/photo.png",
        "https://files.example.com/a%20b/photo.png?signature=1",
        "data",
    ],
)
def test_an_image_is_found_by_its_name_or_sent(post, files, address):
    body = copy.deepcopy(PREDICTIONS[0]["body"])
    if address == "data":
        address = "data:image/png;base64," + base64.b64encode((files / "photo.png").read_bytes()).decode()
    body["tasks"][0]["data"]["image"] = address
    assert post(body).status_code == 200


def changed(**changes):
    """The first recorded request with other values; `region` and `value` are those of its region."""
    body = copy.deepcopy(PREDICTIONS[0]["body"])
    region = body["params"]["context"]["result"][0]
    region["value"] |= changes.pop("value", {})
    region |= changes.pop("region", {})
    if "image" in changes:
        body["tasks"][0]["data"]["image"] = changes.pop("image")
    return body | changes


RLE = {"region": {"type": "brushlabels"}}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "tasks"),
        (changed(tasks=1), "tasks"),
        (changed(tasks=[{}, {}]), "one task"),
        (changed(tasks=[{"data": {"image": 5}}]), "image"),
        (changed(params=[]), "params"),
        (changed(params={"context": {"result": 5}}), "result"),
        (changed(params={"context": {"result": [5]}}), "type"),
        (changed(label_config="<View>"), "not XML"),
        (changed(label_config='<!DOCTYPE a [<!ENTITY b "c">]><View>&b;</View>'), "document type"),
        (changed(label_config="<View/>"), "BrushLabels"),
        (changed(label_config='<View><BrushLabels name="a" toName="b"/></View>'), "Image"),
        (changed(image="/data/upload/3/other.png"), "'other.png'"),
        (changed(image="/etc/passwd"), "'passwd'"),
        (changed(image="file:///etc/passwd"), "'passwd'"),
        (changed(image="http://[::1"), "cannot be used"),
        (changed(label_config="\ud800"), "not XML"),
        (changed(image="data:image/png;base64,bm90aGluZw=="), "cannot read"),
        (changed(region={"type": "ellipselabels"}), "not supported"),
        (changed(value={"x": "50"}), "percent"),
        (changed(value={"x": 1e300}), "percent"),
        (changed(value={"rotation": 5}), "rotation"),
        (changed(**RLE), "rle"),
        (changed(**RLE, value={"rle": [256] * 100}), "bytes"),
        (changed(**RLE, value={"rle": [0] * 10_000}), "bytes"),
        (changed(**RLE, value={"rle": [255] * 100}), "values"),
        (changed(**RLE, value={"rle": encode_rle(np.eye(32, dtype=bool))[:-40]}), "too soon"),
        (changed(**RLE, value={"rle": encode_rle(np.eye(8, dtype=bool))}), "256 values"),
    ],
)
def test_other_requests_are_rejected(post, body, message):
    response = post(body)
    assert (response.status_code, list(response.json())) == (400, ["error"]), response.text
    assert message in response.json()["error"]


def test_any_name_of_a_label_is_returned(post):
    body = changed(value={"keypointlabels": ["\ud800 é"]})
    assert brush_of(post(body).json())["value"]["brushlabels"] == ["\ud800 é"]


def test_two_images_of_a_name_are_rejected(served, files):
    (files / "more").mkdir()
    (files / "more/photo.png").write_bytes((files / "photo.png").read_bytes())
    sources = [Source("photo", files / "photo.png"), Source("photo-2", files / "more/photo.png")]
    client = served(*sources, for_programs=True)
    response = client.post(f"/{client.guard.token}/label-studio/predict", json=PREDICTIONS[0]["body"])
    assert "2 of the images" in response.json()["error"]
