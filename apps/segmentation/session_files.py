"""Sessions: what a user gave about an object of one image, in a file that later corrections extend.

A session is a JSON object.  Images inside it are PNG files in base64:

    format    "cutmatch-session"
    version   1
    image     {"name", "width", "height", "digest"}; the digest is of the pixels, so a renamed or re-saved image matches
    box       [x0, y0, x1, y1], or null
    options   {"keep", "fill_holes", "min_area", "soft_strokes"}
    marks     grey image: 0 no stroke, 1 object, 2 background; the box is not included
    start     grey image of the start mask, 0 and 255 if it is rough, or null
    mask      grey image of the object found, 0 and 255
    records   only of interactive sessions: what the user did, in order (see apps.session.session_store)

A resumed session fits its first colour models to `mask` instead of the strokes alone, so a further stroke changes an
existing result rather than starting again.  Readers ignore keys that they do not know.
"""

import base64
import binascii
import hashlib
import io
import json
from typing import NamedTuple

import numpy as np

from apps.common.images import InputError, pixels_in, read_bytes, to_bytes
from apps.common.writing import write_bytes
from apps.segmentation import KEEP
from apps.segmentation.hints import Hints, Mask, ObjectOptions
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.strokes import check_box

FORMAT, VERSION = "cutmatch-session", 1
MARKS = np.array([OPEN, OBJECT, BACKGROUND], np.int8)  # of the codes in a file
CODES = np.array([2, 1, 0], np.uint8)  # of BACKGROUND, OBJECT and, as the last entry, OPEN


class Instructions(NamedTuple):
    """What a run of `cutmatch segment` is told about the object of an image."""

    hints: Hints
    options: ObjectOptions


def save_session(
    path, rgb: np.ndarray, name: str, given: Instructions, mask: np.ndarray, option: str = "--save-session", **more
) -> None:
    """Write the session of an image, float RGB (H, W, 3) in [0, 1], atomically; `more` are further keys.

    given   hints and options
    mask    the object found, bool (H, W)
    """
    hints, (height, width) = given.hints, rgb.shape[:2]
    content = {
        "image": {"name": name, "width": width, "height": height, "digest": digest_of(rgb)},
        "box": None if hints.box is None else list(hints.box),
        "options": given.options._asdict(),
        "strokes": packed(CODES[hints.strokes]),
        "mask": packed(mask),
        "start": None if hints.mask is None else packed(hints.mask.values),
    }
    write_content(path, content | more, option)


def write_content(path, content: dict, option: str) -> None:
    """Write the content of a session, atomically."""
    stored = {"format": FORMAT, "version": VERSION, **content}
    write_bytes(path, (json.dumps(stored, indent=2) + "\n").encode(), option)


def load_session(path, rgb: np.ndarray, option: str = "--resume-session") -> Instructions:
    """Read the session of this image, with the object found as `labelling`.

    Raises InputError for another file, a damaged one, and the session of another image.
    """
    return session_in(read_content(path, option), rgb, f"{option}: {str(path)!r}")


def session_in(content: dict, rgb: np.ndarray, name: str) -> Instructions:
    """The session of this image in the content of a file; InputError, starting with `name`, as `load_session`."""
    image = content.get("image")
    if not isinstance(image, dict):
        raise damaged(name, "image")
    height, width = rgb.shape[:2]
    if (image.get("width"), image.get("height")) != (width, height):
        raise InputError(
            f"{name} is the session of an image of {image.get('width')}x{image.get('height')} pixels, but the image is "
            f"{width}x{height}; pass the image {image.get('name')!r}"
        )
    if image.get("digest") != digest_of(rgb):
        raise InputError(f"{name} is the session of another image, {image.get('name')!r}; pass that image")
    shape = (height, width)
    marks = unpacked(content, "strokes", shape, name)
    if marks.max() >= len(CODES):
        raise damaged(name, "strokes")
    mask = None if content.get("start") is None else Mask.restored(unpacked(content, "start", shape, name))
    found = unpacked(content, "mask", shape, name) > 0
    hints = Hints(MARKS[marks], _box(content, name), mask, found)
    return Instructions(hints, options_in(content, name))


def digest_of(rgb: np.ndarray) -> str:
    """Digest of the pixels of an image, float RGB (H, W, 3) in [0, 1], at 8 bits."""
    return "sha256:" + hashlib.sha256(to_bytes(rgb).tobytes()).hexdigest()


def read_content(path, option: str) -> dict:
    """The content of a file; InputError unless it is a session of this version."""
    name = f"{option}: {str(path)!r}"
    data = read_bytes(path, option)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{name} is not a session of cutmatch segment; pass a file written by --save-session")
    if content.get("version") != VERSION:
        raise InputError(
            f"{name} has version {json.dumps(content.get('version'))[:20]} of sessions; this program reads version "
            f"{VERSION}; update cutmatch"
        )
    return content


def packed(pixels: np.ndarray) -> str:
    """Grey pixels (H, W), uint8 or bool (0 and 255), as a PNG file in base64."""
    from PIL import Image

    buffer = io.BytesIO()
    pixels = pixels * np.uint8(255) if pixels.dtype == bool else pixels
    Image.fromarray(pixels).save(buffer, format="PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def unpacked(content: dict, key: str, shape: tuple[int, ...], name: str) -> np.ndarray:
    """The pixels under a key; InputError, starting with `name`, unless they are uint8 of this shape."""
    try:
        pixels = pixels_in(base64.b64decode(content[key], validate=True), key, name)
    except (KeyError, TypeError, binascii.Error, ValueError):
        raise damaged(name, key) from None
    if pixels.shape != shape or pixels.dtype != np.uint8:
        raise damaged(name, key)
    return pixels


def _box(content: dict, name: str):
    try:
        return None if content.get("box") is None else check_box(content["box"])
    except InputError:
        raise damaged(name, "box") from None


def options_in(content: dict, name: str) -> ObjectOptions:
    """The options stored; InputError, starting with `name`, for impossible ones."""
    stored = content.get("options")
    if not isinstance(stored, dict):
        raise damaged(name, "options")
    options = ObjectOptions()._replace(**{key: stored[key] for key in ObjectOptions._fields if key in stored})
    area = options.min_area
    legal = (
        options.keep in (None, *KEEP)
        and isinstance(area, int)
        and not isinstance(area, bool)
        and area >= 0
        and isinstance(options.fill_holes, bool)
        and isinstance(options.soft_strokes, bool)
    )
    if not legal:
        raise damaged(name, "options")
    return options


def damaged(name: str, key: str) -> InputError:
    """The error for a key that cannot be used."""
    return InputError(f"{name} is damaged: {key!r} cannot be used; pass a file written by --save-session")
