"""Label Studio's protocol: requests that its client sent, answered through a server, and what it read."""

import base64
import copy
import json
import threading
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from label_studio_cutmatch.backend import MAX_REQUEST, main, make_server
from label_studio_cutmatch.brush import MAX_COUNT, decode_rle, encode_rle

RECORDED = json.loads((Path(__file__).parent / "exchanges.json").read_text("utf-8"))
PREDICTIONS = [one for one in RECORDED["exchanges"] if "decoded" in one]
PHOTO = base64.b64decode(RECORDED["image"])


def as_mask(rows):
    return np.array([[pixel == "#" for pixel in row] for row in rows])


def requested(address, body=None, method=None, **headers):
    """Status and content of the answer to a request."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data, headers, method=method)) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images/photo.png").write_bytes(PHOTO)
    return tmp_path / "images"


@pytest.fixture
def backend(address, folder):
    """Address of a backend."""
    server = make_server(address, folder, 0)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{address.split('/')[3]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def post(backend):
    """function(body) -> status and content of the answer."""
    return lambda body: requested(f"{backend}/predict", body)


def brush_of(answer):
    return answer["results"][0]["result"][0]


@pytest.mark.parametrize("recorded", RECORDED["exchanges"])
def test_recorded_requests_are_answered_again(backend, recorded):
    status, answer = requested(backend + recorded["path"], recorded["body"], recorded["method"])
    expected = recorded["answer"]
    if "decoded" in recorded:
        region, read = brush_of(answer), as_mask(recorded["decoded"])
        assert np.array_equal(decode_rle(region["value"]["rle"], 4 * read.size)[3::4].reshape(read.shape) > 0, read)
        region["id"] = brush_of(expected)["id"]  # random
    assert (status, answer) == (recorded["status"], expected)


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
    "shown",
    [
        "/data/upload/3/1a2b3c4d-photo.png",
        "/data/local-files/?d=project/photo.png",
        "http://127.0.0.1:8080/photo.png",
        "https://files.example.com/a%20b/photo.png?signature=1",
        "data",
    ],
)
def test_an_image_is_found_by_its_name_or_sent(post, shown):
    shown = f"data:image/png;base64,{RECORDED['image']}" if shown == "data" else shown
    status, answer = post(changed(image=shown))
    assert (status, brush_of(answer)["value"]) == (200, brush_of(PREDICTIONS[0]["answer"])["value"])


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
        (changed(image="/data/upload/.."), "'..'"),
        (changed(image="data:image/png;base64,bm90aGluZw=="), "cannot read"),
        (changed(image="data:image/png;base64,?"), "cannot be used"),
        (changed(region={"original_width": "32"}), "original_width"),
        (changed(region={"original_width": 1 << 30}), "1073741824 x 32"),
        (changed(region={"original_height": 40}), "32 x 40 pixels, but the file 32 x 32"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
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
    status, answer = post(body)
    assert (status, list(answer)) == (400, ["error"])
    assert message in answer["error"]


def test_any_name_of_a_label_is_returned(post):
    body = changed(value={"keypointlabels": ["\ud800 é"]})
    assert brush_of(post(body)[1])["value"]["brushlabels"] == ["\ud800 é"]


def test_the_name_with_its_prefix_is_preferred(post, folder):
    """Label Studio puts eight digits before the name of an upload; a file that has them is the one."""
    (folder / "1a2b3c4d-photo.png").write_bytes(b"nothing")
    assert "cannot read" in post(PREDICTIONS[0]["body"])[1]["error"]


def test_other_addresses(backend):
    token = backend.rsplit("/", 1)[1]
    for path, body, status in (
        (backend, None, 404),
        (backend + "/predict", None, 404),
        (backend.replace(token, "token") + "/health", None, 403),
        (backend.replace(token, "token") + "/predict", PREDICTIONS[0]["body"], 403),
        (backend.replace(token, ""), None, 403),
    ):
        found, answer = requested(path, body)
        assert (found, list(answer)) == (status, ["error"]), path


def test_large_requests_are_rejected(backend):
    headers = {"content-length": str(MAX_REQUEST + 1)}
    assert requested(f"{backend}/predict", b"{}", **headers)[0] == 413


def test_a_server_that_does_not_answer(folder):
    server = make_server("http://127.0.0.1:9/token/", folder, 0)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    status, answer = requested(f"http://127.0.0.1:{server.server_port}/token/predict", PREDICTIONS[0]["body"])
    server.shutdown()
    server.server_close()
    assert (status, "start it" in answer["error"]) == (400, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["http://127.0.0.1:8765", "."], "no token"),
        (["http://127.0.0.1:8765/token/", "missing"], "no folder"),
        (["http://127.0.0.1:8765/token/", ".", "--port", "{port}"], "choose another"),
    ],
)
def test_other_arguments_are_rejected(backend, capsys, arguments, message):
    port = backend.split(":")[2].split("/")[0]
    with pytest.raises(SystemExit):
        main([one.format(port=port) for one in arguments])
    assert message in capsys.readouterr().err
