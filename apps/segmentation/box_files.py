"""Boxes in files, as detectors and annotation programs write them, of one image or of many.

  format        file                                              a box
  boxes         {"NAME": box}, or {"NAME": [box, box, ...]}       [x0, y0, x1, y1] in pixels, half open
  COCO          images, annotations, categories                   bbox [x, y, width, height]; perhaps score
  COCO results  list of bbox, score, category_id, and image_id    the same
                or file_name
  YOLO          NAME.txt, or a folder of them; a line per box     class, centre x, centre y, width, height, perhaps
                                                                  score; in shares of the image

NAME is the name of an image, with or without its suffix.  Numbers may be fractions; the box in pixels is then the
smallest one that contains them.  A file `classes.txt` beside YOLO's files names the classes.  Regions of crowds
(`iscrowd`) are no boxes of objects, so they are left out.
"""

import json
import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from apps.common.annotations import annotated_images, is_coco, is_key, keys_of, last_part, read_json
from apps.common.errors import InputError
from apps.common.file_kinds import stem_of
from apps.common.images import read_bytes
from apps.common.outputs import files_in

SUFFIXES = (".json", ".txt")
KINDS = "COCO or {NAME: [[x0, y0, x1, y1], ...]} (.json), or YOLO (.txt)"
CLASSES = "classes.txt"
ROUNDING = 1e-3  # pixels: numbers this close to a whole number are one
MAX_LISTED = 3  # names in a message
MAX_SHARE = 2.0  # of YOLO's numbers, which some detectors let exceed the image; numbers of pixels are larger


class Detection(NamedTuple):
    """A box around an object, and what is known about it.

    corners    x0, y0, x1, y1, in pixels or in shares of the image
    name       of its category
    category   number of its category
    score      of the detector, or None
    relative   whether the corners are shares of the image
    """

    corners: tuple[float, float, float, float]
    name: str = "object"
    category: int = 1
    score: float | None = None
    relative: bool = False

    def box(self, shape: Sequence[int]) -> tuple[int, int, int, int]:
        """The box in pixels of an image (H, W): the corners rounded outwards."""
        height, width = shape[:2]
        x0, y0, x1, y1 = self.corners
        if self.relative:
            x0, y0, x1, y1 = x0 * width, y0 * height, x1 * width, y1 * height
        low, high = (math.floor(v + ROUNDING) for v in (x0, y0)), (math.ceil(v - ROUNDING) for v in (x1, y1))
        return *low, *high  # type: ignore[return-value]


def read_boxes(path, images: Sequence[Path], option: str) -> dict[Path, tuple[Detection, ...]]:
    """Read the boxes of images; of an image without an entry none.

    Raises InputError, naming the option, for a file of another format, a box that cannot be read, and if there is no
    entry for any of the images.
    """
    path, name = Path(path), f"{option}: {str(path)!r}"
    if path.suffix.lower() not in SUFFIXES and not path.is_dir():
        raise InputError(f"{name} is not a file of boxes; pass {KINDS}, or a folder of YOLO files")
    is_json = path.suffix.lower() == ".json" and not path.is_dir()
    found, names = (_of_json if is_json else _of_yolo)(path, images, option, name)
    if not found:
        listed = ", ".join(map(repr, names[:MAX_LISTED])) + ", ..." * (len(names) > MAX_LISTED)
        has = f"has entries for {listed}" if names else "has no entry"
        raise InputError(f"{name} {has}, but has no entry {stem_of(images[0])!r}; name entries as the images")
    return found


def _detections(entries: Iterable, read, shown: str, form: str) -> tuple[Detection, ...]:
    """The boxes of an image, by a function that reads one, or None; InputError for one that is not of a form."""
    found = []
    for entry in entries:
        try:
            found.append(read(entry))
        except Exception:  # of another type, without a key, not finite ...
            raise InputError(f"{shown} must be {form}, got {json.dumps(entry)[:80]}") from None
    return tuple(one for one in found if one is not None)


def _numbers(values) -> list[float]:
    """Finite numbers; an exception for anything else."""
    numbers = [float(value) for value in values]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("not finite")
    return numbers


# A file for all images


def _of_json(path: Path, images, option: str, name: str):
    """The boxes by image, and the names of all entries."""
    content, form = read_json(path, option), "bbox [x, y, width, height], with an integer as category_id"
    read: Callable[..., Detection | None] = partial(_from_coco, {})
    if is_coco(content):
        table = {key: annotations for key, (_, annotations) in annotated_images(content, name).items()}
        read = partial(
            _from_coco,
            {one.get("id"): str(one.get("name")) for one in content.get("categories") or () if isinstance(one, dict)},
        )
    elif isinstance(content, list):
        table = {}
        for one in content:
            image = (one.get("file_name") or one.get("image_id")) if isinstance(one, dict) else None
            if not is_key(image):
                raise InputError(
                    f"{name} is a list, but not of COCO results: each needs bbox, and image_id or file_name, got "
                    f"{json.dumps(one)[:60]}"
                )
            table.setdefault(last_part(str(image)), []).append(one)
    elif isinstance(content, dict):
        table, form = {key: _as_list(boxes) for key, boxes in content.items()}, "four numbers [x0, y0, x1, y1] per box"
        read = _from_corners
    else:
        raise InputError(f"{name} must be JSON of the form of COCO, or {{NAME: [x0, y0, x1, y1]}}, one entry per image")
    keys = dict(keys_of(table, images))
    return {image: _detections(table[key], read, f"{name}: entry {key!r}", form) for image, key in keys.items()}, list(
        table
    )


def _as_list(boxes) -> list:
    """The boxes of an entry, which may be a single one."""
    return boxes if isinstance(boxes, list) and (not boxes or isinstance(boxes[0], list)) else [boxes]


def _from_corners(entry) -> Detection:
    x0, y0, x1, y1 = _numbers(entry)
    return Detection((x0, y0, x1, y1))


def _from_coco(names: Mapping, entry: dict) -> Detection | None:
    """The box of an annotation or a result, given the names of the categories; None for a crowd."""
    if entry.get("iscrowd"):
        return None
    (x, y, width, height), score = _numbers(entry["bbox"]), entry.get("score")
    category = operator.index(entry.get("category_id", 1))
    name = names.get(category, f"category{category}" if "category_id" in entry else "object")
    return Detection((x, y, x + width, y + height), name, category, None if score is None else _numbers([score])[0])


# A file per image


def _of_yolo(path: Path, images, option: str, name: str):
    """The boxes by image, and the names of all files."""
    if path.is_dir():
        inside = [one for one in files_in(path, option) if one.suffix.lower() == ".txt" and one.name != CLASSES]
        files = {stem_of(one): one for one in inside}
    elif len(images) > 1:
        raise InputError(f"{name} has the boxes of one image, but there are {len(images)}; pass a folder of such files")
    else:
        inside, files = [path], {stem_of(images[0]): path}
    classes = path / CLASSES if path.is_dir() else path.parent / CLASSES
    read, found = partial(_from_yolo, _lines(classes, option) if classes.exists() else []), {}
    form = "lines of class, x, y, width, height, perhaps score, in shares of the image"
    for image in images:
        if file := files.get(stem_of(image)):
            lines = [line for line in _lines(file, option) if line.strip()]
            found[image] = _detections(lines, read, f"{option}: {str(file)!r}", form)
    return found, [one.name for one in inside]


def _lines(path: Path, option: str) -> list[str]:
    if os.path.exists(path) and os.path.getsize(path) == 0:  # no object was found in this image
        return []
    try:
        return read_bytes(path, option).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{option}: {str(path)!r} is not text; pass YOLO's text files") from None


def _from_yolo(classes: list[str], line: str) -> Detection:
    kind, x, y, width, height, *score = _numbers(line.split())
    category = int(kind)
    if category != kind or category < 0 or len(score) > 1 or max(map(abs, (x, y, width, height))) > MAX_SHARE:
        raise ValueError("no class, or not shares of an image")
    name = classes[category].strip() if category < len(classes) else f"category{category}"
    corners = x - width / 2, y - height / 2, x + width / 2, y + height / 2
    return Detection(corners, name, category, score[0] if score else None, True)
