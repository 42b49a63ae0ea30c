"""Valid but unusual images: read as any viewer shows them, or rejected with the remedy."""

import os
import struct
import zlib

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from apps.common.images import InputError, read_bytes, read_codes, read_image

ORIENTED = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: a.swapaxes(0, 1)[:, ::-1],
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: a.swapaxes(0, 1)[::-1],
}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def deep_png(pixels, *extra, behind=False):
    """A 16-bit PNG with further chunks before or after its pixels."""
    data = cv2.imencode(".png", pixels[..., [2, 1, 0, 3][: pixels.shape[2]]])[1].tobytes()
    at = len(data) - 12 if behind else 33
    return data[:at] + b"".join(extra) + data[at:]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_white_may_be_stored_as_0(tmp_path, dtype, compression):
    most = np.iinfo(dtype).max
    pixels = np.linspace(0, most, 12).reshape(3, 4).astype(dtype)
    tifffile.imwrite(tmp_path / "a.tif", most - pixels, photometric="miniswhite", compression=compression)
    np.testing.assert_allclose(read_image(tmp_path / "a.tif")[..., 0], pixels / most, atol=1e-6)


def test_palette_of_a_tiff(tmp_path):
    indices = Image.fromarray(np.array([[0, 1], [2, 0]], np.uint8)).convert("P")
    indices.putdata([0, 1, 2, 0])
    indices.putpalette([10, 20, 30, 200, 0, 0, 0, 0, 200])
    indices.save(tmp_path / "a.tif")
    np.testing.assert_array_equal(read_codes(tmp_path / "a.tif"), [[0, 1], [2, 0]])
    colours = np.array([[(10, 20, 30), (200, 0, 0)], [(0, 0, 200), (10, 20, 30)]])
    np.testing.assert_allclose(read_image(tmp_path / "a.tif"), colours / 255, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.int32, np.int16])
def test_integers_of_unknown_range_are_rejected(tmp_path, dtype):
    tifffile.imwrite(tmp_path / "a.tif", np.arange(1, 257, dtype=dtype).reshape(16, 16))
    with pytest.raises(InputError, match=r"a.tif.* must hold integers in \[0, 255\], uint16, .*convert it"):
        read_image(tmp_path / "a.tif")


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("channels", [3, 4])
def test_deep_png_is_rotated_upright(tmp_path, orientation, behind, channels):
    pixels = np.random.default_rng(0).integers(0, 65536, (3, 5, channels), dtype=np.uint16)
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = deep_png(pixels, chunk(b"eXIf", exif.tobytes()[6:]), behind=behind)
    (tmp_path / "a.png").write_bytes(data)
    np.testing.assert_allclose(
        read_image(tmp_path / "a.png"), ORIENTED[orientation](pixels)[..., :3] / 65535, atol=1e-6
    )


def test_grey_and_alpha_of_sixteen_bits(tmp_path):
    """OpenCV cannot write it: rows of (grey, alpha), each with a filter byte of 0."""
    grey = np.array([[0, 200, 1000], [65535, 257, 3]], np.uint16)
    rows = b"".join(b"\0" + np.dstack([row, np.full(3, 9)]).astype(">u2").tobytes() for row in grey)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 3, 2, 16, 4, 0, 0, 0))
    (tmp_path / "a.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )
    np.testing.assert_array_equal(read_codes(tmp_path / "a.png"), grey)
    np.testing.assert_allclose(read_image(tmp_path / "a.png")[..., 1], grey / 65535, atol=1e-6)


@pytest.mark.parametrize("suffix", ["gif", "png", "webp"])
def test_animations_are_rejected(tmp_path, suffix):
    frames = [Image.fromarray(np.full((8, 8, 3), 60 * t, np.uint8)) for t in range(3)]
    frames[0].save(tmp_path / f"a.{suffix}", save_all=True, append_images=frames[1:])
    with pytest.raises(
        InputError, match=r"holds 3 frames; pass a single image \(cutmatch flow, track and segment --clip"
    ):
        read_image(tmp_path / f"a.{suffix}")
    frames[0].save(tmp_path / f"b.{suffix}")
    assert read_image(tmp_path / f"b.{suffix}").shape == (8, 8, 3)


def test_a_thumbnail_is_not_a_second_frame(tmp_path):
    """Phones append a reduced image to the image itself."""
    image = Image.fromarray(np.full((16, 16, 3), (200, 100, 50), np.uint8))
    image.save(tmp_path / "a.jpg", "MPO", save_all=True, append_images=[image.resize((4, 4))])
    with Image.open(tmp_path / "a.jpg") as image:
        assert (image.format, image.n_frames) == ("MPO", 2)
    assert read_image(tmp_path / "a.jpg").shape == (16, 16, 3)


@pytest.mark.parametrize("kind", ["pipe", "device", "link to a device"])
def test_endless_files_are_not_opened(tmp_path, kind):
    path = tmp_path / "x.png"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = "/dev/zero"
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match="is a pipe or a device; pass a regular file"):
        read_bytes(path)
