"""A DICOM series as a volume, by SimpleITK: a folder with one series, or one file of a series.

Slices are ordered by their positions, which must be equidistant on a line across the slices: a missing or a second
slice, and a tilted gantry, are errors.  Values are rescaled as the files state, such as to Hounsfield units.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from apps.common.decoding import Unreadable, Unsuitable
from apps.volumes.itk_files import UNIT, itk_errors
from apps.volumes.voxel_geometry import Geometry

SERIES, DESCRIPTION = "0020|000e", "0008|103e"
MAGIC_AT = 128
SHORT = frozenset(b"AE AS AT CS DA DS DT FL FD IS LO LT PN SH SL SS ST TM UI UL US".split())  # 16-bit lengths
LONG = frozenset(b"OB OD OF OL OV OW SQ SV UC UN UR UT UV".split())  # 32-bit lengths, after two bytes
MAX_UNEVEN = 0.1  # maximum deviation of a step between slices, as a share of the median step; positions are rounded
MAX_TILT = 0.02  # maximum offset of a slice within its plane, as a share of the step
SAME = 1e-3  # maximum difference of the slices' directions and pixel sizes


class Slice(NamedTuple):
    """Header of a file: its series and, as in ITK, size and geometry in the order x, y, z."""

    path: Path
    series: str
    description: str
    size: tuple
    spacing: tuple
    origin: np.ndarray
    direction: np.ndarray
    components: int


def is_dicom(path: Path) -> bool:
    """Whether a file is DICOM, with any suffix; a DICOMDIR, which holds no image, is not."""
    if path.name.upper() == "DICOMDIR" or not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(MAGIC_AT + 4)[MAGIC_AT:] == b"DICM"
    except OSError:
        return False


def files_of_folder(folder: Path) -> list[Path]:
    """The DICOM files of a folder."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith(".") and is_dicom(path))


def read_dicom(path: Path, itk) -> tuple[np.ndarray, Geometry]:
    """Values (D, H, W) and geometry of the only series of a folder, or of the series of a file.

    Raises Unreadable or Unsuitable, also for several series and for missing slices.
    """
    inside = files_of_folder(path if os.path.isdir(path) else path.parent)
    if os.path.isfile(path) and path not in inside:
        raise Unreadable("not a DICOM file")
    slices = [_header(file, itk) for file in inside]
    if os.path.isfile(path):
        wanted = next(one.series for one in slices if one.path == path)
        slices = [one for one in slices if one.series == wanted]
    _check_one_series(slices)
    if any(one.components > 1 for one in slices):
        raise Unsuitable("holds colours; a volume has grey values")
    if len(slices) == 1:
        if len(slices[0].size) < 3 or slices[0].size[2] < 2:
            raise Unsuitable("holds one slice; a volume has two or more slices in a folder")
        only = slices[0]
        return _values(only, itk), Geometry(only.spacing[::-1], UNIT, tuple(only.origin), tuple(only.direction.ravel()))
    slices, geometry = _ordered(slices)
    planes = [_values(one, itk)[0] for one in slices]
    return np.stack([plane.astype(np.result_type(*planes), copy=False) for plane in planes]), geometry


def _check_meta(path: Path) -> None:
    """Raise Unreadable if an element of a file's meta information extends beyond the file.

    The library would allocate as many bytes as the element declares, up to 4 GB.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        file.seek(MAGIC_AT + 4)
        while (head := file.read(8))[:2] == b"\2\0" and len(head) == 8:
            kind, length = head[4:6], int.from_bytes(head[6:], "little")
            if kind in LONG:
                length = int.from_bytes(file.read(4), "little")
            elif kind not in SHORT:
                raise Unreadable(f"{path.name}: unknown kind of an element, {kind!r}")
            if file.seek(length, os.SEEK_CUR) > size:
                raise Unreadable(f"{path.name}: truncated")


def _header(path, itk) -> Slice:
    _check_meta(path)
    reader = itk.ImageFileReader()
    reader.SetImageIO("GDCMImageIO")
    reader.SetFileName(str(path))
    try:
        with itk_errors():
            reader.ReadImageInformation()
    except Unreadable as error:
        raise Unreadable(f"{path.name}: {error}") from None
    text = {tag: reader.GetMetaData(tag).strip() for tag in (SERIES, DESCRIPTION) if reader.HasMetaDataKey(tag)}
    axes = reader.GetDimension()
    return Slice(
        path,
        text.get(SERIES, ""),
        text.get(DESCRIPTION, ""),
        reader.GetSize(),
        reader.GetSpacing(),
        np.array(reader.GetOrigin()),
        np.reshape(reader.GetDirection(), (axes, axes)),
        reader.GetNumberOfComponents(),
    )


def _values(one, itk) -> np.ndarray:
    try:
        with itk_errors():
            return itk.GetArrayFromImage(itk.ReadImage(str(one.path), imageIO="GDCMImageIO"))
    except Unreadable as error:
        raise Unreadable(f"{one.path.name}: {error}") from None


def _check_one_series(slices) -> None:
    series: dict = {}
    for one in slices:
        series.setdefault(one.series, []).append(one)
    if len(series) > 1:
        listed = [
            f"{key} ({f'{found[0].description}, ' if found[0].description else ''}{len(found)} files such as "
            f"{found[0].path.name!r})"
            for key, found in list(series.items())[:4]
        ]
        more = ", ..." if len(series) > 4 else ""
        raise Unsuitable(f"holds {len(series)} series: {', '.join(listed)}{more}; pass one file of the required series")


def _ordered(slices) -> tuple[list[Slice], Geometry]:
    """The slices in order of position, and the geometry of the volume."""
    first = slices[0]
    for one in slices:
        if len(one.size) != 3 or one.size[2] != 1:
            raise Unsuitable(f"has several files, of which {one.path.name!r} is not a single slice; pass that file")
        if one.size != first.size:
            shown = [f"{each.size[0]}x{each.size[1]}" for each in (one, first)]
            raise Unsuitable(
                f"has slices of different sizes: {one.path.name!r} is {shown[0]}, {first.path.name!r} {shown[1]}; "
                "pass a folder of slices of one size"
            )
        if np.abs(one.direction - first.direction).max() > SAME or not np.allclose(
            one.spacing[:2], first.spacing[:2], rtol=SAME
        ):
            raise Unsuitable(
                f"has slices of different geometries: {one.path.name!r} and {first.path.name!r}; pass parallel slices "
                "with the same size of a pixel"
            )
    normal = first.direction[:, 2]
    slices = sorted(slices, key=lambda one: float(one.origin @ normal))
    steps = np.diff([one.origin for one in slices], axis=0)
    gaps = steps @ normal
    usual = float(np.median(gaps))
    for gap, before, after in zip(gaps, slices, slices[1:], strict=False):
        names = f"{before.path.name!r} and {after.path.name!r}"
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
    spacing = (float(gaps.mean()), first.spacing[1], first.spacing[0])
    return slices, Geometry(spacing, UNIT, tuple(map(float, slices[0].origin)), tuple(first.direction.ravel()))
