"""Annotations of objects as labelme and compatible programs (AnyLabeling, X-AnyLabeling) open them.

A part of an object is a polygon along the sides of its pixels (`apps.common.outlines`), with its holes joined to the
outer ring (`apps.common.keyholes`), because labelme has no holes.  The parts of one object share a `group_id`.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from apps.common.annotations import Annotation
from apps.common.keyholes import single_ring

VERSION = "5.5.0"  # of labelme's format


def document(path: Path, image: Path, shape: tuple[int, int], objects: Iterable[Annotation]) -> dict:
    """The content of the file `path` for an image (H, W), which it refers to by its relative path."""
    shapes = []
    for found in objects:
        polygons = found.polygons
        group = found.value if len(polygons) > 1 else None
        shapes += [_shape(found.name, group, single_ring(polygon)) for polygon in polygons]
    return {
        "version": VERSION,
        "flags": {},
        "shapes": shapes,
        "imagePath": _relative(image, path.parent),
        "imageData": None,
        "imageHeight": shape[0],
        "imageWidth": shape[1],
    }


def _shape(name, group, ring) -> dict:
    return {
        "label": name,
        "points": ring.astype(float).tolist(),
        "group_id": group,
        "description": "",
        "shape_type": "polygon",
        "flags": {},
        "mask": None,
    }


def _relative(image: Path, folder: Path) -> str:
    """Path of the image from a folder; absolute if there is none, as between drives of Windows."""
    image = Path(os.path.realpath(image.parent)) / image.name
    try:
        return Path(os.path.relpath(image, os.path.realpath(folder))).as_posix()
    except ValueError:
        return image.as_posix()
