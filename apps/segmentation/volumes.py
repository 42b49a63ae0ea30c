"""Strokes and masks of a volume: read from files, and checked to be on the volume's grid."""

from pathlib import Path

import numpy as np

from apps.common.images import InputError, check_same_size
from apps.segmentation.marks import label_values
from apps.segmentation.masks import volume_mask_of
from apps.segmentation.strokes import check_marks, marks_of_values
from apps.volumes.volume_files import read_volume
from apps.volumes.voxel_geometry import Volume, is_same_grid


def read_label_volume(path, name: str = "--label-strokes", volume: Volume | None = None) -> np.ndarray:
    """Read a label volume as uint8 or uint16, 0 for none.

    Raises InputError as `read_volume` and `label_values` do, and if the labels are not on the grid of the volume.
    """
    return label_values(_on_grid(path, name, volume), f"{name}: {str(path)!r}")


def read_volume_marks(path, encoding: str, volume: Volume, both: bool = True) -> np.ndarray:
    """Read the strokes in a volume as marks of `apps.segmentation.marks`, int8.

    Raises InputError as `read_label_volume` does, without strokes, and if `both` without strokes of both kinds.
    """
    values = read_label_volume(path, "--strokes", volume)
    marks = marks_of_values(values, encoding, f"--strokes: {str(path)!r}")
    return check_marks(marks, marks.shape, "--strokes") if both else marks


def read_volume_mask(path, volume: Volume) -> np.ndarray:
    """Read the rough mask of a volume that --start names, bool, as `volume_mask_of` reads arrays.

    Raises InputError as `read_label_volume` does, and if the mask is empty or full.
    """
    return volume_mask_of(_on_grid(path, "--start", volume), volume.values.shape, f"--start: {str(path)!r}")


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
