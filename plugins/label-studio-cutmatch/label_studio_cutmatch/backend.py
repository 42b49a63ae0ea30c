"""The server that Label Studio asks.  Its address contains the token of `cutmatch app --api`, whose address it gets.

Label Studio posts to `predict`; it also asks `health`, `setup`, `versions` and `webhook`, which get a fixed answer.
"""

import argparse
import hmac
import json
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from label_studio_cutmatch.masks import Refused, find_mask
from label_studio_cutmatch.predictions import VERSION, predict

ABOUT = {"status": "UP", "model_class": "cutmatch", "model_version": VERSION, "versions": [VERSION]}
ADDRESSES = ("health", "setup", "versions", "webhook")  # answered with ABOUT
MAX_REQUEST = 32 << 20  # bytes
SECONDS = 60.0  # without a further part of a request


class Handler(BaseHTTPRequestHandler):
    """Answers a request; `token` and `answer`, a function of the object that was posted, are set by `make_server`."""

    timeout = SECONDS
    token = ""
    answer = staticmethod(dict)

    def do_GET(self):
        self._respond(None)

    def do_POST(self):
        size = self.headers.get("content-length", "")
        if not size.isdecimal() or int(size) > MAX_REQUEST:
            self.close_connection = True
            self._send(413, {"error": f"a request has a content-length of at most {MAX_REQUEST >> 20} MiB"})
        else:
            self._respond(self.rfile.read(int(size)))

    def log_message(self, format, *arguments):
        """Requests are not logged: their addresses contain the token."""

    def _respond(self, data: bytes | None) -> None:
        token, _, name = urlsplit(self.path).path.lstrip("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            self._send(403, {"error": "the address lacks the token; use the one that label-studio-cutmatch printed"})
        elif name in ADDRESSES:
            self._send(200, ABOUT)
        elif name != "predict" or data is None:
            self._send(404, {"error": "no such address"})
        else:
            try:
                self._send(200, self.answer(_parsed(data)))
            except Refused as error:
                self._send(400, {"error": str(error)})

    def _send(self, status: int, answer: dict) -> None:
        content = json.dumps(answer).encode()  # ASCII, as names may hold half surrogates
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _parsed(data: bytes):
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Refused("the request is not JSON") from None


def make_server(address: str, folder: Path, port: int) -> ThreadingHTTPServer:
    """A server at a port of this machine, 0 for any, that asks the one at `address`; images are those of `folder`."""
    token = urlsplit(address).path.strip("/")
    answer = partial(predict, folder=folder, find=partial(find_mask, address))
    handler = type("Handler", (Handler,), {"token": token, "answer": staticmethod(answer)})
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


def main(argv: list[str] | None = None) -> None:
    """Serve until Ctrl-C."""
    options = argparse.ArgumentParser("label-studio-cutmatch", description="an ML backend of Label Studio")
    options.add_argument("address", help="address that cutmatch app --api printed")
    options.add_argument("folder", type=Path, help="folder of the project's images")
    options.add_argument("--port", type=int, default=9090, help="port of the backend (default: %(default)s)")
    chosen = options.parse_args(argv)
    if not urlsplit(chosen.address).path.strip("/"):
        options.error(f"the address {chosen.address!r} has no token; use the one that cutmatch app --api printed")
    if not chosen.folder.is_dir():
        options.error(f"{str(chosen.folder)!r} is no folder")
    try:
        server = make_server(chosen.address, chosen.folder, chosen.port)
    except OSError as error:
        options.error(f"cannot serve at --port {chosen.port} ({error.strerror}); choose another")
    print(f"http://127.0.0.1:{server.server_port}/{server.RequestHandlerClass.token}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
