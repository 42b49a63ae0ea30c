"""Several pages on one server: tabs that leave, close or stall in mid-stroke, and uploads at the same time."""

import asyncio
import sys
from argparse import Namespace

import cv2
import numpy as np
import pytest

pytest.importorskip("starlette", reason="needs the extra 'app'")

from apps.app.image_sources import Source
from apps.app.messages import encode_stroke
from apps.app.open_images import OpenImages

PNG = cv2.imencode(".png", np.zeros((40, 56, 3), np.uint8))[1].tobytes()


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
