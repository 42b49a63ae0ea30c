"""Volumes that cannot be used: one line that names the argument and the remedy, and nothing written."""

import nibabel
import numpy as np
import pytest
import SimpleITK
import tifffile

from apps.common.images import InputError
from apps.volumes.volume_files import read_volume
from tests.apps.volumes.conftest import (
    cut_short,
    write_dicom,
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
    if share > 0.9 and name == "a.ome.tif":  # only entries of pages are lost, all voxels are there
        np.testing.assert_array_equal(read_volume(path).values, values)
        return
    rejected(path, r"image: (cannot read .*a\.[a-z.]+' \(.*\); pass a complete|'.*' is empty; pass a complete)")
    if not name.endswith(".mha"):  # ITK prints the reason itself
        assert capfd.readouterr().err == ""


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


def test_colours_and_several_images(tmp_path):
    tifffile.imwrite(tmp_path / "rgb.tif", np.zeros((6, 40, 50, 3), np.uint8), photometric="rgb")
    rejected(tmp_path / "rgb.tif", "has the axes Q 6, Y 40, X 50, S 3; save a volume with slices")
    with tifffile.TiffWriter(tmp_path / "two.tif") as file:
        file.write(np.zeros((6, 40, 50), np.uint8))
        file.write(np.zeros((3, 20, 20), np.uint8), photometric="minisblack")
    rejected(tmp_path / "two.tif", "holds 2 images of sizes 6x40x50, 3x20x20; save one of them")


def test_dicom_series_that_are_no_volume(ball, tmp_path):
    write_dicom(tmp_path / "mixed", ball.values)
    write_dicom(tmp_path / "mixed", ball.values[:3], series="9.9", prefix="other")
    message = r"holds 2 series; pass one file of the required series, such as 001\.dcm, other001\.dcm"
    rejected(tmp_path / "mixed", message)

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
