"""Damaged requests, and pages that do not read: the owner's page goes on, and the log stays small."""

import socket
import time
import urllib.error
import urllib.parse
import urllib.request

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'app'")
pytest.importorskip("websockets", reason="needs the extra 'app'")

from tests.apps.app.app_process import TIMEOUT, AppProcess

resource = pytest.importorskip("resource", reason="needs limits of Unix")
MALFORMED = [
    b"\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
    b"GET /" + b"x" * 100_000,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: a\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
    b"GET /socket HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
]


@pytest.fixture
def server(files):
    started = AppProcess(files, files / "photo.png", "--out", files / "out")
    yield started
    started.close()


def is_open(connection):
    connection.setblocking(False)
    try:
        while data := connection.recv(65536):
            del data
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def status_of(address, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=TIMEOUT) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_all_addresses_of_this_machine(files):
    """A short address, which works once, leads to the page; another name and another token do not."""
    server = AppProcess(files, files / "photo.png", "--out", files / "out", "--host", "0.0.0.0")
    try:
        once = [server.process.stdout.readline() for _ in range(2)][1].split()[-1]
        own = server.address.replace(server.address.split("/")[2], f"127.0.0.1:{server.port}")
        assert [status_of(one) for one in (server.address, own, once, once)] == [200, 200, 200, 403]
        assert status_of(server.address, host=f"example.com:{server.port}") == 403
        assert status_of(server.address.rsplit("/", 2)[0] + "/" + "x" * 32 + "/") == 403
    finally:
        server.close()


@pytest.mark.slow
def test_the_log_stays_small_without_descriptors(server):
    """Open connections can use up the descriptors of the process."""
    page = server.page()
    page.stroke([(10.5, 16.5), (19.5, 16.5)])
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (60, 256))
    held = [server.connection() for _ in range(60)]
    time.sleep(2)
    assert server.errors.read_text().count("\n") <= 2
    for connection in held:
        connection.close()
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (256, 256))
    assert status_of(server.address) == 200
    page.stroke([(2.5, 2.5), (29.5, 2.5)], 0, wait=False)
    page.until("confirmed")  # after errors of what ran without descriptors


def test_malformed_requests_are_not_logged(server):
    page = server.page()
    for data in MALFORMED:
        connection = server.connection()
        connection.sendall(data)
    page.web.send("\ud800".encode("utf-8", "surrogatepass"), text=True)
    with pytest.raises(Exception, match="1007"):
        page.until("nothing")
    server.page().stroke([(10.5, 16.5), (19.5, 16.5)])
    assert server.errors.read_text() == ""


@pytest.mark.slow
def test_damaged_addresses(server):
    server.page()
    for path, headers, status in (
        ("", {"origin": "http://["}, 403),
        ("", {"origin": "http://[::1"}, 403),
        ("", {"origin": "http://]"}, 403),
        ("", {"origin": ""}, 403),
        ("", {"origin": "http://127.0.0.1:port"}, 403),
        ("", {"host": "["}, 403),
        ("", {"host": ""}, 403),
        ("image/" + "9" * 5000, {}, 404),
        ("image/" + "9" * 20, {}, 404),
        ("image/-1", {}, 404),
        ("image/1e5", {}, 404),
        ("image/0/0/" + "9" * 5000, {}, 404),
        ("image/0/" + "9" * 5000 + "/0", {}, 404),
        ("image/%D9%A3", {}, 404),
        ("image/7", {}, 400),
        ("static/%00", {}, 404),
        ("static/%ed%a0%80", {}, 404),
        ("%ff%fe", {}, 404),
    ):
        assert status_of(server.address + path, **headers) == status, (path, headers)
        assert server.errors.read_text() == "", (path, headers)


@pytest.mark.thorough
def test_a_page_that_does_not_read_is_closed(server):
    """Its tab would count endlessly."""
    page = server.page()
    stalled = server.connection()
    token = server.address.split("/")[3]
    host = f"127.0.0.1:{server.port}"
    head = f"GET /{token}/socket HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\nupgrade: websocket\r\n"
    key = "connection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stalled.sendall((head + key).encode())
    for _ in range(2000):  # each is answered with an error
        stalled.sendall(b"\x81\x80\0\0\0\0")
    time.sleep(45)
    assert not is_open(stalled)
    page.open()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(20))
def test_random_bytes(server, seed):
    rng = np.random.default_rng(seed)
    page = server.page()
    token = server.address.split("/")[3].encode()
    good = b"GET /" + token + b"/image/0 HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n\r\n" % server.port
    for _ in range(200):
        data = bytearray(good)
        for _ in range(rng.integers(1, 10)):
            data[rng.integers(len(data))] = rng.integers(256)
        server.connection().sendall(bytes(data[: rng.integers(1, len(data) + 1)]))
    page.stroke([(10.5, 16.5), (19.5, 16.5)])
    assert server.errors.read_text() == ""
