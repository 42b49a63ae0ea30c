"""The server of the page: who is let in, what pages see, and that nothing is lost."""

import json

import numpy as np
import pytest
from PIL import Image

from apps.app.image_sources import Source
from tests.apps.app.page_messages import stroke_of

WebSocketDisconnect = pytest.importorskip("starlette.websockets", reason="needs the extra 'app'").WebSocketDisconnect
PORT = 8765


def test_strokes_find_the_object(served, connect, scene):
    page = connect(served())
    page.open()
    state = page.draw()
    union = (page.labels > 0) | scene.truth
    assert ((page.labels > 0) & scene.truth).sum() / union.sum() > 0.95
    assert state["exact"]
    assert state["energy"] > 0
    assert sorted(page.strokes) == sorted(state["order"])
    assert len(state["order"]) == 3


def test_a_stroke_that_is_given_up_disappears(served, connect):
    page = connect(served())
    page.open()
    page.draw()
    page.stroke([(5, 14), (6, 15)], number=300, final=False, confirm=False)
    page.until(lambda m: m["type"] == "state" and len(m["order"]) == 4)
    kept = page.said["state"]["order"][:3]
    page.say("cancel", item=0)
    page.until(lambda m: m["type"] == "state" and len(m["order"]) == 3)
    assert page.said["state"]["order"] == kept
    assert not page.said["state"]["redo"]


def test_a_box_and_a_start_mask(served, connect, scene, files):
    client = served()
    page = connect(client)
    page.open()
    page.say("box", item=0, box=list(scene.box), label=1)
    page.until(lambda m: m["type"] == "state" and m["boxes"] == {"1": list(scene.box)})
    page.settled()
    assert (page.labels > 0).sum() > 100
    page.say("undo", item=0)
    page.until(lambda m: m["type"] == "state" and not m["boxes"])
    rough = np.roll(scene.truth, 2, axis=0)
    Image.fromarray(np.uint8(255) * rough).save(files / "rough.png")
    headers = {"origin": f"http://127.0.0.1:{PORT}"}
    address = f"/{client.server.token}/hint/start/0"
    assert client.post(address, content=(files / "rough.png").read_bytes(), headers=headers).status_code == 204
    page.until(lambda m: m["type"] == "state" and m["undo"])
    page.settled()
    assert ((page.labels > 0) & scene.truth).sum() > 200
    assert client.post(address, content=b"nothing", headers=headers).status_code == 400
    found, level = page.labels.copy(), np.uint8(255) * rough
    blue, alpha = np.zeros((2, *rough.shape, 4), np.uint8)
    blue[..., 2], alpha[..., 3] = level, level
    for number, colours in enumerate((blue[..., :3], alpha)):  # as the command reads them
        path = files / f"mask{number}.png"
        Image.fromarray(colours).save(path)
        assert client.post(address, content=path.read_bytes(), headers=headers).status_code == 204
        page.until(lambda m: m["type"] == "state" and m["undo"])
        page.settled()
        np.testing.assert_array_equal(page.labels, found)


def test_broken_messages_change_nothing(served, connect):
    page = connect(served())
    page.open()
    page.draw()
    other, stroke = (stroke_of([(1, 1), (2, 2)], item=item, number=99) for item in (7, 0))
    strokes = other, stroke | {"points": 1}, stroke | {"radius": "r"}, stroke | {"number": [1]}, stroke | {"axis": 0}
    box = json.dumps({"do": "box", "item": 0, "label": 1, "box": [1, 2]})
    save = json.dumps({"do": "save", "item": 0, "kinds": ["text"]})
    texts = "", "nonsense", '{"do": "undo", "item": -1}', box, save, *map(json.dumps, strokes)
    for text in texts:
        page.socket.send_text(text)
        assert page.until(lambda m: m["type"] == "error")["text"]
    assert len(page.said["state"]["order"]) == 3
    page.stroke([(1.5, 25.5)], 0, number=9)
    assert len(page.said["state"]["order"]) == 4


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 403),
        ("/wrong/", {}, 403),
        ("/{token}x/", {}, 403),
        ("/{token}", {}, 307),
        ("/{token}/", {}, 200),
        ("/{token}/", {"host": "example.com"}, 400),
        ("/{token}/", {"host": f"example.com:{PORT}"}, 400),
        ("/{token}/", {"host": f"localhost:{PORT}"}, 200),
        ("/{token}/", {"origin": "http://example.com"}, 403),
        ("/{token}/", {"origin": "null"}, 403),
        ("/{token}/static/main.js", {}, 200),
        ("/{token}/static/nothing.js", {}, 404),
        ("/{token}/static/..%2f..%2fcli.py", {}, 404),
        ("/{token}/static/%2e%2e/__init__.py", {}, 404),
        ("/{token}/image/5", {}, 400),
        ("/{token}/image/0/0/0", {}, 400),
        ("/open/wrong", {}, 403),
    ],
)
def test_who_is_let_in(served, connect, path, headers, status):
    client = served()
    connect(client).open()
    answer = client.get(path.format(token=client.server.token), headers=headers, follow_redirects=False)
    assert answer.status_code == status
    if status == 200:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize(
    "origin", [None, "http://example.com", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1"]
)
def test_sockets_of_other_pages_are_refused(served, origin):
    client = served()
    headers = {} if origin is None else {"origin": origin}
    own = {"origin": f"http://127.0.0.1:{PORT}"}
    for token, given in ((client.server.token, headers), ("wrong", own)):
        address = f"ws://127.0.0.1:{PORT}/{token}/socket"
        with pytest.raises(WebSocketDisconnect), client.websocket_connect(address, headers=given):
            pass
    assert client.post(f"/{client.server.token}/images?name=a.png", headers=headers).status_code == 403


def test_uploads(served, connect, files, monkeypatch):
    client = served()
    page = connect(client)
    headers = {"origin": f"http://127.0.0.1:{PORT}"}
    address = f"/{client.server.token}/images?name="
    data = (files / "photo.png").read_bytes()
    answer = client.post(address + "photo.png", content=data, headers=headers).json()
    assert (answer["item"], [one["name"] for one in answer["items"]]) == (1, ["photo.png", "photo.png"])
    assert [one["name"] for one in page.until(lambda m: m["type"] == "items")["items"]] == ["photo.png", "photo.png"]
    page.open(1)
    page.draw(1)
    page.say("save", item=1, kinds=["mask"])
    assert page.until(lambda m: m["type"] in ("saved", "error"))["files"] == ["photo-2-mask.png"]
    for name in ("../photo.png", "", "a/b.png", "a%00.png", "x" * 300):
        assert client.post(address + name, content=data, headers=headers).status_code == 400
    assert client.post(address + "text.png", content=b"text", headers=headers).status_code == 400
    monkeypatch.setattr("apps.app.server.MAX_UPLOAD", 100)
    assert "larger" in client.post(address + "b.png", content=data, headers=headers).text


@pytest.mark.parametrize("error", [MemoryError(), np.linalg.LinAlgError("defect")])
def test_an_upload_that_fails_is_answered_with_a_reason(served, files, monkeypatch, capsys, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr("apps.app.image_sources.image_in", fail)
    client = served()
    data, headers = (files / "photo.png").read_bytes(), {"origin": f"http://127.0.0.1:{PORT}"}
    out_of_memory = isinstance(error, MemoryError)
    for path in ("images?name=a.png", "images?name=b.png"):
        answer = client.post(f"/{client.server.token}/{path}", content=data, headers=headers)
        assert (answer.status_code, answer.text.count("\n")) == (400 if out_of_memory else 500, 0)
        assert ("out of memory" if out_of_memory else "LinAlgError") in answer.text
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if "defect in cutmatch" in line]) == (0 if out_of_memory else 2)


def test_images_of_a_folder(served, connect, files):
    client = served(Source("photo", files / "photo.png"), Source("truth", files / "truth.png"))
    page = connect(client)
    assert [one["state"] for one in page.said["hello"]["items"]] == ["new", "new"]
    page.open(0)
    page.draw()
    page.say("save", item=0, kinds=["mask"])
    page.until(lambda m: m["type"] == "saved")
    assert page.until(lambda m: m["type"] == "item" and m["state"] == "done")["item"] == 0
    page.open(1)
    page.say("undo", item=0)
    assert "not open" in page.until(lambda m: m["type"] == "error")["text"]
    page.open(0)
    assert len(page.said["state"]["order"]) == 3
    page.say("save", item=0, kinds=["cutout"])
    page.say("open", item=1)  # at once, as "Save & next" does
    assert page.until(lambda m: m["type"] == "saved")["files"] == ["photo-cutout.png"]


def test_approved_images_are_exported(served, connect, chosen, files, tmp_path):
    """Their results, one COCO file of all and the classes; a further stroke makes an image one to approve again."""
    chosen.classes = {"cell": None, "dish": [10, 20, 30]}
    client = served(*(Source(name, files / "photo.png") for name in ("a", "b")))
    page = connect(client)
    assert page.said["hello"]["classes"] == [["cell", None], ["dish", [10, 20, 30]]]
    page.open(0)
    page.say("export_approved", item=0)
    assert "no image is approved" in page.until(lambda m: m["type"] == "error")["text"]
    for item, action in ((0, "approve"), (1, "save")):
        page.open(item)
        page.draw(item)
        page.say("describe", item=item, label=1, name="dish", colour=[1, 2, 3])
        page.say(action, item=item, kinds=["mask", "coco", "yolo"])
        assert len(page.until(lambda m: m["type"] == "saved")["files"]) == 3
    page.say("export_approved", item=1)
    names = page.until(lambda m: m["type"] == "saved")["files"]
    assert sorted(names) == [
        f"approved/{name}" for name in ("a-coco.json", "a-mask.png", "a.txt", "classes.txt", "coco.json")
    ]
    out = tmp_path / "out"
    assert (out / "approved/classes.txt").read_text() == "cell\ndish\n"
    assert (out / "a.txt").read_text().startswith("1 ")
    assert json.loads((out / "approved/coco.json").read_text())["categories"][0]["id"] == 2
    page.open(0)
    page.stroke([(12.5, 18.5)], number=107, confirm=False)
    assert page.until(lambda m: m["type"] == "item" and m["item"] == 0)["state"] == "started"


def test_files_of_others_are_not_replaced(served, connect, chosen, tmp_path):
    page = connect(served())
    page.open()
    page.draw()
    (tmp_path / "out").mkdir(exist_ok=True)
    theirs = tmp_path / "out" / "photo-mask.png"
    theirs.write_bytes(b"theirs")
    page.say("save", item=0, kinds=["mask"])
    assert "already exists" in page.until(lambda m: m["type"] in ("saved", "error"))["text"]
    assert theirs.read_bytes() == b"theirs"


def test_the_cut_out_is_that_of_the_file(served, connect, tmp_path):
    client = served()
    page = connect(client)
    page.open()
    page.draw()
    answer = client.get(f"/{client.server.token}/cutout/0")
    assert answer.headers["content-type"] == "image/png"
    page.say("save", item=0, kinds=["cutout"])
    page.until(lambda m: m["type"] == "saved")
    assert answer.content == (tmp_path / "out" / "photo-cutout.png").read_bytes()
