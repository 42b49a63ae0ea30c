"""Requests of other programs: marks on an image, answered by its labels in any form; all else by one error."""

import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from apps.app.image_sources import Image as AppImage
from apps.app.prompts import MAX_PROMPTS, PromptSessions
from apps.common.errors import InputError
from apps.session import Session

CLICK = {"stroke": [[16.5, 16.5]]}
CORNERS = {"stroke": [[2.5, 2.5], [29.5, 2.5]], "radius": 1.5, "label": 0}


@pytest.fixture
def ask(served):
    """function(content, kind, item) -> the response to a request."""
    client = served(for_programs=True)

    def post(content, kind="mask", item=0):
        data = content if isinstance(content, bytes) else json.dumps(content)
        return client.post(f"/{client.server.token}/segment/{item}?kind={kind}", content=data)

    post.client = client
    return post


def mask_in(response):
    assert response.status_code == 200, response.text
    return np.array(Image.open(io.BytesIO(response.content))) > 0


def png(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "png")
    return base64.b64encode(buffer.getvalue()).decode()


def test_marks_are_those_of_a_session(ask, scene):
    found = mask_in(ask({"prompts": [CLICK, CORNERS]}))
    with Session(scene.image, device="cpu") as session:
        session.stroke(CLICK["stroke"], 5)
        session.stroke(CORNERS["stroke"], 1.5, 0)
        assert np.array_equal(found, session.result().labels > 0)
    assert np.array_equal(found, scene.truth)


def test_a_box_a_start_and_paint(ask, scene):
    assert np.array_equal(mask_in(ask({"prompts": [{"box": list(scene.box)}]})), scene.truth)
    boxes = [{"box": list(scene.box), "label": 2}, {"box": [1, 1, 8, 8], "label": 3}]
    labels = np.array(Image.open(io.BytesIO(ask({"prompts": boxes}, "labels").content)).convert("P"))
    assert np.array_equal(labels == 2, scene.truth)
    assert set(np.unique(labels)) <= {0, 2, 3}
    rough = np.uint8(255) * np.roll(scene.truth, 2, axis=0)
    with Session(scene.image, device="cpu") as session:
        session.start_from(rough)
        assert np.array_equal(mask_in(ask({"prompts": [{"start": png(rough)}]})), session.result().labels > 0)
    painted = np.zeros(scene.truth.shape, np.uint8)
    painted[14:18, 14:18] = 255
    assert np.array_equal(mask_in(ask({"prompts": [CORNERS, {"paint": png(painted)}]})), scene.truth)


def test_an_answer_depends_on_its_request_only(scene):
    """Clicks that are added, other ones, and marks after an error give the same labels as from nothing."""
    click, box = {"stroke": [[16.5, 16.5]]}, {"box": [4, 5, 27, 28]}
    away = {"stroke": [[2.5, 2.5], [29.5, 2.5]], "label": 0, "radius": 1.5}
    second = box | {"label": 2}
    requests = [
        *([click], [click, away], [away], [box, click], [box], [click, box]),
        *([second], [second, {"stroke": [[2.5, 2.5]]}], [second, {"box": [1, 1, 8, 8]}]),
    ]

    def find(sessions, marks):
        return sessions.find_labels("scene", lambda: AppImage(scene.image), marks)[1]

    kept = PromptSessions("cpu")
    for marks in requests + requests[::-1]:
        with pytest.raises(InputError, match="contains no pixel"):
            find(kept, [marks[0], {"box": [50, 50, 60, 60]}])
        fresh = PromptSessions("cpu")
        for _ in range(2):
            assert np.array_equal(find(kept, marks), find(fresh, marks))
        fresh.close()
    kept.close()


def test_an_upload_is_answered_without_a_page(ask, files):
    token = ask.client.server.token
    item = ask.client.post(f"/{token}/images?name=other.png", content=(files / "photo.png").read_bytes()).json()["item"]
    assert mask_in(ask({"prompts": [CLICK]}, item=item)).any()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "JSON object"),
        ({}, "prompts"),
        ({"prompts": [], "more": 1}, "prompts"),
        ({"prompts": []}, "0 prompts"),
        ({"prompts": [CLICK] * (MAX_PROMPTS + 1)}, f"1 to {MAX_PROMPTS}"),
        ({"prompts": [1]}, r"prompts\[0\]: a prompt is"),
        ({"prompts": [CLICK, {"line": [[1, 1]]}]}, r"prompts\[1\]: a prompt is"),
        ({"prompts": [{"box": [1, 1, 9, 9], "radius": 1}]}, "a prompt is"),
        ({"prompts": [CLICK | {"label": True}]}, "label"),
        ({"prompts": [CLICK | {"label": 255}]}, "label"),
        ({"prompts": [CLICK | {"radius": 1e7}]}, "radius"),
        (b'{"prompts": [{"stroke": [[1, NaN]]}]}', "NaN"),
        (b'{"prompts": [{"stroke": [[1, 1]], "radius": NaN}]}', "radius"),
        ({"prompts": [{"stroke": [[1, 10**400]]}]}, "numbers"),
        ({"prompts": [{"stroke": [[1]]}]}, "points"),
        ({"prompts": [{"stroke": []}]}, "points"),
        ({"prompts": [{"stroke": [[1, 1]] * 20_001}]}, "more than 20000 points"),
        ({"prompts": [{"box": [1, 1, 9]}]}, "box"),
        ({"prompts": [{"box": [1, 1, 9, 9], "label": 0}]}, "label must be 1 to 254"),
        ({"prompts": [{"box": [40, 40, 50, 50]}]}, "contains no pixel"),
        ({"prompts": [{"box": [0, 0, 32, 32]}]}, "covers the whole image"),
        ({"prompts": [{"start": 1}]}, "base64"),
        ({"prompts": [{"start": "/etc/passwd"}]}, "base64"),
        ({"prompts": [{"start": "http://127.0.0.1/"}]}, "base64"),
        ({"prompts": [{"start": base64.b64encode(b"nothing").decode()}]}, "cannot read"),
        ({"prompts": [{"start": png(np.eye(8, 10, dtype=np.uint8) * 255)}]}, "size|shape|large"),
        ({"prompts": [{"paint": png(np.eye(8, dtype=np.uint8) * 255)}]}, "shape"),
    ],
)
def test_other_requests_are_rejected(ask, content, message):
    response = ask(content)
    assert response.status_code == 400
    assert list(response.json()) == ["error"]
    assert re.search(message, response.json()["error"]), response.json()
    assert mask_in(ask({"prompts": [CLICK]})).any()


def test_who_may_ask(served, files):
    client, closed = served(for_programs=True), served()
    body = json.dumps({"prompts": [CLICK]})
    address = f"/{client.server.token}/segment/0"
    assert client.post(address, content=body).status_code == 200
    assert client.post("/wrong/segment/0", content=body).status_code == 403
    assert client.post("/wrong/segment", content=body).status_code == 403
    assert client.post(address, content=body, headers={"origin": "http://example.com"}).status_code == 403
    assert client.post(address, content=body, headers={"host": "example.com"}).status_code == 400
    # Without --api, there is no such address, and a program cannot upload.
    own = {"origin": "http://127.0.0.1:8765"}
    assert closed.post(f"/{closed.server.token}/segment/0", content=body, headers=own).status_code == 404
    assert closed.post(f"/{closed.server.token}/images?name=a.png", content=b"").status_code == 403
