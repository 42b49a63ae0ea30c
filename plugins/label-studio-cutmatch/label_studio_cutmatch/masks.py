"""Masks of `cutmatch app --api` for an image and the strokes on it."""

import base64
import io
import json
import urllib.error
import urllib.request

import numpy as np
from PIL import Image

SECONDS = 300.0  # for an answer; the first of a new installation compiles
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy would reach this machine


class Refused(Exception):
    """A request that cannot be answered; the message is the reason."""


def find_mask(address: str, image: bytes, prompts: list[dict]) -> np.ndarray:
    """The mask, bool (H, W), of an image's file; `Refused` with the reason of the server at `address`."""
    content = json.dumps({"image": text_of(image), "prompts": prompts}).encode()
    try:
        with _opener.open(address.rstrip("/") + "/segment", content, timeout=SECONDS) as answer:
            found = answer.read()
    except urllib.error.HTTPError as error:
        with error:
            text = error.read().decode("utf-8", "replace")
        try:
            raise Refused(json.loads(text)["error"]) from None
        except (ValueError, TypeError, KeyError):  # such as that of a wrong token
            raise Refused(text[:200] or str(error)) from None
    except (OSError, ValueError):
        raise Refused("cutmatch app --api does not answer; start it") from None
    with Image.open(io.BytesIO(found)) as opened:
        return np.asarray(opened.convert("L")) > 0


def text_of(data: bytes) -> str:
    """The content of a file in base64."""
    return base64.b64encode(data).decode()


def png_of(mask: np.ndarray) -> bytes:
    """A mask, bool (H, W), as the content of a PNG file."""
    buffer = io.BytesIO()
    Image.fromarray(np.uint8(255) * mask).save(buffer, "PNG")
    return buffer.getvalue()
