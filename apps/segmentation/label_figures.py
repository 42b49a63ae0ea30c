"""Files of several objects: label images, their legend, and annotations; `apps.common.figures` draws them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.common.annotations import Annotation
from apps.common.figures import colour_of
from apps.common.writing import NO_METADATA, Metadata, encoded_image
from apps.segmentation.marks import label_values

if TYPE_CHECKING:
    from apps.segmentation.box_files import Detection


def encoded_labels(labels: np.ndarray, metadata: Metadata = NO_METADATA) -> bytes:
    """Content of a grey PNG whose values are the labels (H, W): 8 bits, or 16 bits for values above 255.

    There is no palette, because most programs would read its colours; the legend and the overlay contain the colours.
    Raises InputError for values that do not fit into 16 bits.
    """
    return encoded_image(label_values(labels, "labels"), ".png", metadata.without_profile())


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
    labels: np.ndarray, values: Iterable[int], detections: Mapping[int, "Detection"] | None = None
) -> Iterator[Annotation]:
    """The objects of a label map (H, W), one after the other, with the names of the detections if there are any."""
    for value in map(int, values):
        mask, colour = labels == value, colour_of(value)
        if detections is None:
            yield Annotation(name_of(value), value, colour, mask)
        else:
            one = detections[value]
            yield Annotation(one.name, value, colour, mask, one.category, one.score)


def name_of(value: int) -> str:
    """Name of an object in the names of its files, in legends and in annotations."""
    return f"object{value}"
