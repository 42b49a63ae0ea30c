"""Extreme images, volumes and ground truths: processed, or rejected in one line before the work."""

import struct
import zlib

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from apps import segment as cut
from apps.common.images import InputError, read_codes, read_image
from apps.denoising import denoise_command as denoise
from apps.optical_flow import flow_command as flow
from apps.optical_flow.flow_files import read_flow
from apps.regions import superpixels_command as superpixels
from apps.segmentation import segment_command as segment
from apps.segmentation.label_figures import sections
from apps.segmentation.marks import BACKGROUND, OPEN
from apps.stereo_matching import stereo_command as stereo
from apps.stereo_matching.disparity_files import read_disparity
from apps.tracking import track_command as track
from apps.volumes.volume_files import is_volume

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


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_tiny_box_in_a_large_image(size):
    """If the image is reduced first, the box may vanish."""
    image = np.full((1100, 1000, 3), 40, np.uint8)
    image[500 : 500 + size, 401 : 401 + size] = 220
    found = cut(image, box=(401, 500, 401 + size, 500 + size))
    assert not found.mask[found.fixed == BACKGROUND].any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 2), (2, 40), (3, 3), (4, 5)])
def test_scores_of_tiny_images(tmp_path, shape, capsys):
    import json

    Image.fromarray(GREY[: shape[0], :9] if shape[1] <= 9 else np.resize(GREY, shape)).save(tmp_path / "a.png")
    path = str(tmp_path / "a.png")
    out = ["--out", str(tmp_path / "out"), "--json", str(tmp_path / "r.json")]
    assert denoise.main([path, "--truth", path, *out]) == 0
    with Image.open(path) as image:
        side = min(image.size)
    scores = json.loads((tmp_path / "r.json").read_text("utf-8"))["truth"]
    assert (scores["before"]["ssim"] == 1.0) if side >= 3 else (scores["before"]["ssim"] is None)


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


@pytest.mark.parametrize("scale", ["--", "+-.", "0", "-0.0", "1e999", "e"])
def test_pfm_without_a_scale(tmp_path, scale):
    (tmp_path / "t.pfm").write_bytes(f"Pf\n2 2\n{scale}\n".encode() + bytes(16))
    with pytest.raises(InputError, match="its scale is given as .* which must be a number other than 0"):
        read_disparity(tmp_path / "t.pfm")


@pytest.mark.parametrize(("data", "message"), [
    (b"P6\n1 1\n255\n", "does not start with the header of a .pfm"),
    (b"PF\n1 1\n-1.0\n" + bytes(12), "three channels; one needed"),
    (b"Pf\n1 1\n-1.0\n" + bytes(8), "and it holds"),
])  # fmt: skip
def test_pfm_that_is_no_disparity(tmp_path, data, message):
    (tmp_path / "t.pfm").write_bytes(data)
    with pytest.raises(InputError, match=message):
        read_disparity(tmp_path / "t.pfm")


def test_pfm_rows_run_upwards_and_the_sign_gives_the_byte_order(tmp_path):
    for scale, order in ((b"1.0", ">f4"), (b"-1.0", "<f4")):
        (tmp_path / "t.pfm").write_bytes(b"Pf\n1 2\n" + scale + b"\n" + np.array([1, 3], order).tobytes())
        assert read_disparity(tmp_path / "t.pfm")[0].tolist() == [[3.0], [1.0]]


def png_that_claims(width, height, colour_type):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, colour_type, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(60_000, 60_000), (2**31 - 1, 2**31 - 1), (0, 5), (20_000, 4_000)])
@pytest.mark.parametrize("command", ["flow", "stereo"])
def test_ground_truths_that_claim_to_be_huge(tmp_path, size, command, capsys):
    for name in "ab":
        Image.fromarray(GREY).save(tmp_path / f"{name}.png")
    (tmp_path / "t.png").write_bytes(png_that_claims(*size, 2 if command == "flow" else 0))
    program = {"flow": flow, "stereo": stereo}[command]
    arguments = [str(tmp_path / name) for name in ("a.png", "b.png")]
    assert program.main([*arguments, "--truth", str(tmp_path / "t.png"), "--out", str(tmp_path / "out")]) == 2
    assert "--truth: cannot read" in capsys.readouterr().err


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


@pytest.mark.parametrize("program", ["track", "flow", "superpixels", "segment", "stereo"])
def test_archives_named_as_arrays(tmp_path, program, capsys):
    with open(tmp_path / "z.npy", "wb") as file:
        np.savez(file, a=np.zeros((3, 20, 30)))
    for name in "ab":
        Image.fromarray(GREY).save(tmp_path / f"{name}.png")
    stack, one, other = (str(tmp_path / name) for name in ("z.npy", "a.png", "b.png"))
    main, arguments = {
        "track": (track.main, [stack]),
        "flow": (flow.main, [stack]),
        "superpixels": (superpixels.main, [one, "--truth", stack]),
        "segment": (segment.main, [stack, "--label-strokes", stack]),
        "stereo": (stereo.main, [one, other, "--truth", stack]),
    }[program]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 2
    assert "it is an archive, such as .npz, not a .npy array" in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"II*\0", b"MM\0*\0\0\0\x08", b"II+\0\x08\0", b"", b"II*\0" + b"\xff" * 60])
def test_a_broken_tiff_does_not_stop_a_batch(tmp_path, data, capsys):
    (tmp_path / "m.tif").write_bytes(data)
    assert not is_volume(tmp_path / "m.tif", False)
    Image.fromarray(GREY).save(tmp_path / "a.png")
    (tmp_path / "seeds").mkdir()
    seeds = np.zeros(GREY.shape, np.uint8)
    seeds[:2], seeds[-2:] = 1, 2
    for name in "am":
        Image.fromarray(seeds).save(tmp_path / "seeds" / f"{name}.png")
    arguments = [str(tmp_path / "m.tif"), str(tmp_path / "a.png"), "--label-strokes", str(tmp_path / "seeds")]
    assert segment.main([*arguments, "--out", str(tmp_path / "out"), "--threads", "1"]) == 1
    assert "1 done, 1 failed" in capsys.readouterr().out


@pytest.mark.parametrize("spacing", ["1e-300 1 1", "1 1e300 1", "1 1 0.0001", "0 1 1", "nan 1 1"])
def test_extreme_spacing(tmp_path, spacing, capsys):
    seeds = np.zeros((4, 5, 6), np.uint8)
    seeds[0], seeds[-1] = 1, 2
    np.save(tmp_path / "v.npy", np.arange(120.0).reshape(4, 5, 6))
    np.save(tmp_path / "s.npy", seeds)
    arguments = [str(tmp_path / "v.npy"), "--label-strokes", str(tmp_path / "s.npy"), "--spacing", *spacing.split()]
    assert segment.main([*arguments, "--out", str(tmp_path / "out")]) == 2
    assert "spacing" in capsys.readouterr().err


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
