"""`cutmatch segment` on volumes: from files to files of the same format."""

import json

import nibabel
import numpy as np
import pytest
import SimpleITK

from apps import cli
from apps.segmentation.volume_object import segment_object
from apps.volumes.volume_files import read_volume
from tests.apps.volumes.conftest import (
    SHAPE,
    SPACING,
    write_dicom,
    write_itk_image,
    write_volume,
)

MARKS_OF = np.array([-1, 1, 0], np.int8)  # by value of a stroke image
VOXEL = SPACING[0] * SPACING[1] * SPACING[2]


def segment(folder, *arguments):
    """Run the command with --out folder/out; return its status and the report."""
    line = ["segment", *map(str, arguments), "--out", str(folder / "out"), "--json", str(folder / "r.json")]
    status = cli.main([*line, "--overwrite", "--device", "cpu"])
    return status, json.loads((folder / "r.json").read_text("utf-8")) if status == 0 else None


FORMATS = {
    "a.nii": "a-{}.nii.gz",
    "a.nii.gz": "a-{}.nii.gz",
    "a.nrrd": "a-{}.nrrd",
    "a.nhdr": "a-{}.nrrd",
    "a.mha": "a-{}.mha",
    "a.mhd": "a-{}.mha",
    "a.tif": "a-{}.tif",
    "a.ome.tif": "a-{}.ome.tif",
    "a.npy": "a-{}.npy",
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("option", ["--label-strokes", "--strokes"])
def test_every_format(ball, tmp_path, name, option, capsys):
    path = write_volume(tmp_path / name, ball.values if "tif" not in name else ball.values.astype(np.float32))
    seeds = write_volume(tmp_path / f"seeds-{name}", ball.seeds)
    status, report = segment(tmp_path, path, option, seeds)
    assert status == 0
    kind = "labels" if option == "--label-strokes" else "mask"
    names = {FORMATS[name].format(kind), "a-segment.json", "a-slices.png"}
    if kind == "labels":
        names |= {"a-labels.json"}
        legend = json.loads((tmp_path / "out" / "a-labels.json").read_text("utf-8"))
        assert (legend["depth"], legend["height"], legend["width"]) == ball.values.shape
        assert {int(value): entry["pixels"] for value, entry in legend["labels"].items()} == {
            int(value): count for value, count in report["pixels"].items()
        }
    assert {p.name for p in (tmp_path / "out").glob("[!.]*")} == names
    written = tmp_path / "out" / FORMATS[name].format(kind)
    found = read_volume(written)
    wanted = ball.truth if kind == "labels" else ball.truth == 1
    assert (found.values == wanted).mean() > 0.99
    assert found.values.dtype == np.uint8
    given = read_volume(path)
    if name == "a.npy":
        assert report["spacing"] == [1, 1, 1]
        assert (report["spacing_from"], report["volume_unit"], report["unit"]) == ("default", "voxels", None)
    else:
        np.testing.assert_allclose(found.geometry.spacing, given.geometry.spacing, rtol=1e-7)
        np.testing.assert_allclose(report["spacing"], SPACING, rtol=1e-6)
        assert report["unit"] == ("mm" if name[2:5] in ("nii", "nrr", "nhd", "mha", "mhd") else "µm")
        assert report["volume_unit"] == f"{report['unit']}³"
        np.testing.assert_allclose(report["volumes"]["1"], report["pixels"]["1"] * VOXEL, rtol=1e-5)
        assert report["spacing_from"] == "file"
    assert report["pixels"]["1"] == (found.values == 1).sum()
    assert report["volume_unit"] in capsys.readouterr().out
    # A second run replaces its own results, folders too.
    assert segment(tmp_path, path, option, seeds)[0] == 0


def test_dicom_series_becomes_nifti(ball, tmp_path):
    folder = write_dicom(tmp_path / "chest", ball.values)
    np.save(tmp_path / "seeds.npy", ball.seeds)
    status, report = segment(tmp_path, folder, "--strokes", tmp_path / "seeds.npy")
    assert status == 0
    found = nibabel.load(tmp_path / "out" / "chest-mask.nii.gz")
    given = itk_affine(folder)
    np.testing.assert_allclose(found.affine, given, atol=1e-6)
    assert (np.asarray(found.dataobj).T == (ball.truth == 1)).mean() > 0.99
    assert report["unit"] == "mm"


def itk_affine(folder):
    """The affine matrix, as nibabel has it, of a series read by SimpleITK's own reader of series."""
    names = SimpleITK.ImageSeriesReader.GetGDCMSeriesFileNames(str(folder))
    image = SimpleITK.ReadImage(names)
    affine = np.eye(4)
    affine[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) * image.GetSpacing()
    affine[:3, 3] = image.GetOrigin()
    return np.diag([-1, -1, 1, 1]) @ affine


def test_spacing_of_the_file_is_used_unless_overridden(ball, tmp_path):
    values = np.where(ball.truth == 1, 130, 100) + np.random.default_rng(1).normal(0, 25, SHAPE)
    path = write_itk_image(tmp_path / "a.nii.gz", values.astype(np.float32))
    seeds = write_itk_image(tmp_path / "seeds.nii.gz", ball.seeds)
    np.save(tmp_path / "a.npy", values.astype(np.float32))
    np.save(tmp_path / "seeds.npy", ball.seeds)
    energies = {}
    for name, image, options in (
        ("file", path, []),
        ("override", path, ["--spacing", "1,1,1"]),
        ("plain", tmp_path / "a.npy", []),
        ("stated", tmp_path / "a.npy", ["--spacing", ",".join(map(str, SPACING))]),
    ):
        marks = seeds if image == path else tmp_path / "seeds.npy"
        status, report = segment(tmp_path, image, "--label-strokes", marks, *options)
        assert status == 0
        energies[name] = report["energies"]
        if name == "override":
            assert report["spacing_from"] == "--spacing"
            assert report["volumes"]["1"] == report["pixels"]["1"]
            found = nibabel.load(tmp_path / "out" / "a-labels.nii.gz")
            np.testing.assert_allclose(found.header.get_zooms(), SPACING[::-1], rtol=1e-6)
    assert energies["file"] == pytest.approx(energies["stated"])
    assert energies["override"] == energies["plain"]
    assert energies["file"] != energies["plain"]


def test_parts(ball, tmp_path):
    ball.values[1:3, 20:23, 20:23] = 300  # a part without a stroke
    path = write_itk_image(tmp_path / "a.nii.gz", ball.values)
    seeds = write_itk_image(tmp_path / "seeds.nii.gz", ball.seeds)
    found = {}
    for options in ((), ("--keep", "all"), ("--keep", "largest")):
        status, _ = segment(tmp_path, path, "--strokes", seeds, *options)
        assert status == 0
        found[options] = nibabel.load(tmp_path / "out" / "a-mask.nii.gz").get_fdata().T > 0
    part = slice(1, 3), slice(20, 23), slice(20, 23)
    assert not found[()][part].any()
    assert found[("--keep", "all")][part].all()
    assert not found[("--keep", "largest")][part].any()


def test_object_is_certified(ball, device):
    found = segment_object(ball.values, ball.seeds, spacing=SPACING, device=device)
    found.check()
    np.testing.assert_array_equal(found.fixed, MARKS_OF[ball.seeds])
    assert (found.mask == (ball.truth == 1)).mean() > 0.99
    assert found.mask[ball.seeds == 1].all()
    assert not found.mask[ball.seeds == 2].any()


def test_a_rough_mask_is_refined(ball, tmp_path, capsys):
    from scipy import ndimage

    start = ndimage.binary_dilation(ball.truth == 1, np.ones((1, 5, 5))).astype(np.uint8)
    path = write_itk_image(tmp_path / "a.nii.gz", ball.values)
    write_itk_image(tmp_path / "start.nii.gz", start * np.uint8(255))
    status, report = segment(tmp_path, path, "--start", tmp_path / "start.nii.gz")
    assert status == 0
    refined = nibabel.load(tmp_path / "out" / "a-mask.nii.gz").get_fdata().T > 0
    assert np.mean(refined == (ball.truth == 1)) > np.mean((start == 1) == (ball.truth == 1))
    assert np.mean(refined == (ball.truth == 1)) > 0.99
    strokes = np.zeros(SHAPE, np.uint8)
    strokes[6, 12, 13] = 2
    write_itk_image(tmp_path / "strokes.nii.gz", strokes)
    line = [path, "--start", tmp_path / "start.nii.gz", "--strokes", tmp_path / "strokes.nii.gz"]
    assert segment(tmp_path, *line)[0] == 0
    assert not nibabel.load(tmp_path / "out" / "a-mask.nii.gz").get_fdata().T[6, 12, 13]
    write_itk_image(tmp_path / "start.nii.gz", 0 * start)
    assert segment(tmp_path, *line)[0] == 2
    assert "marks no object" in capsys.readouterr().err
