"""Several pages on one server: tabs that leave, close or stall in mid-stroke, and uploads at the same time."""

import asyncio
import json
import sys
import threading
from argparse import Namespace
from pathlib import Path

import cv2
import numpy as np
import pytest

pytest.importorskip("starlette", reason="needs the extra 'app'")

from apps.app.image_sources import Source
from apps.app.messages import encode_stroke
from apps.app.open_images import OpenImages

PNG = cv2.imencode(".png", np.zeros((40, 56, 3), np.uint8))[1].tobytes()
PORT = 8765


def part(number, points, item=0, label=1):
    """A part of a stroke that is being drawn."""
    data = bytearray(encode_stroke(item, number, points, 1.0, label, None, None))
    data[1] = 0
    return bytes(data)


@pytest.fixture
def pair(served, connect, files):
    """Two pages that show the first of two images."""
    client = served(Source("photo", files / "photo.png"), Source("truth", files / "truth.png"))
    pages = connect(client), connect(client)
    for page in pages:
        page.open()
    pages[0].draw()
    return pages


def is_confirmed(message):
    return message["type"] == "confirmed"


def begin_stroke(page):
    page.send(part(300, [(8, 14), (9, 15)]))
    page.until(lambda m: m["type"] == "state" and len(m["order"]) == 4)


@pytest.mark.parametrize("again", [False, True])
def test_a_tab_that_shows_another_image_ends_its_stroke(pair, again):
    first, second = pair
    begin_stroke(first)
    first.say("open", item=0 if again else 1)
    second.stroke([(1.5, 25.5)], 0, number=7, confirm=False)
    second.until(is_confirmed)
    assert len(second.said["state"]["order"]) == 6  # the part, the point that ends it, and the new stroke
    second.say("save", item=0, kinds=["mask"])
    second.until(lambda m: m["type"] == "saved")


def test_a_stroke_that_waited_does_not_outlive_its_tab(pair):
    """Its page was closed before the stroke of another one let it begin."""
    first, second = pair
    begin_stroke(first)
    second.send(part(301, [(20, 14), (21, 15)]))
    second.say("slice", item=0, axis=9, index=0)
    second.until(lambda m: m["type"] == "error" and "no slice" in m["text"])
    second.socket.close()
    first.stroke([(9, 15), (10, 16)], number=300)
    first.stroke([(1.5, 25.5)], 0, number=302, confirm=False)
    first.until(lambda m: is_confirmed(m) and m["number"] == 302)
    # Three strokes; the first tab's part and its end; the stroke that waited and the point that ended it; the last one.
    assert len(first.said["state"]["order"]) == 8


def test_a_stroke_that_stalls_ends_when_others_wait(pair, monkeypatch):
    monkeypatch.setattr("apps.app.open_image.STALL_DELAY", 0.5)
    first, second = pair
    begin_stroke(first)
    second.stroke([(1.5, 25.5)], 0, number=7)
    assert len(second.said["state"]["order"]) == 6
    first.stroke([(9, 15), (10, 16)], number=300)  # the page goes on, and nothing of its stroke is lost
    second.until(lambda m: m["type"] == "state" and len(m["order"]) == 7)


def test_a_stroke_goes_on_while_its_parts_arrive(pair, monkeypatch):
    monkeypatch.setattr("apps.app.open_image.STALL_DELAY", 0.5)
    first, second = pair
    begin_stroke(first)
    second.stroke([(1.5, 25.5)], 0, number=7, confirm=False)
    ticks = threading.Event()
    for k in range(10):
        first.send(part(300, [(9 + k, 15), (10 + k, 15)]))
        ticks.wait(0.15)
    assert "confirmed" not in second.said
    first.stroke([(19, 15), (20, 16)], number=300)
    second.until(is_confirmed)


def test_what_is_confirmed_is_in_the_journal(served, connect, tmp_path):
    page = connect(served())
    page.open()
    journal = tmp_path / "out" / ".cutmatch" / "app" / "photo.journal"
    for number in range(20):
        page.stroke([(2.5, 2.5 + number), (4.5, 2.5 + number)], number % 2, number=number)
        lines = journal.read_text().splitlines()
        assert sum(len(json.loads(line)["added"]) for line in lines[1:]) == number + 1


def test_an_image_goes_on_after_its_answers_failed_for_a_while(served, connect, monkeypatch):
    """Neither edits nor the tasks that show and close it end with the error."""
    from apps.session.image_answers import ImageAnswers

    def answer(self, records):
        raise MemoryError

    page = connect(served())
    page.open()
    page.draw()
    with monkeypatch.context() as patch:
        patch.setattr(ImageAnswers, "_answer", answer)
        page.stroke([(5.5, 5.5)], 0, number=7)
        assert "out of memory" in page.said["error"]["text"]
    page.stroke([(5.5, 25.5)], 0, number=8)
    page.until(lambda m: m["type"] == "state" and len(m["order"]) == 4)


@pytest.fixture
def quick_switches():
    """Threads switch as often as in the server."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    yield
    sys.setswitchinterval(before)


def added(uploads, limit=None):
    """Numbers of images uploaded at the same time, and all images."""

    async def run():
        images = OpenImages([], Namespace(out="o", overwrite=False, device="cpu"))
        adding = (images.add_upload("same.png", PNG) for _ in range(uploads))
        numbers = await asyncio.gather(*adding, return_exceptions=True)
        images.stop_edits()
        return numbers, images

    return asyncio.run(run())


@pytest.mark.parametrize("_", range(5))
def test_uploads_at_the_same_time_have_their_own_numbers_and_names(quick_switches, _):
    numbers, images = added(60)
    assert sorted(numbers) == list(range(60))
    assert len({source.name for source in images.sources}) == 60


def test_uploads_at_the_same_time_keep_the_limit(quick_switches, monkeypatch):
    monkeypatch.setattr("apps.app.open_images.MAX_UPLOADS", 10 * len(PNG))
    numbers, images = added(60)
    assert len(images.sources) == 10
    assert sum(isinstance(number, int) for number in numbers) == 10


def test_an_upload_is_decoded_once(served, connect, monkeypatch):
    from apps.app import image_sources
    from apps.common import images

    calls, decode = [], image_sources.decode
    for module in (image_sources, images):  # of an image, of a mask
        monkeypatch.setattr(module, "decode", lambda *data: calls.append(1) or decode(*data))
    mask = cv2.imencode(".png", np.uint8(255) * np.eye(40, 56, dtype=np.uint8))[1].tobytes()
    client = served()
    page = connect(client)
    page.open()
    before = len(calls)
    headers = {"origin": f"http://127.0.0.1:{PORT}"}
    assert client.post(f"/{client.guard.token}/images?name=a.png", content=PNG, headers=headers).json()["item"] == 1
    assert page.open(1)["shape"] == [40, 56]
    assert client.post(f"/{client.guard.token}/hint/start/1", content=mask, headers=headers).status_code == 204
    assert len(calls) == before + 2
    answer = client.post(f"/{client.guard.token}/hint/start/1", content=PNG, headers=headers)
    assert (answer.status_code, "marks no object" in answer.text) == (400, True)


def test_images_are_listed_while_others_arrive(quick_switches):
    images = OpenImages([], Namespace(out="o", overwrite=False, device="cpu"))

    def upload():
        for number in range(500):
            images.sources.append(Source(f"n{number}", Path("n.png"), PNG))

    thread = threading.Thread(target=upload)
    thread.start()
    while len(items := images.items()) < 500:
        assert all(item["state"] == "new" for item in items)
    thread.join()
    images.stop_edits()
