"""Files of a session's result: masks, cut-outs, label images, annotations, and volumes in their own format."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from apps.common.annotations import SUFFIXES as ANNOTATIONS
from apps.common.errors import InputError
from apps.common.file_kinds import TIFF, VOLUMES, suffix_of
from apps.common.writing import write_bytes
from apps.segmentation.marks import label_values
from apps.segmentation.result_files import encoded_result
from apps.volumes.volume_files import write_labels
from apps.volumes.voxel_geometry import Geometry, Volume

KINDS = ("mask", "cutout", "labels", *ANNOTATIONS)
VOLUME_KINDS = ("mask", "labels")
UNIT, ORIGIN, AXES = "mm", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)  # of arrays
# Formats of volumes that need no header of a file that was read.
_FORMAT_OF = {suffixes[0]: kind for kind, suffixes in VOLUMES.items() if kind != "DICOM"}


def export_image(
    path: Path, kind: str, rgb: np.ndarray, labels: np.ndarray, image: Path, objects: Mapping[int, dict], classes
) -> Path:
    """Write labels (H, W) of an image, float RGB (H, W, 3), as a file of a kind.

    `image` is the image's file, `objects` are those of `Session.objects`, and `classes` those of `Session.export`.
    """
    _check_kind(kind, KINDS)
    suffixes = {"labels": (".png", *TIFF), **dict.fromkeys(ANNOTATIONS, (suffix_of(path),))}.get(kind, (".png",))
    if suffix_of(path) not in suffixes:
        more = " or .tif" if kind == "labels" else ""
        raise InputError(f"path: {path.name!r} must end in .png{more} for the kind {kind}")
    return write_bytes(path, encoded_result(kind, path, rgb, labels, image, None, objects, classes), "path")


def export_volume(path: Path, kind: str, labels: np.ndarray, spacing, source: Volume | None) -> Path:
    """Write labels (D, H, W) in the format and geometry of the volume's file, or in that of the path's suffix."""
    _check_kind(kind, VOLUME_KINDS)
    values = label_values(labels if kind == "labels" else np.uint8(255) * (labels > 0), "labels")
    if source is None:
        suffix = suffix_of(path)
        if suffix not in _FORMAT_OF:
            raise InputError(f"path: {path.name!r} has no suffix of a volume; use one of {', '.join(_FORMAT_OF)}")
        source = Volume(values, _FORMAT_OF[suffix], Geometry(tuple(map(float, spacing)), UNIT, ORIGIN, AXES))
    return write_labels(path, values, source)


def _check_kind(kind: str, kinds: tuple[str, ...]) -> None:
    if kind not in kinds:
        raise InputError(f"kind must be one of {', '.join(kinds)}, got {kind!r}")
