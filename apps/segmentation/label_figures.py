"""Figures of several objects, with outlines and colours over the image; label images, their legend, and annotations."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.common.annotations import Annotation
from apps.common.figures import line_width, outline
from apps.common.images import to_bytes
from apps.common.scales import caption, side_by_side, stacked
from apps.common.writing import NO_METADATA, Metadata, encoded_image
from apps.segmentation.label_values import label_values

if TYPE_CHECKING:
    from apps.segmentation.box_files import Detection

TINT = 0.35  # opacity of an object's colour over the image
# Colours of the first label values, which are those of pure-colour strokes; colour_of spreads the hues of the rest.
FIRST_COLOURS = ((0, 0, 0), (230, 30, 30), (40, 80, 255), (30, 180, 60), (240, 210, 30), (220, 50, 220), (40, 200, 220))
SHEET_WIDTH = 1200  # pixels of a figure of small slices
MAX_SIDE = 8192  # pixels of the longer side of a drawn slice
LETTER = 14  # pixels: height of the digits above slices
MAX_KEYED = 16  # labels in the key of slices


def colour_of(value: int) -> tuple:
    """The colour of a label, independent of the other labels: R, G, B in 0 .. 255."""
    import colorsys

    if 0 <= value < len(FIRST_COLOURS):
        return FIRST_COLOURS[value]
    hue = (0.618034 * value) % 1.0  # the golden ratio spreads successive hues
    return tuple(round(255 * c) for c in colorsys.hsv_to_rgb(hue, 0.9 - 0.3 * (value % 2), 0.95))


def labels_overlay(rgb: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Image (H, W, 3) in [0, 1] tinted by label (H, W), every object outlined in its colour; uint8 RGB."""
    values = np.unique(labels)
    colours = np.array([colour_of(int(value)) for value in values]) / np.float32(255)
    shown = (1 - TINT) * rgb + TINT * colours[np.searchsorted(values, labels)]
    width = line_width(labels.shape)
    for value, colour in zip(values, colours, strict=True):
        inside = labels == value
        shown[outline(~inside, width)] = colour
    return to_bytes(shown)


def sections(
    volume: np.ndarray, labels: np.ndarray, values: Sequence[int], spacing: Sequence[float] = (1.0, 1.0, 1.0)
) -> np.ndarray:
    """Three slices of a volume (D, H, W) across z, y and x, with the labels of these values, and a key; uint8 RGB.

    Each is the slice that shows most of the labels, first those that the others do not show.  Slices are stretched to
    the voxel shape given by `spacing`, up to MAX_SIDE pixels, and small ones are enlarged, so that the figure is about
    SHEET_WIDTH pixels wide.  One label needs no key.
    """
    import cv2

    low, high = (float(v) for v in np.percentile(volume[:: max(1, len(volume) // 32)], (0.5, 99.5)))
    sides = np.array(volume.shape) * spacing / min(spacing)
    enlarged = max(1.0, SHEET_WIDTH / (2 * sides[2] + sides[1]))
    parts, shown = [], np.zeros(len(values))
    for axis in range(3):
        place, shown = best_section(labels, values, axis, shown)
        grey = np.take(volume, place, axis=axis).astype(np.float32)
        grey = np.clip((grey - low) / max(high - low, 1e-12), 0, 1)
        size = enlarged * np.delete(sides, axis)[::-1]
        size = np.maximum(1, np.rint(min(1.0, MAX_SIDE / size.max()) * size)).astype(int).tolist()
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_LINEAR)
        tint = cv2.resize(np.take(labels, place, axis=axis), size, interpolation=cv2.INTER_NEAREST)
        part = labels_overlay(np.repeat(grey[..., None], 3, axis=2), tint)
        parts.append(stacked(caption(f"{'zyx'[axis]} {place}", LETTER), part))
    sheet = side_by_side(*parts)
    return stacked(sheet, key_of(values[:MAX_KEYED]), gap=4) if len(values) > 1 else sheet


def best_section(labels: np.ndarray, values: Sequence[int], axis: int, shown: np.ndarray) -> tuple[int, np.ndarray]:
    """The slice across an axis of a volume (D, H, W) that shows most of the labels of these values.

    Every label counts by the share of its largest area, and again by what is more than `shown`, the largest share in
    other slices.  Returns that with the slice.  Without labels, it is the middle one.
    """
    slices = (np.take(labels, place, axis=axis).ravel() for place in range(labels.shape[axis]))
    area = np.stack([np.bincount(one, minlength=max(values) + 1)[list(values)] for one in slices])
    share = area / np.maximum(1, area.max(axis=0))
    seen = (share + np.maximum(share - shown, 0)).sum(axis=1)
    best = np.flatnonzero(seen >= seen.max() - 1e-9)
    place = int(best[len(best) // 2])  # the middle one of those that show as much
    return place, np.maximum(shown, share[place])


def key_of(values: Iterable[int]) -> np.ndarray:
    """The values of labels, each beside its colour; uint8 RGB."""
    parts = []
    for value in values:
        square = caption("  ", LETTER)
        square[LETTER // 2 : -LETTER // 2, LETTER // 2 :] = colour_of(value)
        parts += [square, caption(f"{value}", LETTER)]
    return side_by_side(*parts, gap=0)


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
