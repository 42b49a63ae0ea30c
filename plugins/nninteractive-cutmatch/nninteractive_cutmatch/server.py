"""The addresses of nnInteractive's server, version 2, and the command that starts it.

Bodies are JSON, or an array (see nninteractive_cutmatch.arrays) with JSON in the header X-Meta.  A prompt is answered
by the part of the mask that changed, uint8, with its box in X-Meta.  Errors have a status and a `detail`: 400 a request
that cannot be answered, 401 a missing key, 410 a session that has ended, 413 too large, 503 too many sessions.
"""

import argparse
import asyncio
import contextlib
import hmac
import json
import os

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nninteractive_cutmatch.arrays import packed, unpacked
from nninteractive_cutmatch.leases import Full, Gone, Lease, Leases
from nninteractive_cutmatch.prompts import Prompts

TOKEN, META = "x-lease-token", "x-meta"
SWEEP_SECONDS = 15.0
MAX_JSON = 1 << 20  # bytes
CAPABILITIES = {
    "supported_interactions": {"points": True, "bbox2d": True, "bbox3d": True, "scribble": True, "lasso": True},
    "channel_mapping": {"bbox": [1, 2], "lasso": [1, 2], "point": [3, 4], "scribble": [5, 6]},
    "num_interaction_channels": 7,
    "supports_initial_label": True,
    "supports_zero_shot_label_refinement": True,
    "preferred_scribble_thickness": [2, 2, 2],
    "interaction_decay": 1.0,
    "patch_size": None,
    "do_autozoom": True,
    "inference_session_version": 2,
    "supports_undo": True,
    "license": "BSD-3-Clause (cutmatch; no network, no weights)",
}


def make_app(leases: Leases, key: str | None = None, most: int = 4 << 30) -> Starlette:
    """The server's application; `most` bytes of an array are accepted, with `key` in all requests but /healthz."""

    async def posted(request: Request) -> tuple[Lease, dict, np.ndarray | None]:
        """The session, the JSON and the array of a request."""
        lease = leases.get(request.headers.get(TOKEN), is_work=True)
        has_array = request.headers.get("content-type") == "application/octet-stream"
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > (most if has_array else MAX_JSON):
                raise HTTPException(413, "the request is too large; start the server with a larger --max-gb")
        meta = request.headers.get(META, "{}") if has_array else bytes(body) or b"{}"
        try:
            meta = json.loads(meta)
        except (ValueError, RecursionError):
            raise ValueError("the request holds no JSON") from None
        if not isinstance(meta, dict):
            raise ValueError("the request must be a JSON object")
        array = await run_in_threadpool(unpacked, bytes(body), most) if has_array else None
        return lease, meta, array

    def prompt(add):
        """An endpoint that adds a prompt by `add(prompts, meta, array)`, which returns whether to answer."""

        async def endpoint(request: Request) -> Response:
            lease, meta, array = await posted(request)
            return await run_in_threadpool(answered, lease, add, meta, array)

        return endpoint

    def answered(lease: Lease, add, meta: dict, array) -> Response:
        with lease.lock:
            has_answer = add(lease.prompts, meta, array)
            found = lease.prompts.answer() if has_answer else None
        head = {"ran_prediction": bool(has_answer), "bbox": None}
        if found is None:
            return Response(b"", headers={META: json.dumps(head)}, media_type="application/octet-stream")
        head |= {"bbox": found[0], "dtype": str(found[1].dtype), "shape": list(found[1].shape)}
        return Response(packed(found[1]), headers={META: json.dumps(head)}, media_type="application/octet-stream")

    def simple(use):
        """An endpoint that answers with the JSON of `use(prompts, meta, array)`."""

        async def endpoint(request: Request) -> Response:
            lease, meta, array = await posted(request)

            def run():
                with lease.lock:
                    return use(lease.prompts, meta, array)

            return JSONResponse(await run_in_threadpool(run) or {})

        return endpoint

    async def health(request):
        return JSONResponse({"ok": True})

    async def capabilities(request):
        return JSONResponse(CAPABILITIES)

    async def claim(request):
        times = {"idle_timeout_seconds": leases.idle, "liveness_timeout_seconds": leases.alive}
        return JSONResponse({"lease_token": leases.claim(), "max_sessions": leases.most} | times)

    async def release(request):
        await run_in_threadpool(leases.release, request.headers.get(TOKEN))
        return JSONResponse({"released": True})

    async def heartbeat(request):
        return JSONResponse({"remaining_seconds": leases.remaining(leases.get(request.headers.get(TOKEN)))})

    async def lease_status(request):
        lease = leases.get(request.headers.get(TOKEN), is_alive=False)
        return JSONResponse({"remaining_seconds": leases.remaining(lease), "idle_timeout_seconds": leases.idle})

    @contextlib.asynccontextmanager
    async def lifespan(app):
        async def sweep():
            while True:
                await asyncio.sleep(SWEEP_SECONDS)
                await run_in_threadpool(leases.end_old)

        task = asyncio.create_task(sweep())
        yield
        task.cancel()
        leases.end_all()

    get = {"/healthz": health, "/capabilities": capabilities, "/lease_status": lease_status}
    post = {"/claim": claim, "/release": release, "/heartbeat": heartbeat}
    post |= {path: simple(use) for path, use in SIMPLE.items()} | {path: prompt(add) for path, add in PROMPTS.items()}
    routes = [Route(path, endpoint, methods=["GET"]) for path, endpoint in get.items()]
    routes += [Route(path, endpoint, methods=["POST"]) for path, endpoint in post.items()]
    handlers = {
        HTTPException: lambda request, error: _error(error.status_code, error.detail),
        ValueError: lambda request, error: _error(400, str(error)),
        TypeError: lambda request, error: _error(400, str(error)),
        KeyError: lambda request, error: _error(400, f"the request lacks {error}"),
        Gone: lambda request, error: _error(410, "the session has ended; connect again"),
        Full: lambda request, error: _error(503, f"all {leases.most} sessions of the server are in use"),
    }
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    return app if key is None else _Keyed(app, key)


def _error(status: int, detail: str) -> Response:
    return JSONResponse({"detail": detail}, status)


class _Keyed:
    """Lets requests pass that have the key."""

    def __init__(self, app, key: str):
        self._app, self._expected = app, f"Bearer {key}".encode()

    async def __call__(self, scope, receive, send):
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] != "http" or scope["path"] == "/healthz" or hmac.compare_digest(given, self._expected):
            await self._app(scope, receive, send)
        else:
            await _error(401, "the key is missing or wrong; it is that of --api-key")(scope, receive, send)


def _flag(meta: dict, name: str, default: bool | None = None) -> bool:
    return bool(meta[name] if default is None else meta.get(name, default))


def _set_image(prompts: Prompts, meta: dict, array) -> dict:
    properties = meta.get("image_properties") or {}
    return {"original_image_shape": list(prompts.set_image(_given(array), properties.get("spacing")))}


def _given(array: np.ndarray | None) -> np.ndarray:
    if array is None:
        raise ValueError("the request must hold an array")
    return array


def _masked(add):
    """A prompt by a mask, `add(prompts, mask, is_object, box)`."""

    def prompt(prompts: Prompts, meta: dict, array) -> bool:
        add(prompts, _given(array), _flag(meta, "include_interaction"), meta.get("interaction_bbox"))
        return _flag(meta, "run_prediction", True)

    return prompt


def _add_box(prompts: Prompts, meta: dict, array) -> bool:
    prompts.box(meta["bbox_coords"], _flag(meta, "include_interaction"))
    return _flag(meta, "run_prediction", True)


def _add_point(prompts: Prompts, meta: dict, array) -> bool:
    prompts.point(meta["coordinates"], _flag(meta, "include_interaction"))
    return _flag(meta, "run_prediction", True)


def _add_start(prompts: Prompts, meta: dict, array) -> bool:
    prompts.start(_given(array))
    return _flag(meta, "run_prediction", False)


SIMPLE = {
    "/set_image": _set_image,
    "/set_target_buffer": lambda prompts, meta, array: prompts.check_target(meta["shape"]),
    "/set_do_autozoom": lambda prompts, meta, array: None,  # a cut is always of the whole volume
    "/reset_interactions": lambda prompts, meta, array: prompts.reset(),
}
PROMPTS = {
    "/undo": lambda prompts, meta, array: prompts.undo(),
    "/predict": lambda prompts, meta, array: True,
    "/add_bbox_interaction": _add_box,
    "/add_point_interaction": _add_point,
    "/add_scribble_interaction": _masked(Prompts.scribble),
    "/add_lasso_interaction": _masked(Prompts.lasso),
    "/add_initial_seg_interaction": _add_start,
}


def compile_kernels() -> None:
    """Answer each kind of prompt once, so that the first click of a new installation takes no minute."""
    values = np.random.default_rng(0).integers(80, 120, (1, 80, 90, 100)).astype(np.float32)  # large enough for all
    values[0, 20:60, 20:60, 20:60] += 100
    prompts = Prompts()
    prompts.set_image(values, None)
    for add in (
        lambda: prompts.point((40, 40, 40), True),
        lambda: prompts.point((40, 40, 40), False),
        lambda: prompts.box([[40, 41], [15, 65], [15, 65]], True),
        lambda: prompts.start(values[0] > 150),
        lambda: prompts.box([[15, 65]] * 3, True),
    ):
        add()
        prompts.answer()
    prompts.close()


def main(argv: list[str] | None = None) -> None:
    """Serve until Ctrl-C."""
    options = argparse.ArgumentParser("nninteractive-cutmatch", description="exact cuts for clients of nnInteractive")
    options.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    options.add_argument("--port", type=int, default=1527, help="port (default: %(default)s)")
    key_help = "key that clients must send (default: the environment's NN_INTERACTIVE_API_KEY, or none)"
    options.add_argument("--api-key", default=os.environ.get("NN_INTERACTIVE_API_KEY"), help=key_help)
    options.add_argument("--max-sessions", type=int, default=2, help="clients at a time (default: %(default)s)")
    options.add_argument(
        "--idle-timeout", type=float, default=600.0, help="seconds without work (default: %(default)s)"
    )
    options.add_argument("--max-gb", type=float, default=4.0, help="size of an image in GB (default: %(default)s)")
    chosen = options.parse_args(argv)
    if chosen.host not in ("127.0.0.1", "localhost", "::1") and not chosen.api_key:
        options.error("--host other than this machine needs --api-key")
    compile_kernels()
    print(f"http://{chosen.host}:{chosen.port}", flush=True)
    leases = Leases(chosen.max_sessions, chosen.idle_timeout, alive=60.0)
    app = make_app(leases, chosen.api_key, int(chosen.max_gb * 1e9))
    uvicorn.run(app, host=chosen.host, port=chosen.port, log_level="warning")
