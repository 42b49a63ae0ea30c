"""Strokes, masks and ground truths of a volume: read from files, and checked to be on the volume's grid.

A folder of images marks single slices.  With as many images as slices, they are all slices in order of the numbers in
their names.  With fewer, an image marks the slice of the same name if the volume is a folder of slices, and otherwise
the slice of the last number in its name, counted from 0.
"""

import os
from pathlib import Path

import numpy as np

from apps.common.images import InputError, check_same_size, images_by_number, read_pixels
from apps.segmentation.location import numbered
from apps.segmentation.marks import OPEN, label_values
from apps.segmentation.masks import volume_mask_of
from apps.segmentation.strokes import check_marks, grey_levels, marks_of_values, read_labels, read_strokes
from apps.volumes.volume_files import kind_of, read_volume
from apps.volumes.voxel_geometry import Volume, is_same_grid


def read_label_volume(
    path, name: str = "--label-strokes", volume: Volume | None = None, image: Path | None = None
) -> np.ndarray:
    """Read a label volume as uint8 or uint16, 0 for none.

    Raises InputError as `read_volume` and `label_values` do, and if the labels are not on the grid of the volume.
    """
    path = Path(path)
    if _is_slices(path):
        strokes = _in_slices(path, name, volume, image, read_labels, np.uint16(0))
        return label_values(strokes, f"{name}: {str(path)!r}")
    return label_values(_on_grid(path, name, volume), f"{name}: {str(path)!r}")


def read_volume_marks(path, encoding: str, volume: Volume, image: Path, both: bool = True) -> np.ndarray:
    """Read the strokes in a volume as marks of `apps.segmentation.marks`, int8.

    Raises InputError as `read_label_volume` does, without strokes, and if `both` without strokes of both kinds.
    """
    name = "--strokes"
    path = Path(path)
    if _is_slices(path):
        marks = _in_slices(path, name, volume, image, lambda one: read_strokes(one, encoding), np.int8(OPEN))
    else:
        values = label_values(_on_grid(path, name, volume), f"{name}: {str(path)!r}")
        marks = marks_of_values(values, encoding, f"{name}: {str(path)!r}")
    return check_marks(marks.astype(np.int8), marks.shape, name) if both else marks.astype(np.int8)


def read_object_truth(path, volume: Volume, image: Path) -> np.ndarray:
    """Read the ground truth of one object: 0 background, 1 or 255 object, values around 128 undecided.

    Returns labels, uint8: 1 object, 2 background, 0 undecided.  Raises InputError as `read_label_volume` does.
    """
    values = read_label_volume(path, "--truth", volume, image)
    levels = np.uint8(255) * values if values.max() <= 1 else grey_levels(values, f"--truth: {str(path)!r}")
    return np.where(levels > 192, np.uint8(1), np.where(levels < 64, np.uint8(2), np.uint8(0)))


def read_volume_mask(path, volume: Volume) -> np.ndarray:
    """Read the rough mask of a volume that --start names, bool, as `volume_mask_of` reads arrays.

    Raises InputError as `read_label_volume` does, and if the mask is empty or full.
    """
    return volume_mask_of(_on_grid(Path(path), "--start", volume), volume.values.shape, f"--start: {str(path)!r}")


def _is_slices(path: Path) -> bool:
    return os.path.isdir(path) and kind_of(path) is None


def _on_grid(path: Path, name: str, volume: Volume | None) -> np.ndarray:
    """Values of a volume in a file; InputError unless it has the size and the geometry of another volume."""
    given = read_volume(path, name, folder=True)
    if volume is None:
        return given.values
    check_same_size(given.values, volume.values.shape, name)
    if not is_same_grid(volume.geometry, given.geometry, volume.values.shape):
        raise InputError(
            f"{name}: {str(path)!r} has {given.geometry}, but the image has {volume.geometry}; resample it onto the "
            "image's grid"
        )
    return given.values


def _in_slices(folder: Path, name: str, volume: Volume, image: Path, read, without) -> np.ndarray:
    """Marks of the slices in a folder, read by the function `read`, in a volume that holds `without` elsewhere."""
    files = images_by_number(folder)
    if not files:
        raise InputError(f"{name}: folder {str(folder)!r} holds no image; pass marked slices, or a volume")
    depth, *size = volume.values.shape
    if len(files) > depth:
        raise InputError(f"{name}: folder {str(folder)!r} holds {len(files)} slices, but the image has {depth}")
    places = range(depth) if len(files) == depth else _places(files, name, volume, image)
    marks = np.full(volume.values.shape, without)
    for file, place in zip(files, places, strict=True):
        stored = read_pixels(file, name)
        plane = stored if stored.ndim == 2 else stored[..., 0]
        check_same_size(plane, size, f"{name}: {str(file)!r}", "the slices of the image are")
        if stored.min() != stored.max():
            marks[place] = read(file)
    return marks


def _places(files, name: str, volume: Volume, image: Path) -> list[int]:
    """Numbers of the slices that some images mark, each once."""
    names = [file.stem for file in images_by_number(image)] if volume.kind == "slices" else []
    depth = len(volume.values)
    for file in files:
        if names and file.stem not in names:
            raise InputError(f"{name}: {file.name!r} belongs to no slice; name it like a slice of {str(image)!r}")
    places = list(numbered(files, names, name, "slice"))
    if max(places) >= depth:
        raise InputError(f"{name}: there is no slice {max(places)}; end names in numbers of slices, 0 to {depth - 1}")
    return places
