"""Flow files: round trips and rejected input."""

import struct

import cv2
import numpy as np
import pytest

from apps.common.images import InputError
from apps.optical_flow.flow_files import read_flow
from tests.apps.flow_samples import write_flow


@pytest.fixture
def field():
    """A flow (5, 7, 2) with signs, fractions of 1/64 pixel, and two unknown pixels."""
    rng = np.random.default_rng(0)
    flow = np.round(rng.uniform(-300, 300, (5, 7, 2)) * 64) / 64
    valid = np.ones((5, 7), bool)
    valid[1, 2] = valid[4, 6] = False
    return flow.astype(np.float32), valid


@pytest.mark.parametrize("suffix", [".flo", ".png"])
def test_round_trip(tmp_path, field, suffix):
    flow, valid = field
    path = tmp_path / f"a{suffix}"
    if suffix == ".flo":
        write_flow(path, flow, valid)
    else:  # KITTI: blue, green and red of OpenCV
        codes = np.where(valid[..., None], 64 * flow + 2**15, 0)
        cv2.imwrite(str(path), np.dstack([valid, codes[..., 1], codes[..., 0]]).astype(np.uint16))
    again, known = read_flow(path)
    assert again.dtype == np.float32
    np.testing.assert_array_equal(known, valid)
    np.testing.assert_array_equal(again[valid], flow[valid])
    assert (again[~valid] == 0).all()
    assert [p.name for p in tmp_path.iterdir()] == [f"a{suffix}"], "no temporary file is left"


def broken(name, data, message):
    return pytest.param(name, data, message, id=f"{name}: {message[:25]}")


FLO = struct.pack("<fii", 202021.25, 2, 2) + bytes(32)
GREY_PNG = cv2.imencode(".png", np.zeros((2, 2), np.uint16))[1].tobytes()
BAD_FILES = [
    broken("a.flo", b"PIEH" + bytes(8), "states the size 0x0"),
    broken("a.flo", struct.pack("<fii", 1.0, 2, 2) + bytes(32), "does not begin with 202021.25"),
    broken("a.flo", FLO[:-1], "need 44 bytes, and it has 43"),
    broken("a.flo", b"", "is empty"),
    broken("a.png", GREY_PNG, "three channels of 16 bits"),
    broken("a.txt", b"1 2", "not a flow file"),
]


@pytest.mark.parametrize(("name", "data", "message"), BAD_FILES)
def test_broken_files_are_rejected_in_one_line(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message) as error:
        read_flow(tmp_path / name, "--truth")
    assert str(error.value).startswith("--truth: ")
    assert "\n" not in str(error.value)
