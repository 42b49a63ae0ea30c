"""The server of the page: addresses below the token, and the life of the process."""

import asyncio
import contextlib
import functools
import socket
import sys
from argparse import Namespace
from collections.abc import Callable
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from apps.app import HOST, MAX_MESSAGE, MAX_REQUEST, MAX_UPLOAD
from apps.app.ending import Ending
from apps.app.guard import Guard
from apps.app.image_sources import Source
from apps.app.open_images import OpenImages
from apps.app.prompts import PromptSessions, decode_file, encode_answer, parse_prompts, read_json
from apps.app.tabs import Tab
from apps.common.errors import InputError, is_defect, print_error, reason_of, report_error
from apps.common.writing import encoded_image

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
BODY_SECONDS = 60.0  # without a further part of an upload
MAX_LINES = 100  # different errors that are printed


def make_app(
    sources: list[Source], chosen: Namespace, port: int, for_programs=False, token: str | None = None, host=HOST
) -> Guard:
    """The ASGI application; `guard.address` is the page's address, which contains the token, by default a random one.

    With `for_programs`, other programs may use it, too.
    """
    from starlette.applications import Starlette
    from starlette.convertors import Convertor, register_url_convertor
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route, WebSocketRoute
    from starlette.websockets import WebSocket, WebSocketDisconnect

    images, prompts = OpenImages(sources, chosen), PromptSessions(chosen.device)
    pages, log = static_files(), _Log()
    turn = asyncio.Lock()  # of requests of other programs, which wait for it here rather than in a thread

    class Number(Convertor[int]):
        """A number of an image or a slice; a longer one is no address of this server."""

        regex = "[0-9]{1,9}"

        def convert(self, value: str) -> int:
            return int(value)

        def to_string(self, value: int) -> str:
            return str(value)

    register_url_convertor("number", Number())

    def answered(call: Callable, is_json: bool = False) -> Callable:
        """Answer with the reason if a request cannot be answered."""

        @functools.wraps(call)
        async def answer(request: Request) -> Response:
            try:
                return await call(request)
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception as error:
                reason, status = log.reason_of(error), 500 if is_defect(error) else 400
                return JSONResponse({"error": reason}, status) if is_json else PlainTextResponse(reason, status)

        return answer

    @answered
    async def page(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in pages:
            return PlainTextResponse("no such file", 404)
        content, kind = pages[name]
        return Response(content, media_type=kind)

    @answered
    async def image(request: Request) -> Response:
        shown = (await images.opened(request.path_params["item"])).image
        if shown.volume is not None:
            raise InputError("this is a volume; request one of its slices")
        content, kind = await asyncio.to_thread(lambda: shown.encoded)
        return Response(content, media_type=kind)

    @answered
    async def volume_slice(request: Request) -> Response:
        shown = (await images.opened(request.path_params["item"])).image
        axis, index = request.path_params["axis"], request.path_params["index"]
        if shown.volume is None or axis > 2 or index >= shown.shape[axis]:
            raise InputError("the image has no such slice")
        content = await asyncio.to_thread(shown.slice_values, axis, index)
        return Response(content, media_type="application/octet-stream")

    @answered
    async def cutout(request: Request) -> Response:
        shown = await images.opened(request.path_params["item"])
        return Response(await shown.cutout(), media_type="image/png")

    @answered
    async def upload(request: Request) -> Response:
        data = await _body(request, MAX_UPLOAD)
        item = await images.add_upload(request.query_params.get("name", ""), data)
        return JSONResponse({"item": item, "items": images.items()})  # which may arrive before those of the socket

    @answered
    async def sample(request: Request) -> Response:
        import skimage.data

        return Response(encoded_image(skimage.data.astronaut(), ".png"), media_type="image/png")

    @answered
    async def start(request: Request) -> Response:
        data = await _body(request, MAX_UPLOAD)
        await images.start_from(request.path_params["item"], data)
        return Response(status_code=204)

    async def segment(request: Request) -> Response:
        item, kind = request.path_params.get("item"), request.query_params.get("kind", "mask")
        asked = read_json(await _body(request, MAX_REQUEST))
        if item is None:
            data = decode_file(asked.pop("image", None), "image")
            key, source = sha256(data).digest(), Source("image", Path("image"), data)
        elif item < len(images.sources):
            key, source = item, images.sources[item]
        else:
            raise InputError(f"there is no image {item}; the images are 0 to {len(images.sources) - 1}")
        asked_for = parse_prompts(asked)
        async with turn:
            shown, labels = await asyncio.to_thread(prompts.find_labels, key, source.load, asked_for)
        content, media_type = await asyncio.to_thread(encode_answer, kind, shown, labels, source.path)
        return Response(content, media_type=media_type)

    async def tab_socket(websocket: WebSocket) -> None:
        await websocket.accept()
        tab = Tab(websocket.send_text, websocket.send_bytes)
        try:
            images.connect(tab)
        except InputError as error:
            await websocket.close(1008, str(error))
            return
        sending = asyncio.create_task(tab.run())
        try:
            while (message := await websocket.receive())["type"] == "websocket.receive":
                try:
                    await images.receive(tab, message["text"] if message.get("text") is not None else message["bytes"])
                except Exception as error:
                    tab.send({"type": "error", "text": log.reason_of(error)})
        except WebSocketDisconnect:
            pass
        finally:
            sending.cancel()
            images.disconnect(tab)
            await asyncio.gather(sending, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def lifespan(app):
        asyncio.get_running_loop().set_exception_handler(log.report_loop_error)
        images.start()
        yield
        await images.close()
        prompts.close()

    routes = [
        Route("/", page),
        Route("/static/{name}", page),
        Route("/image/{item:number}", image),
        Route("/image/{item:number}/{axis:number}/{index:number}", volume_slice),
        Route("/cutout/{item:number}", cutout),
        Route("/images", upload, methods=["POST"]),
        Route("/sample", sample),
        Route("/hint/start/{item:number}", start, methods=["POST"]),
        WebSocketRoute("/socket", tab_socket),
    ]
    if for_programs:
        answer = answered(segment, is_json=True)
        routes += [Route(path, answer, methods=["POST"]) for path in ("/segment", "/segment/{item:number}")]
    return Guard(Starlette(routes=routes, lifespan=lifespan), port, images, for_programs, token, host)


class _Log:
    """Errors of requests on standard error, each once, so that no page or program can fill a log."""

    def __init__(self):
        self._printed: set[str] = set()

    def reason_of(self, error: Exception) -> str:
        """The reason of an error, which is printed if it is a defect."""
        if is_defect(error) and self._is_new(reason_of(error)):
            report_error("cutmatch app", error)
        return reason_of(error)

    def report_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict) -> None:
        """Print what asyncio reports, such as that no further connection can be accepted for want of descriptors."""
        error = context.get("exception")
        text = context["message"] if error is None else reason_of(error)
        if self._is_new(text):
            print_error(f"cutmatch app: {text}")

    def _is_new(self, text: str) -> bool:
        new = text not in self._printed and len(self._printed) < MAX_LINES
        if new:
            self._printed.add(text)
        return new


async def _body(request, most: int) -> bytes:
    """Content of a request; InputError above `most` bytes, and if its sender stalls."""
    parts, size, loop = [], 0, asyncio.get_running_loop()
    try:
        async with asyncio.timeout(BODY_SECONDS) as limit:
            async for part in request.stream():
                limit.reschedule(loop.time() + BODY_SECONDS)
                size += len(part)
                if size > most:
                    raise InputError(f"the file is larger than {most >> 20} MiB; pass it on the command line")
                parts.append(part)
    except TimeoutError:
        raise InputError(f"the upload stalled for {BODY_SECONDS:.0f} s; send the file again") from None
    return b"".join(parts)


def static_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of the page's files; no other file is served."""
    folder = files("apps.app") / "static"
    return {
        one.name: (one.read_bytes(), TYPES["." + one.name.rpartition(".")[2]])
        for one in folder.iterdir()
        if "." + one.name.rpartition(".")[2] in TYPES
    }


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


def serve(app: Guard, listener: socket.socket) -> None:
    """Serve until Ctrl-C."""
    import uvicorn
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    # Between threads, Python switches after 5 ms by default; the session's thread would delay every message by that.
    sys.setswitchinterval(0.0005)

    class TabSocket(WebSocketsSansIOProtocol):
        def keepalive_timeout(self):
            super().keepalive_timeout()
            self.transport.abort()  # a page that does not read would never be sent the rest

    class Server(uvicorn.Server):
        def capture_signals(self):
            return contextlib.nullcontext()  # `Ending` does

        def stop(self):
            self.should_exit = True

    config = uvicorn.Config(
        app,
        http="h11",
        ws=TabSocket,
        ws_max_size=MAX_MESSAGE,
        ws_per_message_deflate=False,
        log_level="critical",  # otherwise any program could fill the log with malformed requests
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=0,
    )
    server = Server(config)
    with Ending(server.stop, app.images):
        app.images.prepare()
        server.run(sockets=[listener])
