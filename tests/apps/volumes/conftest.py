"""A noisy ball as a volume, and files of all formats that contain it."""

import locale
import threading

import numpy as np
import pytest
import SimpleITK
import tifffile

SHAPE = (12, 24, 26)
SPACING = (2.0, 0.8, 0.7)  # z, y, x
ORIGIN = (-100.5, 20.25, 33.0)  # x, y, z
WRITING = threading.Lock()  # GDCM's writer changes the locale, and two at a time abort the process


def oblique():
    """Directions turned by 0.3 about z and 0.2 about x, with the x and z axes reversed."""
    a, b = 0.3, 0.2
    about_z = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    return about_z @ about_x @ np.diag([-1.0, 1.0, -1.0])


class Ball:
    """Values like CT (int16, negative), labels 1 in a ball and 2 around it, seeds and strokes of both."""

    def __init__(self):
        z, y, x = np.mgrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
        self.truth = np.where(4 * (z - 6) ** 2 + (y - 12) ** 2 + (x - 13) ** 2 < 64, 1, 2).astype(np.uint8)
        noise = np.random.default_rng(0).normal(0, 60, SHAPE)
        self.values = (np.where(self.truth == 1, 300, -700) + noise).astype(np.int16)
        self.seeds = np.zeros(SHAPE, np.uint8)
        self.seeds[5:8, 11:14, 12:15] = 1
        self.seeds[:, :2] = 2


@pytest.fixture
def ball():
    return Ball()


def itk_image(values, spacing=SPACING, origin=ORIGIN, direction=None):
    image = SimpleITK.GetImageFromArray(values)
    image.SetSpacing(spacing[::-1])
    image.SetOrigin(origin)
    image.SetDirection((oblique() if direction is None else direction).ravel())
    return image


def write_itk_image(path, values, compress=False, **geometry):
    SimpleITK.WriteImage(itk_image(values, **geometry), str(path), useCompression=compress)
    return path


def write_dicom(folder, values, *, series="1.2.3.4", spacing=SPACING, places=None, prefix=""):
    """One file per slice, in a reversed order of names; `places` are the slices' positions along z."""
    folder.mkdir(exist_ok=True)
    with WRITING:
        _write_slices(folder, values, series, spacing, places, prefix)
    return folder


def _write_slices(folder, values, series, spacing, places, prefix):
    before = locale.setlocale(locale.LC_ALL)
    for k, plane in enumerate(values):
        place = spacing[0] * k if places is None else places[k]
        image = SimpleITK.GetImageFromArray(plane[None])
        image.SetSpacing((spacing[2], spacing[1], spacing[0]))
        tags = {
            "0008|0060": "CT",
            "0020|000d": "1.2.3",
            "0020|000e": series,
            "0020|0013": str(k + 1),
            "0020|0032": f"-5\\7.5\\{place}",
            "0020|0037": "1\\0\\0\\0\\1\\0",
            "0028|1052": "-1024",
            "0028|1053": "1",
        }
        for tag, value in tags.items():
            image.SetMetaData(tag, value)
        writer = SimpleITK.ImageFileWriter()
        writer.KeepOriginalImageUIDOn()
        writer.SetFileName(str(folder / f"{prefix}{len(values) - k:03}.dcm"))
        writer.Execute(image)
    locale.setlocale(locale.LC_ALL, before)


def write_imagej(path, values, **metadata):
    stated = {"axes": "ZYX", "spacing": 2.0, "unit": "um", **metadata}
    tifffile.imwrite(path, values, imagej=True, resolution=(1 / 0.7, 1 / 0.8), metadata=stated)
    return path


def write_ome_tiff(path, values, **metadata):
    stated = {"axes": "ZYX"}
    for axis, size in zip("ZYX", SPACING, strict=True):
        stated |= {f"PhysicalSize{axis}": size, f"PhysicalSize{axis}Unit": "µm"}
    tifffile.imwrite(path, values, ome=True, metadata=stated | metadata)
    return path


def write_volume(path, values):
    """Write a volume in the format of its suffix."""
    name = path.name
    if name.endswith(".nii.gz"):
        return write_itk_image(path, values, compress=True)
    if name.endswith((".nii", ".nrrd", ".nhdr", ".mha", ".mhd")):
        return write_itk_image(path, values)
    if name.endswith(".ome.tif"):
        return write_ome_tiff(path, values)
    if name.endswith(".tif"):
        return write_imagej(path, values)
    np.save(path, values)
    return path


def cut_short(path, share=2 / 3):
    """Truncate a file."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path
