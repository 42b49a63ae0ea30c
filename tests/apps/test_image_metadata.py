"""Colour profiles, resolutions and orientations of photographs and of the results made from them."""

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps

from apps.common.images import read_image, read_photograph, write_image
from apps.common.writing import Metadata
from apps.segmentation import segment_command as segment

SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
GREY = SRGB[:16] + b"GRAY" + SRGB[20:]
CMYK = SRGB[:16] + b"CMYK" + SRGB[20:]
ORIENTATION = 0x0112


def scene():
    """A bright rectangle on a dark ground with noise: 24 x 32, not symmetric in any way."""
    image = np.full((24, 32, 3), (40, 60, 90), np.uint8)
    image[4:16, 6:18] = (200, 120, 60)
    noise = np.random.default_rng(0).normal(0, 4, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def photograph(folder, suffix="jpg", image=None, icc=SRGB, dpi=(300, 150), orientation=1, mode="RGB"):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    path = folder / f"photo.{suffix}"
    pixels = Image.fromarray(scene() if image is None else image).convert(mode)
    pixels.save(path, icc_profile=icc, dpi=dpi, **({} if orientation == 1 else {"exif": exif}))
    return path


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif"])
@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_metadata_are_read_upright(tmp_path, suffix, orientation):
    path = photograph(tmp_path, suffix, orientation=orientation)
    image, metadata = read_photograph(path)
    np.testing.assert_array_equal(image, read_image(path))
    assert metadata.icc == SRGB
    assert metadata.dpi == pytest.approx((150, 300) if orientation in (6, 8) else (300, 150), abs=0.1)


def test_a_profile_is_written_for_its_own_colours_only(tmp_path):
    rgb, grey = scene(), scene()[..., 0]
    kept_with = {SRGB: rgb, GREY: grey}
    for icc, pixels in ((SRGB, rgb), (SRGB, grey), (GREY, grey), (GREY, rgb), (CMYK, rgb)):
        path = write_image(tmp_path / "a.png", pixels, metadata=Metadata(icc, (96, 96)))
        with Image.open(path) as image:
            assert image.info.get("icc_profile") == (icc if kept_with.get(icc) is pixels else None)
            assert image.info["dpi"] == pytest.approx((96, 96), abs=0.1)


def shown_upright(path):
    """What a viewer shows: pixels turned by the orientation of the file."""
    with Image.open(path) as image:
        return np.array(ImageOps.exif_transpose(image).convert("RGB"))


@pytest.mark.parametrize("orientation", [1, 2, 3, 4, 5, 6, 7, 8])
def test_segment_turns_once_and_keeps_the_profile(tmp_path, orientation):
    path = photograph(tmp_path, "png", orientation=orientation)
    upright = shown_upright(path)
    object_y, object_x = np.nonzero(upright[..., 0] > 120)
    box = f"{object_x.min() - 2},{object_y.min() - 2},{object_x.max() + 3},{object_y.max() + 3}"
    assert segment.main([str(path), "--box", box, "--out", str(tmp_path / "out"), "--quiet"]) == 0
    mask = shown_upright(tmp_path / "out" / "photo-mask.png")[..., 0] == 255
    np.testing.assert_array_equal(mask, upright[..., 0] > 120)
    cutout = shown_upright(tmp_path / "out" / "photo-cutout.png")
    assert np.abs(cutout[mask].astype(int) - upright[mask]).mean() < 3
    dpi = (150, 300) if orientation > 4 else (300, 150)
    for kind in ("mask", "overlay", "cutout"):
        with Image.open(tmp_path / "out" / f"photo-{kind}.png") as image:
            assert image.info.get("icc_profile") == (None if kind == "mask" else SRGB)
            assert image.info["dpi"] == pytest.approx(dpi, abs=0.1)
            assert image.getexif().get(ORIENTATION, 1) == 1
