"""Volumes in medical formats: NIfTI by nibabel; NRRD, MetaImage and DICOM series by SimpleITK.

SimpleITK reads NIfTI, too, but returns zeros for the missing part of a truncated file, replaces NaN in it by 0, and
writes neither both affine matrices nor their codes.  Both packages are in the extra `volumes`, and imported on use.

The slices of a DICOM series are ordered by their positions, which must be equidistant on a line across the slices: a
missing or a second slice, and a tilted gantry, are errors.  Values are rescaled as the files state, such as to
Hounsfield units.
"""

import gzip
import importlib
import logging
import os
import re
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from apps.common.errors import InputError, OutputError
from apps.common.file_kinds import VOLUMES
from apps.common.images import Unsuitable
from apps.common.suggestions import install
from apps.volumes.voxel_geometry import Geometry, unit_of

PACKAGES = {"NIfTI": "nibabel", "NRRD": "SimpleITK", "MetaImage": "SimpleITK", "DICOM": "SimpleITK"}
IO = {"NRRD": "NrrdImageIO", "MetaImage": "MetaImageIO", "DICOM": "GDCMImageIO"}
UNIT = "mm"  # of ITK, of DICOM, and of NIfTI and NRRD files that state none
MAX_HEADER = 1 << 16  # bytes in which a text header names its data file
DATA_FILE = re.compile(rb"^(?:ElementDataFile *=|data ?file *:) *([^\r\n]*?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
NRRD_UNIT = re.compile(rb'^(?:space )?units: *(?:"" *)*"([^"\r\n]+)"', re.MULTILINE)
LPS = np.diag([-1.0, -1.0, 1.0])  # from the world of NIfTI, where x and y grow to the right and the front, to ITK's
SERIES = "0020|000e"
MAX_UNEVEN = 0.1  # maximum deviation of a step between slices, as a share of the median step; positions are rounded
MAX_TILT = 0.02  # maximum offset of a slice within its plane, as a share of the step
SAME = 1e-3  # maximum difference of the slices' directions and pixel sizes, and of a NIfTI matrix from a rotation


def package_of(kind: str, name: str, path: Path):
    """The module that reads a format, without its warnings; InputError, naming the extra, if it is not installed."""
    package = PACKAGES[kind]
    try:
        module = importlib.import_module(package)
    except ImportError:
        hint = install("volumes", "nibabel", "SimpleITK")
        raise InputError(f"{name}: {str(path)!r} is a {kind} volume, which requires {package}; {hint}") from None
    if package == "SimpleITK":
        module.ProcessObject.SetGlobalWarningDisplay(False)
    else:
        logging.getLogger("nibabel.global").setLevel(logging.CRITICAL)
    return module


# NIfTI


def read_nifti(path: Path, nibabel) -> tuple[np.ndarray, Geometry, object]:
    """Values (D, H, W), geometry and header of a NIfTI file; raises ValueError."""
    image = nibabel.load(path, mmap=False)
    _check_axes(image.shape)
    values = np.asanyarray(image.dataobj)
    return values.reshape(values.shape[:3]).T, _nifti_geometry(image), image.header


def _nifti_geometry(image) -> Geometry:
    """Geometry of a NIfTI image; origin and direction are those of its matrix, if it states one."""
    unit = unit_of(image.header.get_xyzt_units()[0].replace("unknown", "")) or UNIT
    if not (image.header["sform_code"] or image.header["qform_code"]):
        return Geometry(tuple(map(float, image.header.get_zooms()[2::-1])), unit)
    columns = LPS @ image.affine[:3, :3]
    spacing = np.linalg.norm(columns, axis=0)
    if not (np.isfinite(spacing).all() and spacing.all()):
        raise ValueError("damaged matrix in its header")
    direction = columns / spacing
    if np.abs(direction.T @ direction - np.eye(3)).max() > SAME:
        raise Unsuitable("has a matrix with shear; resample it to a grid with right angles")
    origin = LPS @ image.affine[:3, 3]
    return Geometry(tuple(spacing[::-1].tolist()), unit, tuple(origin.tolist()), tuple(direction.ravel().tolist()))


def encoded_nifti(labels: np.ndarray, geometry: Geometry, header, nibabel) -> bytes:
    """A compressed file of labels (D, H, W), with the matrices of a header of `read_nifti`, or with a geometry."""
    if header is not None:
        kind = nibabel.Nifti2Image if isinstance(header, nibabel.Nifti2Header) else nibabel.Nifti1Image
        image = kind(labels.T.reshape(header.get_data_shape()), None, header)
        image.header.extensions.clear()
        image.header.set_intent("none")
        image.header["cal_min"] = image.header["cal_max"] = 0
        image.header["descrip"] = b"cutmatch segment"
    else:
        affine = np.eye(4)
        affine[:3, :3] = LPS @ np.array(geometry.direction).reshape(3, 3) * geometry.spacing[::-1]
        affine[:3, 3] = LPS @ geometry.origin
        image = nibabel.Nifti1Image(labels.T, affine)
        image.set_qform(affine, code=1)
        image.header.set_xyzt_units(UNIT)
    image.set_data_dtype(labels.dtype)
    image.header.set_slope_inter(1, 0)
    return gzip.compress(image.to_bytes(), 6, mtime=0)


# NRRD and MetaImage


def data_file_of(path: Path) -> Path | None:
    """The data file that a header of NRRD or MetaImage names; None for data in the file itself."""
    name = _stated(path, DATA_FILE)
    return None if name in (b"", b"LOCAL") else path.parent / os.fsdecode(name)


def _stated(path: Path, line: re.Pattern) -> bytes:
    """The group of a pattern in the text header of a file; empty without such a line."""
    with open(path, "rb") as file:
        found = line.search(file.read(MAX_HEADER).partition(b"\n\n")[0])
    return found[1] if found else b""


def read_itk(path: Path, kind: str, itk) -> tuple[np.ndarray, Geometry]:
    """Values (D, H, W) and geometry of an NRRD or a MetaImage file; raises ValueError."""
    data_file = data_file_of(path)
    if data_file is not None and not os.path.isfile(data_file):
        # SimpleITK would wait for a pipe, and leave missing slices of several files empty.
        raise ValueError(f"its data file {data_file.name[:80]!r} is not one regular file")
    reader = _opened(path, kind, itk)
    with _itk_errors():
        if (components := reader.GetNumberOfComponents()) > 1:
            raise Unsuitable(f"holds {components} values per voxel; save one channel as a volume of grey values")
        _check_axes(reader.GetSize())
        image = reader.Execute()
        while image.GetDimension() > 3:
            image = image[(slice(None),) * (image.GetDimension() - 1) + (0,)]
        values = itk.GetArrayFromImage(image)
    unit = unit_of(_stated(path, NRRD_UNIT).decode("utf-8", "replace"))  # which SimpleITK does not report
    return values, Geometry(image.GetSpacing()[::-1], unit or UNIT, image.GetOrigin(), image.GetDirection())


def encoded_itk(labels: np.ndarray, geometry: Geometry, kind: str, itk) -> bytes:
    """A compressed file of labels (D, H, W) with this geometry."""
    image = itk.GetImageFromArray(labels)
    image.SetSpacing(geometry.spacing[::-1])
    image.SetOrigin(geometry.origin)
    image.SetDirection(geometry.direction)
    with TemporaryDirectory() as folder:
        named = Path(folder) / f"labels{VOLUMES[kind][0]}"
        with _itk_errors():
            itk.WriteImage(image, str(named), useCompression=True, imageIO=IO[kind])
            written = itk.GetArrayFromImage(itk.ReadImage(str(named), imageIO=IO[kind]))
        if not np.array_equal(written, labels):  # of a full disk it reports nothing
            raise OutputError(
                f"--out: cannot write labels to {folder!r} first (other voxels are read back); free some space"
            )
        head, empty, data = named.read_bytes().partition(b"\n\n")
    if kind == "NRRD" and geometry.unit != UNIT:
        head += "\nspace units: {0} {0} {0}".format(f'"{geometry.unit}"').encode()
    return head + empty + data


def _opened(path: Path, kind: str, itk, words: str = ""):
    """A reader of SimpleITK that has read a file's header; `words` begin the message of an error."""
    reader = itk.ImageFileReader()
    reader.SetImageIO(IO[kind])
    reader.SetFileName(str(path))
    with _itk_errors(words):
        reader.ReadImageInformation()
    return reader


@contextmanager
def _itk_errors(words: str = ""):
    """Shorten the messages of SimpleITK, which have several lines and addresses; `words` come first."""
    try:
        yield
    except RuntimeError as error:
        text = " ".join(str(error).split())
        text = re.sub(r".*(?:ITK ERROR|itk::ERROR): (?:\w+\(0x[0-9a-f]+\): )?", "", text).rpartition("[nrrd] ")[2]
        raise ValueError(words + text.partition(" Reason: ")[0]) from None  # the reason is of another call


def _check_axes(size) -> None:
    """Raise Unsuitable unless a size x, y, z ... is that of one volume."""
    shown = "x".join(map(str, size))
    if len(size) < 3:
        raise Unsuitable(f"holds a single image of {shown} pixels; a volume has three axes")
    if any(side > 1 for side in size[3:]):
        raise Unsuitable(
            f"has {len(size)} axes of {shown} voxels; save one volume of three axes, such as one point in time, as a "
            "separate file"
        )


# DICOM


def is_dicom(path: Path) -> bool:
    """Whether a file is DICOM, with any suffix; a DICOMDIR, which holds no image, is not."""
    if path.name.upper() == "DICOMDIR" or not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(132)[128:] == b"DICM"
    except OSError:
        return False


def files_of_folder(folder: Path) -> list[Path]:
    """The DICOM files of a folder."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith(".") and is_dicom(path))


def read_dicom(path: Path, itk) -> tuple[np.ndarray, Geometry]:
    """Values (D, H, W) and geometry of the only series of a folder, or of the series of a file.

    Raises ValueError, also for several series and for missing slices.  SimpleITK's reader of series would leave gaps,
    and give all slices the type of the first one.
    """
    series: dict[str, list] = {}  # readers, which have read the headers
    chosen = None
    for file in files_of_folder(path if os.path.isdir(path) else path.parent):
        slices = series.setdefault(_series_of(one := _opened(file, "DICOM", itk, f"{file.name}: ")), [])
        slices.append(one)
        chosen = slices if file == path else chosen
    if os.path.isfile(path) and chosen is None:
        raise ValueError("not a DICOM file")
    slices = chosen or _only_series(series)
    if any(one.GetNumberOfComponents() > 1 for one in slices):
        raise Unsuitable("holds colours; a volume has grey values")
    if len(slices) == 1:
        only = slices[0]
        if only.GetDimension() < 3 or only.GetSize()[2] < 2:
            raise Unsuitable("holds one slice; a volume has two or more slices in a folder")
        return _values(only, itk), Geometry(only.GetSpacing()[::-1], UNIT, only.GetOrigin(), only.GetDirection())
    slices, geometry = _ordered(slices)
    planes = [_values(one, itk)[0] for one in slices]
    return np.stack([plane.astype(np.result_type(*planes), copy=False) for plane in planes]), geometry


def _values(reader, itk) -> np.ndarray:
    with _itk_errors(f"{_name(reader)}: "):
        return itk.GetArrayFromImage(reader.Execute())


def _name(reader) -> str:
    return Path(reader.GetFileName()).name


def _series_of(reader) -> str:
    return reader.GetMetaData(SERIES) if reader.HasMetaDataKey(SERIES) else ""


def _only_series(series: dict[str, list]) -> list:
    if len(series) > 1:
        listed = ", ".join(_name(found[0]) for found in series.values())
        raise Unsuitable(f"holds {len(series)} series; pass one file of the required series, such as {listed[:300]}")
    return next(iter(series.values()))


def _ordered(slices: list) -> tuple[list, Geometry]:
    """The readers of the slices in order of position, and the geometry of the volume."""
    first = slices[0]
    for one in slices:
        if one.GetDimension() != 3 or one.GetSize()[2] != 1:
            raise Unsuitable(f"has several files, of which {_name(one)!r} is not a single slice; pass that file")
        if (
            one.GetSize() != first.GetSize()
            or not np.allclose(one.GetDirection(), first.GetDirection(), 0, SAME)
            or not np.allclose(one.GetSpacing()[:2], first.GetSpacing()[:2], SAME)
        ):
            raise Unsuitable(
                f"has slices of different sizes or geometries: {_name(one)!r} and {_name(first)!r}; pass a folder of "
                "parallel slices of one size"
            )
    normal = np.array(first.GetDirection()[2::3])
    slices = sorted(slices, key=lambda one: float(one.GetOrigin() @ normal))
    steps = np.diff([one.GetOrigin() for one in slices], axis=0)
    gaps = steps @ normal
    usual = float(np.median(gaps))
    for gap, before, after in zip(gaps, slices, slices[1:], strict=False):
        names = f"{_name(before)!r} and {_name(after)!r}"
        if gap <= SAME * max(usual, 1e-9) or usual <= 0:
            raise Unsuitable(
                f"has two slices at one position, {names}; pass a folder with one volume, such as one point in time"
            )
        if abs(gap - usual) > MAX_UNEVEN * usual:
            raise Unsuitable(
                f"lacks slices: {names} are {gap:.4g} mm apart, most others {usual:.4g} mm; add the missing files, or "
                "resample the volume to equidistant slices"
            )
    tilt = np.linalg.norm(steps - gaps[:, None] * normal, axis=1)
    if (tilt > MAX_TILT * usual).any():
        raise Unsuitable("has tilted slices, which are shifted against each other; resample it to an upright grid")
    spacing = (float(gaps.mean()), *first.GetSpacing()[1::-1])
    return slices, Geometry(spacing, UNIT, slices[0].GetOrigin(), first.GetDirection())
