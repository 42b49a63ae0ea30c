"""Extreme images, volumes and ground truths: processed, or rejected in one line before the work."""

import struct

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from apps import segment as cut
from apps.common.figures import sections
from apps.common.images import InputError, read_codes, read_image
from apps.denoising import denoise_command as denoise
from apps.optical_flow.flow_files import read_flow
from apps.segmentation.marks import BACKGROUND, OPEN
from apps.stereo_matching import stereo_command as stereo
from apps.stereo_matching.disparity_files import read_disparity

pytestmark = pytest.mark.filterwarnings("ignore:the object (is empty|covers)")

GREY = np.random.default_rng(0).integers(0, 256, (20, 30), dtype=np.uint8)


@pytest.mark.parametrize("place", [(0, 0), (9, 7), (29, 19)])
@pytest.mark.parametrize("colour", [None, 0, 77, 255])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_small_boxes_and_constant_images(place, colour, size):
    image = GREY if colour is None else np.full((20, 30, 3), colour, np.uint8)
    x, y = (min(at, side - size) for at, side in zip(place, (30, 20), strict=True))
    found = cut(image, box=(x, y, x + size, y + size))
    assert not found.mask[found.fixed == BACKGROUND].any()
    assert (found.fixed == OPEN).sum() == size**2


def test_one_pixel_that_differs_is_the_object():
    image = np.full((20, 30, 3), 40, np.uint8)
    image[7, 9] = 220
    found = cut(image, box=(9, 7, 10, 8))
    assert np.argwhere(found.mask).tolist() == [[7, 9]]


def test_too_wide_jpegs_are_rejected(tmp_path, capsys):
    Image.fromarray(np.zeros((1, 65_501), np.uint8)).save(tmp_path / "a.png")
    assert denoise.main([str(tmp_path / "a.png"), "--format", "jpg", "--out", str(tmp_path / "out")]) == 2
    assert "--format jpg is limited to" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("given", [True, False])
def test_disparities_too_large_for_png_are_rejected_first(tmp_path, given, monkeypatch, capsys):
    for name in ("left", "right"):
        Image.fromarray(np.resize(GREY, (20, 400))).save(tmp_path / f"{name}.png")
    monkeypatch.setattr(
        "apps.stereo_matching.disparities.disparity_costs", lambda *_: pytest.fail("the work has started")
    )
    monkeypatch.setattr("apps.stereo_matching.disparities.guess_max_disparity", lambda *_: 300)
    options = ["--max-disparity", "300"] if given else []
    arguments = [str(tmp_path / "left.png"), str(tmp_path / "right.png"), *options]
    assert stereo.main([*arguments, "--out", str(tmp_path / "out")]) == 2
    assert "a 16-bit PNG is limited to 255.99; use --format pfm" in capsys.readouterr().err


@pytest.mark.parametrize(("data", "message"), [
    (b"P6\n1 1\n255\n", "does not start with the header of a .pfm"),
    (b"PF\n1 1\n-1.0\n" + bytes(12), "of one channel"),
    (b"Pf\n0 1\n-1.0\n" + bytes(8), "of one channel"),
    (b"Pf\n2 1\n-1.0\n" + bytes(7), "buffer is smaller"),
])  # fmt: skip
def test_pfm_that_is_no_disparity(tmp_path, data, message):
    (tmp_path / "t.pfm").write_bytes(data)
    with pytest.raises(InputError, match=message):
        read_disparity(tmp_path / "t.pfm")


def test_pfm_rows_run_upwards_and_the_scale_gives_the_byte_order_alone(tmp_path):
    for scale, order in ((b"1.0", ">f4"), (b"-0.003922", "<f4")):
        (tmp_path / "t.pfm").write_bytes(b"Pf\n1 2\n" + scale + b"\n" + np.array([1, 3], order).tobytes())
        assert read_disparity(tmp_path / "t.pfm")[0].tolist() == [[3.0], [1.0]]


def test_tiff_images_that_claim_to_be_huge(tmp_path):
    """Their pixels are rejected before memory is allocated."""
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((16, 16), np.uint8), photometric="minisblack", compression="zlib")
    data = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as file:
        for name in ("ImageWidth", "ImageLength"):
            tag = file.pages[0].tags[name]
            struct.pack_into("<H" if tag.dtype == 3 else "<I", data, tag.valueoffset, 50_000)
    path.write_bytes(data)
    for read in (read_image, read_codes):
        with pytest.raises(InputError, match="its 50000x50000 pixels exceed the limit"):
            read(path)


def test_slices_of_long_voxels_are_shrunk():
    volume = np.zeros((300, 4, 5))
    sheet = sections(volume, np.ones(volume.shape, np.uint8), [1], (1000.0, 1.0, 1.0))
    assert max(sheet.shape) <= 8192 + 100


def test_channels_of_a_deep_ground_truth(tmp_path):
    """The channels of a KITTI flow are in the file's own order."""
    codes = np.zeros((2, 3, 3), np.uint16)
    codes[..., 2], codes[..., 1], codes[..., 0] = 2**15 + 64, 2**15 - 128, 1  # OpenCV's order is reversed
    cv2.imwrite(str(tmp_path / "a.png"), codes)
    field, known = read_flow(tmp_path / "a.png")
    assert known.all()
    assert field[0, 0].tolist() == [1.0, -2.0]
