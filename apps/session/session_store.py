"""Sessions in files, which `cutmatch segment --save-session` and `--resume-session` share
(apps.segmentation.session_files).

To the keys of that format a session adds `records`, the list of what the user did:

    {"kind": "stroke", "points": [[x, y], ...], "radius": r, "label": l}   also "is_part", "is_filled"
                                              and in volumes "axis", "slice"
    {"kind": "erase", "points": [[x, y], ...], "radius": r}                the same
    {"kind": "box", "box": [x0, y0, x1, y1], "label": l}                   1 if it is missing
    {"kind": "start", "pixels": PNG}          0 and 255, or grey if soft
    {"kind": "strokes", "pixels": PNG}        0 open, 1 background, 2 and above: label + 1; slices below each other
    {"kind": "describe", "label": l, "name": name, "colour": [r, g, b] or null}
    {"kind": "lock", "label": l, "box": [x0, y0, x1, y1], "pixels": base64 of zlib, a byte for each pixel of the box}
                                              also "is_start", "is_part", "is_held"
    {"kind": "unlock", "label": l}            also "is_part"
    {"kind": "delete", "label": l}            the marks of this object so far have no effect

The other keys describe the same session to `cutmatch segment`, with all objects as one.  A volume has no other keys
than image, options and records, and its image has a depth.  A file without records, of `--save-session`, is read as the
marks and the box, with the object found as the start mask.
"""

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from apps.common.images import InputError
from apps.segmentation.hints import Hints, Mask
from apps.segmentation.marks import OBJECT, OPEN, has_both
from apps.segmentation.session_files import (
    Instructions,
    ObjectOptions,
    damaged,
    options_in,
    packed,
    read_content,
    save_session,
    session_in,
    unpacked,
    write_content,
)
from apps.session.canvas import Canvas
from apps.session.object_records import objects_of
from apps.session.packed_mask import PackedMask
from apps.session.stroke_records import (
    Box,
    Marks,
    MaskHint,
    Record,
    as_json,
    box_of,
    from_json,
    locator_of,
)


def save(
    path: str | Path, pixels: np.ndarray, labels: np.ndarray, records: Sequence[Record], keep: str, name: str
) -> None:
    """Write the records of a session and its labels; `pixels` is float RGB (H, W, 3) in [0, 1], or a volume."""
    stored = [_stored(record) for record in records]
    options = ObjectOptions(keep="all" if keep == "all" else None)
    if pixels.shape == labels.shape:
        image = _volume_entry(pixels, name)
        write_content(path, {"image": image, "options": options._asdict(), "records": stored}, "path")
        return
    canvas = Canvas(labels.shape, labels.shape)
    canvas.change_to([record for record in records if not isinstance(record, Box)])
    marks = np.minimum(canvas.all_marks(), OBJECT)
    box = box_of(records)
    locator = locator_of(records)
    mask = Mask(locator.pixels.values()) if isinstance(locator, MaskHint) else None
    if objects_of(records).closed and has_both(labels > 0):  # a box would exclude these objects
        box, mask = None, Mask(labels > 0)
    given = Instructions(Hints(marks, None if box is None else box.box, mask), options)
    save_session(path, pixels, name, given, labels > 0, "path", records=stored)


def read(path: str | Path) -> tuple[dict, str]:
    """The content of a session's file, and the option `keep` it was made with; InputError for another file."""
    content = read_content(path, "path")
    return content, "all" if options_in(content, _name(path)).keep == "all" else "touching"


def records_of(path: str | Path, content: dict, pixels: np.ndarray, shape: tuple[int, ...]) -> list[Record]:
    """The records in the content of a file, for this image or volume; InputError for another one, or damaged ones."""
    name = _name(path)
    hints = None
    if len(shape) == 3:
        _check_volume(content, pixels, name)
    else:
        hints = session_in(content, pixels, name).hints
    if hints is not None and "records" not in content:
        return _records_of_command(hints)
    stored = content.get("records")
    if not isinstance(stored, list):
        raise damaged(name, "records")
    rows = math.prod(shape[:-1])

    def pixels_of(one) -> np.ndarray:
        return unpacked(one, "pixels", (rows, shape[-1]), name).reshape(shape)

    try:
        return [from_json(one, shape, lambda one=one: pixels_of(one)) for one in stored]
    except (ValueError, TypeError) as error:
        raise InputError(f"{damaged(name, 'records')} ({error})") from None


def _records_of_command(hints: Hints) -> list[Record]:
    """The records of a session without any: box, the object found as a start mask or else the mask, and marks."""
    records: list[Record] = [] if hints.box is None else [Box(hints.box)]
    mask = hints.mask
    if hints.labelling is not None and has_both(hints.labelling):
        mask = Mask(hints.labelling)
    if mask is not None:
        records.append(MaskHint(PackedMask.of(mask.values)))
    if (hints.strokes != OPEN).any():
        records.append(Marks(PackedMask.of((hints.strokes + 1).astype(np.uint8))))
    return records


def _stored(record: Record) -> dict:
    content = as_json(record)
    if isinstance(record, MaskHint | Marks):
        content["pixels"] = packed(_flat(record.pixels.values()))
    return content


def _flat(values: np.ndarray) -> np.ndarray:
    """The slices of a volume below each other, as PNG has two axes; an image as it is."""
    return values.reshape(-1, values.shape[-1])


def _volume_entry(volume: np.ndarray, name: str) -> dict:
    depth, height, width = volume.shape
    values = np.ascontiguousarray(volume)
    digest = hashlib.sha256(str(values.dtype.newbyteorder("=")).encode())
    digest.update(values.view(np.uint8) if values.dtype == bool else values)
    found = {"name": name, "width": width, "height": height, "depth": depth}
    return found | {"digest": f"sha256:{digest.hexdigest()}"}


def _check_volume(content: dict, volume: np.ndarray, name: str) -> None:
    image = content.get("image")
    if not isinstance(image, dict):
        raise damaged(name, "image")
    expected = _volume_entry(volume, "")
    sizes = [[entry.get(key) for key in ("width", "height", "depth")] for entry in (image, expected)]
    if sizes[0] != sizes[1]:
        what = "x".join(map(str, filter(None, sizes[0])))
        raise InputError(
            f"{name} is the session of {image.get('name')!r}, {what}, but the volume is "
            f"{'x'.join(map(str, sizes[1]))} voxels; pass that one"
        )
    if image.get("digest") != expected["digest"]:
        raise InputError(f"{name} is the session of another volume, {image.get('name')!r}; pass that volume")


def _name(path) -> str:
    return f"path: {str(path)!r}"
