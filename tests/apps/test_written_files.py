"""docs/guide/files.md names every file that a command writes, and the field's tools read them."""

import re
from argparse import Namespace
from pathlib import Path

import cv2
import imageio.v3
import numpy as np
import pytest

from apps import demo, matching
from apps.common import annotations
from apps.denoising import denoise_command as denoise
from apps.optical_flow import flow_command as flow
from apps.optical_flow.flow_files import SUFFIX_OF
from apps.point_matching import match_command as match
from apps.regions import superpixels_command as superpixels
from apps.segmentation import image_jobs, label_jobs, video_jobs
from apps.segmentation.result_files import KINDS, MERGED, files_of, label_files_of
from apps.stereo_matching import stereo_command as stereo
from apps.stereo_matching.disparity_files import encoded
from apps.tracking import track_command as track
from tests.apps.flow_samples import write_flow

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs/guide/files.md").read_text("utf-8")
OUT = Path("out")


def section(command):
    """The rows of a command in the table of files, with names in full."""
    rows = re.search(rf"^\| {command} \|.*\n(?:\| (?:\||`--|volumes|clips).*\n)*", DOCUMENT, re.MULTILINE)[0]
    if command == "refine":
        assert "the files of `segment`" in rows
        return section("segment")
    return re.sub(r"`(NAME-\w+)(\.\w+)`, `(\.\w+)`, `(\.\w+)`", r"`\1\2` `\1\3` `\1\4`", rows)


def planned(command):
    """Names of all files that a command may write, for every format and option."""
    if command == "refine":
        return [*files_of(KINDS, OUT, "NAME").values(), *label_files_of(KINDS, OUT, "NAME", [1]).values()]
    given = Namespace(out="out", truth="t", box=None, table=None, dulmage_mendelsohn=True, model="auto", counts=[9])
    if command == "segment":
        given.kinds, given.volume, given.labels = KINDS, False, "labels"
        files = [*files_of(KINDS, OUT, "NAME").values(), *label_files_of(KINDS, OUT, "NAME", [1]).values()]
        for suffix in (".png", ".tif", ".ome.tif", ".npy", ".nii.gz", ".nrrd"):
            files += label_jobs.results_of(Path(f"NAME{suffix}"), given)
            files += image_jobs.results_of(Path(f"NAME{suffix}"), Namespace(**{**vars(given), "labels": None}))
        files.append(video_jobs._overlay("NAME", given))
        return files + [OUT / annotations.SUFFIXES[kind] for kind in MERGED]
    if command == "demo":
        return [OUT / re.sub("^[a-z]+", "NAME", name) for name in demo.FILES]
    files = []
    modules = {"stereo": stereo, "flow": flow, "superpixels": superpixels}
    for given.format in modules.get(command, denoise).FORMATS:
        if command == "denoise":
            files.append(denoise._file(Path("NAME.png"), given))
        elif command == "superpixels":
            files += superpixels._files("NAME", given)[0].values()
        elif command in modules:
            files += modules[command]._files("NAME", given).values()
        else:
            name = "FIRST-SECOND" if command == "match" else "NAME"
            files += {"match": match, "track": track, "matching": matching}[command]._files(name, given).values()
    return files


@pytest.mark.parametrize(
    "command",
    ["segment", "refine", "denoise", "superpixels", "stereo", "flow", "match", "track", "matching", "demo"],
)
def test_the_table_names_every_file(command):
    files = planned(command)
    assert files
    missing = {path.name for path in files if f"`{path.name}`" not in section(command)}
    assert not missing, f"docs/guide/files.md lacks {sorted(missing)} of {command}"


DISPARITY = np.array([[0.5, 12.25, 200.0], [3.0, 7.125, 1.0]], np.float32)
FLOW = np.dstack([DISPARITY, -DISPARITY / 2]).astype(np.float32)
VALID = np.array([[True, False, True], [True, True, True]])


@pytest.mark.parametrize("kind", stereo.FORMATS)
def test_tools_read_disparities(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    path.write_bytes(encoded(DISPARITY, kind))
    if kind == "npy":
        np.testing.assert_array_equal(np.load(path), DISPARITY)
        return
    scale = 256 if kind == "png" else 1
    np.testing.assert_array_equal(cv2.imread(str(path), cv2.IMREAD_UNCHANGED) / scale, DISPARITY)
    if kind == "png":  # as KITTI's devkit for Python does
        np.testing.assert_array_equal(imageio.v3.imread(path).astype(float) / 256, DISPARITY)


@pytest.mark.parametrize("kind", flow.FORMATS)
def test_tools_read_flows(tmp_path, kind):
    path = write_flow(tmp_path / f"a{SUFFIX_OF[kind]}", FLOW, VALID)
    if kind == "flo":
        read = cv2.readOpticalFlow(str(path))
        assert (np.abs(read[~VALID]) > 1e9).all(), "unknown by Middlebury's convention"
    elif kind == "kitti":
        pixels = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)[..., ::-1].astype(float)
        read, valid = (pixels[..., :2] - 2**15) / 64, pixels[..., 2]
        np.testing.assert_array_equal(valid, VALID)
        np.testing.assert_allclose(read[VALID], FLOW[VALID], atol=1 / 128)
        return
    else:
        with np.load(path) as content:
            read, valid = content["flow"], content["valid"]
        np.testing.assert_array_equal(valid, VALID)
        np.testing.assert_array_equal(read, FLOW, "the flow has values at uncertain pixels, too")
    np.testing.assert_array_equal(read[VALID], FLOW[VALID])
