"""NIfTI, NRRD and MetaImage by SimpleITK.

SimpleITK takes a truncated NIfTI file for a complete one, replaces NaN in it by 0, and prints lines of its own about
damaged MetaImage files, so `apps.volumes.itk_headers` checks headers, sizes and NaN first.  Labels of a NIfTI volume
are written below the volume's own header, because ITK keeps neither both affine matrices nor their codes.
"""

import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from apps.common.decoding import Unreadable, Unsuitable, decoding_errors
from apps.common.errors import InputError
from apps.common.suggestions import install
from apps.common.writing import check_space, written_by_name
from apps.volumes.data_files import check_data_files
from apps.volumes.itk_headers import check_metaimage, check_nifti, check_nrrd, labels_below_header, nrrd_unit
from apps.volumes.voxel_geometry import Geometry

IO = {"NIfTI": "NiftiImageIO", "NRRD": "NrrdImageIO", "MetaImage": "MetaImageIO"}
UNIT = "mm"  # of ITK; it converts NIfTI files in other units


def simple_itk(name: str, path: Path, kind: str):
    """The module SimpleITK, without its warnings; InputError, naming the extra, if it is not installed."""
    try:
        import SimpleITK
    except ImportError:
        hint = install("volumes", "SimpleITK")
        raise InputError(f"{name}: {str(path)!r} is a {kind} volume, which requires SimpleITK; {hint}") from None
    SimpleITK.ProcessObject.SetGlobalWarningDisplay(False)
    return SimpleITK


@contextmanager
def itk_errors():
    """Convert exceptions of SimpleITK, whose messages have several lines and addresses, to Unreadable."""
    with decoding_errors():
        try:
            yield
        except RuntimeError as error:
            text = " ".join(str(error).split())
            text = re.sub(r".*(?:ITK ERROR|itk::ERROR): (?:\w+\(0x[0-9a-f]+\): )?", "", text).rpartition("[nrrd] ")[2]
            raise Unreadable(text[:300].strip()) from None


def read_itk(path: Path, kind: str, itk) -> tuple[np.ndarray, Geometry, object]:
    """Values (D, H, W), geometry and header of a file; raises Unreadable or Unsuitable."""
    header = None
    check_data_files(path)
    if kind == "NIfTI":
        header = check_nifti(path)
    elif kind == "MetaImage":
        check_metaimage(path)
    else:
        check_nrrd(path)
    reader = itk.ImageFileReader()
    reader.SetImageIO(IO[kind])
    reader.SetFileName(str(path))
    with itk_errors():
        reader.ReadImageInformation()
        size = reader.GetSize()
        if (components := reader.GetNumberOfComponents()) > 1:
            raise Unsuitable(f"holds {components} values per voxel; save one channel as a volume of grey values")
        if len(size) < 3:
            raise Unsuitable(f"holds a single image of {size[0]}x{size[1]} pixels; a volume has three axes")
        if any(side > 1 for side in size[3:]):
            raise Unsuitable(
                f"has {len(size)} axes of {'x'.join(map(str, size))} voxels; save one volume of three axes, such as "
                "one point in time, as a separate file"
            )
        image = reader.Execute()
        while image.GetDimension() > 3:
            image = image[(slice(None),) * (image.GetDimension() - 1) + (0,)]
        values = itk.GetArrayFromImage(image)
    unit = nrrd_unit(path) if kind == "NRRD" else UNIT
    geometry = Geometry(image.GetSpacing()[::-1], unit, image.GetOrigin(), image.GetDirection())
    return values, geometry, header


def write_itk(path: Path, labels: np.ndarray, geometry: Geometry, kind: str, header, itk) -> Path:
    """Write labels (D, H, W), compressed, with this geometry; `header` as from `read_itk`."""
    with written_by_name(path) as unfinished:
        if kind == "NIfTI" and header is not None:
            unfinished.write_bytes(labels_below_header(labels, header))
            return path
        image = itk.GetImageFromArray(labels)
        image.SetSpacing(geometry.spacing[::-1])
        image.SetOrigin(geometry.origin)
        image.SetDirection(geometry.direction)
        named = unfinished.with_name("labels" + {"NIfTI": ".nii.gz", "NRRD": ".nrrd", "MetaImage": ".mha"}[kind])
        writer = itk.ImageFileWriter()
        writer.SetImageIO(IO[kind])
        writer.SetFileName(str(named))
        writer.UseCompressionOn()
        try:
            writer.Execute(image)
            written = itk.GetArrayFromImage(itk.ReadImage(str(named), imageIO=IO[kind]))
        except RuntimeError as error:  # SimpleITK does not report the operating system's reason
            check_space(named.parent, labels.nbytes)
            raise OSError(None, " ".join(str(error).split())[-200:], str(path)) from None
        if not np.array_equal(written, labels):  # of a full disk it reports nothing
            check_space(named.parent, labels.nbytes)
            raise OSError(None, "other voxels are read back", str(path))
        if kind == "NRRD" and geometry.unit != UNIT:
            _state_unit(named, geometry.unit)
        named.replace(unfinished)
    return path


def _state_unit(path, unit):
    """Add the unit to the header of an NRRD file, which ends at the first empty line."""
    head, empty, data = path.read_bytes().partition(b"\n\n")
    stated = " ".join([f'"{unit}"'] * 3)
    path.write_bytes(head + f"\nspace units: {stated}".encode() + empty + data)
