"""Requests as QuPath's extension builds them: rectangles, points, background, masks; and bad ones."""

import base64
import io
import json

import cv2
import numpy as np
import pytest
from PIL import Image
from samapi_cutmatch.server import make_app
from starlette.testclient import TestClient


@pytest.fixture(scope="module")
def client():
    with TestClient(make_app()) as client:
        yield client


@pytest.fixture(scope="module")
def scene():
    """A photograph with two discs, one with a hole, and the mask of each."""
    y, x = np.ogrid[:120, :160]
    ring = ((x - 50) ** 2 + (y - 60) ** 2 < 30**2) & ((x - 50) ** 2 + (y - 60) ** 2 > 10**2)
    disc = (x - 125) ** 2 + (y - 60) ** 2 < 20**2
    image = np.full((120, 160, 3), (200, 190, 210), np.uint8)
    image[ring | disc] = (120, 60, 130)
    noise = np.random.default_rng(0).normal(0, 8, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8), ring, disc


def encoded(array):
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def ask(client, **body):
    answer = client.post("/sam/", content=json.dumps({"type": "vit_l", "multimask_output": False, **body}))
    return answer.status_code, answer.json()


def mask_of(features, shape):
    """The pixels inside the polygons of a feature; corners are those of pixels."""
    (feature,) = features
    geometry = feature["geometry"]
    parts = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]
    mask = np.zeros(shape, np.uint8)
    for rings in parts:
        assert all(ring[0] == ring[-1] for ring in rings)
        scaled = [np.array(ring) * 16 - 8 for ring in rings]  # cv2 draws to the centres of pixels
        cv2.fillPoly(mask, [np.round(one).astype(np.int32) for one in scaled], 1, shift=4)
    return mask > 0


def overlap(found, truth):
    return np.count_nonzero(found & truth) / np.count_nonzero(found | truth)


def test_a_rectangle(client, scene):
    image, ring, _ = scene
    status, features = ask(client, b64img=encoded(image), bbox=[12, 22, 88, 98])
    assert status == 200
    assert overlap(mask_of(features, ring.shape), ring) > 0.9
    assert len(features[0]["geometry"]["coordinates"]) == 2  # the outline and the hole
    assert features[0]["properties"] == {"object_idx": 0, "label": "object", "quality": 1.0, "sam_model": "vit_l"}


def test_points(client, scene):
    image, ring, disc = scene
    points = {"point_coords": [[50, 60], [80, 60], [125, 60]], "point_labels": [0, 0, 1]}
    status, features = ask(client, b64img=encoded(image), **points)
    assert status == 200
    assert overlap(mask_of(features, disc.shape), disc) > 0.9


def test_a_mask(client, scene):
    image, _, disc = scene
    rough = np.roll(disc, 3, axis=1).astype(np.uint8) * 255
    status, features = ask(client, b64img=encoded(image), b64mask=encoded(rough))
    assert status == 200
    assert np.count_nonzero(mask_of(features, disc.shape) & disc) > 0.95 * np.count_nonzero(disc)


def test_an_image_in_grey(client, scene):
    image, _, disc = scene
    grey = np.asarray(Image.fromarray(image).convert("L"))
    status, features = ask(client, b64img=encoded(grey), bbox=[100, 35, 150, 85])
    assert status == 200
    assert overlap(mask_of(features, disc.shape), disc) > 0.9


def test_what_else_the_extension_asks(client):
    assert client.get("/sam/version/").text == "0.1.0"
    assert client.get("/sam/weights/", params={"type": "vit_b"}).json()[0]["name"] == "cutmatch"
    answer = client.post("/sam/automask/", content="{}")
    assert (answer.status_code, set(answer.json())) == (501, {"detail"})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"b64img": "!"}, "b64img must be"),
        ({"b64img": None}, "b64img must be"),
        ({"b64img": base64.b64encode(b"no image").decode()}, "b64img must be"),
        ({}, "needs a bbox"),
        ({"bbox": [1, 2, 3]}, "4 numbers"),
        ({"bbox": [50, 50, 50, 50]}, "box"),
        ({"point_coords": [[1, 2]], "point_labels": []}, "one 0 or 1 per point"),
        ({"point_coords": [[1, 2]], "point_labels": [7]}, "one 0 or 1 per point"),
        ({"point_coords": [["a", 2]], "point_labels": [1]}, "2 numbers"),
    ],
)
def test_refusals(client, scene, body, words):
    status, answer = ask(client, **{"b64img": encoded(scene[0]), **body})
    assert status == 400
    assert words in answer["detail"]
    assert "\n" not in answer["detail"]


@pytest.mark.parametrize("content", [b"", b"[", b"[]"])
def test_no_json(client, content):
    assert client.post("/sam/", content=content).status_code == 400
