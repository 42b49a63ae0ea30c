"""Cut one object out of a volume: from strokes, or by refining a rough mask; and read these from files.

Both are the exact cuts of a session with the same marks (apps.segmentation.part_cut).  A rough mask fixes the voxels
further than a band from its surface; its surface moves within the band.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import array_of
from apps.common.certified import Certified
from apps.common.clock import Clock
from apps.common.errors import InputError
from apps.common.images import as_integers, check_same_size
from apps.segmentation import BAND, SPACING
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN, check_keep, label_values
from apps.segmentation.masks import volume_mask_of
from apps.segmentation.model import Models
from apps.segmentation.part_cut import PartCut
from apps.segmentation.strokes import check_marks, marks_of_values
from apps.segmentation.volume_view import VolumeView, relative_spacing
from apps.volumes.volume_files import read_volume
from apps.volumes.voxel_geometry import Volume, is_same_grid
from gridcut.device import DeviceName
from gridcut.device.figures import plane
from gridcut.device.result import GridResult

CONTEXT = 2  # bands of background around the band itself, from which the background's histogram is taken


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VolumeObject(Certified, GridResult):
    """Result of `segment_object` and `refine_mask`.

    Attributes
    ----------
    mask : ndarray of bool, (D, H, W)
        True on the object.
    fixed : ndarray of int8, (D, H, W)
        What was fixed, as by strokes: -1 nothing, 0 background, 1 object.
    energies : tuple of float
        Energy of the cut in nats; of the parts kept if boxes were cut (apps/segmentation/part_cut.py).
    seconds : dict
        Seconds: "total", and "compile", those of compiling kernels.
    solved : apps.segmentation.part_cut.PartCuts
        The cuts, with `device` and `check()`.
    """

    mask: np.ndarray
    fixed: np.ndarray
    energies: tuple
    seconds: dict
    solved: object

    def _figure(self):
        return plane(self.mask)


def segment_object(
    volume: ArrayLike,
    strokes: ArrayLike,
    *,
    spacing: Sequence[float] = SPACING,
    keep: str = "touching",
    device: DeviceName = "auto",
) -> VolumeObject:
    """Cut an object out of a volume, from strokes on it and on the background.

    Parameters
    ----------
    volume : array_like, shape (D, H, W)
        Finite numbers of any scale.
    strokes : array_like of int, shape (D, H, W)
        0 none, 1 object, 2 background, or the other codes that `segment` reads.
    spacing
        As in `apps.segment_volume`.
    keep : {"touching", "all", "largest"}, default "touching"
        Parts of the object to keep: those that touch an object stroke, all, or the largest.
    device
        As in `apps.segment_volume`.

    Returns
    -------
    VolumeObject
        `mask` is bool (D, H, W).

    Raises
    ------
    InputError
        Strokes of one kind only, sizes that differ, or as in `segment_volume`.
    """
    view = VolumeView(volume, spacing)
    return _object_of(view, _marks_of(strokes, view.shape), keep, device)


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


def _on_grid(path, name: str, volume: Volume | None) -> np.ndarray:
    """Values of a volume in a file; InputError unless it has the size and the geometry of another volume."""
    given = read_volume(path, name, folder=True)
    if volume is not None:
        check_same_size(given.values, volume.values.shape, name)
        if not is_same_grid(volume.geometry, given.geometry, volume.values.shape):
            raise InputError(
                f"{name}: {str(path)!r} has {given.geometry}, but the image has {volume.geometry}; resample it onto "
                "the image's grid"
            )
    return given.values


def _marks_of(strokes: ArrayLike, shape) -> np.ndarray:
    codes = as_integers(array_of(strokes, "strokes"), "strokes")
    check_same_size(codes, shape, "strokes", "the volume is")
    return marks_of_values(codes, "auto", "strokes")


def _object_of(view, marks, keep, device) -> VolumeObject:
    """The object of a volume, for marks of both kinds."""
    clock = Clock()
    check_keep(keep)
    marks = check_marks(marks, marks.shape, "strokes").astype(np.int16)
    values = (BACKGROUND, OBJECT)
    models = Models(values, view.stroke_counts(marks, values))
    cut = PartCut(view, device)
    mask = cut.solve(models, marks, keep) > BACKGROUND
    return VolumeObject(mask, marks.astype(np.int8), (cut.energy,), clock.total(), cut.solved)


def refine_mask(
    volume: ArrayLike,
    start: ArrayLike,
    *,
    band: float = BAND,
    strokes: ArrayLike | None = None,
    spacing: Sequence[float] = SPACING,
    keep: str = "all",
    device: DeviceName = "auto",
) -> VolumeObject:
    """Move the surface of a rough mask to the edges in the volume near it.

    Parameters
    ----------
    volume : array_like, shape (D, H, W)
        Finite numbers of any scale.
    start : array_like of bool, shape (D, H, W)
        The rough mask.
    band : float, default 3
        How far the surface may move, in units of the shortest side of a voxel.  Voxels further from it stay as they
        are, except that half the depth of a thin object stays open.
    strokes : array_like of int, shape (D, H, W), optional
        Strokes that correct the mask, as in `segment_object`.
    spacing, keep, device
        As in `segment_object`.

    Returns
    -------
    VolumeObject
        `mask` is bool (D, H, W); `solved` is the cut of the box around the band.

    Raises
    ------
    InputError
        As in `segment_object`, or a band that is not above 0.
    """
    from scipy import ndimage

    volume, start = np.asarray(volume), np.asarray(start, bool)
    if not (np.isfinite(band) and band > 0):
        raise InputError(f"band must be above 0 voxels, got {band:g}")
    check_same_size(start, volume.shape, "start", "the volume is")
    sampling = relative_spacing(spacing)
    drawn = np.full(start.shape, OPEN, np.int8) if strokes is None else _marks_of(strokes, start.shape)
    touched = start | (drawn != OPEN)
    reach = [int(np.ceil((1 + CONTEXT) * band / step)) for step in sampling]
    box = tuple(
        slice(max(0, part.start - far), part.stop + far)
        for part, far in zip(ndimage.find_objects(touched.astype(np.uint8))[0], reach, strict=True)
    )
    inside = ndimage.distance_transform_edt(start[box], sampling=sampling)
    outside = ndimage.distance_transform_edt(~start[box], sampling=sampling)
    fixed = np.full(inside.shape, OPEN, np.int8)
    fixed[inside > min(band, inside.max() / 2)] = OBJECT
    fixed[outside > min(band, outside.max() / 2)] = BACKGROUND
    np.copyto(fixed, drawn[box], where=drawn[box] != OPEN)
    view = VolumeView(volume[box], spacing)
    found = _object_of(view, fixed, keep, device)
    mask, all_marks = np.zeros_like(start), np.full(start.shape, BACKGROUND, np.int8)
    mask[box], all_marks[box] = found.mask, fixed
    return VolumeObject(mask, all_marks, found.energies, found.seconds, found.solved)
