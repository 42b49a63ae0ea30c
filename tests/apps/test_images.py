"""A gallery of the image files that people have: the pixels that a viewer shows, or an error with its remedy.

All halves of these files are rejected in one line.
"""

import io
import os
import struct
import zlib

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from apps.common.file_kinds import IMAGES
from apps.common.images import InputError, read_bytes, read_image
from apps.run.inputs import images_in

RANDOM = np.random.default_rng(1)
RGB = RANDOM.integers(0, 256, (24, 36, 3), dtype=np.uint8)
DEEP = RANDOM.integers(0, 65536, (24, 36, 4), dtype=np.uint16)
FLAT = np.full((16, 16, 3), (200, 100, 50), np.uint8)
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


def pillow(pixels, kind="PNG", mode=None, **options):
    buffer = io.BytesIO()
    image = Image.fromarray(pixels)
    (image if mode is None else image.convert(mode)).save(buffer, kind, **options)
    return buffer.getvalue()


def tiff(pixels, **options):
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, pixels, **options)
    return buffer.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def deep_png(pixels, *extra, behind=False):
    """A 16-bit PNG with further chunks before or after its pixels."""
    stored = pixels if pixels.ndim == 2 else pixels[..., [2, 1, 0, 3][: pixels.shape[2]]]
    data = cv2.imencode(".png", stored)[1].tobytes()
    at = len(data) - 12 if behind else 33
    return data[:at] + b"".join(extra) + data[at:]


def deep_grey_and_alpha(grey):
    """OpenCV cannot write it: rows of (grey, alpha), each with a filter byte of 0."""
    rows = b"".join(b"\0" + np.dstack([row, np.full(row.size, 9)]).astype(">u2").tobytes() for row in grey)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", *grey.shape[::-1], 16, 4, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def as_pillow_shows(data):
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def gallery():
    """{name: (content, pixels as shown; None: as Pillow shows them)}."""
    frames = [Image.fromarray(FLAT + np.uint8(t)) for t in range(3)]
    grey = RGB[..., 0]
    files = {
        **{f"colours.{kind}": (pillow(RGB, kind), RGB) for kind in ("png", "tiff", "bmp", "ppm")},
        "lossless.webp": (pillow(RGB, "WebP", lossless=True), RGB),
        "photograph.jpg": (pillow(RGB, "JPEG"), None),
        "cmyk.jpg": (pillow(RGB, "JPEG", "CMYK"), None),
        "grey.png": (pillow(grey), grey),
        "grey and alpha.png": (pillow(grey, mode="LA"), grey),
        "alpha.png": (pillow(np.dstack([RGB, grey])), RGB),
        "one bit.png": (pillow(grey > 99), 255 * np.uint8(grey > 99)),
        "palette.png": (pillow(RGB, mode="P"), None),
        "palette with alpha.png": (pillow(RGB, mode="P", transparency=3), None),
        "palette.gif": (pillow(RGB, "GIF"), None),
        "one frame.gif": (pillow(FLAT, "GIF", save_all=True, append_images=[]), None),
        "palette.tif": (pillow(RGB, "TIFF", "P"), None),
        "16 bits.png": (deep_png(DEEP[..., :3]), DEEP[..., :3]),
        "16 bits and alpha.png": (deep_png(DEEP), DEEP[..., :3]),
        "16 bits grey.png": (deep_png(DEEP[..., 0]), DEEP[..., 0]),
        "16 bits grey and alpha.png": (deep_grey_and_alpha(DEEP[..., 0]), DEEP[..., 0]),
        "16 bits.tif": (tiff(DEEP[..., :3]), DEEP[..., :3]),
        "16 bits grey.tif": (tiff(DEEP[..., 0]), DEEP[..., 0]),
        "planar.tif": (tiff(np.moveaxis(RGB, 2, 0), photometric="rgb", planarconfig="separate"), RGB),
        "large.tif": (tiff(RGB, bigtiff=True, byteorder=">"), RGB),
        "tiles.tif": (tiff(RGB, tile=(16, 16), compression="zlib"), RGB),
        "lzw.tif": (pillow(RGB, "TIFF", compression="tiff_lzw"), RGB),
        "jpeg.tif": (pillow(RGB, "TIFF", compression="jpeg"), None),
        "group4.tif": (pillow(grey > 99, "TIFF", compression="group4"), 255 * np.uint8(grey > 99)),
        "white is 0.tif": (tiff(255 - grey, photometric="miniswhite"), grey),
        "white is 0 deep.tif": (tiff(~DEEP[..., 0], photometric="miniswhite", compression="zlib"), DEEP[..., 0]),
    }
    for n, turn in ORIENTED.items():
        files[f"turned {n}.png"] = pillow(RGB, exif=turned(n)), turn(RGB)
        files[f"turned {n}.tif"] = pillow(RGB, "TIFF", exif=turned(n)), turn(RGB)
        exif = chunk(b"eXIf", turned(n).tobytes()[6:])
        files[f"turned {n} deep.png"] = deep_png(DEEP, exif, behind=n % 2 > 0), turn(DEEP[..., :3])
    with io.BytesIO() as phone:  # phones append a reduced image to the image itself
        frames[0].save(phone, "MPO", save_all=True, append_images=[frames[1].resize((4, 4))])
        files["thumbnail.jpg"] = phone.getvalue(), None
    return files


GALLERY = gallery()
SEVERAL = [Image.fromarray(FLAT + np.uint8(9 * t)) for t in range(1, 3)]
FRAMES = r"holds 3 frames; pass a single image \(cutmatch flow, track and segment --clip"
REFUSED = {
    **{
        f"animation.{kind}": (pillow(FLAT, kind, save_all=True, append_images=SEVERAL), FRAMES)
        for kind in ("gif", "png", "webp")
    },
    "pages.tif": (tiff(np.stack([RGB, RGB]), photometric="rgb"), "holds several pages"),
    "telephone.heic": (
        b"\0\0\0\x18ftypheic\0\0\0\0mif1heic",
        "it is HEIC, as of many telephones; export it as JPEG or PNG",
    ),
    "text.png": (b"not an image", "not an image"),
    "nothing.png": (b"", "is empty; pass a complete file"),
    **{
        f"{dtype}.tif": (
            tiff(np.arange(1, 257, dtype=dtype).reshape(16, 16)),
            r"must hold integers in \[0, 255\], uint16, .*convert it",
        )
        for dtype in ("uint32", "uint64", "int32", "int16")
    },
}


@pytest.mark.parametrize("name", GALLERY)
def test_pixels_are_those_that_a_viewer_shows(tmp_path, name):
    content, shown = GALLERY[name]
    shown = as_pillow_shows(content) if shown is None else shown
    expected = shown / np.iinfo(shown.dtype).max
    (tmp_path / name).write_bytes(content)
    read = read_image(tmp_path / name)
    assert read.dtype == np.float32
    expected = np.dstack([expected] * 3) if expected.ndim == 2 else expected
    np.testing.assert_allclose(read, expected, atol=1e-6)
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"image: cannot read .*pass a complete PNG") as caught:
        read_image(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_single_image_has_its_remedy(tmp_path, name):
    content, message = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_image(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", sorted(IMAGES))
def test_every_format_of_a_folder_is_read_and_named_in_errors(tmp_path, suffix):
    flat = np.full((16, 16), 200, np.uint8)
    Image.fromarray(flat).save(tmp_path / f"a{suffix}")
    assert images_in(tmp_path) == [tmp_path / f"a{suffix}"]
    np.testing.assert_allclose(read_image(tmp_path / f"a{suffix}")[..., 1], flat / 255.0, atol=0.02)
    names = {"jpg": "JPEG", "jpe": "JPEG", "tif": "TIFF", "webp": "WebP", "pgm": "PNM", "ppm": "PNM"}
    name = names.get(suffix[1:], suffix[1:].upper())
    (tmp_path / f"b{suffix}").write_text("not an image")
    with pytest.raises(InputError, match=rf"pass a complete .*\b{name}\b.* file"):
        read_image(tmp_path / f"b{suffix}")


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
