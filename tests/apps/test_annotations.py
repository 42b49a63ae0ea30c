"""`cutmatch segment --write`: which files are written, and annotations as the programs they are for read them."""

import base64
import contextlib
import dataclasses
import io
import json
import os
from pathlib import Path

import cv2
import numpy as np
import pytest
import shapely
from PIL import Image
from pycocotools import mask as coco_masks
from pycocotools.coco import COCO
from scipy import ndimage
from shapely.geometry import shape as geometry_of
from skimage.draw import polygon2mask

from apps.common.annotations import Annotation, encoded_annotations, mask_of_segmentation, read_classes
from apps.common.errors import InputError
from apps.segmentation import segment_command as segment

RED, BLUE = 1, 2

RECORDS = ("photo-segment.json", "second-segment.json")


@pytest.fixture
def photo(tmp_path, monkeypatch):
    """in/photo.png with a ring and a square, strokes.png of the ring and the ground, seeds.png of three objects."""
    y, x = np.mgrid[:48, :64]
    distance = np.hypot(y - 24, x - 20)
    image = np.full((48, 64, 3), (40, 60, 90), np.uint8)
    image[(distance < 16) & (distance > 7)] = (210, 120, 60)
    image[10:38, 44:58] = (60, 180, 80)
    noise = np.random.default_rng(0).normal(0, 5, image.shape)
    seeds = np.zeros((48, 64), np.uint8)
    seeds[22:26, 6:11], seeds[18:30, 48:54] = 1, 3
    seeds[1:3], seeds[45:47], seeds[22:26, 18:22] = 2, 2, 2
    (tmp_path / "in").mkdir()
    Image.fromarray(np.clip(image + noise, 0, 255).astype(np.uint8)).save(tmp_path / "in" / "photo.png")
    Image.fromarray(seeds).save(tmp_path / "seeds.png")
    Image.fromarray(np.where(seeds == 3, 2, seeds)).save(tmp_path / "strokes.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return segment.main([*arguments, "--out", "out", "--quiet"])


def written():
    return sorted(name for name in os.listdir("out") if not name.startswith(".") and name not in RECORDS)


def document_of(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def mask_of(path="out/photo-mask.png"):
    return np.array(Image.open(path)) > 0


def coco(path):
    with contextlib.redirect_stdout(io.StringIO()):
        return COCO(path)


def inside(geometry, size):
    y, x = np.indices(size) + 0.5
    return shapely.contains_xy(geometry, x, y)


ONE = ["in/photo.png", "--strokes", "strokes.png"]
SEVERAL = ["in/photo.png", "--label-strokes", "seeds.png"]


@pytest.mark.parametrize(
    ("kinds", "names"),
    [
        ("mask", ["photo-mask.png"]),
        ("overlay, strokes", ["photo-overlay.png", "photo-strokes.png"]),
        ("geojson,mask", ["photo-mask.png", "photo-outlines.geojson"]),
        ("coco,coco-rle,labelme", ["photo-coco-rle.json", "photo-coco.json", "photo-labelme.json"]),
    ],
)
def test_only_the_files_chosen_are_written(photo, kinds, names):
    assert run(*ONE, "--write", kinds) == 0
    assert written() == names


@pytest.mark.parametrize("kind", ["coco", "coco-rle"])
def test_pycocotools_reads_the_mask(photo, kind):
    assert run(*ONE, "--write", f"mask,{kind}") == 0
    mask = mask_of()
    assert not mask[24, 20], "the ring has a hole"
    read = coco(f"out/photo-{kind}.json")
    (image,), (annotation,) = read.loadImgs(read.getImgIds()), read.loadAnns(read.getAnnIds())
    assert image == {"id": 1, "file_name": "photo.png", "width": 64, "height": 48}
    np.testing.assert_array_equal(read.annToMask(annotation), mask)
    assert annotation["area"] == mask.sum()
    assert annotation["iscrowd"] == 0
    tight = coco_masks.toBbox(coco_masks.encode(np.asfortranarray(mask, np.uint8)))
    assert annotation["bbox"] == tight.tolist()
    assert read.loadCats(annotation["category_id"])[0]["name"] == "object"


def test_a_batch_has_one_coco_file_of_all_images(photo):
    os.mkdir("marks")
    original = Image.open("in/photo.png")
    original.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save("in/second.png")
    marks = Image.open("strokes.png")
    marks.save("marks/photo.png")
    marks.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save("marks/second.png")
    arguments = ["in", "--strokes", "marks", "--write", "mask,coco,coco-rle", "--json", "r.json"]
    for more in ([], ["--resume", "--overwrite"], ["--resume", "--workers", "1"]):
        assert run(*arguments, *more) == 0
        for kind in ("coco", "coco-rle"):
            read = coco(f"out/{kind}.json")
            names = [image["file_name"] for image in read.loadImgs(read.getImgIds())]
            assert names == ["photo.png", "second.png"]
            for annotation in read.loadAnns(read.getAnnIds()):
                stem = read.loadImgs(annotation["image_id"])[0]["file_name"][:-4]
                np.testing.assert_array_equal(read.annToMask(annotation), mask_of(f"out/{stem}-mask.png"))
            assert len(read.getAnnIds()) == 2
            assert len(read.getCatIds()) == 1
        report = document_of("r.json")
        assert report["files"] == {"coco": "out/coco.json", "coco-rle": "out/coco-rle.json"}
    assert {"photo-coco.json", "second-coco.json"} <= set(written())


def test_geojson_has_exact_valid_polygons(photo):
    assert run(*SEVERAL, "--write", "labels,geojson") == 0
    labels = np.array(Image.open("out/photo-labels.png"))
    legend = document_of("out/photo-labels.json")["labels"]
    document = document_of("out/photo-outlines.geojson")
    assert document["type"] == "FeatureCollection"
    assert len(document["features"]) == 3
    for feature in document["features"]:
        classification = feature["properties"]["classification"]
        (value,) = (int(v) for v, entry in legend.items() if entry["name"] == classification["name"])
        assert classification["color"] == legend[str(value)]["colour"]
        geometry = geometry_of(feature["geometry"])
        assert geometry.is_valid
        assert geometry.area == (labels == value).sum() == legend[str(value)]["pixels"]
        np.testing.assert_array_equal(inside(geometry, labels.shape), labels == value)
        for part in getattr(geometry, "geoms", [geometry]):
            assert part.exterior.is_ccw
            assert not any(hole.is_ccw for hole in part.interiors)


def labelme_mask(document):
    """The labels of labelme's shapes, read as it reads them."""
    found = np.zeros((document["imageHeight"], document["imageWidth"]), np.uint8)
    for drawn in document["shapes"]:
        value, points = int(drawn["label"].removeprefix("object")), np.array(drawn["points"])
        if drawn["shape_type"] == "mask":
            (x0, y0), (x1, y1) = points.astype(int)
            pixels = np.array(Image.open(io.BytesIO(base64.b64decode(drawn["mask"]))))
            found[y0 : y1 + 1, x0 : x1 + 1][pixels.astype(bool)] = value
        else:
            found[polygon2mask(found.shape, points[:, ::-1] - 0.5)] = value
    return found


def test_labelme_has_exact_shapes_and_finds_the_image(photo):
    assert run(*SEVERAL, "--write", "labels,labelme") == 0
    labels = np.array(Image.open("out/photo-labels.png"))
    document = document_of("out/photo-labelme.json")
    assert os.path.samefile(os.path.join("out", document["imagePath"]), "in/photo.png")
    assert {one["shape_type"] for one in document["shapes"]} == {"polygon", "mask"}, "the ring has a hole"
    np.testing.assert_array_equal(labelme_mask(document), labels)


@pytest.mark.parametrize("counts", [[3, 2], [3, 4], [3, 9, -6], "zzz", "5o0", "é0", [3, "a"]])
def test_damaged_run_lengths(counts):
    with pytest.raises((ValueError, OverflowError)):
        mask_of_segmentation({"size": [2, 3], "counts": counts}, (2, 3))


@pytest.mark.parametrize("tolerance", [0, 1, 3])
def test_yolo_outlines_are_off_by_the_tolerance_at_most(tolerance):
    """Of parts and holes, in one line an object, as OpenCV fills them."""
    y, x = np.mgrid[:90, :120]
    ring = (np.hypot(y - 40, x - 40) < 30) & (np.hypot(y - 40, x - 40) > 12)
    masks = [ring | (np.hypot(y - 70, x - 100) < 9), (y > 5) & (y < 12) & (x > 90), np.zeros(ring.shape, bool)]
    objects = [Annotation("a", value, (0, 0, 0), mask) for value, mask in enumerate(masks, 1)]
    objects[1] = dataclasses.replace(objects[1], category=7)
    text = encoded_annotations("yolo", Path("a.txt"), Path("a.png"), (90, 120), objects, tolerance).decode()
    lines = [line.split() for line in text.splitlines()]
    assert [int(line[0]) for line in lines] == [0, 7]
    for line, mask in zip(lines, masks, strict=False):
        points = np.array(line[1:], float).reshape(-1, 2)
        assert 0 <= points.min() <= points.max() <= 1
        found = np.zeros(mask.shape, np.uint8)
        cv2.fillPoly(found, [np.int32(np.rint(points * 16 * (120, 90) - 8))], 1, shift=4)
        wrong = np.argwhere((found > 0) != mask)
        bridges = 3 * (len(wrong) > 0)
        outline = np.argwhere(mask & ~ndimage.binary_erosion(mask))
        away = np.sqrt(np.square(wrong[:, None] - outline).sum(axis=2)).min(axis=1)
        far = np.count_nonzero(away > tolerance + 1)
        assert far <= bridges * 40, "beside the lines that join parts"
        assert np.count_nonzero((found > 0) & mask) > 0.9 * mask.sum()
    exact = np.array(lines[1][1:], float).reshape(-1, 2) * (120, 90)
    assert {tuple(map(round, one)) for one in exact} == {(91, 6), (120, 6), (120, 12), (91, 12)}


def test_yolo_files_are_named_as_their_images(photo):
    assert run("in/photo.png", "--strokes", "strokes.png", "--write", "mask,yolo", "--tolerance", "0.5") == 0
    assert written() == ["photo-mask.png", "photo.txt"]
    number, *numbers = Path("out/photo.txt").read_text().split()
    assert number == "0"
    corners = np.array(numbers, float).reshape(-1, 2) * (64, 48)
    found = polygon2mask((48, 64), corners[:, ::-1] - 0.5)
    assert np.count_nonzero(found & mask_of()) > 0.9 * np.count_nonzero(found | mask_of())
    assert run("in/photo.png", "--strokes", "strokes.png", "--tolerance", "nan") == 2


def test_classes_of_a_file(tmp_path):
    path = tmp_path / "classes.txt"
    path.write_text("cell\n\nbig cell #00ff7F\n#red\n")
    assert read_classes(path, "--classes") == {"cell": None, "big cell": (0, 255, 127), "#red": None}
    for content, message in (
        (b"a\na\n", "has the class 'a' twice"),
        (b" \n", "has no class"),
        (b"\xff\xfe", "is not text"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            read_classes(path, "--classes")
