"""Annotation files of an image in the formats that other programs read: COCO, GeoJSON and labelme."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from apps.common.annotations import Annotation

# Names of the results, which follow the image's name.
SUFFIXES = {
    "coco": "coco.json",
    "coco-rle": "coco-rle.json",
    "geojson": "outlines.geojson",
    "labelme": "labelme.json",
}


def encoded_annotations(
    kind: str, path: Path, image: Path, shape: tuple[int, int], objects: Iterable[Annotation]
) -> bytes:
    """Content of an annotation file of a kind in SUFFIXES.

    `path` is where it will be written and `image` the annotated file; `shape` is (H, W).
    """
    from apps.common import coco, geojson, labelme  # they load numba, which the help of a command does not need

    formats: dict[str, Callable[[], dict]] = {
        "coco": lambda: coco.document(image.name, shape, objects, rle=False),
        "coco-rle": lambda: coco.document(image.name, shape, objects, rle=True),
        "geojson": lambda: geojson.document(objects),
        "labelme": lambda: labelme.document(path, image, shape, objects),
    }
    return json.dumps(formats[kind](), separators=(",", ":")).encode() + b"\n"
