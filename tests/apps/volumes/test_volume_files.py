"""Values and geometry of volumes of all formats, and labels written like them."""

import nibabel
import numpy as np
import pytest
import SimpleITK
import tifffile

from apps.volumes.volume_files import read_volume, result_suffix, write_labels
from apps.volumes.voxel_geometry import Geometry
from tests.apps.volumes.conftest import (
    ORIGIN,
    SPACING,
    oblique,
    write_dicom,
    write_imagej,
    write_itk_image,
    write_ome_tiff,
)

ITK = ("a.nii", "a.nii.gz", "a.nrrd", "a.nhdr", "a.mha", "a.mhd")


def labels_like(path, labels):
    """Write labels like the volume in `path`; return their path."""
    volume = read_volume(path)
    return write_labels(path.with_name(f"out{result_suffix(path)}"), labels, volume)


def itk_geometry(path):
    image = SimpleITK.ReadImage(str(path))
    return np.array(image.GetSpacing()), np.array(image.GetOrigin()), np.array(image.GetDirection())


@pytest.mark.parametrize("name", ITK)
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.int32, np.float32, np.float64])
def test_values_and_geometry_of_medical_formats(ball, tmp_path, name, dtype):
    values = ball.values.astype(dtype)
    volume = read_volume(write_itk_image(tmp_path / name, values, compress=name.endswith("gz")))
    assert volume.values.dtype == dtype
    np.testing.assert_array_equal(volume.values, values)
    assert volume.geometry.unit == "mm"
    np.testing.assert_allclose(volume.geometry.spacing, SPACING, rtol=1e-6)
    np.testing.assert_allclose(volume.geometry.origin, ORIGIN, rtol=1e-6)
    np.testing.assert_allclose(np.reshape(volume.geometry.direction, (3, 3)), oblique(), atol=1e-6)


@pytest.mark.parametrize("name", ITK)
@pytest.mark.parametrize("count", [2, 300])
def test_labels_have_the_geometry_of_a_medical_volume(ball, tmp_path, name, count):
    labels = (np.arange(ball.values.size).reshape(ball.values.shape) % count).astype(
        np.uint8 if count < 256 else np.uint16
    )
    path = write_itk_image(tmp_path / name, ball.values)
    written = labels_like(path, labels)
    for given, found in zip(itk_geometry(path), itk_geometry(written), strict=True):
        np.testing.assert_allclose(found, given, rtol=0, atol=1e-12)
    found = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(written)))
    assert found.dtype == labels.dtype
    np.testing.assert_array_equal(found, labels)
    assert not list(tmp_path.glob(".cutmatch*"))


@pytest.mark.parametrize("codes", [(0, 1), (1, 0), (1, 4), (2, 3)])
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("scale", [(None, None), (2.0, -1024.0)])
def test_nifti_affines_and_codes_are_kept_exactly(ball, tmp_path, codes, order, scale):
    affine = nibabel.affines.from_matvec(np.diag([-1, -1, 1]) @ oblique() @ np.diag(SPACING[::-1]), (100.5, -20.25, 33))
    header = nibabel.Nifti1Header(endianness=order)
    image = nibabel.Nifti1Image(ball.values.T.astype(order + "i2"), affine, header)
    image.set_qform(affine if codes[0] else None, code=codes[0])
    image.set_sform(affine if codes[1] else None, code=codes[1])
    image.header.set_slope_inter(*scale)
    image.header.set_xyzt_units("mm")
    nibabel.save(image, tmp_path / "a.nii.gz")
    volume = read_volume(tmp_path / "a.nii.gz")
    np.testing.assert_array_equal(volume.values, nibabel.load(tmp_path / "a.nii.gz").get_fdata().T)
    found = nibabel.load(labels_like(tmp_path / "a.nii.gz", ball.truth))
    given = nibabel.load(tmp_path / "a.nii.gz")
    np.testing.assert_array_equal(found.affine, given.affine)
    assert (int(found.header["qform_code"]), int(found.header["sform_code"])) == codes
    assert found.header.get_zooms() == given.header.get_zooms()
    assert found.header.get_xyzt_units() == given.header.get_xyzt_units()
    assert found.get_data_dtype() == np.uint8
    np.testing.assert_array_equal(np.asarray(found.dataobj), ball.truth.T)


@pytest.mark.parametrize("metadata", [{}, {"zunit": "nm", "spacing": 1500.0}, {"unit": "\\u00B5m"}, {"unit": "inch"}])
def test_imagej(ball, tmp_path, metadata):
    values = ball.values.view(np.uint16)
    path = write_imagej(tmp_path / "a.tif", values, **metadata)
    volume = read_volume(path)
    np.testing.assert_array_equal(volume.values, values)
    depth = 1.5 if "zunit" in metadata else 2.0
    np.testing.assert_allclose(volume.geometry.spacing, (depth, 0.8, 0.7), rtol=1e-6)
    assert volume.geometry.unit == ("inch" if metadata.get("unit") == "inch" else "µm")
    written = labels_like(path, ball.truth)
    with tifffile.TiffFile(path) as given, tifffile.TiffFile(written) as found:
        assert found.is_imagej
        assert found.series[0].axes == "ZYX"
        for key in ("spacing", "unit", "zunit", "slices"):
            assert found.imagej_metadata.get(key) == given.imagej_metadata.get(key)
        for tag in ("XResolution", "YResolution", "ResolutionUnit"):
            np.testing.assert_allclose(found.pages[0].tags[tag].value, given.pages[0].tags[tag].value, rtol=1e-6)
    assert read_volume(written).geometry == volume.geometry
    np.testing.assert_array_equal(tifffile.imread(written), ball.truth)


def test_ome_tiff(ball, tmp_path):
    path = write_ome_tiff(tmp_path / "a.ome.tif", ball.values, PhysicalSizeZ=2000.0, PhysicalSizeZUnit="nm")
    volume = read_volume(path)
    np.testing.assert_array_equal(volume.values, ball.values)
    np.testing.assert_allclose(volume.geometry.spacing, SPACING)
    assert volume.geometry.unit == "µm"
    written = labels_like(path, ball.truth)
    assert written.name == "out.ome.tif"
    with tifffile.TiffFile(written) as found:
        assert 'PhysicalSizeZ="2000.0" PhysicalSizeZUnit="nm"' in found.ome_metadata
    assert read_volume(written).geometry == volume.geometry


def test_dicom_series(ball, tmp_path):
    folder = write_dicom(tmp_path / "series", ball.values)
    (folder / "readme.txt").write_text("no image")
    for path in (folder, folder / "003.dcm"):
        volume = read_volume(path)
        assert volume.kind == "DICOM"
        np.testing.assert_array_equal(volume.values, ball.values)
        assert volume.geometry == Geometry(SPACING, "mm", (-5, 7.5, 0), (1, 0, 0, 0, 1, 0, 0, 0, 1))
    written = labels_like(folder, ball.truth)
    assert written.name == "out.nii.gz"
    np.testing.assert_allclose(
        nibabel.load(written).affine, [[-0.7, 0, 0, 5], [0, -0.8, 0, -7.5], [0, 0, 2, 0], [0, 0, 0, 1]]
    )


def test_one_file_chooses_its_series(ball, tmp_path):
    write_dicom(tmp_path / "both", ball.values)
    write_dicom(tmp_path / "both", ball.truth.astype(np.int16), series="9.9", prefix="other")
    np.testing.assert_array_equal(read_volume(tmp_path / "both" / "other005.dcm").values, ball.truth)


@pytest.mark.parametrize(("direction", "letters"), [
    ((1, 0, 0, 0, 1, 0, 0, 0, 1), ["IS", "AP", "RL"]),
    ((-1, 0, 0, 0, -1, 0, 0, 0, 1), ["IS", "PA", "LR"]),
    ((0, 0, 1, 0.9, 0.436, 0, 0.436, -0.9, 0), ["RL", "SI", "AP"]),  # sagittal slices, oblique
])  # fmt: skip
def test_sides_of_the_patient_and_world_coordinates(direction, letters):
    geometry = Geometry((3.0, 2.0, 1.0), "mm", (10.0, 20.0, 30.0), direction)
    assert geometry.letters() == letters
    index = np.array([4, 3, 2])
    place = np.array([10, 20, 30]) + np.reshape(direction, (3, 3)) @ (index[::-1] * (1.0, 2.0, 3.0))
    np.testing.assert_allclose(geometry.world() @ [*index, 1], place)
    assert Geometry((1.0, 1.0, 1.0)).letters() is None
