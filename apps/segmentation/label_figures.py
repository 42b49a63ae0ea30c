"""Files of several objects: label images, their legend, and annotations; `apps.common.figures` draws them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from apps.common.annotations import Annotation
from apps.common.figures import colour_of
from apps.common.writing import NO_METADATA, Metadata, encoded_image
from apps.segmentation.marks import label_values

TIFF = (".tif", ".tiff")
NOTHING: Mapping[int, Mapping[str, Any]] = MappingProxyType({})


def encoded_labels(labels: np.ndarray, metadata: Metadata = NO_METADATA, suffix: str = ".png") -> bytes:
    """Content of a grey PNG, or TIFF, whose values are the labels (H, W): 8 bits, or 16 bits for values above 255.

    There is no palette, because most programs would read its colours; the legend and the overlay contain the colours.
    Raises InputError for values that do not fit into 16 bits.
    """
    compression = {"compression": "tiff_deflate"} if suffix in TIFF else {}
    values = label_values(labels, "labels")
    return encoded_image(values, suffix if compression else ".png", metadata.without_profile(), **compression)


def encoded_legend(image: Path, labels: np.ndarray, objects: Iterable[Annotation]) -> bytes:
    """Content of a JSON file: names, colours and numbers of pixels of the objects of a label map or label volume."""
    sizes = dict(zip(("width", "height", "depth"), labels.shape[::-1], strict=False))
    entries = {}
    for found in objects:
        entry = {"name": found.name, "colour": list(found.colour), "pixels": int(np.count_nonzero(found.mask))}
        detected = {"category": found.category, "score": found.score}
        entries[str(found.value)] = entry | {key: value for key, value in detected.items() if value is not None}
    return json.dumps({"image": image.name} | sizes | {"labels": entries}, indent=2).encode() + b"\n"


def annotations_of(
    labels: np.ndarray, values: Iterable[int], about: Mapping[int, Mapping[str, Any]] = NOTHING
) -> Iterator[Annotation]:
    """The objects of a label map (H, W), one after the other; `about` are attributes of some of them, by value."""
    for value in map(int, values):
        known: dict[str, Any] = {"name": name_of(value), "colour": colour_of(value), **about.get(value, {})}
        yield Annotation(value=value, mask=labels == value, **known)


def name_of(value: int) -> str:
    """Name of an object in the names of its files, in legends and in annotations."""
    return f"object{value}"
