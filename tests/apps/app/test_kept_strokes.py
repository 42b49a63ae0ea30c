"""Strokes on disk: a server that is killed, full disks, other programs, and the results beside them."""

import shutil
import signal

import cv2
import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'app'")
pytest.importorskip("websockets", reason="needs the extra 'app'")

from apps.app import saved_results
from apps.app.image_sources import Source
from apps.session.store import state_in
from tests.apps.app.app_process import TIMEOUT


def error_of(page, do, **arguments):
    page.say(do, item=0, **arguments)
    return page.until(lambda m: m["type"] == "error")["text"]


def copied(folder, to):
    """A copy of all files, as a process that is killed leaves them."""
    shutil.rmtree(to, ignore_errors=True)
    return shutil.copytree(folder, to)


@pytest.fixture
def photo(tmp_path):
    path, rng = tmp_path / "a.png", np.random.default_rng(0)
    cv2.imwrite(str(path), rng.integers(0, 255, (60, 80, 3), dtype=np.uint8))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.thorough)])
def test_a_killed_server_loses_no_confirmed_stroke(start, photo, kills):
    rng, confirmed = np.random.default_rng(0), 0
    for _ in range(kills):
        server = start(photo)
        page = server.page(None)
        order = page.open()["order"]
        assert confirmed <= len(order) <= confirmed + 1
        confirmed = len(order)
        for _ in range(rng.integers(1, 8)):
            page.stroke(rng.random((9, 2)) * (80, 60), int(rng.integers(3)))
            confirmed += 1
        page.stroke(rng.random((9, 2)) * (80, 60), 1, wait=False)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(TIMEOUT)
        server.close()
    assert confirmed <= len(start(photo).page(None).open()["order"]) <= confirmed + 1


@pytest.mark.slow
def test_a_full_disk_refuses_strokes_and_loses_none(start, photo):
    resource = pytest.importorskip("resource", reason="needs limits of Unix")
    server = start(photo)
    page = server.page()
    page.stroke([(10, 10), (20, 10)])
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, -1))
    page.stroke([(30, 30), (32, 30)], final=False)
    page.stroke([(32, 30), (40, 30)], wait=False)
    assert "cannot write" in page.until("error")["text"]
    assert len(page.until("state")["order"]) == 1
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (-1, -1))
    page.stroke([(10, 50), (20, 50)], 0)
    server.process.kill()
    server.process.wait(TIMEOUT)
    assert len(start(photo).page(None).open()["order"]) == 2


def test_an_image_is_open_once(served, connect):
    connect(served()).open()
    second = connect(served())
    second.say("open", item=0)
    text = second.until(lambda m: m["type"] == "unreadable")["text"]
    assert "in use by another process" in text
    assert "\n" not in text


def test_results_of_a_session_that_is_continued_are_replaced(served, connect, files, monkeypatch):
    """Those beside a new session are not: another program wrote them."""
    monkeypatch.setattr(saved_results, "_own_files", set())
    page = connect(served(*(Source(name, files / "photo.png") for name in "abcd")))
    page.open()
    page.draw()
    path = files / "out" / "a-mask.png"
    path.write_bytes(b"mine")
    assert "already exists; choose another folder" in error_of(page, "save", kinds=["mask"])
    assert path.read_bytes() == b"mine"
    for item in (1, 2, 3, 0):  # others make the first one be closed
        page.open(item)
    page.say("save", item=0, kinds=["mask"])
    page.until(lambda m: m["type"] == "saved")
    assert path.read_bytes() != b"mine"
    page.until(lambda m: m["type"] == "item" and m["state"] == "done")
    for item in (1, 2, 3):
        page.open(item)
    assert state_in(files / "out" / "a-session.sqlite") == "done"


def test_an_image_of_the_page_is_never_replaced(served, connect, files, chosen):
    (files / "out").mkdir()
    other = shutil.copy(files / "truth.png", files / "out" / "photo-mask.png")
    before, chosen.overwrite = (files / "truth.png").read_bytes(), True
    page = connect(served(Source("photo", files / "photo.png"), Source("photo-mask", files / "out" / "photo-mask.png")))
    page.open()
    page.draw()
    assert "is one of the images; choose another folder" in error_of(page, "save", kinds=["mask"])
    assert other.read_bytes() == before
