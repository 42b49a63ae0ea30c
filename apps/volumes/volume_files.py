"""Read volumes of any common format, and write labels in the format and with the geometry of a volume.

    .npy                        no geometry
    .tif, .tiff                 pages, ImageJ or OME metadata          labels: the same
    .nii, .nii.gz               NIfTI                                  labels: .nii.gz
    .nrrd, .nhdr                NRRD                                   labels: .nrrd
    .mha, .mhd                  MetaImage                              labels: .mha
    a folder, or a file of it   a DICOM series                         labels: .nii.gz
    a folder with --volume      images, one per slice                  labels: .tif

Axes are z, y, x; images of a folder are ordered by the numbers in their names.  Values are unchanged.
"""

import io
import os
from pathlib import Path

import numpy as np

from apps.common.errors import InputError
from apps.common.file_kinds import IMAGES, VOLUME_OF, VOLUMES, is_image, suffix_of
from apps.common.images import images_by_number, load_array, open_file, read_bytes, read_pixels, reading
from apps.common.writing import write_bytes
from apps.volumes.medical_files import (
    data_file_of,
    encoded_itk,
    encoded_nifti,
    files_of_folder,
    is_dicom,
    package_of,
    read_dicom,
    read_itk,
    read_nifti,
)
from apps.volumes.tiff_stacks import is_stack, read_stack, stack_bytes
from apps.volumes.voxel_geometry import Volume

WRITTEN = {"DICOM": "NIfTI", "slices": "TIFF"}  # format of labels, if it is another one


def kind_of(path: Path, folder: bool = False) -> str | None:
    """Format of a volume, a key of VOLUMES, by its name and first bytes; None if it is none, or a folder of images.

    With `folder`, a folder of images is the "slices" of a volume.
    """
    if os.path.isdir(path):
        inside = [one for one in path.iterdir() if not one.name.startswith(".")]
        if not any(map(is_image, inside)) and any(map(is_dicom, inside)):
            return "DICOM"
        return "slices" if folder else None
    suffix = suffix_of(path)
    return VOLUME_OF.get(suffix) or ("DICOM" if suffix not in IMAGES and is_dicom(path) else None)


def is_volume(path: Path, folder: bool = False) -> bool:
    """Whether a path is a volume; a TIFF is one if it has several pages, a folder of images if `folder`."""
    kind = kind_of(path, folder)
    return kind is not None and (kind != "TIFF" or (os.path.isfile(path) and is_stack(path)))


def result_suffix(path: Path, folder: bool = False) -> str:
    """Suffix of labels in the format of a volume."""
    if path.name.lower().endswith((".ome.tif", ".ome.tiff")):
        return ".ome.tif"
    kind = kind_of(path, folder) or "TIFF"
    return VOLUMES[WRITTEN.get(kind, kind)][0]


def further_files(path: Path) -> tuple[Path, ...]:
    """Files that are read besides a file: the other slices of a DICOM file, or the data files of a header."""
    if not os.path.isfile(path):
        return ()
    if kind_of(path) == "DICOM":
        return tuple(files_of_folder(path.parent))
    data_file = data_file_of(path) if kind_of(path) in ("NRRD", "MetaImage") else None
    return (data_file,) if data_file is not None and os.path.isfile(data_file) else ()


def read_volume(path, name: str = "image", folder: bool = False) -> Volume:
    """Read a volume (D, H, W) of finite numbers with its geometry.

    Raises InputError, naming the argument, if it is missing, broken, or not a volume of grey values, and if its format
    requires a package that is not installed.
    """
    path = Path(path)
    if not os.path.isdir(path):
        open_file(path, name).close()  # reports a pipe, and a file that is missing or without permission
    kind = kind_of(path, folder)
    if kind is None:
        known = "NIfTI, NRRD, MetaImage, DICOM, TIFF with several pages, or .npy"
        hint = "a folder with a DICOM series" if os.path.isdir(path) else known
        raise InputError(f"{name}: {str(path)!r} is not a volume; pass {hint}")
    whole = {"npy": ".npy file", "DICOM": "DICOM series"}.get(kind, f"{kind} file")
    with reading(path, name, f"pass a complete {whole}"):
        volume = _read(path, name, kind)
    values = volume.values
    if values.ndim != 3 or values.dtype.kind not in "buif" or 0 in values.shape:
        raise InputError(
            f"{name}: {str(path)!r} holds {values.dtype} of shape {values.shape}; a volume has three axes z, y, x of "
            "grey values"
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError(
            f"{name}: {str(path)!r} holds NaN or infinity; every voxel must be finite: replace them, as "
            "numpy.nan_to_num does"
        )
    if volume.geometry is not None and not all(np.isfinite(size) and size > 0 for size in volume.geometry.spacing):
        raise InputError(f"{name}: {str(path)!r} has the {volume.geometry}; each spacing must be above 0")
    return volume


def encoded_volume(labels: np.ndarray, volume: Volume) -> bytes:
    """Content of a file of labels (D, H, W), uint8 or uint16, in the format and with the geometry of a volume."""
    kind = WRITTEN.get(volume.kind, volume.kind)
    if kind == "npy":
        buffer = io.BytesIO()
        np.save(buffer, labels)
        return buffer.getvalue()
    if kind == "TIFF":
        return stack_bytes(labels, volume.header or {})
    package = package_of(kind, "--out", Path(f"labels{VOLUMES[kind][0]}"))
    if kind == "NIfTI":
        return encoded_nifti(labels, volume.geometry, volume.header, package)
    return encoded_itk(labels, volume.geometry, kind, package)


def write_labels(path: Path, labels: np.ndarray, volume: Volume) -> Path:
    """Write what `encoded_volume` returns."""
    return write_bytes(path, encoded_volume(labels, volume))


def _read(path: Path, name: str, kind: str) -> Volume:
    if kind == "slices":
        return Volume(_read_slices(path, name), kind)
    header = None
    if kind in ("npy", "TIFF"):
        data = read_bytes(path, name)
        values, geometry, header = (load_array(data), None, None) if kind == "npy" else read_stack(data)
    else:
        package = package_of(kind, name, path)
        if kind == "NIfTI":
            values, geometry, header = read_nifti(path, package)
        elif kind == "DICOM":
            values, geometry = read_dicom(path, package)
        else:
            values, geometry = read_itk(path, kind, package)
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    return Volume(values.view(np.uint8) if values.dtype == bool else values, kind, geometry, header)


def _read_slices(folder, name):
    files = images_by_number(folder)
    if len(files) < 2:
        held = "one image" if files else "no image"
        raise InputError(f"{name}: folder {str(folder)!r} holds {held}; a volume has two slices or more")
    slices = [read_slice(path, name) for path in files]
    for path, codes in zip(files, slices, strict=True):
        if codes.shape != slices[0].shape or codes.dtype != slices[0].dtype:
            raise InputError(
                f"{name}: {str(path)!r} is {codes.dtype} of shape {codes.shape}, but {files[0].name!r} is "
                f"{slices[0].dtype} of shape {slices[0].shape}; all slices must have the same dtype and shape"
            )
    return np.stack(slices)


def read_slice(path: Path, name: str) -> np.ndarray:
    """Grey values (H, W) of an image as stored, also of grey values stored as colours; InputError for colours."""
    pixels = read_pixels(path, name)
    if pixels.ndim == 3:
        if (pixels != pixels[..., :1]).any():
            raise InputError(f"{name}: {str(path)!r} is coloured; pass grey slices")
        pixels = pixels[..., 0]
    return pixels
