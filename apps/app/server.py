"""The server of the page: addresses, who may use them, and the life of the process.

    Host     must be this server's, or a page of another name that points here (DNS rebinding) could ask
    token    the first part of every path
    Origin   if there is one, must be this server's; the socket requires it, and uploads, too, unless other programs may
             use the server

The address given to the browser works once and leads to the one with the token, as all users of a machine can see the
arguments of its processes.  So does a short one, which can be typed on a telephone.
"""

import asyncio
import contextlib
import mimetypes
import secrets
import socket
import sys
from argparse import Namespace
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketClose, WebSocketDisconnect

from apps.app import HOST, MAX_MESSAGE, MAX_REQUEST, MAX_UPLOAD
from apps.app.ending import Ending
from apps.app.image_sources import Source
from apps.app.live import Live
from apps.app.prompts import PromptSessions, decode_file, encode_answer, parse_prompts, read_json
from apps.app.tabs import Tab
from apps.common.errors import InputError, is_defect, reason_of, report_error
from apps.common.writing import encoded_image

STATIC = files("apps.app") / "static"
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self' {socket}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class OwnPages:
    """ASGI middleware that answers this server's own pages, and programs where that is permitted."""

    def __init__(self, app, for_programs: bool):
        self._app, self._for_programs = app, for_programs

    async def __call__(self, scope, receive, send):
        headers = Headers(scope=scope)
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        # Browsers name the origin of all requests but plain ones, so a program has sent one without.
        is_plain = scope["type"] == "http" and (self._for_programs or scope["method"] in ("GET", "HEAD"))
        if not is_plain if origin is None else origin.lower() != f"http://{host}":
            text = "the request comes from a page of another address"
            refusal = PlainTextResponse(text, 403) if scope["type"] == "http" else WebSocketClose(1008, text)
            await refusal(scope, receive, send)
            return

        async def send_with_headers(message):
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update({k: v.format(socket=f"ws://{host}") for k, v in HEADERS.items()})
            await send(message)

        await self._app(scope, receive, send_with_headers)


class PageServer(Starlette):
    """The ASGI application; other programs may use it, too, with `for_programs`.

    live            the images
    token           by default a random one
    address         of the page
    first_address   of the page, which works once
    """

    def __init__(
        self,
        sources: list[Source],
        chosen: Namespace,
        port: int,
        for_programs=False,
        token: str | None = None,
        host=HOST,
    ):
        self.live, self._prompts = Live(sources, chosen), PromptSessions(chosen.device)
        self.token = token or secrets.token_urlsafe(24)
        # 2**40 codes cannot be tried at a server that answers some thousand requests in a second.
        self._once = secrets.token_urlsafe(24) if host == HOST else secrets.token_hex(5)
        self.address = f"http://{host}:{port}/{self.token}/"
        self.first_address = f"http://{host}:{port}/open/{self._once}"
        self._turn = asyncio.Lock()  # of requests of other programs, which wait for it here rather than in a thread
        mimetypes.add_type("text/javascript", ".js")  # whatever other programs of the machine have registered
        own: list[BaseRoute] = [
            Route("/", lambda request: FileResponse(str(STATIC / "index.html"))),
            Mount("/static", StaticFiles(directory=str(STATIC))),
            Route("/image/{item:int}", self._image),
            Route("/image/{item:int}/{axis:int}/{index:int}", self._image),
            Route("/cutout/{item:int}", self._cutout),
            Route("/images", self._upload, methods=["POST"]),
            Route("/sample", self._sample),
            Route("/hint/start/{item:int}", self._start, methods=["POST"]),
            WebSocketRoute("/socket", self._socket),
        ]
        for path in ("/segment", "/segment/{item:int}") if for_programs else ():
            own.append(Route(path, self._segment, methods=["POST"]))
        guards = [
            Middleware(OwnPages, for_programs=for_programs),
            Middleware(ExceptionMiddleware, handlers={Exception: self._explain}),
        ]
        routes = [
            Mount(f"/{self.token}", routes=own, middleware=guards),
            Route(f"/{self.token}", lambda request: RedirectResponse(f"/{self.token}/")),
            Route("/open/{code}", self._first),
            Route("/{path:path}", _refuse, methods=["GET", "POST"]),
        ]
        hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[host, HOST, "localhost"], www_redirect=False)
        super().__init__(routes=routes, middleware=[hosts], lifespan=PageServer._lifespan)

    @contextlib.asynccontextmanager
    async def _lifespan(self):
        self.live.start()
        yield
        await self.live.close()
        self._prompts.close()

    async def _explain(self, request: Request, error: Exception) -> Response:
        """Answer with the reason why a request cannot be answered."""
        if isinstance(error, ClientDisconnect):
            return Response(status_code=400)
        reason, status = _reason_of(error), 500 if is_defect(error) else 400
        is_json = request.scope.get("endpoint") == self._segment
        return JSONResponse({"error": reason}, status) if is_json else PlainTextResponse(reason, status)

    # Requests

    async def _first(self, request: Request) -> Response:
        if not self._once or not secrets.compare_digest(request.path_params["code"].encode(), self._once.encode()):
            return _refuse(request)
        self._once = ""
        return RedirectResponse(f"/{self.token}/", 303)

    async def _image(self, request: Request) -> Response:
        item, *place = request.path_params.values()
        content, kind = await asyncio.to_thread((await self.live.opened(item)).image.content, *place)
        return Response(content, media_type=kind)

    async def _cutout(self, request: Request) -> Response:
        shown = await self.live.opened(request.path_params["item"])
        headers = {"content-disposition": f"attachment; filename*=utf-8''{quote(shown.source.name)}-cutout.png"}
        return Response(await shown.cutout(), media_type="image/png", headers=headers)

    async def _upload(self, request: Request) -> Response:
        data = await _body(request, MAX_UPLOAD)
        item = await self.live.add_upload(request.query_params.get("name", ""), data)
        # The socket's message about the items may arrive later.
        return JSONResponse({"item": item, "items": self.live.items()})

    async def _sample(self, request: Request) -> Response:
        import skimage.data

        return Response(encoded_image(skimage.data.astronaut(), ".png"), media_type="image/png")

    async def _start(self, request: Request) -> Response:
        data = await _body(request, MAX_UPLOAD)
        await self.live.start_from(request.path_params["item"], request.query_params.get("name", "the file"), data)
        return Response(status_code=204)

    async def _segment(self, request: Request) -> Response:
        item, kind = request.path_params.get("item"), request.query_params.get("kind", "mask")
        asked = read_json(await _body(request, MAX_REQUEST))
        sources = self.live.sources
        if item is None:
            data = decode_file(asked.pop("image", None), "image")
            key, source = sha256(data).digest(), Source("image", Path("image"), data)
        elif item < len(sources):
            key, source = item, sources[item]
        else:
            raise InputError(f"there is no image {item}; the images are 0 to {len(sources) - 1}")
        asked_for = parse_prompts(asked)
        async with self._turn:
            shown, labels = await asyncio.to_thread(self._prompts.find_labels, key, source.load, asked_for)
        content, media_type = await asyncio.to_thread(encode_answer, kind, shown, labels, source.path)
        return Response(content, media_type=media_type)

    async def _socket(self, websocket: WebSocket) -> None:
        await websocket.accept()
        tab = Tab(websocket.send_text, websocket.send_bytes)
        self.live.connect(tab)
        sending = asyncio.create_task(tab.run())
        try:
            while (message := await websocket.receive())["type"] == "websocket.receive":
                try:
                    await self.live.receive(tab, message.get("text") or "")
                except Exception as error:
                    tab.send({"type": "error", "text": _reason_of(error)})
        except WebSocketDisconnect:
            pass
        finally:
            sending.cancel()
            self.live.disconnect(tab)
            await asyncio.gather(sending, return_exceptions=True)


def _reason_of(error: Exception) -> str:
    """The reason of an error, which is printed if it is a defect."""
    if is_defect(error):
        report_error("cutmatch app", error)
    return reason_of(error)


def _refuse(request: Request) -> Response:
    return PlainTextResponse("the address lacks the token; use the one that cutmatch app printed", 403)


async def _body(request: Request, most: int) -> bytes:
    """Content of a request; InputError above `most` bytes."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise InputError(f"the file is larger than {most >> 20} MiB; pass it on the command line")
    return bytes(data)


def listen(port: int, host: str = HOST) -> socket.socket:
    """A socket at an address of this machine and a port, 0 for any; InputError if it cannot be used."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        remedy = "0 for any" if host == HOST else "--host 0.0.0.0 for all addresses of this machine"
        raise InputError(
            f"cannot serve at {host}, --port {port} ({error.strerror}); choose another, or {remedy}"
        ) from None
    listener.listen()
    return listener


def own_address(host: str) -> str:
    """The address under which other machines reach a server of `host`."""
    if host != "0.0.0.0":
        return host
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # of no machine; this sends nothing
        return probe.getsockname()[0]
    return HOST


def serve(app: PageServer, listener: socket.socket) -> None:
    """Serve until Ctrl-C."""
    # Between threads, Python switches after 5 ms by default; the session's thread would delay every message by that.
    sys.setswitchinterval(0.0005)

    class Server(uvicorn.Server):
        def capture_signals(self):
            return Ending(self._stop, app.live)

        def _stop(self):
            self.should_exit = True

    config = uvicorn.Config(
        app,
        http="h11",
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE,
        ws_per_message_deflate=False,
        log_level="critical",  # otherwise any program could fill the log with malformed requests
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=0,
    )
    app.live.prepare()
    Server(config).run(sockets=[listener])
