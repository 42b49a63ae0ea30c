"""Extreme images, volumes and ground truths: processed, or rejected in one line before the work."""

import struct

import numpy as np
import pytest
import tifffile

from apps import segment as cut
from apps.common.images import InputError, read_codes, read_image
from apps.segmentation.marks import BACKGROUND, OPEN
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
