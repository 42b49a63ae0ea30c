"""Masks of other programs: every form in which they are written, bad ones, and outlines that come out exact."""

import json
import re

import cv2
import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from apps import cli, refine
from apps.common.annotations import Annotation, coco_document
from apps.common.images import InputError
from tests.apps.conftest import iou

SCALE = 8  # pixels of the image per pixel of the mask
SHAPE = 144, 192


@pytest.fixture(scope="module")
def photo():
    """A textured disc with a leg, and a square, on a textured ground; the labels 1 and 2 of the two objects."""
    rng = np.random.default_rng(3)
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    labels = np.uint8(((y - 60) ** 2 + (x - 60) ** 2 < 38**2) | ((abs(x - 60) < 12) & (y > 60) & (y < 130)))
    labels[40:100, 130:175] = 2
    colours = np.array([(70, 95, 120), (190, 130, 70), (60, 150, 60)], np.float64)[labels]
    texture = ndimage.gaussian_filter(rng.normal(0, 60, (*SHAPE, 3)), (2, 2, 0))
    return np.clip(colours + 2 * texture + rng.normal(0, 8, (*SHAPE, 3)), 0, 255).astype(np.uint8), labels


def probabilities(mask, shift=0.0, scale=SCALE):
    """A mask as a network writes it: at low resolution, displaced, blurred, and nowhere quite sure."""
    size = SHAPE[1] // scale, SHAPE[0] // scale
    low = cv2.resize(np.float32(mask), size, interpolation=cv2.INTER_AREA)
    low = cv2.warpAffine(low, np.float32([[1, 0, shift], [0, 1, shift]]), size, borderMode=cv2.BORDER_REPLICATE)
    return 1 / (1 + np.exp(-6 * (cv2.GaussianBlur(low, (0, 0), 0.7) - 0.5)))


def logits(p):
    return np.log(p / (1 - p))


FORMS = {
    "probabilities": lambda p: p,
    "float16": lambda p: p.astype(np.float16),
    "logits": lambda p: logits(p),
    "large logits": lambda p: 7 * logits(p),
    "one axis more": lambda p: p[None],
    "two axes more": lambda p: p[None, None],
    "a last axis": lambda p: p[..., None],
    "softmax": lambda p: np.stack([1 - p, p]),
    "two logits": lambda p: np.stack([-logits(p), logits(p)])[None],
    "bytes": lambda p: np.uint8(255 * p),
    "16 bits": lambda p: np.uint16(65535 * p),
    "bool": lambda p: p > 0.5,
    "0 and 1": lambda p: np.uint8(p > 0.5),
    "0 and 255": lambda p: 255 * np.uint8(p > 0.5),
    "in squares": lambda p: np.kron(p > 0.5, np.ones((SCALE, SCALE), bool)),
    "enlarged": lambda p: cv2.resize(p, SHAPE[::-1], interpolation=cv2.INTER_LINEAR),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_mask_gives_the_exact_outline(photo, form):
    image, labels = photo
    low = probabilities(labels == 1)
    enlarged = cv2.resize(low, SHAPE[::-1], interpolation=cv2.INTER_LINEAR) > 0.5
    result = refine(image, FORMS[form](low), device="cpu")
    assert result.values == (1,)
    assert iou(enlarged, labels == 1) < 0.96
    assert iou(result.mask, labels == 1) > 0.975
    assert (result.mask == (result.labels == 1)).all()
    result.check()


@pytest.mark.parametrize("shift", [-1.0, 0.0, 0.8])
def test_a_displaced_mask_is_moved_back(photo, shift):
    image, labels = photo
    result = refine(image, probabilities(labels == 1, shift), device="cpu")
    assert iou(result.mask, labels == 1) > 0.96
    assert np.abs(np.array(result.offsets[0]) / SCALE - shift).max() < 0.5


def both(labels):
    return np.stack([probabilities(labels == value) for value in (1, 2)])


SEVERAL = {
    "label map": lambda labels: (labels[4::8, 4::8], "auto"),
    "full label map": lambda labels: (labels, "auto"),
    "int64 labels": lambda labels: (labels[4::8, 4::8].astype(np.int64), "labels"),
    "float labels": lambda labels: (labels[4::8, 4::8].astype(float), "auto"),
    "probabilities": lambda labels: (both(labels), "objects"),
    "logits": lambda labels: (logits(both(labels)), "objects"),
    "bool": lambda labels: (both(labels) > 0.5, "objects"),
}


@pytest.mark.parametrize("form", SEVERAL)
def test_several_objects(photo, form):
    image, labels = photo
    masks, kind = SEVERAL[form](labels)
    result = refine(image, masks, kind=kind, device="cpu")
    assert result.values == (1, 2)
    assert len(result.cuts) == 2
    for value in (1, 2):
        assert iou(result.labels == value, labels == value) > 0.97
    result.check()


def test_objects_that_touch_or_overlap(photo):
    """Every pixel has one label, and those along a common outline that moves are not lost to the background."""
    image = np.zeros((64, 96, 3), np.uint8)
    image[8:56, 10:50], image[8:56, 50:86] = (200, 60, 60), (60, 60, 200)
    masks = np.zeros((2, 8, 12), np.float32)
    masks[0, 1:7, 1:7], masks[1, 1:7, 6:11] = 0.9, 0.9  # they overlap in one column
    result = refine(image, masks, kind="objects", device="cpu")
    assert (result.labels == np.where(image[..., 0] > 100, 1, np.where(image[..., 2] > 100, 2, 0))).mean() > 0.99
    assert (result.labels[16:48, 16:80] > 0).all()


SMALL = np.zeros((9, 9))
SMALL[3:6, 3:6] = 1
BAD = {
    "text": ("mask.png", "auto", "masks must be an array, got a str: read the file first"),
    "complex": (SMALL * 1j, "auto", "masks must hold booleans, integers or floats, got complex128"),
    "ragged": ([[1, 2], [3]], "auto", "masks must be an array"),
    "NaN": (np.where(SMALL > 0, np.nan, 0), "auto", "masks holds NaN or infinity"),
    "empty": (SMALL[:0], "auto", "masks must be a mask of shape"),
    "one axis": (SMALL[0], "auto", "masks must be a mask of shape"),
    "four axes": (np.ones((2, 2, 9, 9)), "objects", r"masks must be a mask of shape \(h, w\), or \(K, h, w\)"),
    "five masks": (np.stack([SMALL] * 5), "auto", "pass kind='objects' if the first axis is of objects"),
    "no object": (0.4 * SMALL, "auto", "masks marks no object; its values must be bright, above 0.5"),
    "no background": (np.ones((9, 9)), "auto", "masks covers the whole image"),
    "one of two is empty": (np.stack([SMALL, 0 * SMALL]), "objects", r"masks\[1\] marks no object"),
    "negative integers": (np.int8(SMALL) - 1, "auto", "masks holds negative integers; pass logits as floats"),
    "fractions as labels": (0.5 * SMALL, "labels", "masks must hold labels of 0 to 65535"),
    "large labels": (100_000 * np.int32(SMALL), "labels", "masks must hold labels of 0 to 65535, got values of 0"),
    "labels, none": (np.int32(0 * SMALL), "labels", "masks marks no object"),
    "kind": (SMALL, "mask", "kind must be one of auto, levels, labels, objects, got 'mask'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays_are_rejected(case):
    masks, kind, message = BAD[case]
    with pytest.raises(InputError, match=message):
        refine(np.zeros((90, 90), np.uint8), masks, kind=kind, device="cpu")


# Files


def lengths_of(mask):
    """Lengths of the runs of a mask in column order, the first one of background."""
    flat = np.concatenate([[False], mask.T.ravel()])
    changes = np.flatnonzero(flat[1:] != flat[:-1])
    return np.diff(np.concatenate([[0], changes, [mask.size]])).tolist()


def saved(folder, image, labels, form):
    """The masks of an image in a form of file, and the values expected."""
    p = probabilities(labels == 1)
    if form.startswith("coco"):
        objects = [Annotation(f"object{v}", v, (0, 0, 0), labels == v) for v in (1, 2)]
        document = coco_document("photo.png", SHAPE, objects, rle=form == "coco-rle")
        if form == "coco-lengths":
            for one, value in zip(document["annotations"], (1, 2), strict=True):
                one["segmentation"] = {"size": list(SHAPE), "counts": lengths_of(labels == value)}
        path = folder / "masks.json"
        path.write_text(json.dumps(document), "utf-8")
        return path
    if form == "folder":
        path = folder / "masks"
        path.mkdir()
        for value in (1, 2):
            Image.fromarray(np.uint8(255 * (labels[4::8, 4::8] == value))).save(path / f"{value}.png")
        return path
    path = folder / f"mask{form}"
    if form == ".npy":
        np.save(path, p)
    elif form == ".npz":
        np.savez(path, logits=logits(p)[None])
    elif form == ".tif":
        Image.fromarray(p.astype(np.float32)).save(path)
    elif form == "16.png":
        Image.fromarray(np.uint16(65535 * p)).save(path)
    elif form == "labels.png":
        Image.fromarray(labels[4::8, 4::8]).save(path)
    else:
        Image.fromarray(np.uint8(255 * p)).save(path)
    return path


FILES = {
    ".npy": 1, ".npz": 1, ".tif": 1, "16.png": 1, ".png": 1, "labels.png": 2, "folder": 2,
    "coco": 2, "coco-rle": 2, "coco-lengths": 2,
}  # fmt: skip


@pytest.mark.parametrize("form", FILES)
def test_every_kind_of_file(photo, tmp_path, form, capsys):
    image, labels = photo
    Image.fromarray(image).save(tmp_path / "photo.png")
    masks = saved(tmp_path, image, labels, form)
    out = tmp_path / "out"
    assert cli.main(["refine", str(tmp_path / "photo.png"), str(masks), "--out", str(out), "--device", "cpu"]) == 0
    capsys.readouterr()
    if FILES[form] == 1:
        found = np.array(Image.open(out / "photo-mask.png")) // 255
        names = {"mask", "overlay", "cutout"}
    else:
        found = np.array(Image.open(out / "photo-labels.png"))
        names = {"labels", "overlay", "object1", "object2"}
    assert {path.stem.removeprefix("photo-") for path in out.glob("*.png")} == names
    for value in range(1, FILES[form] + 1):
        assert iou(found == value, labels == value) > 0.96


WRONG = {
    "no file": ("none.npy", lambda path: None, "no file"),
    "not an array": ("a.npy", lambda path: path.write_bytes(b"hello"), "save an array of numbers with numpy.save"),
    "objects": ("a.npy", lambda path: np.save(path, np.array([{}], object)), "save an array of numbers"),
    "two arrays": ("a.npz", lambda path: np.savez(path, a=SMALL, b=SMALL), r"has 2 arrays \(a, b\)"),
    "not COCO": ("a.json", lambda path: path.write_text("[1]"), "must be COCO"),
    "COCO of others": (
        "a.json",
        lambda path: path.write_text(
            '{"images": [{"id": 1, "file_name": "x"}, {"id": 2, "file_name": "y"}], "annotations": []}'
        ),
        "has 2 images, but none named 'photo'",
    ),
    "COCO, no annotation": (
        "a.json",
        lambda path: path.write_text(
            '{"images": [{"id": 1, "file_name": "x", "width": 9, "height": 9}], "annotations": []}'
        ),
        "has no annotation of 'photo.png'",
    ),
    "COCO, a bad polygon": (
        "a.json",
        lambda path: path.write_text(
            '{"images": [{"id": 1, "file_name": "x", "width": 9, "height": 9}], '
            '"annotations": [{"image_id": 1, "segmentation": [[1, 2, 3]]}]}'
        ),
        "has an annotation that cannot be read",
    ),
    "an empty folder": ("folder", lambda path: path.mkdir(), "holds no mask"),
    "a coloured image": (
        "a.png",
        lambda path: Image.fromarray(np.random.default_rng(0).integers(0, 256, (9, 9, 3), np.uint8)).save(path),
        "has several colours",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_are_rejected(tmp_path, case, capsys):
    name, write, message = WRONG[case]
    Image.fromarray(np.zeros((90, 90), np.uint8)).save(tmp_path / "photo.png")
    write(tmp_path / name)
    line = ["refine", str(tmp_path / "photo.png"), str(tmp_path / name), "--out", str(tmp_path / "out")]
    assert cli.main(line) == 2
    error = capsys.readouterr().err
    assert re.search(message, error), error
    assert "masks" in error
