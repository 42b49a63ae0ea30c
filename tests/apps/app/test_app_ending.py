"""Ctrl-C ends the server soon, whatever it does, and the next run finds every confirmed stroke."""

import signal
import time

import cv2
import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'app'")
pytest.importorskip("websockets", reason="needs the extra 'app'")

from tests.apps.app.app_process import AppProcess
from tests.tiers import in_quick_tier

SECONDS = 2.0
SLACK = 1.5  # machines with two cores that run other tests
STROKES = [([(100, 60), (140, 80)], 1), ([(10, 10), (10, 200)], 0), ([(290, 10), (290, 200)], 0)]


@pytest.fixture
def start(tmp_path):
    """function(*arguments) -> a server whose folder of results is tmp_path/out."""
    started = []
    rng = np.random.default_rng(0)
    cv2.imwrite(str(tmp_path / "a.png"), rng.integers(0, 255, (220, 300, 3), dtype=np.uint8))

    def run(*arguments, **settings):
        server = AppProcess(tmp_path, *(arguments or [tmp_path / "a.png"]), "--out", tmp_path / "out", **settings)
        started.append(server)
        return server

    yield run
    for server in started:
        server.close()


def with_strokes(server, strokes=STROKES):
    page = server.page()
    for points, label in strokes:
        page.stroke(points, label)
    return page


def busy(page, labels=(0, 1, 2) * 20):
    """Strokes that take seconds together: the page stays open."""
    points = np.random.default_rng(1).random((20_000, 2)) * (300, 220)
    for label in labels:
        page.stroke(points, label, radius=256.0, wait=False)
    time.sleep(0.3)


def check_end(server, seconds=SECONDS, status=130, signals=1):
    start = server.interrupt()
    for _ in range(signals - 1):
        time.sleep(0.2)
        start = server.interrupt()
    ended, duration = server.ended(start)
    errors = server.errors.read_text()
    # The second may arrive when Python is about to exit; shells show that as 130, too.
    assert ended == status or (signals == 2 and ended == -signal.SIGINT), errors
    assert duration < seconds + SLACK
    assert errors.count("\n") == 1, errors
    return errors


def check_kept(start, tmp_path, strokes=STROKES):
    state = start().page(None).open()
    assert len(state["order"]) >= len(strokes)
    assert not list((tmp_path / "out").rglob("*.part"))


def idle(server, tmp_path):
    with_strokes(server)


def just_drawn(server, tmp_path):
    page = with_strokes(server)
    page.stroke([(50, 50), (60, 60)], 1, wait=False)


def in_a_long_stroke(server, tmp_path):
    busy(with_strokes(server))


def in_mid_stroke(server, tmp_path):
    page = with_strokes(server)
    page.stroke([(50, 50), (60, 60)], 1, final=False)
    page.until("state")


def beside_clients_that_stall(server, tmp_path):
    with_strokes(server)
    server.page().stroke([(50, 50), (60, 60)], 1, wait=False)  # reads nothing further
    for _ in range(3):
        server.connection().sendall(b"GET / HTTP/1.1\r\n")
        server.request("GET image/0")
        server.request("POST images?name=a.png", b"some")
    time.sleep(0.3)


def in_an_upload(server, tmp_path):
    with_strokes(server)
    data = cv2.imencode(".png", np.zeros((9000, 9000), np.uint8), [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()
    connection = server.connection()
    token = server.address.split("/")[3]
    host = f"127.0.0.1:{server.port}"
    head = f"POST /{token}/images?name=b.png HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\n"
    connection.sendall(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)
    time.sleep(0.2)


STATES = [idle, just_drawn, in_a_long_stroke, in_mid_stroke, beside_clients_that_stall, in_an_upload]
QUICK = (in_a_long_stroke, beside_clients_that_stall)


@pytest.mark.parametrize("state", in_quick_tier(STATES, QUICK.__contains__), ids=lambda state: state.__name__)
@pytest.mark.parametrize("signals", [1, 2])
def test_the_server_ends(start, tmp_path, state, signals):
    server = start()
    state(server, tmp_path)
    check_end(server, seconds=SECONDS if signals == 1 else 0.5, signals=signals)
    check_kept(start, tmp_path)
