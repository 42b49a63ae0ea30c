"""Every kind of file gives the same image, and broken files give a one-line message."""

import io
import subprocess
import sys

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from apps.common.images import READABLE, InputError, read_image, to_bytes, write_bytes, write_image
from apps.run.inputs import images_in


@pytest.fixture
def image():
    return np.random.default_rng(1).integers(0, 256, (5, 7, 3), dtype=np.uint8)


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp", "ppm"])
def test_eight_bits(image, tmp_path, suffix):
    Image.fromarray(image).save(tmp_path / f"a.{suffix}")
    read = read_image(tmp_path / f"a.{suffix}")
    assert read.dtype == np.float32
    np.testing.assert_allclose(read, image / 255.0, atol=1e-6)


@pytest.mark.parametrize("suffix", sorted(READABLE))
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


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bits_keep_their_depth(tmp_path, suffix):
    deep = np.random.default_rng(2).integers(0, 65536, (5, 7, 3), dtype=np.uint16)
    path = tmp_path / f"a.{suffix}"
    if suffix == "png":
        cv2.imwrite(str(path), deep[..., ::-1])
    else:
        tifffile.imwrite(path, deep)
    np.testing.assert_allclose(read_image(path), deep / 65535.0, atol=1e-6)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bit_grey(tmp_path, suffix):
    deep = np.arange(35, dtype=np.uint16).reshape(5, 7) * 1000
    Image.fromarray(deep).save(tmp_path / f"a.{suffix}")
    read = read_image(tmp_path / f"a.{suffix}")
    assert read.shape == (5, 7, 3)
    np.testing.assert_allclose(read[..., 1], deep / 65535.0, atol=1e-6)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_images_are_rotated_upright(image, tmp_path, orientation, suffix):
    """Each EXIF orientation, compared with Pillow."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(image).save(path, exif=exif)
    upright = {
        1: image,
        2: image[:, ::-1],
        3: image[::-1, ::-1],
        4: image[::-1],
        5: image.swapaxes(0, 1),
        6: image.swapaxes(0, 1)[:, ::-1],
        7: image[::-1, ::-1].swapaxes(0, 1),
        8: image.swapaxes(0, 1)[::-1],
    }[orientation]
    np.testing.assert_allclose(read_image(path), upright / 255.0, atol=1e-6)


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "bmp"])
def test_truncated_files_are_rejected(image, tmp_path, suffix):
    big = np.random.default_rng(3).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(big).save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=r"image: cannot read .*pass a complete PNG"):
        read_image(path)


def test_files_that_are_not_images(tmp_path):
    (tmp_path / "a.png").write_text("not an image")
    with pytest.raises(InputError, match="not an image"):
        read_image(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"")
    with pytest.raises(InputError, match="is empty"):
        read_image(tmp_path / "b.png")
    with pytest.raises(InputError, match="no file"):
        read_image(tmp_path / "c.png")
    with pytest.raises(InputError, match="cannot read"):
        read_image(tmp_path)


def test_writing_is_atomic(tmp_path, image, monkeypatch):
    path = write_image(tmp_path / "new" / "a.png", image)
    np.testing.assert_array_equal(to_bytes(read_image(path)), image)
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(InputError, match=r"--out: cannot write .*No space left"):
        write_bytes(tmp_path / "b.png", b"data")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new"]


def test_several_pages_are_rejected(tmp_path, image):
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, np.stack([image, image]), photometric="rgb")
    (tmp_path / "a.tif").write_bytes(buffer.getvalue())
    with pytest.raises(InputError, match="holds several pages"):
        read_image(tmp_path / "a.tif")


def test_decoders_are_silent_in_a_process_of_its_own(tmp_path):
    content = bytearray(cv2.imencode(".png", np.full((9, 9, 3), 7, np.uint16))[1].tobytes())
    content[60] ^= 255
    (tmp_path / "a.png").write_bytes(content)
    code = (
        "import sys; from apps.common import images; images.silence_decoders()\n"
        "try: images.read_image('a.png')\n"
        "except images.InputError as error: print('broken' in str(error), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stderr == "True\n"
