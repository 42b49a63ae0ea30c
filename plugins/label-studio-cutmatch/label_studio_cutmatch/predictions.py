"""A request of Label Studio: a task and the regions that were drawn with smart tools, answered by a brush region.

Regions are key points, rectangles and brush strokes, in percent of the image.  A task refers to its image by an
address, of which only the file's name is used: it must be a file of the folder given at the start.  Nothing is fetched.

https://labelstud.io/guide/ml_create
"""

import base64
import re
import secrets
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree

import numpy as np

from label_studio_cutmatch.brush import decode_rle, encode_rle
from label_studio_cutmatch.masks import Refused, png_of, text_of

VERSION = "cutmatch"
UPLOADED = re.compile(r"^[0-9a-f]{8}-")  # what Label Studio puts before the name of an uploaded file
MAX_PIXELS = 1 << 28  # of an image that a region claims


def predict(content: dict, folder: Path, find: Callable[[bytes, list[dict]], np.ndarray]) -> dict:
    """The answer to a request: a brush region for the regions of its context, nothing without them.

    `find` returns the mask of an image's file for prompts of `cutmatch app --api`.
    """
    tasks = _value(content, "tasks", list)
    context = _value(content, "params", dict).get("context") or {"result": []}
    regions = _value(context, "result", list)
    if not regions:
        return {"results": [{"result": [], "score": 0.0}] * len(tasks), "model_version": VERSION}
    if len(tasks) != 1:
        raise Refused(f"regions are those of one task, got {len(tasks)}")
    names, field = _names(_value(content, "label_config", str))
    image = _image(_value(_value(tasks[0], "data", dict), field, str), folder)
    width, height = (_value(regions[-1], f"original_{side}", int) for side in ("width", "height"))
    if min(width, height) < 1 or width * height > MAX_PIXELS:
        raise Refused(f"the regions are those of an image of {width} x {height} pixels")
    mask = find(image, [_prompt(region, width, height) for region in regions])
    if mask.shape != (height, width):
        raise Refused(f"the task's image has {width} x {height} pixels, but the file {mask.shape[1]} x {mask.shape[0]}")
    region = {
        "id": secrets.token_hex(5),
        "type": "brushlabels",
        "original_width": width,
        "original_height": height,
        "image_rotation": 0,
        "value": {"format": "rle", "rle": encode_rle(mask), "brushlabels": _names_of_label(regions[-1])},
        "score": 1.0,
    }
    result = {"result": [region | names], "score": 1.0, "model_version": VERSION}
    return {"results": [result], "model_version": VERSION}


def _value(content, name: str, kind: type):
    """A value of an object; `Refused` for another type."""
    value = content.get(name) if isinstance(content, dict) else None
    if not isinstance(value, kind):
        raise Refused(f"the request needs {name!r} of type {kind.__name__}, got {type(value).__name__}")
    return value


def _names(config: str) -> tuple[dict, str]:
    """Names of the brush and of its image in a labelling interface, and the field of a task that has the image."""
    try:
        if "<!DOCTYPE" in config:  # would define entities
            raise Refused("label_config must not contain a document type")
        root = ElementTree.fromstring(config)
    except (ElementTree.ParseError, UnicodeError) as error:
        raise Refused(f"label_config is not XML ({error})") from None
    brush = root.find(".//BrushLabels")
    if brush is None:
        raise Refused("the labelling interface has no <BrushLabels>, which shows masks; add it")
    target = brush.get("toName")
    for image in root.iter("Image"):
        if image.get("name") == target:
            return {"from_name": brush.get("name"), "to_name": target}, image.get("value", "").removeprefix("$")
    raise Refused("the labelling interface has no <Image> with the toName of <BrushLabels>")


def _image(address: str, folder: Path) -> bytes:
    """The content of the image's file, which is in the address or in the folder."""
    try:
        if address.startswith("data:"):
            return base64.b64decode(address.partition(";base64,")[2], validate=True)
        parts = urlsplit(address)
        path = parse_qs(parts.query).get("d", [unquote(parts.path)])[0]  # d is that of files in a local storage
    except ValueError as error:
        raise Refused(f"the address of the image cannot be used ({error})") from None
    name, own = PurePosixPath(path).name, {one.name: one for one in folder.iterdir() if one.is_file()}
    for one in (name, UPLOADED.sub("", name)):
        if one in own:
            return own[one].read_bytes()
    raise Refused(f"no file of the folder is named {name[:200]!r}; pass that of the project's images at the start")


def _prompt(region, width: int, height: int) -> dict:
    """The prompt of a region, as in a request to `cutmatch app --api`."""
    kind, value = _value(region, "type", str), _value(region, "value", dict)
    label = 1 if region.get("is_positive", True) else 0
    if kind in ("brushlabels", "brush"):
        values = decode_rle(_value(value, "rle", list), 4 * height * width).reshape(height, width, 4)
        return {"paint": text_of(png_of(values[..., 3] > 0)), "label": label}
    x, y, right, bottom = (value.get(name, 0) for name in ("x", "y", "width", "height"))
    if not all(type(one) in (int, float) and abs(one) <= 1e6 for one in (x, y, right, bottom)) or value.get("rotation"):
        raise Refused("regions need x, y, width and height in percent, without rotation")
    if kind in ("keypointlabels", "keypoint"):
        return {"stroke": [[x * width / 100, y * height / 100]], "label": label}
    if kind in ("rectanglelabels", "rectangle"):
        sides = (x, width), (y, height), (x + right, width), (y + bottom, height)
        return {"box": [round(one * length / 100) for one, length in sides]}
    raise Refused(f"regions of type {kind[:40]!r} are not supported; use key points, rectangles or a brush")


def _names_of_label(region: dict) -> list:
    """The label of a region, as a list of one name."""
    found = region["value"].get(region["type"]) or region["value"].get("labels") or []
    return found if isinstance(found, list) else []
