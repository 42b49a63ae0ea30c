"""The files that commands, sessions and the page write for an image, and their contents; --write chooses them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from apps.common.annotations import SUFFIXES as ANNOTATIONS
from apps.common.annotations import TOLERANCE, Annotation, encoded_annotations, merged_coco
from apps.common.errors import InputError
from apps.common.file_kinds import TIFF
from apps.common.images import read_bytes
from apps.common.writing import NO_METADATA, Metadata, encoded_image, write_bytes
from apps.segmentation.marks import label_values

KINDS = {  # of files, by what is found: those written by default, and further ones
    "one object": (("mask", "overlay", "cutout", "strokes"), tuple(ANNOTATIONS)),
    "several objects": (("labels", "overlay", "cutout", "strokes"), tuple(ANNOTATIONS)),
    "boxes": (("labels", "overlay", "coco"), ("cutout", *ANNOTATIONS)),  # a cut-out of each may be many files
    "a clip": (("mask", "overlay"), ("cutout",)),
}
ALL_KINDS = tuple(dict.fromkeys(kind for kinds in KINDS.values() for part in kinds for kind in part))
MERGED = ("coco", "coco-rle")  # annotations that a batch also writes as one file
NOTHING: Mapping[int, Mapping[str, Any]] = MappingProxyType({})


class Found(NamedTuple):
    """What was found in an image: a mask, bool (H, W), or the labels of several objects.

    values    of the labels
    strokes   as they were read: marks (H, W), or labels of several objects, 0 for none; None draws none
    about     names and other attributes of an annotation, by label
    """

    image: Path
    rgb: np.ndarray
    metadata: Any
    mask: Any = None
    labels: Any = None
    values: tuple[int, ...] = ()
    strokes: Any = None
    about: Mapping[int, Mapping[str, Any]] = NOTHING


def kinds_of(text: str | None, found: str, has_strokes: bool = True) -> tuple[str, ...]:
    """The kinds of files in `--write`, in the order of KINDS; the default for None.

    found         a key of KINDS
    has_strokes   whether there are strokes or a trimap to show, unlike for a box alone

    Raises InputError for a kind that does not exist, or not for this input.
    """
    default, further = ([kind for kind in part if has_strokes or kind != "strokes"] for part in KINDS[found])
    known, given = (
        dict.fromkeys((*default, *further)),
        [] if text is None else [part.strip() for part in text.split(",")],
    )
    if unknown := [kind for kind in given if kind not in known]:
        raise InputError(f"--write: {found} has no {unknown[0]!r}; the kinds of {found} are {', '.join(known)}")
    return tuple(kind for kind in known if kind in given) or tuple(default)


def files_of(
    kinds: tuple[str, ...], folder: Path, name: str, several: bool = False, values: Iterable[int] = ()
) -> dict[str, Path]:
    """Files of one image by kind: a legend beside a label image, and of `several` objects a cut-out of each value."""
    files = {}
    for kind in kinds:
        if kind == "cutout" and several:
            continue
        files[kind] = folder / f"{name}{ANNOTATIONS.get(kind, f'-{kind}.png')}"
        if kind == "labels":
            files["legend"] = folder / f"{name}-labels.json"
    if "cutout" in kinds and several:
        files |= {f"object{value}": folder / f"{name}-object{value}.png" for value in values}
    return files


def contents_of(found: Found, files: Mapping[str, Path], tolerance: float = TOLERANCE) -> dict[str, bytes]:
    """Contents of an image's files by kind; figures are drawn one by one, and compressed in parallel.

    The cut-outs of several objects may be many, so each is compressed before the next one is drawn.
    """
    from apps.common import figures
    from apps.common.row_blocks import in_parallel
    from apps.segmentation.matte import cut_out

    image, rgb, metadata, mask, labels, values, strokes, about = found
    shape = rgb.shape[:2]

    def objects():
        if labels is None:
            return [Annotation("object", 1, figures.colour_of(1), mask)]
        return annotations_of(labels, values, about)

    def figure(kind):
        if kind == "overlay":
            return figures.overlay(rgb, mask) if labels is None else figures.labels_overlay(rgb, labels)
        if kind != "strokes":
            return cut_out(rgb, mask if kind == "cutout" else labels == int(kind.removeprefix("object")))
        colours = {value: np.array(figures.colour_of(value)) / np.float32(255) for value in values}
        return figures.strokes_figure(rgb, strokes, **({} if labels is None else {"colours": colours}))

    encoders = {}
    for kind, path in files.items():
        if kind in ANNOTATIONS:
            encoders[kind] = partial(encoded_annotations, kind, path, image, shape, objects(), tolerance)
        elif kind == "mask":
            pixels = np.uint8(255) * mask
            encoders[kind] = partial(encoded_image, pixels, ".png", metadata.without_profile())
        elif kind == "labels":
            encoders[kind] = partial(encoded_labels, labels, metadata, path.suffix.lower())
        elif kind == "legend":
            encoders[kind] = partial(encoded_legend, image, labels, objects())
        elif kind.startswith("object"):
            content = encoded_image(figure(kind), ".png", metadata)
            encoders[kind] = partial(bytes, content)
        else:
            encoders[kind] = partial(encoded_image, figure(kind), ".png", metadata)
    return dict(zip(encoders, in_parallel(list(encoders.values())), strict=True))


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
    from apps.common.figures import colour_of

    for value in map(int, values):
        known: dict[str, Any] = {"name": name_of(value), "colour": colour_of(value), **about.get(value, {})}
        yield Annotation(value=value, mask=labels == value, **known)


def name_of(value: int) -> str:
    """Name of an object in the names of its files, in legends and in annotations."""
    return f"object{value}"


def encoded_result(
    kind: str,
    path: Path,
    rgb,
    labels,
    image: Path,
    metadata=None,
    objects: Mapping[int, Mapping[str, Any]] = NOTHING,
    classes: Iterable[str] = (),
) -> bytes:
    """Content of a file: labels (H, W) in the form of a kind, of which "mask" and "cutout" show all objects.

    metadata   of the image; None for none
    objects    as of `Session.objects`; those with the same name are of one class
    classes    names of classes, which are numbered in this order; those that others have get further numbers
    """
    values = np.flatnonzero(np.bincount(labels.ravel())[1:]) + 1
    class_of = {name: number for number, name in enumerate(classes, 1)}
    first = 0 if kind == "yolo" else 1
    about: dict[int, dict] = {}
    for value in (int(value) for value in values if value in objects):
        given = objects[value]
        about[value] = {"name": given["name"] or name_of(value)} | (
            {"colour": given["colour"]} if given["colour"] else {}
        )
        number = class_of.setdefault(about[value]["name"], len(class_of) + 1 if classes else value)
        about[value]["category"] = number - 1 + first
    found = Found(image, rgb, metadata or NO_METADATA, labels > 0, labels, tuple(values), None, about)
    return contents_of(found, {kind: path})[kind]


def merged_files(kinds: tuple[str, ...], folder: Path) -> dict[str, Path]:
    """The annotation files of a whole batch, by the option that requests them."""
    return {f"--write {kind}": folder / ANNOTATIONS[kind][1:] for kind in kinds if kind in MERGED}


def write_merged(kinds: tuple[str, ...], folder: Path, reports: list[dict]) -> dict:
    """Merge the annotations of a batch's images into one file per format; return the files, for the batch's report.

    Raises InputError if an image's file can no longer be read.
    """
    files = {}
    for kind in kinds:
        if kind in MERGED:
            documents = (json.loads(read_bytes(report["files"][kind], "--out")) for report in reports)
            content = json.dumps(merged_coco(documents), separators=(",", ":")) + "\n"
            files[kind] = str(write_bytes(folder / ANNOTATIONS[kind][1:], content.encode()))
    return {"files": files} if files else {}
