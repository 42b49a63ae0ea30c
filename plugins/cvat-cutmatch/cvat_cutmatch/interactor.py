"""The handler of a serverless function of nuclio, which runs in the function's container.

CVAT posts an image in base64, points on the object and on the background, and maybe a box as two corners.  The answer
is a mask, rows of 0 and 1, or an error.  The mask comes from a server, `cutmatch app --api`, whose address is in the
environment variable CUTMATCH_ADDRESS.

https://docs.cvat.ai/docs/guides/serverless-tutorial/
"""

import io
import json
import os
import urllib.error
import urllib.request

from PIL import Image

SECONDS = 300.0  # for an answer; the first of a new installation compiles
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy would reach this machine


class Refused(Exception):
    """A request that cannot be answered; the message is the reason."""


def handler(context, event):
    """Answer a request; nuclio calls this function, with the body as bytes or decoded."""
    try:
        status, answer = 200, {"mask": find_mask(event.body)}
    except Refused as error:
        status, answer = 400, {"error": str(error)}
    return context.Response(body=json.dumps(answer), headers={}, content_type="application/json", status_code=status)


def find_mask(body) -> list[list[int]]:
    """The mask of a request, rows of 0 and 1."""
    try:
        body = body if isinstance(body, dict) else json.loads(body)
        asked = json.dumps({"image": body.get("image"), "prompts": prompts_of(body)})
    except (ValueError, TypeError, AttributeError) as error:
        raise Refused(f"the request is not one of CVAT's interactors ({error})") from None
    with Image.open(io.BytesIO(_ask(asked.encode()))) as image:
        width, pixels = image.width, image.convert("L").tobytes()
    return [[int(value > 0) for value in pixels[k : k + width]] for k in range(0, len(pixels), width)]


def prompts_of(body: dict) -> list[dict]:
    """The prompts of a request in the form of `cutmatch app --api`, which checks their values."""
    prompts: list[dict] = []
    if box := body.get("obj_bbox"):
        prompts.append({"box": [one for corner in box for one in corner]})
    for name, label in (("pos_points", 1), ("neg_points", 0)):
        prompts += [{"stroke": [point], "label": label} for point in body.get(name) or []]
    return prompts


def _ask(content: bytes) -> bytes:
    """The server's answer, a file; `Refused` with its reason if there is none."""
    address = os.environ.get("CUTMATCH_ADDRESS")
    if not address:
        raise Refused("set CUTMATCH_ADDRESS to the address that cutmatch app --api prints")
    try:
        with _opener.open(address.rstrip("/") + "/segment", content, timeout=SECONDS) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        with error:
            text = error.read().decode("utf-8", "replace")
        try:
            raise Refused(json.loads(text)["error"]) from None
        except (ValueError, TypeError, KeyError):  # such as that of a wrong token
            raise Refused(text[:200] or str(error)) from None
    except (OSError, ValueError):
        raise Refused("cutmatch app --api does not answer at CUTMATCH_ADDRESS; start it") from None
