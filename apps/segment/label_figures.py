"""Figures of several objects, with outlines and colours over the image; label images, their legend, and annotations."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from apps.common.annotations import Annotation
from apps.common.figures import dimmed_grey, outline
from apps.common.image_metadata import NO_METADATA, Metadata
from apps.common.images import to_bytes
from apps.common.writing import encoded_image
from apps.segment.label_values import label_values

if TYPE_CHECKING:
    from apps.segment.box_files import Detection

TINT = 0.35  # opacity of an object's colour over the image
# Colours of the first label values, which are those of pure-colour strokes; colour_of spreads the hues of the rest.
FIRST_COLOURS = ((0, 0, 0), (230, 30, 30), (40, 80, 255), (30, 180, 60), (240, 210, 30), (220, 50, 220), (40, 200, 220))
GAP = 4  # pixels between slices
MIN_NAMED = 100  # pixels of the shorter side of a slice with its axis and number
SHEET_WIDTH = 1200  # pixels of a figure of small slices
MAX_SIDE = 8192  # pixels of the longer side of a drawn slice


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
    width = 1 + max(labels.shape) // 1000
    for value, colour in zip(values, colours, strict=True):
        inside = labels == value
        shown[outline(~inside, width)] = colour
    return to_bytes(shown)


def label_strokes_figure(rgb: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Image (H, W, 3) in [0, 1] in dimmed grey, with the strokes (H, W) in the colours of the overlay; uint8 RGB."""
    shown = dimmed_grey(rgb)
    for value in np.unique(seeds[seeds > 0]):
        shown[seeds == value] = np.array(colour_of(int(value))) / np.float32(255)
    return to_bytes(shown)


def middle_slices(volume: np.ndarray, labels: np.ndarray, spacing=(1.0, 1.0, 1.0), places=None) -> np.ndarray:
    """Three slices of a volume (D, H, W) with its labels, across z, y and x, next to each other; uint8 RGB.

    They are the middle ones, unless `places` contains the number of a slice per axis.

    Slices are stretched to the voxel shape given by `spacing`, up to MAX_SIDE pixels, and small ones are enlarged, so
    that the figure is about SHEET_WIDTH pixels wide.
    """
    import cv2

    low, high = (float(v) for v in np.percentile(volume[:: max(1, len(volume) // 32)], (0.5, 99.5)))
    parts = []
    sides = np.array(volume.shape) * spacing / min(spacing)
    enlarged = max(1.0, SHEET_WIDTH / (2 * sides[2] + sides[1]))
    for axis in range(3):
        middle = volume.shape[axis] // 2 if places is None else places[axis]
        grey = np.take(volume, middle, axis=axis).astype(np.float32)
        grey = np.clip((grey - low) / max(high - low, 1e-12), 0, 1)
        sizes = [enlarged * s / min(spacing) for k, s in enumerate(spacing) if k != axis]
        size = np.array(grey.shape[::-1]) * sizes[::-1]
        shrunk = min(1.0, MAX_SIDE / size.max())
        size = tuple(int(side) for side in np.maximum(1, np.rint(shrunk * size)))
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_LINEAR)
        shown = np.take(labels, middle, axis=axis)
        shown = cv2.resize(shown, size, interpolation=cv2.INTER_NEAREST)
        part = labels_overlay(np.repeat(grey[..., None], 3, axis=2), shown)
        for colour, width in ((0, 3), (255, 1)):  # dark around light letters, on slices that have room for them
            if min(part.shape[:2]) >= MIN_NAMED:
                text, place = f"{'zyx'[axis]} {middle}", (6, 20)
                cv2.putText(part, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.6, (colour,) * 3, width, cv2.LINE_AA)
        parts.append(part)
    height = max(len(part) for part in parts)
    width = sum(part.shape[1] for part in parts) + GAP * (len(parts) - 1)
    sheet = np.full((height, width, 3), 255, np.uint8)
    x = 0
    for part in parts:
        sheet[: len(part), x : x + part.shape[1]] = part
        x += part.shape[1] + GAP
    return sheet


def encoded_labels(labels: np.ndarray, metadata: Metadata = NO_METADATA) -> bytes:
    """Content of a grey PNG whose values are the labels (H, W): 8 bits, or 16 bits for values above 255.

    There is no palette, because most programs would read its colours.  `legend` and the overlay contain the colours.
    Raises InputError for values that do not fit into 16 bits.
    """
    return encoded_image(label_values(labels, "labels"), ".png", metadata.without_profile())


def legend(labels: np.ndarray, objects: Iterable[Annotation]) -> dict:
    """Names, colours and numbers of pixels of the objects of a label map (H, W), for a JSON file beside it."""
    height, width = labels.shape
    entries = {}
    for found in objects:
        entry = {"name": found.name, "colour": list(found.colour), "pixels": int(np.count_nonzero(found.mask))}
        detected = {"category": found.category, "score": found.score}
        entries[str(found.value)] = entry | {key: value for key, value in detected.items() if value is not None}
    return {"width": width, "height": height, "labels": entries}


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
