"""The results that the page writes to --out on request: masks, cut-outs, labels, annotations, and volumes of labels."""

import json
import os
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.app.image_sources import Image, Source
from apps.common.annotations import SUFFIXES as ANNOTATIONS
from apps.common.annotations import merged_coco
from apps.common.errors import InputError
from apps.common.images import read_bytes
from apps.common.outputs import is_same_file
from apps.common.writing import write_bytes
from apps.segmentation.result_files import MERGED
from apps.session.store import APPROVED
from apps.volumes.volume_files import result_suffix, write_labels

if TYPE_CHECKING:
    from apps.session import Session

# Kinds of results of an image: name shown, and what follows the image's name.
KINDS = {
    "mask": ("Mask PNG", "-mask.png"),
    "cutout": ("Cut-out PNG", "-cutout.png"),
    "labels": ("Labels PNG", "-labels.png"),
    "labels-tiff": ("Labels TIFF", "-labels.tif"),
    "coco": ("COCO", ANNOTATIONS["coco"]),
    "coco-rle": ("COCO RLE", ANNOTATIONS["coco-rle"]),
    "geojson": ("GeoJSON", ANNOTATIONS["geojson"]),
    "labelme": ("labelme", ANNOTATIONS["labelme"]),
    "yolo": ("YOLO", ANNOTATIONS["yolo"]),
}
DEFAULT = ("mask", "cutout")
_own_files: set[Path] = set()  # results that this process wrote, or of sessions that it continues


def save_results(
    chosen: Namespace, sources: Iterable[Source], source: Source, image: Image, session: "Session", kinds: list
) -> list[Path]:
    """Write results of these kinds with the certified labels; return the files.

    `sources` are all images of the page.  Raises InputError for an unknown kind, without marks to cut, and for files
    that another program wrote.
    """
    from apps.segmentation.result_files import encoded_result

    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise InputError(f"unknown kind of results {str(unknown[0])[:40]!r}; the kinds are {', '.join(KINDS)}")
    if not kinds and image.volume is None:
        raise InputError("choose at least one kind of files to save")
    result = _result(session)
    if image.volume is not None:
        path = _volume_file(chosen, source)
        _check_own(chosen, sources, [path])
        values = result.labels.astype(np.uint8 if result.labels.max() < 256 else np.uint16)
        return [write_labels(path, values, image.volume)]
    files = {kind: Path(chosen.out) / f"{source.name}{KINDS[kind][1]}" for kind in KINDS if kind in kinds}
    rgb = image.rgb if "cutout" in files else image.pixels  # the other kinds contain no colours
    given = result.labels, source.path, image.metadata, session.objects, tuple(chosen.classes)
    contents = {kind: encoded_result(kind.removesuffix("-tiff"), path, rgb, *given) for kind, path in files.items()}
    _check_own(chosen, sources, files.values())
    return [write_bytes(files[kind], content) for kind, content in contents.items()]


def cutout_of(source: Source, image: Image, session: "Session") -> bytes:
    """The content of the cut-out's file."""
    from apps.segmentation.result_files import encoded_result

    if image.volume is not None:
        raise InputError("a volume has no cut-out; save its labels")
    path, labels = Path(f"{source.name}{KINDS['cutout'][1]}"), _result(session).labels
    return encoded_result("cutout", path, image.rgb, labels, source.path, image.metadata)


def _result(session: "Session"):
    result = session.result()
    if result.energy is None and not result.labels.any():
        raise InputError("there is nothing to save yet; mark the object and the background")
    return result


def _check_own(chosen: Namespace, sources: Iterable[Source], files: Iterable[Path]) -> None:
    """Raise InputError for a file that another program wrote, unless --overwrite; the others are own files now.

    An image of the page is never replaced.
    """
    files = {*files}
    for source in sources:
        if source.data is None and (taken := [path for path in files if is_same_file(path, source.path)]):
            raise InputError(f"--out: {str(taken[0])!r} is one of the images; choose another folder")
    if not chosen.overwrite and (foreign := [path for path in files - _own_files if os.path.lexists(path)]):
        raise InputError(
            f"--out: {str(min(foreign))!r} already exists; choose another folder, or pass --overwrite to replace it"
        )
    _own_files.update(files)


def _volume_file(chosen: Namespace, source: Source) -> Path:
    return Path(chosen.out) / f"{source.name}-labels{result_suffix(source.path, source.slices)}"


def result_files(chosen: Namespace, source: Source) -> list[Path]:
    """All results that an image may have."""
    files = [Path(chosen.out) / f"{source.name}{suffix}" for _, suffix in KINDS.values()]
    return files if source.data is not None else [*files, _volume_file(chosen, source)]


def export_approved(chosen: Namespace, sources: Iterable[Source]) -> list[Path]:
    """Copy the results of approved images to the folder `approved` in --out; return the files.

    They include one COCO file of all, and `classes.txt`.  Raises InputError if there are none.
    """
    folder = Path(chosen.out) / "approved"
    found = [path for source in sources if source.state == APPROVED for path in result_files(chosen, source)]
    contents = {path.name: read_bytes(path, "--out") for path in found if path.exists()}
    if not contents:
        raise InputError("no image is approved; approve those whose results are right")
    for kind in MERGED:
        if own := [json.loads(data) for name, data in contents.items() if name.endswith(ANNOTATIONS[kind])]:
            contents[ANNOTATIONS[kind][1:]] = json.dumps(merged_coco(own), separators=(",", ":")).encode() + b"\n"
    if chosen.classes:
        contents["classes.txt"] = "".join(f"{name}\n" for name in chosen.classes).encode()
    return [write_bytes(folder / name, data) for name, data in contents.items()]


def session_file(chosen: Namespace, source: Source) -> Path:
    """The file of an image's session."""
    return Path(chosen.out) / f"{source.name}-session.sqlite"


def adopt_results(chosen: Namespace, source: Source) -> None:
    """Let the results of an image be replaced, as they are those of a session that is continued."""
    _own_files.update(result_files(chosen, source))
