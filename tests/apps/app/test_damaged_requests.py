"""Damaged requests, and pages that do not read: the owner's page goes on, and the log stays small."""

import urllib.error
import urllib.parse
import urllib.request

import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'app'")
pytest.importorskip("websockets", reason="needs the extra 'app'")

from tests.apps.app.app_process import TIMEOUT

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


def status_of(address, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=TIMEOUT) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_all_addresses_of_this_machine(files, start):
    """A short address, which works once, leads to the page; another name and another token do not."""
    server = start(files / "photo.png", "--host", "0.0.0.0")
    once = [server.process.stdout.readline() for _ in range(2)][1].split()[-1]
    own = server.address.replace(server.address.split("/")[2], f"127.0.0.1:{server.port}")
    assert [status_of(one) for one in (server.address, own, once, once)] == [200, 200, 200, 403]
    assert status_of(server.address, host=f"example.com:{server.port}") == 400
    assert status_of(server.address.rsplit("/", 2)[0] + "/" + "x" * 32 + "/") == 403


def test_malformed_requests_are_not_logged(files, start):
    server = start(files / "photo.png")
    page = server.page()
    for data in MALFORMED:
        connection = server.connection()
        connection.sendall(data)
    page.web.send("\ud800".encode("utf-8", "surrogatepass"), text=True)
    with pytest.raises(Exception, match="1007"):
        page.until("nothing")
    server.page().stroke([(10.5, 16.5), (19.5, 16.5)])
    assert server.errors.read_text() == ""
