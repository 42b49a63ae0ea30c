"""docs/guide/files.md names every file that a command writes, and the field's tools read them."""

import cv2
import imageio.v3
import numpy as np
import pytest

from apps.optical_flow import flow_command as flow
from apps.stereo_matching import stereo_command as stereo
from apps.stereo_matching.disparity_files import encoded
from tests.apps.flow_samples import write_flow

DISPARITY = np.array([[0.5, 12.25, 200.0], [3.0, 7.125, 1.0]], np.float32)
FLOW = np.dstack([DISPARITY, -DISPARITY / 2]).astype(np.float32)
VALID = np.array([[True, False, True], [True, True, True]])


@pytest.mark.parametrize("kind", stereo.FORMATS)
def test_tools_read_disparities(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    path.write_bytes(encoded(DISPARITY, kind))
    scale = 256 if kind == "png" else 1
    np.testing.assert_array_equal(cv2.imread(str(path), cv2.IMREAD_UNCHANGED) / scale, DISPARITY)
    if kind == "png":  # as KITTI's devkit for Python does
        np.testing.assert_array_equal(imageio.v3.imread(path).astype(float) / 256, DISPARITY)


@pytest.mark.parametrize("kind", flow.FORMATS)
def test_tools_read_flows(tmp_path, kind):
    path = write_flow(tmp_path / f"a{flow.SUFFIXES[kind]}", FLOW, VALID)
    if kind == "flo":
        read = cv2.readOpticalFlow(str(path))
        assert (np.abs(read[~VALID]) > 1e9).all(), "unknown by Middlebury's convention"
    else:
        with np.load(path) as content:
            read, valid = content["flow"], content["valid"]
        np.testing.assert_array_equal(valid, VALID)
        np.testing.assert_array_equal(read, FLOW, "the flow has values at uncertain pixels, too")
    np.testing.assert_array_equal(read[VALID], FLOW[VALID])
