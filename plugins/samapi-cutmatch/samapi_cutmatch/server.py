"""The addresses of samapi that QuPath's SAM extension asks for prompts, and the command that starts the server.

    POST /sam/           {"b64img": FILE, "bbox": [x0, y0, x1, y1], "point_coords": [[x, y], ...],
                          "point_labels": [1, 0, ...], "b64mask": FILE}  ->  a list of GeoJSON features
    GET /sam/weights/    the one "model" there is
    GET /sam/version/    of this server

FILE is an image file in base64, x and y are pixels of it, and the label 0 is the background.  A mask is a start that
colours override.  Errors have a status and a `detail`.
"""

import argparse
import base64
import binascii
import io
import json
from collections.abc import Sequence

import numpy as np
import uvicorn
from PIL import Image
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from apps import Session
from apps.common.outlines import polygons_of

VERSION = "0.1.0"
RADIUS = 3.0  # of a point, in pixels
MOST_BYTES = 256 << 20  # of a request


def make_app() -> Starlette:
    """The server's application."""

    async def found(request: Request) -> JSONResponse:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                raise HTTPException(413, f"a request has at most {MOST_BYTES >> 20} MiB")
        return JSONResponse(await run_in_threadpool(answer, bytes(body)))

    async def weights(request: Request) -> JSONResponse:
        return JSONResponse([{"type": request.query_params.get("type", "vit_t"), "name": "cutmatch", "url": ""}])

    async def version(request: Request) -> PlainTextResponse:
        return PlainTextResponse(VERSION)

    async def unknown(request: Request) -> JSONResponse:
        raise HTTPException(501, "only prompts on an image are answered; all else needs a network")

    routes = [
        Route("/sam/", found, methods=["POST"]),
        Route("/sam/weights/", weights),
        Route("/sam/version/", version),
        Route("/sam/{other:path}", unknown, methods=["GET", "POST"]),
    ]
    handlers = {
        HTTPException: lambda request, error: JSONResponse({"detail": error.detail}, error.status_code),
        ValueError: lambda request, error: JSONResponse({"detail": str(error)}, 400),
    }
    return Starlette(routes=routes, exception_handlers=handlers)


def answer(body: bytes) -> list[dict]:
    """The features of a request; ValueError for one that cannot be answered."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the request is not JSON") from None
    if not isinstance(asked, dict):
        raise ValueError("the request must be a JSON object")
    image = _image(asked.get("b64img"), "b64img").convert("RGB")
    points, labels = asked.get("point_coords") or [], asked.get("point_labels") or []
    if len(points) != len(labels) or not all(label in (0, 1) for label in labels):
        raise ValueError(f"point_labels must be one 0 or 1 per point, got {len(labels)} for {len(points)} points")
    with Session(np.asarray(image), device="cpu") as session:
        if asked.get("b64mask"):
            session.start_from(np.asarray(_image(asked["b64mask"], "b64mask").convert("L").resize(image.size)) > 127)
        if asked.get("bbox"):
            session.box(_numbers(asked["bbox"], 4, "bbox"))
        for point, label in zip(points, labels, strict=True):
            x, y = _numbers(point, 2, "a point")
            session.stroke([(x + 0.5, y + 0.5)], RADIUS, label)
        if 1 not in session.state["labels"]:
            raise ValueError("the request needs a bbox, a mask, or a point with the label 1")
        session.wait()
        mask = session.mask
    return [_feature(mask, asked.get("type"))] if mask.any() else []


def _feature(mask: np.ndarray, model) -> dict:
    """A mask as a GeoJSON feature, with the properties that samapi gives."""
    parts = [[_closed(ring) for ring in (one.outer, *one.holes)] for one in polygons_of(mask)]
    geometry = {"type": "Polygon", "coordinates": parts[0]}
    if len(parts) > 1:
        geometry = {"type": "MultiPolygon", "coordinates": parts}
    properties = {"object_idx": 0, "label": "object", "quality": 1.0, "sam_model": model}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _closed(ring: np.ndarray) -> list[list[int]]:
    return [*ring.tolist(), ring[0].tolist()]


def _image(text, name: str) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(base64.b64decode(text, validate=True)))
        image.load()
    except (TypeError, binascii.Error, OSError, SyntaxError, Image.DecompressionBombError):
        raise ValueError(f"{name} must be the content of an image file in base64") from None
    return image


def _numbers(values, count: int, name: str) -> Sequence[int]:
    if not isinstance(values, list) or len(values) != count or not all(type(one) in (int, float) for one in values):
        raise ValueError(f"{name} must be {count} numbers, got {str(values)[:60]}")
    return [int(one) for one in values]


def main(argv: list[str] | None = None) -> None:
    """Serve until Ctrl-C."""
    options = argparse.ArgumentParser("samapi-cutmatch", description="exact cuts for QuPath's SAM extension")
    options.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    options.add_argument("--port", type=int, default=8000, help="port (default: %(default)s)")
    chosen = options.parse_args(argv)
    print(f"http://{chosen.host}:{chosen.port}/sam/", flush=True)
    uvicorn.run(make_app(), host=chosen.host, port=chosen.port, log_level="warning")
