"""Volumes that cannot be used: one line that names the argument and the remedy, and nothing written."""

import gzip
import os
import re
import struct
import sys

import nibabel
import numpy as np
import pytest
import SimpleITK
import tifffile

from apps.common.images import InputError, read_image
from apps.common.sequences import open_sequence
from apps.volumes.volume_files import is_volume, read_volume
from tests.apps.volumes.conftest import (
    SHAPE,
    cut_short,
    repacked,
    write_dicom,
    write_imagej,
    write_itk_image,
    write_ome_tiff,
    write_volume,
)


def rejected(path, message, folder=False):
    with pytest.raises(InputError, match=message) as raised:
        read_volume(path, folder=folder)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz", "a.nrrd", "a.mha", "a.tif", "a.ome.tif", "a.npy"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.4, 0.98])
def test_truncated_files(ball, tmp_path, name, share, capfd):
    values = ball.values.view(np.uint16)
    path = cut_short(write_volume(tmp_path / name, values), share)
    if share > 0.9 and name.endswith(".tif"):  # only entries of pages are lost, all voxels are there
        np.testing.assert_array_equal(read_volume(path).values, values)
        return
    rejected(path, r"image: (cannot read .*a\.[a-z.]+' \(.*\); pass a complete|'.*' is empty; pass a complete)")
    if not name.endswith(".mha"):  # ITK prints the reason itself
        assert capfd.readouterr().err == ""


def test_truncated_inside_gzip(ball, tmp_path):
    rejected(repacked(write_volume(tmp_path / "a.nii.gz", ball.values)), r"image: cannot read .*pass a complete NIfTI")


@pytest.mark.parametrize("suffix", [".nrrd", ".mha"])
def test_truncated_compressed_data(ball, tmp_path, suffix):
    path = cut_short(write_itk_image(tmp_path / f"a{suffix}", ball.values, compress=True))
    rejected(path, r"image: cannot read .*pass a complete")


@pytest.mark.parametrize("name", ["a.mhd", "a.nhdr"])
def test_missing_and_short_data_files(ball, tmp_path, name):
    path = write_itk_image(tmp_path / name, ball.values)
    cut_short(tmp_path / "a.raw")
    rejected(path, r"image: cannot read .*pass a complete")
    (tmp_path / "a.raw").unlink()
    rejected(path, r"image: cannot read .*its data file 'a\.raw' is not one regular file")
    os.mkfifo(tmp_path / "a.raw")
    rejected(path, r"image: cannot read .*its data file 'a\.raw' is not one regular file")


@pytest.mark.parametrize("value", ["", "n" * 3000, "LIST", "%d.raw 0 1 1", "%s.raw a b c"])
@pytest.mark.parametrize("name", ["a.mhd", "a.nhdr"])
def test_several_and_damaged_names_of_data_files(ball, tmp_path, name, value):
    """Of several files, SimpleITK would leave missing slices empty; it may crash at names in a damaged form."""
    path = write_itk_image(tmp_path / name, ball.values)
    path.write_text(path.read_text().replace("a.raw", value))
    rejected(path, r"its data file '.{0,80}' is not one regular file")


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz", "a.nrrd", "a.nhdr", "a.mha", "a.mhd", "a.tif", "a.npy", "a.dcm"])
@pytest.mark.parametrize(
    "content",
    [b"hello " * 200, b"\x89PNG\r\n\x1a\n" + bytes(400), gzip.compress(bytes(999))],
    ids=["text", "PNG", "gzip"],  # the bytes of gzip contain the time, and a test's name must not
)
def test_wrong_suffix(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    rejected(tmp_path / name, r"image: cannot read .*pass a complete")


@pytest.mark.parametrize(("actual", "named"), [
    ("a.nrrd", "b.nii"), ("a.mha", "b.nrrd"), ("a.nii", "b.mha"), ("a.nii", "b.nii.gz"), ("a.nii.gz", "b.nii"),
    ("a.tif", "b.dcm"),
])  # fmt: skip
def test_suffix_of_another_format(ball, tmp_path, actual, named):
    write_volume(tmp_path / actual, ball.values.view(np.uint16)).rename(tmp_path / named)
    rejected(tmp_path / named, r"image: cannot read .*pass a complete")


def test_missing_file_and_no_volume(tmp_path):
    rejected(tmp_path / "gone.nii.gz", r"image: no file '.*gone\.nii\.gz'; check the path")
    (tmp_path / "a.txt").write_text("text")
    rejected(tmp_path / "a.txt", r"is not a volume; pass NIfTI")
    rejected(tmp_path, r"is not a volume; pass a folder with a DICOM series")


@pytest.mark.parametrize("name", ["a.nii.gz", "a.nrrd", "a.mha", "a.tif", "a.ome.tif", "a.npy"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite(ball, tmp_path, name, value):
    values = ball.values.astype(np.float32)
    values[3, 4, 5] = value
    rejected(write_volume(tmp_path / name, values), r"holds NaN or infinity; .* numpy\.nan_to_num")


def test_several_values_per_voxel(ball, tmp_path):
    image = SimpleITK.GetImageFromArray(np.stack([ball.values] * 3, axis=-1), isVector=True)
    SimpleITK.WriteImage(image, str(tmp_path / "a.mha"))
    rejected(tmp_path / "a.mha", "holds 3 values per voxel; save one channel")


@pytest.mark.parametrize("suffix", [".nii.gz", ".nrrd"])
def test_four_and_two_axes(ball, tmp_path, suffix):
    four = SimpleITK.JoinSeries([SimpleITK.GetImageFromArray(ball.values)] * 2)
    SimpleITK.WriteImage(four, str(tmp_path / f"four{suffix}"))
    rejected(tmp_path / f"four{suffix}", "has 4 axes of 26x24x12x2 voxels; save one volume of three axes")
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(ball.values[0]), str(tmp_path / f"two{suffix}"))
    rejected(tmp_path / f"two{suffix}", "holds a single image of 26x24 pixels; a volume has three axes")


def test_nifti_with_shear(ball, tmp_path):
    affine = np.eye(4)
    affine[0, 1] = 0.4
    nibabel.save(nibabel.Nifti1Image(ball.values.T, affine), tmp_path / "shear.nii")
    rejected(tmp_path / "shear.nii", "has a matrix with shear; resample it")


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_header_that_claims_a_huge_volume(ball, tmp_path, name):
    path = write_volume(tmp_path / "a.nii", ball.values)
    data = bytearray(path.read_bytes())
    data[42:48] = b"\xff\x7f" * 3
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    rejected(tmp_path / name, r"image: cannot read .*pass a complete NIfTI")


@pytest.mark.parametrize(("axes", "count", "message"), [
    ("CYX", 12, r"has several channels \(axes C 12, Y 24, X 26\); if they are slices, save the file with Z slices"),
    ("TYX", 12, "has several points in time"),
    ("ZCYX", 6, r"has several channels \(axes Z 6, C 2, Y 24, X 26\); save one of them as a volume"),
    ("TZYX", 6, "has several points in time"),
])  # fmt: skip
def test_channels_and_times_of_imagej_and_ome(ball, tmp_path, axes, count, message):
    values = ball.values.view(np.uint16)
    if len(axes) == 4:
        values = values.reshape((count, 2, 24, 26) if axes[1] == "C" else (2, count, 24, 26))
        message = message.replace("Z 6, T 2", "T 2, Z 6")
    rejected(write_imagej(tmp_path / "a.tif", values, axes=axes), message)
    rejected(write_ome_tiff(tmp_path / "a.ome.tif", values, axes=axes), message)


def test_bands_are_no_slices(tmp_path):
    image = np.zeros((400, 300, 5), np.uint16)
    tifffile.imwrite(tmp_path / "pages.tif", image)
    rejected(tmp_path / "pages.tif", r"holds 400 pages of 5x300 pixels, which look like one image of 5 bands")
    tifffile.imwrite(tmp_path / "contig.tif", image, planarconfig="contig", photometric="minisblack")
    rejected(tmp_path / "contig.tif", r"has several channels \(axes Y 400, X 300, S 5\)")
    tifffile.imwrite(tmp_path / "planes.tif", image.transpose(2, 0, 1).copy(), planarconfig="separate",
                     photometric="minisblack")  # fmt: skip
    rejected(tmp_path / "planes.tif", r"has several channels \(axes S 5, Y 400, X 300\)")
    tifffile.imwrite(tmp_path / "narrow.tif", np.zeros((12, 300, 5), np.uint16))
    assert read_volume(tmp_path / "narrow.tif").values.shape == (12, 300, 5), "slices of a narrow volume"


def test_colours_and_several_images(tmp_path):
    tifffile.imwrite(tmp_path / "rgb.tif", np.zeros((6, 40, 50, 3), np.uint8), photometric="rgb")
    rejected(tmp_path / "rgb.tif", "has several channels")
    with tifffile.TiffWriter(tmp_path / "two.tif") as file:
        file.write(np.zeros((6, 40, 50), np.uint8))
        file.write(np.zeros((3, 20, 20), np.uint8), photometric="minisblack")
    rejected(tmp_path / "two.tif", "holds 2 images of sizes 6x40x50, 3x20x20; save one of them")


def test_dicom_series_that_are_no_volume(ball, tmp_path):
    write_dicom(tmp_path / "mixed", ball.values)
    write_dicom(tmp_path / "mixed", ball.values[:3], series="9.9", prefix="other", description="scout")
    message = r"holds 2 series: 1\.2\.3\.4 \(chest, 12 files such as '001\.dcm'\), 9\.9 \(scout, 3 files such as "
    rejected(tmp_path / "mixed", message + r"'other001\.dcm'\); pass one file of the required series")

    write_dicom(tmp_path / "gap", ball.values)
    (tmp_path / "gap" / "004.dcm").unlink()
    rejected(tmp_path / "gap", r"lacks slices: '005\.dcm' and '003\.dcm' are 4 mm apart, most others 2 mm")

    write_dicom(tmp_path / "twice", ball.values)
    write_dicom(tmp_path / "twice", ball.values, prefix="again")
    rejected(tmp_path / "twice", "has two slices at one position, .* such as one point in time")

    write_dicom(tmp_path / "one", ball.values[:1])
    rejected(tmp_path / "one", "holds one slice; a volume has two or more slices in a folder")

    write_dicom(tmp_path / "sizes", ball.values)
    write_dicom(tmp_path / "sizes", ball.values[:1, :20], prefix="small", places=[90])
    rejected(tmp_path / "sizes", r"slices of different sizes or geometries: 'small001\.dcm' and '001\.dcm'")

    write_dicom(tmp_path / "short", ball.values)
    cut_short(tmp_path / "short" / "003.dcm", 0.5)
    rejected(tmp_path / "short", r"003\.dcm: .*; pass a complete DICOM series")


@pytest.mark.parametrize(("name", "package"), [("a.nii.gz", "nibabel"), ("a.nrrd", "SimpleITK")])
def test_volumes_without_the_package(ball, tmp_path, name, package, monkeypatch):
    path = write_volume(tmp_path / name, ball.values)
    monkeypatch.setitem(sys.modules, package, None)
    rejected(path, f"which requires {package}; pip install nibabel SimpleITK, or")


def test_dicom_without_simple_itk(ball, tmp_path, monkeypatch):
    write_dicom(tmp_path / "series", ball.values)
    monkeypatch.setitem(sys.modules, "SimpleITK", None)
    rejected(tmp_path / "series", r"is a DICOM volume, which requires SimpleITK")


def test_pages_need_no_package_of_the_extra(ball, tmp_path, monkeypatch):
    for package in ("SimpleITK", "nibabel"):
        monkeypatch.setitem(sys.modules, package, None)
    assert read_volume(write_imagej(tmp_path / "a.tif", ball.values.view(np.uint16))).values.shape == SHAPE


@pytest.mark.parametrize("other", ["b.ome.tif", "missing.ome.tif"])
def test_an_ome_tiff_of_several_files(tmp_path, other):
    """tifffile would fill the slices of the other files with zeros."""
    parts = "".join(
        f'<TiffData IFD="0" FirstZ="{z}" PlaneCount="1"><UUID FileName="{name}">urn:uuid:{z}</UUID></TiffData>'
        for z, name in enumerate(("a.ome.tif", other))
    )
    for k, name in enumerate(("a.ome.tif", "b.ome.tif")):
        text = tifffile.tiffcomment(write_ome_tiff(tmp_path / name, np.ones((2, 8, 8), np.uint8)))
        text = re.sub('UUID="[^"]*"', f'UUID="urn:uuid:{k}"', text).replace('<TiffData IFD="0" PlaneCount="2"/>', parts)
        tifffile.imwrite(tmp_path / name, np.full((8, 8), k + 1, np.uint8), description=text.encode(), metadata=None)
    message = "lacks 1 of 2 pages, as if in other files; save all in one file"
    rejected(tmp_path / "a.ome.tif", message)
    with pytest.raises(InputError, match=message):
        open_sequence(tmp_path / "a.ome.tif")


def tiff_page(height, following, big, order):
    """A page of 8 x `height` pixels, stored at the start of the file, that is followed by the page at an offset."""
    entries = [(256, 8), (257, height), (258, 8), (259, 1), (262, 1), (273, 16), (277, 1), (278, 8), (279, 64)]
    entry, link = ("HHQQ", "Q") if big else ("HHII", "I")
    packed = b"".join(struct.pack(order + entry, tag, 16 if big else 4, 1, value) for tag, value in entries)
    return struct.pack(order + ("Q" if big else "H"), len(entries)) + packed + struct.pack(order + link, following)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("back", [0, 1, 2])
@pytest.mark.parametrize("name", ["a.tif", "a.ome.tif", "a.lsm.tif"])
def test_circular_pages_of_a_tiff(tmp_path, order, big, back, name):
    """The last page is followed by itself, by the one before or by the first one."""
    head = (b"II" if order == "<" else b"MM") + struct.pack(order + "H", 43 if big else 42)
    head += struct.pack(order + "HHQ", 8, 0, 80) if big else struct.pack(order + "I", 80)
    size = len(tiff_page(8, 0, big, order))
    places = [80 + k * size for k in range(3)]
    pages = [tiff_page(8 - k, at, big, order) for k, at in enumerate((places[1], places[2], places[2 - back]))]
    path = tmp_path / name
    path.write_bytes(head.ljust(16, b"\0") + bytes(64) + b"".join(pages))
    rejected(path, "its pages overlap, or their list is circular")
    assert not is_volume(path)
    for reader in (read_image, open_sequence):
        with pytest.raises(InputError, match="its pages overlap, or their list is circular"):
            reader(path)
