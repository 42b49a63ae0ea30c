"""Several pages on one server: one tab draws on an image, and uploads at the same time."""

import asyncio
import sys
from argparse import Namespace

import cv2
import numpy as np
import pytest

pytest.importorskip("starlette", reason="needs the extra 'app'")

from apps.app.image_sources import Source
from apps.app.live import Live

PNG = cv2.imencode(".png", np.zeros((40, 56, 3), np.uint8))[1].tobytes()


@pytest.fixture
def client(served, files):
    """A server with two images."""
    return served(Source("photo", files / "photo.png"), Source("truth", files / "truth.png"))


def begun(page):
    """A page that draws a fourth stroke."""
    page.open()
    page.draw()
    page.stroke([(8, 14), (9, 15)], radius=1.0, number=300, final=False, confirm=False)
    page.until(lambda m: m["type"] == "state" and len(m["order"]) == 4)
    return page


def test_a_second_tab_takes_an_image_over(client, connect):
    """The first one is told, its stroke ends, and it changes nothing until it takes the image back.

    A stroke of which it does not know that it had arrived is then sent again, and counts once.
    """
    first, second = begun(connect(client)), connect(client)
    second.open()
    assert first.until(lambda m: m["type"] == "taken")["item"] == 0
    second.until(lambda m: m["type"] == "state" and len(m["order"]) == 5)  # the part, and the point that ends it
    first.stroke([(9, 15), (10, 16)], number=300, confirm=False)
    assert "not open" in first.until(lambda m: m["type"] == "error")["text"]
    second.stroke([(1.5, 25.5)], 0, number=7)
    assert len(second.until(lambda m: m["type"] == "state" and not m["pending"])["order"]) == 6
    first.open()
    second.until(lambda m: m["type"] == "taken")
    first.stroke([(1.5, 28.5)], 0, number=301)
    first.stroke([(2.5, 2.5), (29.5, 2.5)], 0, number=102)  # again
    assert len(first.said["state"]["order"]) == 7


@pytest.mark.parametrize("leave", ["open again", "open another", "close"])
def test_a_tab_that_leaves_ends_its_stroke(client, connect, leave):
    page = begun(connect(client))
    if leave == "close":
        page.socket.close()
        page = connect(client)
    elif leave == "open another":
        page.open(1)
    page.open(0)
    page.stroke([(1.5, 25.5)], 0, number=7)
    assert len(page.said["state"]["order"]) == 6
    page.say("save", item=0, kinds=["mask"])
    page.until(lambda m: m["type"] == "saved")


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
        images = Live([], Namespace(out="o", overwrite=False, device="cpu", classes={}))
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
