"""Values of label images and volumes: read exactly, or rejected with the invalid value."""

import cv2
import imageio.v3
import numpy as np
import pytest
import skimage.io
import tifffile
from PIL import Image

from apps.common.images import InputError, read_codes
from apps.segmentation.marks import label_values
from apps.segmentation.result_files import encoded_labels
from apps.segmentation.strokes import read_labels
from apps.segmentation.volume_object import read_label_volume


def saved(folder, values, suffix="png"):
    """A label image as 16-bit PNG, TIFF of any type, or .npy."""
    path = folder / f"labels.{suffix}"
    if suffix == "png":
        Image.fromarray(values).save(path)
    elif suffix == "tif":
        tifffile.imwrite(path, values)
    else:
        np.save(path, values)
    return path


@pytest.mark.parametrize("suffix", ["png", "tif"])
@pytest.mark.parametrize("values", [(1, 2, 300, 600), (0, 257, 514, 65535), (0, 1, 2, 255)])
def test_sixteen_bits_are_read_exactly(tmp_path, values, suffix):
    codes = np.array(values, np.uint16).reshape(2, 2)
    path = saved(tmp_path, codes, suffix)
    np.testing.assert_array_equal(read_codes(path), codes)
    np.testing.assert_array_equal(read_labels(path), codes)


REFUSED = [
    ([[0.0, 0.5]], "holds fractions such as 0.5; pass integers"),
    ([[0.0, np.nan]], "holds NaN or infinity"),
    ([[0.0, np.inf]], "holds NaN or infinity"),
    (np.array([[1, -1]], np.int16), "holds the value -1; labels are integers from 0"),
    (np.array([[1, 70000]], np.int32), "holds values up to 70000; 65535 is the largest label"),
    (np.array([[1, 4_000_000_000]], np.uint32), "holds values up to 4000000000; 65535"),
    (np.array([[1, 2**40]], np.uint64), "holds values up to 1099511627776; 65535"),
    (np.array([[1.0, 70000.0]]), "holds values up to 70000; 65535"),
    (np.array([[1j, 2]]), "must hold integers, got complex128"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED)
def test_invalid_labels_are_rejected_in_images_and_volumes(tmp_path, values, message):
    values = np.asarray(values)
    with pytest.raises(InputError, match=message):
        label_values(values, "--label-strokes")
    path = saved(tmp_path, values, "tif")
    with pytest.raises(InputError, match=r"--label-strokes: .*labels.tif.*" + message):
        read_labels(path)
    if values.dtype.kind != "c" and np.isfinite(values).all():  # volumes reject the others with another message
        volume = saved(tmp_path, np.stack([values, values]), "npy")
        with pytest.raises(InputError, match=r"--label-strokes: .*labels.npy.*" + message):
            read_label_volume(volume)


def test_a_label_image_stores_its_values(tmp_path):
    """Every reader gets the values, not colours of a palette."""
    path = tmp_path / "a.png"
    for labels, dtype in ((np.array([[1, 255], [2, 0]]), np.uint8), (np.array([[1, 300], [65535, 0]]), np.uint16)):
        path.write_bytes(encoded_labels(labels))
        for read in (Image.open, imageio.v3.imread, skimage.io.imread, lambda p: cv2.imread(p, cv2.IMREAD_UNCHANGED)):
            found = np.array(read(str(path)))
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, labels)
    for wrong in (-1, 65536):
        with pytest.raises(InputError, match="labels"):
            encoded_labels(np.array([[1, wrong]]))
