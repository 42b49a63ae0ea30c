"""The app's server in the test's process, and a page that speaks its protocol."""

import json
import queue
import threading
from argparse import Namespace

import numpy as np
import pytest
from PIL import Image, ImageDraw

pytest.importorskip("starlette", reason="needs the extra 'app'")
pytest.importorskip("httpx2", reason="needs the extra 'test'")

from apps.app.image_sources import Source
from apps.app.server import PageServer
from tests.apps.app.page_messages import decode_mask, stroke_of

PORT = 8765
SECONDS = 30  # for one answer; machines may be busy


class Page:
    """A page of the server: what it has been told, as the real one would know it."""

    def __init__(self, send, receive):
        self._send, self._news = send, queue.Queue()
        self.said = {}
        self.labels, self.strokes = None, {}
        threading.Thread(target=self._read, args=(receive,), daemon=True).start()

    def _read(self, receive):
        try:
            while True:
                self._news.put(receive())
        except Exception as error:  # closed
            self._news.put(error)

    def until(self, wanted):
        """Read messages until wanted(message) of a text message; return it."""
        while True:
            data = self._news.get(timeout=SECONDS)
            if isinstance(data, Exception):
                raise data
            if isinstance(data, bytes):
                decode_mask(data, self.labels)
                continue
            message = json.loads(data)
            if message["type"] == "stroke":
                self.strokes[message["key"]] = message
            self.said[message["type"]] = message
            if wanted(message):
                return message

    def say(self, do, **arguments):
        self._send(json.dumps({"do": do} | arguments))

    def open(self, item=0, look=(-1, 0)):
        self.say("open", item=item)
        about = self.until(lambda m: m["type"] == "document" and m["item"] == item)
        shape = [n for axis, n in enumerate(about["shape"]) if axis != look[0]]
        self.labels = np.zeros(shape, np.uint16)
        self.strokes = {}
        self.say("slice", item=item, axis=look[0], index=look[1])
        self.until(lambda m: m["type"] == "state" and m["item"] == item)
        return about

    def stroke(self, points, label=1, radius=1.5, item=0, number=1, place=(None, None), confirm=True, final=True):
        self.say(**stroke_of(points, label, radius, item, number, place, final))
        if confirm:
            self.until(lambda m: m["type"] in ("confirmed", "error") and m.get("number") == number)

    def draw(self, item=0):
        """Strokes that find the disc of the scene."""
        self.stroke([(10.5, 16.5), (19.5, 16.5)], 1, number=101, item=item)
        self.stroke([(2.5, 2.5), (29.5, 2.5)], 0, number=102, item=item)
        self.stroke([(2.5, 30.5), (29.5, 30.5)], 0, number=103, item=item)
        return self.settled()

    def settled(self):
        """Read until the state last seen is that of a certified cut, and its labels have arrived."""
        state = self.said.get("state")
        if state is None or state["pending"] or not state["certified"]:
            state = self.until(lambda m: m["type"] == "state" and not m["pending"] and m["certified"])
        self.say("slice", item=state["item"], axis=9, index=0)  # refused, after all that is under way
        self.until(lambda m: m["type"] == "error" and "no slice" in m["text"])
        return state


@pytest.fixture
def chosen(tmp_path):
    return Namespace(out=str(tmp_path / "out"), overwrite=False, device="cpu", classes={})


@pytest.fixture
def served(files, chosen):
    """function(sources) -> a client of a server with these images; by default the scene."""
    from starlette.testclient import TestClient

    clients = []

    def start(*sources, for_programs=False):
        server = PageServer(list(sources) or [Source("photo", files / "photo.png")], chosen, PORT, for_programs)
        client = TestClient(server, base_url=f"http://127.0.0.1:{PORT}")
        client.server = server
        client.__enter__()
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def connect():
    """function(client) -> a page, which is closed at the end."""
    sockets = []

    def start(client):
        address = f"ws://127.0.0.1:{PORT}/{client.server.token}/socket"
        socket = client.websocket_connect(address, headers={"origin": f"http://127.0.0.1:{PORT}"})
        socket.__enter__()
        sockets.append(socket)

        def receive():
            message = socket.receive()
            if message["type"] == "websocket.close":
                raise ConnectionError(message.get("code"))
            return message.get("bytes") if message.get("bytes") is not None else message["text"]

        page = Page(socket.send_text, receive)
        page.socket = socket
        page.until(lambda m: m["type"] == "hello")
        return page

    yield start
    for socket in sockets:
        socket.__exit__(None, None, None)


@pytest.fixture
def start(tmp_path):
    """function(*arguments) -> a process that serves these; killed at the end. Its folder of results is tmp_path/out."""
    from tests.apps.app.app_process import AppProcess

    started = []

    def run(*arguments):
        started.append(AppProcess(tmp_path, *arguments, "--out", tmp_path / "out"))
        return started[-1]

    yield run
    for server in started:
        server.close()


@pytest.fixture
def photographs(tmp_path):
    """A folder with two photographs in a folder `in`."""
    from skimage import data

    (tmp_path / "in").mkdir()
    Image.fromarray(data.astronaut()).save(tmp_path / "in" / "astronaut.png")
    Image.fromarray(data.chelsea()).save(tmp_path / "in" / "chelsea.png")
    return tmp_path


@pytest.fixture
def browse(tmp_path):
    """function(*arguments) -> a browser with the page of a server that was started with these arguments.

    It has opened the first image, unless ready=False is passed.
    """
    from tests.apps.app.browser_page import Browser

    opened = []

    def start(*arguments, **settings):
        opened.append(Browser(tmp_path, *arguments, **settings))
        return opened[-1]

    yield start
    assert [error for one in opened for error in one.close()] == []


@pytest.fixture
def cells(tmp_path):
    """A folder with an image of equal discs on a plain ground."""
    from tests.apps.app.browser_page import PLACES

    rng = np.random.default_rng(0)
    drawing = Image.new("L", (420, 320), 90)
    for x, y in PLACES:
        ImageDraw.Draw(drawing).ellipse((x - 30, y - 30, x + 30, y + 30), fill=170)
    values = np.array(drawing)[..., None] + rng.normal(0, 8, (320, 420, 3))
    Image.fromarray(np.uint8(np.clip(values, 0, 255))).save(tmp_path / "cells.png")
    return tmp_path
