"""The server of the page: addresses below the token, and the life of the process."""

import asyncio
import contextlib
import socket
import sys
from argparse import Namespace
from importlib.resources import files

from apps.app import HOST, MAX_MESSAGE, MAX_UPLOAD
from apps.app.desk import Desk
from apps.app.guard import Guard
from apps.app.image_sources import Source
from apps.app.tabs import Tab
from apps.common.errors import InputError, reason_of

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def make_app(sources: list[Source], chosen: Namespace, port: int) -> Guard:
    """The ASGI application; `guard.address` is the page's address."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route, WebSocketRoute
    from starlette.websockets import WebSocket, WebSocketDisconnect

    desk = Desk(sources, chosen)
    pages = static_files()

    async def page(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in pages:
            return PlainTextResponse("no such file", 404)
        content, kind = pages[name]
        return Response(content, media_type=kind)

    async def image(request: Request) -> Response:
        shown = (await desk.opened(request.path_params["item"])).image
        if shown.volume is not None:
            raise InputError("this is a volume; request one of its slices")
        content, kind = await asyncio.to_thread(lambda: shown.encoded)
        return Response(content, media_type=kind)

    async def volume_slice(request: Request) -> Response:
        shown = (await desk.opened(request.path_params["item"])).image
        axis, index = request.path_params["axis"], request.path_params["index"]
        if shown.volume is None or axis > 2 or index >= shown.shape[axis]:
            raise InputError("the image has no such slice")
        content = await asyncio.to_thread(shown.slice_values, axis, index)
        return Response(content, media_type="application/octet-stream")

    async def upload(request: Request) -> Response:
        data = await _body(request)
        return JSONResponse({"item": await asyncio.to_thread(desk.add, request.query_params.get("name", ""), data)})

    async def start(request: Request) -> Response:
        await desk.start_from(request.path_params["item"], await _body(request))
        return Response(status_code=204)

    async def tab_socket(websocket: WebSocket) -> None:
        await websocket.accept()
        tab = Tab(websocket.send_text, websocket.send_bytes)
        try:
            desk.join(tab)
        except InputError as error:
            await websocket.close(1008, str(error))
            return
        sending = asyncio.create_task(tab.run())
        try:
            while (message := await websocket.receive())["type"] == "websocket.receive":
                try:
                    await desk.receive(tab, message["text"] if message.get("text") is not None else message["bytes"])
                except InputError as error:
                    tab.say({"say": "error", "text": str(error)})
        except WebSocketDisconnect:
            pass
        finally:
            sending.cancel()
            desk.leave(tab)

    async def unusable(request: Request, error: Exception) -> Response:
        return PlainTextResponse(str(error), 400)

    @contextlib.asynccontextmanager
    async def lifespan(app):
        desk.start()
        yield
        await desk.close()

    routes = [
        Route("/", page),
        Route("/static/{name}", page),
        Route("/image/{item:int}", image),
        Route("/image/{item:int}/{axis:int}/{index:int}", volume_slice),
        Route("/images", upload, methods=["POST"]),
        Route("/start/{item:int}", start, methods=["POST"]),
        WebSocketRoute("/socket", tab_socket),
    ]
    guard = Guard(Starlette(routes=routes, exception_handlers={InputError: unusable}, lifespan=lifespan), port)
    guard.desk = desk
    return guard


async def _body(request) -> bytes:
    """Content of a request; InputError above MAX_UPLOAD."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_UPLOAD:
            raise InputError(f"the file is larger than {MAX_UPLOAD >> 20} MiB; pass it on the command line")
        parts.append(part)
    return b"".join(parts)


def static_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of the page's files; no other file is served."""
    folder = files("apps.app") / "static"
    return {
        one.name: (one.read_bytes(), TYPES["." + one.name.rpartition(".")[2]])
        for one in folder.iterdir()
        if "." + one.name.rpartition(".")[2] in TYPES
    }


def listen(port: int) -> socket.socket:
    """A socket at a port of this machine, 0 for any; InputError if the port is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise InputError(f"--port: cannot use {port} ({reason_of(error)}); choose another one, or 0 for any") from None
    listener.listen(64)
    return listener


def serve(app: Guard, listener: socket.socket) -> None:
    """Serve until Ctrl-C."""
    import uvicorn

    # Between threads, Python switches after 5 ms by default; the session's thread would delay every message by that.
    sys.setswitchinterval(0.0005)

    config = uvicorn.Config(
        app,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE,
        ws_per_message_deflate=False,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listener])
