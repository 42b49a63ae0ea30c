"""Values of label images and volumes: read exactly, or rejected with the invalid value."""

import json
import time

import cv2
import imageio.v3
import numpy as np
import pytest
import skimage.io
import tifffile
from PIL import Image

from apps.common.images import InputError, read_codes
from apps.denoising import denoise_command as denoise
from apps.segmentation import segment_command as segment
from apps.segmentation.label_figures import colour_of, encoded_labels, labels_overlay
from apps.segmentation.label_values import label_values
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.mask_scores import read_truth
from apps.segmentation.strokes import marks_of, read_labels, read_strokes, read_trimap
from apps.segmentation.volumes import read_label_volume


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


def test_sixteen_bit_colours_become_eight(tmp_path):
    codes = np.zeros((2, 3, 3), np.uint16)
    codes[0, 0], codes[1, 1] = (65535, 0, 0), (0, 0, 65535)
    tifffile.imwrite(tmp_path / "a.tif", codes, photometric="rgb")
    assert read_codes(tmp_path / "a.tif").dtype == np.uint8
    assert read_strokes(tmp_path / "a.tif").tolist() == [[OBJECT, OPEN, OPEN], [OPEN, BACKGROUND, OPEN]]
    tifffile.imwrite(tmp_path / "grey.tif", np.repeat(codes[..., :1] // 100, 3, axis=2), photometric="rgb")
    np.testing.assert_array_equal(read_codes(tmp_path / "grey.tif"), codes[..., 0] // 100)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u4", "u8"])
def test_integers_of_any_dtype(tmp_path, dtype):
    codes = np.array([[0, 1, 2], [3, 4, 100]], dtype)
    labels = read_labels(saved(tmp_path, codes, "tif"))
    assert labels.dtype == np.uint8
    np.testing.assert_array_equal(labels, codes)


REFUSED = [
    ([[0.0, 0.5]], "holds fractions such as 0.5; pass integers"),
    ([[0.0, np.nan]], "holds NaN or infinity"),
    ([[0.0, np.inf]], "holds NaN or infinity"),
    ([[0.0, 1e17]], "floats are exact up to"),
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


def test_integral_floats_are_seeds_of_a_volume(tmp_path):
    seeds = np.zeros((2, 3, 4), np.float32)
    seeds[0], seeds[1, 1, 1] = 1, 300
    read = read_label_volume(saved(tmp_path, seeds, "npy"))
    assert read.dtype == np.uint16
    np.testing.assert_array_equal(read, seeds)


@pytest.mark.parametrize("values", [(0, 32896, 65535), (0, 32768, 65535), (0, 128, 255)])
def test_grey_strokes_of_sixteen_bits(tmp_path, values):
    """Brightness, unlike labels, is scaled: white is the object at any depth."""
    codes = np.array([values], np.uint16)
    path = saved(tmp_path, codes)
    expected = [[BACKGROUND, OPEN, OBJECT]]
    assert read_trimap(path).tolist() == expected
    assert read_strokes(path).tolist() == expected
    assert marks_of(codes).tolist() == expected
    assert read_truth(path).tolist() == [[0, 128, 255]]


def test_index_strokes_of_sixteen_bits(tmp_path):
    codes = np.array([[0, 1, 2]], np.uint16)
    for scale in (1, 257):  # as saved by programs that keep values, and by those that spread them
        assert read_strokes(saved(tmp_path, scale * codes)).tolist() == [[OPEN, OBJECT, BACKGROUND]]
    with pytest.raises(InputError, match="unknown values 300"):
        marks_of(np.array([[0, 1, 300]], np.uint16), "index")
    with pytest.raises(InputError, match="unknown values 39, 78"):  # not "1 object, 2 background" of other units
        marks_of(np.array([[0, 10_000, 20_000]], np.uint16))
    with pytest.raises(InputError, match="values from 0 to 70000"):
        marks_of(np.array([[0, 70_000]], np.int32))


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


def test_colours_depend_on_the_label_value_only():
    labels = np.array([[1, 2**40], [300, 300]])
    start = time.perf_counter()
    shown = labels_overlay(np.zeros((2, 2, 3), np.float32), labels)
    assert time.perf_counter() - start < 5, "2**40 colours would take hours"
    assert shown.shape == (2, 2, 3)
    near = labels_overlay(np.zeros((1, 9, 3), np.float32), np.arange(9)[None])
    assert len(np.unique(near[0], axis=0)) >= 8
    assert len({colour_of(value) for value in range(50)}) == 50


def test_the_command_keeps_all_objects(tmp_path):
    """1, 2, 300 and 600 are four objects; divided by 257 they would be two."""
    photo = np.repeat(np.repeat(np.array([[60, 120], [180, 240]], np.uint8), 12, 0), 12, 1)
    seeds = np.zeros((24, 24), np.uint16)
    seeds[4:8, 4:8], seeds[4:8, 16:20], seeds[16:20, 4:8], seeds[16:20, 16:20] = 1, 2, 300, 600
    Image.fromarray(photo).save(tmp_path / "photo.png")
    Image.fromarray(seeds).save(tmp_path / "seeds.png")
    out = tmp_path / "out"
    arguments = [str(tmp_path / "photo.png"), "--label-strokes", str(tmp_path / "seeds.png"), "--out", str(out)]
    assert segment.main([*arguments, "--truth", str(tmp_path / "seeds.png"), "--json", str(tmp_path / "r.json")]) == 0
    assert set(json.loads((tmp_path / "r.json").read_text("utf-8"))["pixels"]) == {"1", "2", "300", "600"}
    written = np.array(Image.open(out / "photo-labels.png"))
    assert set(np.unique(written)) == {1, 2, 300, 600}


def test_the_command_rejects_labels_it_cannot_write(tmp_path, capsys):
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / "photo.png")
    for values in (np.array([70000, -1]), np.array([2**32 - 1, 1]), np.array([0.5, 1])):
        tifffile.imwrite(tmp_path / "seeds.tif", np.tile(values, (8, 4)))
        arguments = ["--label-strokes", str(tmp_path / "seeds.tif"), "--out", str(tmp_path / "out")]
        assert segment.main([str(tmp_path / "photo.png"), *arguments]) == 2
        assert "--label-strokes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_all_holes_of_a_deep_mask_are_filled(tmp_path):
    clean = np.repeat(np.array([[50, 100]], np.uint8), 6, axis=1).repeat(12, axis=0)
    photo = clean.copy()
    mask = np.zeros((12, 12), np.uint16)
    mask[2:4, 2:4], mask[8:10, 8:10] = 200, 1000
    photo[mask > 0] = 255
    Image.fromarray(photo).save(tmp_path / "photo.png")
    Image.fromarray(mask).save(tmp_path / "mask.png")
    arguments = ["--mask", str(tmp_path / "mask.png"), "--smoothness", "1", "--data", "linear"]
    assert denoise.main([str(tmp_path / "photo.png"), *arguments, "--out", str(tmp_path)]) == 0
    np.testing.assert_array_equal(np.array(Image.open(tmp_path / "photo-restored.png")), clean)
