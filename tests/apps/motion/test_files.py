"""Flow files: round trips and rejected input."""

import io
import struct

import cv2
import numpy as np
import pytest

from apps.common.images import InputError
from apps.optical_flow.flow_files import SUFFIXES, read_flow
from tests.apps.flow_samples import write_flow


@pytest.fixture
def field():
    """A flow (5, 7, 2) with signs, fractions of 1/64 pixel, and two unknown pixels."""
    rng = np.random.default_rng(0)
    flow = np.round(rng.uniform(-300, 300, (5, 7, 2)) * 64) / 64
    valid = np.ones((5, 7), bool)
    valid[1, 2] = valid[4, 6] = False
    return flow.astype(np.float32), valid


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip(tmp_path, field, suffix):
    flow, valid = field
    path = write_flow(tmp_path / f"a{suffix}", flow, valid)
    again, known = read_flow(path)
    assert again.dtype == np.float32
    np.testing.assert_array_equal(known, valid)
    np.testing.assert_array_equal(again[valid], flow[valid])
    assert (again[~valid] == 0).all()
    assert [p.name for p in tmp_path.iterdir()] == [f"a{suffix}"], "no temporary file is left"


def test_kitti_rejects_motion_out_of_range(tmp_path):
    edge = np.full((1, 1, 2), (-512.0, 32767 / 64), np.float32)
    np.testing.assert_array_equal(read_flow(write_flow(tmp_path / "a.png", edge))[0], edge)
    with pytest.raises(InputError, match="motion of up to 512 pixels"):
        write_flow(tmp_path / "b.png", np.full((1, 1, 2), 512.0))
    assert not (tmp_path / "b.png").exists()


def broken(name, data, message):
    return pytest.param(name, data, message, id=f"{name}: {message[:25]}")


def _npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


FLO = struct.pack("<fii", 202021.25, 2, 2) + bytes(32)
GREY_PNG = cv2.imencode(".png", np.zeros((2, 2), np.uint16))[1].tobytes()
BAD_FILES = [
    broken("a.flo", b"PIEH" + bytes(8), "states the size 0x0"),
    broken("a.flo", struct.pack("<fii", 1.0, 2, 2) + bytes(32), "does not begin with 202021.25"),
    broken("a.flo", FLO[:-1], "need 44 bytes, and it has 43"),
    broken("a.flo", FLO + b"x", "need 44 bytes, and it has 45"),
    broken("a.flo", struct.pack("<fii", 202021.25, -2, 2), "states the size -2x2"),
    broken("a.flo", b"PI", "does not begin with 202021.25"),
    broken("a.flo", b"", "is empty"),
    broken("a.png", GREY_PNG, "three channels of 16 bits"),
    broken("a.png", b"not a png", "three channels of 16 bits"),
    broken("a.npz", _npz(flow=np.zeros((3, 4))), "shape"),
    broken("a.npz", _npz(flow=np.zeros((3, 4, 2)))[:-5], "cannot read"),
    broken("a.npz", b"PK\x03\x04", "cannot read"),
    broken("a.txt", b"1 2", "not a flow file"),
]


@pytest.mark.parametrize(("name", "data", "message"), BAD_FILES)
def test_broken_files_are_rejected_in_one_line(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message) as error:
        read_flow(tmp_path / name, "--truth")
    assert str(error.value).startswith("--truth: ")
    assert "\n" not in str(error.value)
