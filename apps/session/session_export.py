"""Files of a session's result: masks, cut-outs, label images, annotations, and volumes in their own format."""

import io
from pathlib import Path

import numpy as np

from apps.common.annotation_files import SUFFIXES as ANNOTATIONS
from apps.common.annotation_files import encoded_annotations
from apps.common.errors import InputError
from apps.common.images import write_image
from apps.common.stems import suffix_of
from apps.common.writing import write_bytes
from apps.segment.label_figures import annotations_of, encoded_labels
from apps.segment.label_values import label_values
from apps.segment.matte import cut_out
from apps.volumes.volume_files import FORMATS, write_labels
from apps.volumes.voxel_geometry import Geometry, Volume

KINDS = ("mask", "cutout", "labels", *ANNOTATIONS)
VOLUME_KINDS = ("mask", "labels")
TIFF = (".tif", ".tiff")
UNIT, ORIGIN, AXES = "mm", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)  # of arrays
# Formats of volumes that need no header of a file that was read.
_FORMAT_OF = {suffix: kind for kind, suffix in FORMATS.items() if kind in ("npy", "TIFF", "NIfTI", "NRRD", "MetaImage")}


def export_image(path: Path, kind: str, rgb: np.ndarray, labels: np.ndarray, image: Path) -> Path:
    """Write labels (H, W) of an image, float RGB (H, W, 3), as a file of a kind; `image` is the image's file."""
    _check_kind(kind, KINDS)
    values = [int(value) for value in np.unique(labels) if value]
    if kind in ANNOTATIONS:
        data = encoded_annotations(kind, path, image, labels.shape, annotations_of(labels, values))
        return write_bytes(path, data, "path")
    if kind == "labels":
        if suffix_of(path) in TIFF:
            return write_bytes(path, _tiff(label_values(labels, "labels")), "path")
        _check_png(path, kind)
        return write_bytes(path, encoded_labels(labels), "path")
    _check_png(path, kind)
    mask = labels > 0
    return write_image(path, cut_out(rgb, mask) if kind == "cutout" else np.uint8(255) * mask, "path")


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


def _tiff(labels: np.ndarray) -> bytes:
    import tifffile

    buffer = io.BytesIO()
    tifffile.imwrite(buffer, labels, compression="zlib", photometric="minisblack", metadata=None)
    return buffer.getvalue()


def _check_kind(kind: str, kinds: tuple[str, ...]) -> None:
    if kind not in kinds:
        raise InputError(f"kind must be one of {', '.join(kinds)}, got {kind!r}")


def _check_png(path: Path, kind: str) -> None:
    if suffix_of(path) != ".png":
        more = " or .tif" if kind == "labels" else ""
        raise InputError(f"path: {path.name!r} must end in .png{more} for the kind {kind}")
