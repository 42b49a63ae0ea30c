"""The protocol of Label Studio's ML backends, on the images of the app.

Label Studio posts a task and the regions that were drawn with smart tools to `predict`: key points, rectangles and
brush strokes, in percent of the image.  The answer is a brush region.  A task refers to its image by an address, of
which only the file's name is used: it must be one of the app's images.  Nothing is fetched.

A brush region is stored as the bits of a run-length code of RGBA values, row by row:

    32 bits number of values, 5 bits length of a value - 1, four times 4 bits length of a count - 1, then per run
    1 bit whether one value is repeated, 2 bits which length of a count, count - 1, and one value, or all values

https://labelstud.io/guide/ml_create
"""

import re
import secrets
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from pathlib import PurePosixPath
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree

import numpy as np

from apps.app.image_sources import Source, decoded_image
from apps.app.messages import runs_of
from apps.app.prompts import Mark, PromptSessions, decode_file, is_numbers
from apps.common.errors import InputError
from apps.common.writing import encoded_image

ABOUT = {"status": "UP", "model_class": "cutmatch", "model_version": "cutmatch", "versions": ["cutmatch"]}
ADDRESSES = ("health", "setup", "versions", "webhook")  # answered with ABOUT
UPLOADED = re.compile(r"^[0-9a-f]{8}-")  # what Label Studio puts before the name of an uploaded file
MAX_COUNT = 1 << 16  # values of a run that is written


def predict(content: dict, sources: Sequence[Source], prompts: PromptSessions) -> dict:
    """The answer to a request: a brush region for the regions of its context, nothing without them."""
    tasks = _value(content, "tasks", list)
    context = _value(content, "params", dict).get("context") or {"result": []}
    regions = _value(context, "result", list)
    if not regions:
        return {"results": [{"result": [], "score": 0.0}] * len(tasks), "model_version": ABOUT["model_version"]}
    if len(tasks) != 1:
        raise InputError(f"regions are those of one task, got {len(tasks)}")
    names, field = _names(_value(content, "label_config", str))
    key, load = _image(_value(_value(tasks[0], "data", dict), field, str), sources)
    _, labels = prompts.find_labels(key, load, partial(_marks, regions))
    height, width = labels.shape
    region = {
        "id": secrets.token_hex(5),
        "type": "brushlabels",
        "original_width": width,
        "original_height": height,
        "image_rotation": 0,
        "value": {"format": "rle", "rle": encode_rle(labels > 0), "brushlabels": _names_of_label(regions[-1])},
        "score": 1.0,
    }
    result = {"result": [region | names], "score": 1.0, "model_version": ABOUT["model_version"]}
    return {"results": [result], "model_version": ABOUT["model_version"]}


def _value(content, name: str, kind: type):
    """A value of an object; InputError for another type."""
    value = content.get(name) if isinstance(content, dict) else None
    if not isinstance(value, kind):
        raise InputError(f"the request needs {name!r} of type {kind.__name__}, got {type(value).__name__}")
    return value


def _names(config: str) -> tuple[dict, str]:
    """Names of the brush and of its image in a labelling interface, and the field of a task that has the image."""
    try:
        if "<!DOCTYPE" in config:  # would define entities
            raise InputError("label_config must not contain a document type")
        root = ElementTree.fromstring(config)
    except (ElementTree.ParseError, UnicodeError) as error:
        raise InputError(f"label_config is not XML ({error})") from None
    brush = root.find(".//BrushLabels")
    if brush is None:
        raise InputError("the labelling interface has no <BrushLabels>, which shows masks; add it")
    target = brush.get("toName")
    for image in root.iter("Image"):
        if image.get("name") == target:
            return {"from_name": brush.get("name"), "to_name": target}, image.get("value", "").removeprefix("$")
    raise InputError("the labelling interface has no <Image> with the toName of <BrushLabels>")


def _image(address: str, sources: Sequence[Source]):
    """What identifies the image of an address, and the function that reads it."""
    if address.startswith("data:"):
        data = decode_file(address.partition(";base64,")[2], "image")
        return sha256(data).digest(), partial(decoded_image, data, "'data'")
    try:
        parts = urlsplit(address)
        path = parse_qs(parts.query).get("d", [unquote(parts.path)])[0]  # d is that of files in a local storage
    except ValueError as error:
        raise InputError(f"the address of the image cannot be used ({error})") from None
    name = PurePosixPath(path).name
    names = {name, UPLOADED.sub("", name)}
    found = [number for number, source in enumerate(sources) if source.path.name in names]
    if len(found) != 1:
        count = "none" if not found else f"{len(found)}"
        raise InputError(f"{count} of the images of cutmatch app is named {name[:200]!r}; pass its folder at the start")
    return found[0], sources[found[0]].load


def _marks(regions: list, shape: tuple[int, int]) -> list[Mark]:
    """The marks of regions on an image (H, W)."""
    height, width = shape
    marks = []
    for region in regions:
        kind, value = _value(region, "type", str), _value(region, "value", dict)
        label = 1 if region.get("is_positive", True) else 0
        if kind in ("brushlabels", "brush"):
            mask = decode_rle(_value(value, "rle", list), 4 * height * width).reshape(height, width, 4)[..., 3] > 0
            marks.append(Mark("paint", encoded_image(np.uint8(255) * mask, ".png"), label))
            continue
        numbers = [value.get(name, 0) for name in ("x", "y", "width", "height")]
        if not is_numbers(numbers, 4) or value.get("rotation"):
            raise InputError("regions need x, y, width and height in percent, without rotation")
        x, y, right, bottom = numbers[0], numbers[1], numbers[0] + numbers[2], numbers[1] + numbers[3]
        if kind in ("keypointlabels", "keypoint"):
            marks.append(Mark("stroke", ((x * width / 100, y * height / 100),), label))
        elif kind in ("rectanglelabels", "rectangle"):
            box = (
                round(x * width / 100),
                round(y * height / 100),
                round(right * width / 100),
                round(bottom * height / 100),
            )
            marks.append(Mark("box", box))
        else:
            raise InputError(f"regions of type {kind[:40]!r} are not supported; use key points, rectangles or a brush")
    return marks


def _names_of_label(region: dict) -> list:
    """The label of a region, as a list of one name."""
    found = region["value"].get(region["type"]) or region["value"].get("labels") or []
    return found if isinstance(found, list) else []


def encode_rle(mask: np.ndarray) -> list[int]:
    """The bytes of a mask, bool (H, W), as RGBA of 0 and 255; every run is one repeated value."""
    lengths, values = runs_of(mask)
    more = (4 * lengths - 1) // MAX_COUNT  # full runs before the last one
    counts = np.full(int((more + 1).sum()), MAX_COUNT, np.int64)
    counts[np.cumsum(more + 1) - 1] = 4 * lengths - MAX_COUNT * more
    runs = (0b111 << 24) | ((counts - 1) << 8) | (255 * np.repeat(values, more + 1).astype(np.int64))
    head = (4 * mask.size << 21) | (7 << 16) | 0xFFFF  # values of 8 bits, counts of 16
    bits = [np.array([head]) >> np.arange(52, -1, -1), runs[:, None] >> np.arange(26, -1, -1)]
    return np.packbits(np.concatenate([(part & 1).ravel() for part in bits]).astype(np.uint8)).tolist()


def decode_rle(data: list, size: int) -> np.ndarray:
    """The values, uint8 (size,); InputError unless the bytes hold `size` values."""
    if len(data) > 2 * size + 64 or not all(type(one) is int and 0 <= one < 256 for one in data):
        raise InputError("rle must be a list of bytes, not longer than the image")
    bits, at = "".join(f"{one:08b}" for one in data), 0

    def read(count: int) -> int:
        nonlocal at
        at += count
        if at > len(bits):
            raise InputError("rle ends too soon")
        return int(bits[at - count : at], 2)

    if (claimed := read(32)) != size:
        raise InputError(f"rle has {claimed} values, but the image has 4 x {size // 4}; reload the task")
    value_bits, count_bits = read(5) + 1, [read(4) + 1 for _ in range(4)]
    values, filled = np.zeros(size, np.uint8), 0
    while filled < size:
        is_repeated, count = read(1), read(count_bits[read(2)]) + 1
        if is_repeated:
            values[filled : filled + count] = read(value_bits) & 255
        else:
            for k in range(filled, min(filled + count, size)):
                values[k] = read(value_bits) & 255
        filled += count
    return values
