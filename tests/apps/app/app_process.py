"""`cutmatch app` as a process, and pages that are connected to it."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from websockets.sync.client import connect

from tests.apps.app.page_messages import stroke_of

TIMEOUT = 60


class AppProcess:
    """A server.

    address   of the page
    errors    file with its standard error
    """

    def __init__(self, folder: Path, *arguments, **settings):
        self.errors = folder / "errors.txt"
        command = [sys.executable, "-m", "apps.cli", "app", *map(str, arguments), "--device", "cpu", "--no-browser"]
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, **settings)
        self.address = self.process.stdout.readline().split()[-1]
        self.port = int(self.address.split(":")[2].split("/")[0])
        self._stack = contextlib.ExitStack()

    def page(self, item: int | None = 0) -> "ProcessPage":
        """A page that shows an image."""
        origin = f"http://127.0.0.1:{self.port}"
        web = self._stack.enter_context(connect(f"ws{self.address[4:]}socket", origin=origin, max_size=None))
        page = ProcessPage(web)
        if item is not None:
            page.open(item)
        return page

    def connection(self) -> socket.socket:
        """A connection on which nothing was sent."""
        return self._stack.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT))

    def request(self, head: str, body: bytes = b"") -> socket.socket:
        """A connection with the start of a request below the token."""
        connection = self.connection()
        method, path = head.split(" ", 1)
        path = self.address[len(f"http://127.0.0.1:{self.port}") :] + path
        origin = f"http://127.0.0.1:{self.port}"
        lines = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\norigin: {origin}\r\n"
        length = b"content-length: 100000000\r\n" if method == "POST" else b""
        connection.sendall(lines.encode() + length + b"\r\n" + body)
        return connection

    def interrupt(self, number=signal.SIGINT) -> float:
        """Send a signal; return the time at which it was sent."""
        start = time.monotonic()
        self.process.send_signal(number)
        return start

    def ended(self, start: float) -> tuple[int, float]:
        """Wait for the end of the process; return its status, and the seconds since `start`."""
        return self.process.wait(TIMEOUT), time.monotonic() - start

    def close(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait(TIMEOUT)
        self.process.stdout.close()
        with contextlib.suppress(OSError, EOFError):
            self._stack.close()


class ProcessPage:
    """A page's socket."""

    def __init__(self, web):
        self.web, self.numbers = web, 0
        self.until("hello")

    def say(self, do, **arguments):
        self.web.send(json.dumps({"do": do} | arguments))

    def until(self, *kinds, seconds=TIMEOUT) -> dict:
        """Read until a message of one of these kinds."""
        end = time.monotonic() + seconds
        while True:
            data = self.web.recv(timeout=max(0.0, end - time.monotonic()))
            if isinstance(data, str) and (message := json.loads(data))["type"] in kinds:
                return message

    def open(self, item=0) -> dict:
        """Open an image; return its state."""
        self.say("open", item=item)
        self.until("document")
        return self.until("state")

    def stroke(self, points, label=1, radius=3.0, item=0, final=True, wait=True, place=(None, None)):
        """Send a stroke, and wait until it is confirmed."""
        self.numbers += 1
        self.say(**stroke_of(points, label, radius, item, self.numbers, place, final))
        if final and wait:
            message = self.until("confirmed", "error")
            assert message["type"] == "confirmed", message
