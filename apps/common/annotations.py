"""Objects of an image in the formats of other programs: COCO, GeoJSON and labelme are written, COCO is read.

Polygons have the corners of pixels (`apps.common.outlines`): pixel (x, y) extends from x to x + 1 in the upright image.
An object with holes, which neither COCO nor labelme has, is written as run lengths in COCO (by pycocotools) and as a
mask in labelme; all forms contain exactly the pixels of the object.

COCO: https://cocodataset.org/#format-data.  GeoJSON is as QuPath imports it: a feature per object, with its class and
colour; outer rings are counter-clockwise in the sense of RFC 7946: their signed area in x and y is positive.
"""

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.common.errors import InputError
from apps.common.file_kinds import stem_of
from apps.common.images import read_bytes
from apps.common.writing import encoded_image

if TYPE_CHECKING:  # outlines are traced on demand; their module loads numba
    from apps.common.outlines import Polygon

# Ends of the names of the results, after the image's name.  A kind of these is one of --write, of Session.export and of
# the HTTP interface; the page lists its own (apps/app/saved_results.py).
SUFFIXES = {
    "coco": "-coco.json",
    "coco-rle": "-coco-rle.json",
    "geojson": "-outlines.geojson",
    "labelme": "-labelme.json",
    "yolo": ".txt",  # the name by which it is found for its image
}
TOLERANCE = 1.0  # pixels by which a simplified outline may be off
LABELME = "5.5.0"  # version of labelme's format
MAX_SIDE = 65535  # pixels of an image in COCO


@dataclass(frozen=True)
class Annotation:
    """An object of an image: its class and its pixels.

    Attributes
    ----------
    name : str
        Name of its class.
    value : int
        Its number, from 1.
    colour : tuple of int
        Displayed colour, R, G, B in 0 .. 255.
    mask : ndarray of bool, shape (H, W)
        Its pixels, in the upright image.
    category : int, optional
        Number of its class.  Default: its own number.
    score : float, optional
        Of the detector that found it.
    """

    name: str
    value: int
    colour: tuple[int, int, int]
    mask: np.ndarray
    category: int | None = None
    score: float | None = None

    @cached_property
    def polygons(self) -> "list[Polygon]":
        """Exact outlines; traced on first use and shared by the formats."""
        from apps.common.outlines import polygons_of

        return polygons_of(self.mask)

    @property
    def has_holes(self) -> bool:
        """Whether a part of it encloses other pixels."""
        return any(polygon.holes for polygon in self.polygons)


def encoded_annotations(
    kind: str,
    path: Path,
    image: Path,
    shape: tuple[int, int],
    objects: Iterable[Annotation],
    tolerance: float = TOLERANCE,
) -> bytes:
    """Content of an annotation file of a kind in SUFFIXES.

    `path` is where it will be written and `image` the annotated file; `shape` is (H, W).  `tolerance` is for "yolo".
    """
    if kind == "yolo":
        return _yolo(shape, objects, tolerance)
    formats: dict[str, Callable[[], dict]] = {
        "coco": lambda: coco_document(image.name, shape, objects, rle=False),
        "coco-rle": lambda: coco_document(image.name, shape, objects, rle=True),
        "geojson": lambda: _geojson(objects),
        "labelme": lambda: _labelme(path, image, shape, objects),
    }
    return json.dumps(formats[kind](), separators=(",", ":")).encode() + b"\n"


# COCO


def coco_document(file_name: str, shape: tuple[int, int], objects: Iterable[Annotation], rle: bool) -> dict:
    """The content of a COCO file of one image (H, W): run lengths, or unless `rle` polygons of objects without holes.

    An object without pixels is a category without annotation.
    """
    annotations: list[dict] = []
    categories: dict[int, dict] = {}
    for found in objects:
        category = found.value if found.category is None else found.category
        categories.setdefault(category, {"id": category, "name": found.name, "supercategory": ""})
        if not found.mask.any():
            continue
        (x0, y0), (x1, y1) = _corners(found.mask)
        annotations.append(
            {
                "id": len(annotations) + 1,
                "image_id": 1,
                "category_id": category,
                "segmentation": _run_lengths(found.mask) if rle or found.has_holes else _rings(found),
                "area": int(np.count_nonzero(found.mask)),
                "bbox": [x0, y0, x1 - x0 + 1, y1 - y0 + 1],
                "iscrowd": 0,
                **({} if found.score is None else {"score": found.score}),
            }
        )
    image = {"id": 1, "file_name": file_name, "width": shape[1], "height": shape[0]}
    return {"images": [image], "annotations": annotations, "categories": list(categories.values())}


def merged_coco(documents: Iterable[dict]) -> dict:
    """One document of several, with new numbers of images and annotations; categories keep their numbers."""
    images: list[dict] = []
    annotations: list[dict] = []
    categories: dict = {}
    for one in documents:
        number_of = {}
        for image in one["images"]:
            number_of[image["id"]] = len(images) + 1
            images.append(image | {"id": len(images) + 1})
        for annotation in one["annotations"]:
            numbers = {"id": len(annotations) + 1, "image_id": number_of[annotation["image_id"]]}
            annotations.append(annotation | numbers)
        categories |= {category["id"]: category for category in one["categories"]}
    return {
        "images": images,
        "annotations": annotations,
        "categories": [categories[number] for number in sorted(categories)],
    }


def _run_lengths(mask: np.ndarray) -> dict:
    from pycocotools import mask as coco

    runs = coco.encode(np.asfortranarray(mask, np.uint8))
    return {"size": list(mask.shape), "counts": runs["counts"].decode("ascii")}


def _rings(found: Annotation) -> list[list[int]]:
    """Coordinates x, y, x, y ... of a ring per part."""
    return [polygon.outer.ravel().tolist() for polygon in found.polygons]


def _corners(mask: np.ndarray) -> tuple[tuple[int, int], tuple[int, int]]:
    """The first and the last column and row of the pixels of a mask, as (x0, y0), (x1, y1)."""
    rows, columns = (np.flatnonzero(mask.any(axis=axis)).tolist() for axis in (1, 0))
    return (columns[0], rows[0]), (columns[-1], rows[-1])


# GeoJSON


def _geojson(objects: Iterable[Annotation]) -> dict:
    """A FeatureCollection with a Polygon, or for several parts a MultiPolygon, for each object that has pixels."""
    features = [_feature(found) for found in objects if found.polygons]
    return {"type": "FeatureCollection", "features": features}


def _feature(found: Annotation) -> dict:
    parts = [[_closed(ring) for ring in (polygon.outer, *polygon.holes)] for polygon in found.polygons]
    if len(parts) == 1:
        geometry = {"type": "Polygon", "coordinates": parts[0]}
    else:
        geometry = {"type": "MultiPolygon", "coordinates": parts}
    return {
        "type": "Feature",
        "geometry": geometry,
        "properties": {
            "objectType": "annotation",
            "classification": {"name": found.name, "color": list(found.colour)},
        },
    }


def _closed(ring) -> list[list[int]]:
    corners = ring.tolist()
    return [*corners, corners[0]]


# labelme


def _labelme(path: Path, image: Path, shape: tuple[int, int], objects: Iterable[Annotation]) -> dict:
    """The content of the file `path` for an image (H, W), which it refers to by its relative path.

    The parts of an object without holes are polygons that share a `group_id`.
    """
    shapes = []
    for found in objects:
        if found.has_holes:
            (x0, y0), (x1, y1) = corners = _corners(found.mask)
            pixels = found.mask[y0 : y1 + 1, x0 : x1 + 1]
            shapes.append(_shape(found.name, None, corners, pixels))
        else:
            group = found.value if len(found.polygons) > 1 else None
            shapes += [_shape(found.name, group, polygon.outer) for polygon in found.polygons]
    return {
        "version": LABELME,
        "flags": {},
        "shapes": shapes,
        "imagePath": _relative(image, path.parent),
        "imageData": None,
        "imageHeight": shape[0],
        "imageWidth": shape[1],
    }


def _shape(name: str, group: int | None, points, pixels: np.ndarray | None = None) -> dict:
    """A polygon of corners, or the mask of the pixels in the rectangle between two of them, both included."""
    return {
        "label": name,
        "points": np.array(points, float).tolist(),
        "group_id": group,
        "description": "",
        "shape_type": "polygon" if pixels is None else "mask",
        "flags": {},
        "mask": None if pixels is None else b64encode(encoded_image(np.uint8(pixels), ".png")).decode("ascii"),
    }


def _relative(image: Path, folder: Path) -> str:
    """Path of the image from a folder; absolute if there is none, as between drives of Windows."""
    image = Path(os.path.realpath(image.parent)) / image.name
    try:
        return Path(os.path.relpath(image, os.path.realpath(folder))).as_posix()
    except ValueError:
        return image.as_posix()


# YOLO


def _yolo(shape: tuple[int, int], objects: Iterable[Annotation], tolerance: float) -> bytes:
    """A line per object: number of its class, then x, y of an outline as shares of the image.

    The class is the category, or the number of the object, less one, without one.  A line leads from the outline to the
    other parts and to holes, and back, as in the files that Ultralytics makes of COCO.
    """
    lines = []
    for found in objects:
        rings = [ring for polygon in found.polygons for ring in (polygon.outer, *polygon.holes)]
        if rings:
            corners = _joined([_simplified(ring, tolerance) for ring in rings]) / np.array(shape[::-1])
            number = found.value - 1 if found.category is None else found.category
            lines.append(" ".join([str(number), *(f"{one:.6g}" for one in corners.ravel())]) + "\n")
    return "".join(lines).encode()


def _simplified(ring: np.ndarray, tolerance: float) -> np.ndarray:
    """Some corners of a ring, such that all others are within a tolerance of the sides between them."""
    import cv2

    some = cv2.approxPolyDP(ring[:, None], tolerance, True)[:, 0]
    return some if len(some) > 2 else ring


def _joined(rings: list[np.ndarray]) -> np.ndarray:
    """One ring of several; each is entered and left at the corners where it is nearest to those before it."""
    whole, *others = rings
    for ring in others:
        away = np.square(whole[:, None].astype(np.int64) - ring).sum(axis=2)
        at, first = np.unravel_index(away.argmin(), away.shape)
        ring = np.roll(ring, -first, axis=0)
        whole = np.concatenate((whole[: at + 1], ring, ring[:1], whole[at:]))
    return whole


def read_classes(path: Path, option: str) -> dict[str, tuple[int, int, int] | None]:
    """The classes in a file, one a line: a name, perhaps a colour as #RRGGBB; InputError for anything else."""
    try:
        lines = read_bytes(path, option).decode().splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{option}: {str(path)!r} is not text; pass one class a line") from None
    found: dict[str, tuple[int, int, int] | None] = {}
    for line in filter(str.strip, lines):
        name, _, code = line.strip().rpartition(" #")
        colour = tuple(bytes.fromhex(code)) if name and re.fullmatch("[0-9A-Fa-f]{6}", code) else None
        name = name.strip() if colour else line.strip()
        if name in found:
            raise InputError(f"{option}: {str(path)!r} has the class {name!r} twice")
        found[name] = colour  # type: ignore[assignment]  # of three bytes
    if not found:
        raise InputError(f"{option}: {str(path)!r} has no class; write one a line")
    return found


# Reading of COCO


def read_json(path: Path, option: str):
    """The content of a JSON file, None if it is not JSON; InputError if it cannot be read."""
    data = read_bytes(path, option)
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def is_coco(content) -> bool:
    """Whether the content of a JSON file is that of COCO annotations."""
    return isinstance(content, dict) and isinstance(content.get("annotations"), list)


def annotated_images(content: dict, name: str) -> dict[str, tuple[dict, list[dict]]]:
    """Entry and annotations of every image, by the last part of its file name; InputError names the file `name`."""
    images = content.get("images")
    if not isinstance(images, list) or not all(
        isinstance(one, dict) and isinstance(one.get("file_name"), str) and is_key(one.get("id")) for one in images
    ):
        raise InputError(f"{name} is COCO without images; each needs an id and a file_name")
    table: dict[str, tuple[dict, list[dict]]] = {}
    name_of = {}
    for one in images:
        name_of[one["id"]] = key = last_part(one["file_name"])
        if key in table:
            raise InputError(f"{name} has two images {key!r}; split it by folder")
        table[key] = one, []
    for one in content["annotations"]:
        number = one.get("image_id") if isinstance(one, dict) else None
        if not is_key(number) or number not in name_of:
            raise InputError(f"{name} has an annotation of no image: {json.dumps(one)[:60]}")
        table[name_of[number]][1].append(one)
    return table


def keys_of(table: Mapping[str, object], images: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Images and the names of their entries in a table: the same, or one of this stem; images without are left out."""
    by_stem: dict[str, list[str]] = {}
    for key in table:
        by_stem.setdefault(stem_of(Path(key)), []).append(key)
    for image in images:
        stem = stem_of(image)
        same = [key for key in (image.name, stem) if key in table] or by_stem.get(stem, [])
        if stem.isdecimal() and not same:  # an image_id; names of COCO's images have 12 digits
            same = by_stem.get(str(int(stem)), [])
        if same:
            yield image, same[0]


def is_key(value) -> bool:
    """Whether a value can be the number or the name of an image or a category."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def last_part(text: str) -> str:
    """The name of a file, of which another system may have written the path."""
    return text.replace("\\", "/").rsplit("/", 1)[-1]


def mask_of_segmentation(found, shape: tuple[int, int]) -> np.ndarray:
    """The mask (H, W, bool) of polygons, or of run lengths, compressed or not; ValueError for what is damaged."""
    from pycocotools import mask as coco

    if isinstance(found, dict):
        size = int(found["size"][0]), int(found["size"][1])
        if size != shape:
            raise ValueError(f"run lengths of size {size} in an image of {shape}")
        runs = found if isinstance(found["counts"], str) else coco.frPyObjects(found, *shape)
        try:  # of lengths that do not fill the mask, the library leaves the rest as it finds it
            coco.decode(runs | {"size": [1, shape[0] * shape[1] - 1]})
        except ValueError:
            return coco.decode(runs) > 0
        raise ValueError("run lengths that do not cover the image")
    for ring in found:
        if not (np.abs(np.array(ring, np.float64)) <= 2 * MAX_SIDE).all():
            raise ValueError("a corner outside the image")
    return coco.decode(coco.merge(coco.frPyObjects(found, *shape))) > 0
