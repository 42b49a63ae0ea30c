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

A file that cannot be used is an error of the run.  A box that cannot be read is an error of its image.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from apps.common.annotations import annotated_images, is_coco, is_key, keys_of, last_part, read_json
from apps.common.errors import InputError
from apps.common.images import read_bytes
from apps.common.outputs import files_in
from apps.common.stems import stem_of

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
        """The box in pixels of an image (H, W): the corners rounded outwards, but by this not out of the image."""
        height, width = shape[:2]
        x0, y0, x1, y1 = self.corners
        if self.relative:
            x0, y0, x1, y1 = x0 * width, y0 * height, x1 * width, y1 * height
        lows = [max(0, math.floor(v + ROUNDING)) if v > -1 else math.floor(v + ROUNDING) for v in (x0, y0)]
        highs = [
            min(side, math.ceil(v - ROUNDING)) if v < side + 1 else math.ceil(v - ROUNDING)
            for v, side in ((x1, width), (y1, height))
        ]
        return lows[0], lows[1], highs[0], highs[1]


def is_box_file(text: str) -> bool:
    """Whether the value of `--box` names a file of boxes, and is not a box."""
    return Path(text).suffix.lower() in SUFFIXES or os.path.isdir(text)


def read_boxes(path, images: Sequence[Path], option: str) -> dict[Path, tuple[Detection, ...] | InputError]:
    """Read the boxes of images; of an image without an entry none, and an error for one whose boxes cannot be read.

    Raises InputError, naming the option, for a file of another format, and if it has no entry for any of the images.
    """
    path, name = Path(path), f"{option}: {str(path)!r}"
    if not is_box_file(str(path)):
        raise InputError(f"{name} is not a file of boxes; pass {KINDS}, or a folder of YOLO files")
    if path.suffix.lower() == ".json" and not path.is_dir():
        readers, names = _entries_of_json(path, images, option, name)
    else:
        readers, names = _files_of(path, images, option, name)
    if not readers:
        listed = ", ".join(map(repr, names[:MAX_LISTED])) + ", ..." * (len(names) > MAX_LISTED)
        has = f"has entries for {listed}" if names else "has no entry"
        raise InputError(f"{name} {has}, but has no entry {stem_of(images[0])!r}; name entries as the images")
    found: dict[Path, tuple[Detection, ...] | InputError] = {}
    for image, reader in readers.items():
        try:
            found[image] = tuple(reader())
        except InputError as error:
            found[image] = error
    if len(found) == len(images) and all(isinstance(one, InputError) for one in found.values()):
        raise found[images[0]]  # type: ignore[misc]
    return found


def boxes_of(found: Mapping[Path, tuple[Detection, ...] | InputError], image: Path) -> tuple[Detection, ...]:
    """The boxes of an image in the result of `read_boxes`; raises the error that is there instead."""
    boxes = found.get(image, ())
    if isinstance(boxes, InputError):
        raise boxes
    return boxes


def read_single_boxes(path, images: Sequence[Path]) -> dict[Path, tuple[Detection, ...] | InputError]:
    """As `read_boxes` for `--box`, an error for an image without a box; InputError if an image has several."""
    found, name = read_boxes(path, images, "--box"), f"--box: {str(path)!r}"
    for image in images:
        boxes = found.setdefault(image, ())
        if isinstance(boxes, tuple) and len(boxes) > 1:
            raise InputError(f"{name} has {len(boxes)} boxes of {image.name!r}; pass --boxes to cut out every one")
        found[image] = boxes or InputError(f"{name} has no entry {stem_of(image)!r}; add one")
    return found


# A file for all images


def _entries_of_json(path: Path, images, option: str, name: str):
    """A function per image that reads its boxes, and the names of all entries."""
    content = read_json(path, option)
    if is_coco(content):
        table = {key: annotations for key, (_, annotations) in annotated_images(content, name).items()}
        read = _from_coco(content, name)
    elif isinstance(content, list):
        table, read = _results(content, name), _from_coco({}, name)
    elif isinstance(content, dict):
        table, read = {key: _as_list(boxes) for key, boxes in content.items()}, _from_corners(name)
    else:
        raise InputError(f"{name} must be JSON of the form of COCO, or {{NAME: [x0, y0, x1, y1]}}, one entry per image")
    return {image: partial(_read_all, read, table[key], key) for image, key in keys_of(table, images)}, list(table)


def _read_all(read, entries, key: str) -> list[Detection]:
    return [one for entry in entries if (one := read(entry, key)) is not None]


def _as_list(boxes) -> list:
    """The boxes of an entry, which may be a single one."""
    return boxes if isinstance(boxes, list) and (not boxes or isinstance(boxes[0], list)) else [boxes]


def _from_corners(name: str):
    def read(entry, key: str) -> Detection:
        corners = numbers_in(entry, 4)
        if corners is None:
            shown = json.dumps(entry)[:60]
            raise InputError(f"{name}: entry {key!r} must be four numbers [x0, y0, x1, y1] per box, got {shown}")
        return Detection(corners)

    return read


def _results(content: list, name: str) -> dict[str, list]:
    """Results by the file name of their image, or its number."""
    table: dict[str, list] = {}
    for one in content:
        image = (one.get("file_name") or one.get("image_id")) if isinstance(one, dict) else None
        if not is_key(image):
            raise InputError(
                f"{name} is a list, but not of COCO results: each needs bbox, and image_id or file_name, got "
                f"{json.dumps(one)[:60]}"
            )
        table.setdefault(last_part(str(image)), []).append(one)
    return table


def _from_coco(content: dict, name: str):
    names = {}
    for one in content.get("categories") or []:
        if isinstance(one, dict) and is_key(one.get("id")):
            names[one["id"]] = str(one.get("name"))

    def read(entry, key: str) -> Detection | None:
        if entry.get("iscrowd"):
            return None
        bbox, score = numbers_in(entry.get("bbox"), 4), entry.get("score")
        if bbox is None or not (score is None or numbers_in([score], 1)):
            shown = json.dumps({"bbox": entry.get("bbox"), "score": score})[:80]
            raise InputError(f"{name}: entry {key!r} must be bbox [x, y, width, height], and numbers, got {shown}")
        x, y, width, height = bbox
        category = entry.get("category_id", 1)
        if not isinstance(category, int):
            raise InputError(f"{name}: entry {key!r} has the category_id {json.dumps(category)[:20]}; pass an integer")
        default = f"category{category}" if "category_id" in entry else "object"
        return Detection((x, y, x + width, y + height), names.get(category, default), category, score)

    return read


# A file per image


def _files_of(path: Path, images, option: str, name: str):
    """A function per image that reads its file, and the names of all files."""
    if path.is_dir():
        inside = [one for one in files_in(path, option) if one.suffix.lower() == ".txt" and one.name != CLASSES]
        files = {stem_of(one): one for one in inside}
    elif len(images) > 1:
        raise InputError(f"{name} has the boxes of one image, but there are {len(images)}; pass a folder of such files")
    else:
        inside, files = [path], {stem_of(images[0]): path}
    classes = _class_names(inside[0].parent / CLASSES, option) if inside else []
    readers = {image: partial(_yolo, file, option, classes) for image in images if (file := files.get(stem_of(image)))}
    return readers, [one.name for one in inside]


def _class_names(path: Path, option: str) -> list[str]:
    return _text_of(path, option).splitlines() if path.exists() else []


def _text_of(path: Path, option: str) -> str:
    if os.path.exists(path) and os.path.getsize(path) == 0:  # no object was found in this image
        return ""
    try:
        return read_bytes(path, option).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{option}: {str(path)!r} is not text; pass YOLO's text files") from None


def _yolo(path: Path, option: str, classes: list[str]) -> Iterator[Detection]:
    for number, line in enumerate(_text_of(path, option).splitlines(), 1):
        words = line.split()
        if not words:
            continue
        where = f"{option}: {str(path)!r}, line {number}"
        if len(words) not in (5, 6):
            raise InputError(f"{where} must be class, x, y, width, height, perhaps score, got {line[:60]!r}")
        try:
            values = numbers_in([float(word) for word in words], len(words))
        except ValueError:
            values = None
        if values is None or values[0] != int(values[0]) or values[0] < 0:
            raise InputError(f"{where} must be a class and four or five numbers, got {line[:60]!r}")
        if max(map(abs, values[1:5])) > MAX_SHARE:
            raise InputError(f"{where} must be shares of the image, 0 to 1, got {line[:60]!r}")
        category, (x, y, width, height) = int(values[0]), values[1:5]
        name = classes[category].strip() if category < len(classes) else f"category{category}"
        corners = x - width / 2, y - height / 2, x + width / 2, y + height / 2
        yield Detection(corners, name, category, values[5] if len(words) == 6 else None, True)


def numbers_in(values, count: int) -> tuple | None:
    """That many finite numbers as a tuple; None for anything else."""
    if not isinstance(values, list) or len(values) != count:
        return None
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return None
    try:
        return tuple(values) if all(map(math.isfinite, values)) else None
    except OverflowError:  # an integer beyond all floats
        return None
