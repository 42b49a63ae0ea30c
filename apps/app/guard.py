"""Who may use the server: requests to its address that know the token, and pages of the server itself.

    Host     must be this server's address, or a page of another name that points here (DNS rebinding) could ask
    token    the first part of every path; compared in constant time
    Origin   if there is one, must be this server's; the socket requires it, and uploads, too, unless other programs may
             use the server

The address given to the browser works once and leads to the one with the token, as all users of a machine can see the
arguments of its processes.  So does a short one, which can be typed on a telephone.
"""

import hmac
import secrets

from apps.app import HOST
from apps.app.open_images import OpenImages

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self' {socket}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """ASGI application that passes permitted requests to another one, without the token in the path."""

    def __init__(
        self, app, port: int, images: OpenImages, for_programs: bool = False, token: str | None = None, host: str = HOST
    ):
        self._app, self.images, self._for_programs = app, images, for_programs
        self.token = token or secrets.token_urlsafe(24)
        # Nobody can try many of 2**40 codes at a server that answers some thousand requests in a second.
        self._once: str | None = secrets.token_urlsafe(24) if host == HOST else secrets.token_hex(5)
        self._start = f"http://{host}:{port}"
        hosts = {host, HOST, "localhost"}
        self._hosts = {f"{one}:{port}" for one in hosts} | (hosts if port == 80 else set())

    @property
    def address(self) -> str:
        """Address of the page."""
        return f"{self._start}/{self.token}/"

    @property
    def first_address(self) -> str:
        """Address of the page that works once."""
        return f"{self._start}/open/{self._once}"

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers: dict = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        path = scope["path"]
        if not self._is_own(headers):
            await refuse(scope, receive, send, 403, "this server answers pages of its own address only")
        elif self._once is not None and _same(path, f"/open/{self._once}") and scope["type"] == "http":
            self._once = None
            await _respond(send, 303, b"", {"location": f"/{self.token}/"})
        elif not _same(path.split("/")[1] if "/" in path else "", self.token):
            await refuse(
                scope, receive, send, 403, "the address lacks the token; use the one that cutmatch app printed"
            )
        elif not self._has_origin(scope, headers):
            await refuse(scope, receive, send, 403, "the request comes from a page of another address")
        elif path == f"/{self.token}":
            await _respond(send, 307, b"", {"location": f"/{self.token}/"})
        else:
            inner = path[len(self.token) + 1 :]
            await self._app(
                dict(scope, path=inner, raw_path=inner.encode(), root_path=""),
                receive,
                self._with_headers(send, headers),
            )

    def _is_own(self, headers) -> bool:
        return len(headers.get("host", ())) == 1 and headers["host"][0].lower() in self._hosts

    def _has_origin(self, scope, headers) -> bool:
        """Whether the request comes from this server's own page, or from no page where that is permitted."""
        origins = headers.get("origin", [])
        if not origins:
            # Browsers name the origin of every other request, so a program has sent this one.
            return scope["type"] == "http" and (self._for_programs or scope["method"] in ("GET", "HEAD"))
        return [origin.lower() for origin in origins] == [f"http://{headers['host'][0].lower()}"]

    def _with_headers(self, send, headers):
        socket = f"ws://{headers['host'][0].lower()}"
        extra = [(name.encode(), value.format(socket=socket).encode()) for name, value in HEADERS.items()]

        async def send_with_headers(message):
            if message["type"] == "http.response.start":
                message = dict(message, headers=[*message["headers"], *extra])
            await send(message)

        return send_with_headers


async def refuse(scope, receive, send, status: int, text: str) -> None:
    """Answer a request, or the opening of a socket, with an error."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": text})
    else:
        await _respond(send, status, text.encode(), {"content-type": "text/plain; charset=utf-8"})


async def _respond(send, status: int, body: bytes, headers: dict[str, str]) -> None:
    fixed = {name: value for name, value in HEADERS.items() if name != "content-security-policy"}
    fixed |= {"content-security-policy": "default-src 'none'", "content-length": str(len(body))}
    encoded = [(name.encode(), value.encode()) for name, value in (fixed | headers).items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
