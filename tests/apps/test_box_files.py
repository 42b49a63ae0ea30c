"""Files of boxes of detectors: all formats give the same boxes; what cannot be used is one clear error."""

import json
from pathlib import Path

import pytest

from apps.common.errors import InputError
from apps.segmentation.box_files import Detection, read_boxes

SHAPE = (100, 200)
A, B, C = Path("in/a.jpg"), Path("in/b.png"), Path("in/c.png")
IMAGES = [A, B, C]
# Two boxes of a, a cat and a dog; one of b, a dog; none of c.
FOUND = {
    A: [((10, 20, 40, 60), "cat", 0.75), ((30, 20, 190, 80), "dog", 0.5)],
    B: [((0, 0, 30, 100), "dog", 1.0)],
    C: [],
}
NUMBERS = {"cat": 0, "dog": 1}


def xywh(box):
    return [box[0], box[1], box[2] - box[0], box[3] - box[1]]


def coco():
    images = [{"id": k, "file_name": f"C:\\photos\\{path.name}"} for k, path in enumerate(IMAGES)]
    annotations = [
        {"id": 7, "image_id": k, "category_id": NUMBERS[name], "bbox": xywh(box), "score": score}
        for k, path in enumerate(IMAGES)
        for box, name, score in FOUND[path]
    ]
    annotations.append({"image_id": 0, "category_id": 0, "bbox": [0, 0, 99, 99], "iscrowd": 1})
    return {"images": images, "annotations": annotations, "categories": categories()}


def categories():
    return [{"id": number, "name": name} for name, number in NUMBERS.items()]


def results(key):
    return [
        {key: path.name if key == "file_name" else path.stem, "category_id": NUMBERS[n], "bbox": xywh(box), "score": s}
        for path in IMAGES
        for box, n, s in FOUND[path]
    ]


def save(folder, name, content):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def yolo(folder):
    height, width = SHAPE
    for path in IMAGES:
        lines = ""
        for (x0, y0, x1, y1), name, score in FOUND[path]:
            centre = (x0 + x1) / 2 / width, (y0 + y1) / 2 / height, (x1 - x0) / width, (y1 - y0) / height
            lines += " ".join(map(str, (NUMBERS[name], *centre, score))) + "\n"
        save(folder, f"yolo/{path.stem}.txt", lines)
    save(folder, "yolo/classes.txt", "cat\ndog\n")
    return folder / "yolo"


FORMATS = {
    "boxes": lambda folder: save(folder, "b.json", {"a": [b for b, *_ in FOUND[A]], "b.png": FOUND[B][0][0], "c": []}),
    "coco": lambda folder: save(folder, "c.json", coco()),
    "results by name": lambda folder: save(folder, "d.json", results("file_name")),
    "results by number": lambda folder: save(folder, "e.json", results("image_id")),
    "yolo": yolo,
}


@pytest.mark.parametrize("kind", FORMATS)
def test_formats_agree(tmp_path, kind):
    found = read_boxes(FORMATS[kind](tmp_path), IMAGES, "--boxes")
    for image in IMAGES:
        boxes = found.get(image, ())
        assert [one.box(SHAPE) for one in boxes] == [box for box, *_ in FOUND[image]]
        has_scores = kind != "boxes"
        assert [one.score for one in boxes] == [score if has_scores else None for *_, score in FOUND[image]]
        names = {"boxes": "object", "results": "category{}"}
        for one, (_, name, _) in zip(boxes, FOUND[image], strict=True):
            assert one.name == names.get(kind.split()[0], name).format(NUMBERS[name])
            assert one.category == (1 if kind == "boxes" else NUMBERS[name])


@pytest.mark.parametrize(
    ("corners", "box"),
    [
        ((1.2, 2.9, 30.1, 40.0), (1, 2, 31, 40)),
        ((0.9999, 2.0001, 29.9999, 40.0001), (1, 2, 30, 40)),
        ((-0.6, -0.2, 200.4, 100.9), (-1, -1, 201, 101)),
        ((-1, -3.5, 201, 103), (-1, -4, 201, 103)),
    ],
)
def test_corners_are_rounded_outwards(corners, box):
    assert Detection(corners).box(SHAPE) == box


BAD = '[{"bbox": [1, 2, NaN, 4], "image_id": "a"}, {"bbox": [1, 2, 3, 4], "image_id": "b"}]'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.json", BAD, r"entry 'a' must be bbox \[x, y, width, height\], .*, got .*NaN"),
        ("x.json", '{"a": [[1, 2, 3, 4], [1, 2, "x", 4]], "b": [1, 2, 3, 4]}', "entry 'a' must be four numbers .*got"),
        ("x.json", '{"a": [1, 2, 1e999, 4], "b": []}', "entry 'a' must be four numbers"),
        ("x.json", '{"a": [1, 2, 1%s, 4], "b": []}' % ("0" * 400), "entry 'a' must be four numbers"),
        ("y/a.txt", "0 0.5 0.5 0.2", "a.txt' must be lines of class, x, y, width, height, perhaps score, .*got .0 0.5"),
        ("y/a.txt", "\n0 0.5 0.5 0.2 x", "must be lines of class, .*got .0 0.5 0.5 0.2 x"),
        ("y/a.txt", "0.5 0.5 0.5 0.2 0.1", "must be lines of class, .*got .0.5"),
        ("y/a.txt", "0 30 40 50 60", "in shares of the image, got .0 30"),
    ],
)
def test_a_box_that_cannot_be_read_is_an_error_of_the_run(tmp_path, name, content, message):
    path = save(tmp_path, name, content)
    if path.suffix != ".json":
        save(tmp_path, str(Path(name).with_name("b.txt")), "")
        path = path.parent
    with pytest.raises(InputError, match=message):
        read_boxes(path, [A, B], "--boxes")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "1,2,3,4", r"is not a file of boxes; pass COCO .*YOLO \(.txt\), or a folder"),
        ("gone.json", None, "no file"),
        *(("x.json", text, "must be JSON of the form of COCO") for text in ("null", "7", '"a"', "{", "[" * 100_000)),
        ("x.json", "[]", "has no entry, but has no entry 'a'"),
        ("x.json", '{"p": [], "q": [], "r": [], "s": []}', "has entries for 'p', 'q', 'r', ..., but has no entry 'a'"),
        ("x.json", "[7]", "is a list, but not of COCO results: .*got 7"),
        ("x.json", '[{"bbox": [1, 2, 3, 4]}]', "is a list, but not of COCO results"),
        ("x.json", '{"annotations": []}', "is COCO without images"),
        ("x.json", '{"annotations": [], "images": [{"id": 1}]}', "is COCO without images"),
        (
            "x.json",
            '{"annotations": [{"image_id": 3}], "images": [{"id": 1, "file_name": "a.jpg"}]}',
            "has an annotation of no image",
        ),
        (
            "x.json",
            '{"annotations": [], "images": [{"id": 1, "file_name": "u/a.jpg"}, {"id": 2, "file_name": "v/a.jpg"}]}',
            "has two images 'a.jpg'; split it by folder",
        ),
        ("y/p.txt", "", "has entries for 'p.txt', but has no entry 'a'"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_of_the_run(tmp_path, name, content, message):
    path = tmp_path / name if content is None else save(tmp_path, name, content)
    with pytest.raises(InputError, match=message):
        read_boxes(path.parent if path.suffix == ".txt" else path, IMAGES, "--boxes")
