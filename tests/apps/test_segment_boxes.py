"""The objects of many boxes: in the library, and the command with --boxes."""

import json
import re

import numpy as np
import pytest
from PIL import Image

from apps import segment, segment_boxes
from apps.segmentation import segment_command as command
from apps.segmentation.instances import label_boxes

COLOURS = np.array([(40, 60, 90), (200, 120, 60), (60, 170, 80), (220, 220, 60)])
# A disc, a square that a bar covers in part, and the bar.
BOXES = [(4, 8, 22, 30), (26, 8, 46, 32), (40, 4, 54, 36)]


class Scene:
    """Three objects on a ground, 40 x 60; the ground truth is the number of an object's box."""

    def __init__(self):
        y, x = np.mgrid[:40, :60]
        self.truth = np.zeros((40, 60), np.uint8)
        self.truth[(y - 19) ** 2 + (x - 13) ** 2 < 64] = 1
        self.truth[10:30, 28:44] = 2
        self.truth[6:34, 42:52] = 3
        noise = np.random.default_rng(0).normal(0, 6, (40, 60, 3))
        self.image = np.clip(COLOURS[self.truth] + noise, 0, 255).astype(np.uint8)


@pytest.fixture
def boxed():
    return Scene()


@pytest.fixture
def files(boxed, tmp_path, monkeypatch):
    """in/a.png, in/b.png and in/c.png of the same scene; boxes.json as COCO, without a box of c."""
    (tmp_path / "in").mkdir()
    for name in "abc":
        Image.fromarray(boxed.image).save(tmp_path / "in" / f"{name}.png")
    content = {
        "images": [{"id": k, "file_name": f"{name}.png"} for k, name in enumerate("abc")],
        "annotations": [
            {"image_id": k, "category_id": 3 + n % 2, "bbox": [x0, y0, x1 - x0, y1 - y0], "score": 0.5 + n / 10}
            for k in range(2)
            for n, (x0, y0, x1, y1) in enumerate(BOXES)
        ],
        "categories": [{"id": 3, "name": "ball"}, {"id": 4, "name": "block"}],
    }
    (tmp_path / "boxes.json").write_text(json.dumps(content), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return command.main([*map(str, arguments), "--out", "out"])


def test_every_box_has_its_label(boxed, device):
    result = segment_boxes(boxed.image, BOXES, device=device)
    assert result.device == device
    assert result.labels.dtype == np.uint8
    assert (result.labels == boxed.truth).mean() > 0.99
    assert result.boxes == dict(enumerate(BOXES, 1))
    assert not result.notes


def test_a_label_stays_in_its_box(boxed):
    rng = np.random.default_rng(1)
    for _ in range(20):
        low, size = rng.integers((0, 0), (56, 36), (6, 2)), rng.integers(1, 30, (6, 2))
        boxes = np.concatenate([low, low + size], axis=1)
        result = label_boxes(boxed.image, boxes.tolist())
        for value in np.unique(result.labels[result.labels > 0]).tolist():
            x0, y0, x1, y1 = boxes[value - 1]
            outside = result.labels == value
            outside[y0:y1, x0:x1] = False
            assert not outside.any()


@pytest.mark.parametrize("box", [*BOXES, (0, 0, 60, 40), (26, 8, 60, 40), (28, 10, 29, 30)])
def test_one_box_of_many_is_a_single_box(boxed, box):
    labels = segment_boxes(boxed.image, [box]).labels
    np.testing.assert_array_equal(labels, segment(boxed.image, box=box).mask)


def test_command_keeps_names_and_scores(files, boxed, capsys):
    assert run("in/a.png", "--boxes", "boxes.json", "--json", "r.json") == 0
    assert re.match(r"in/a\.png: 60x40, 3 boxes, .* -> out/a-labels\.png; ", capsys.readouterr().out)
    names = sorted(path.name for path in (files / "out").iterdir() if not path.name.startswith("."))
    assert names == ["a-coco.json", "a-labels.json", "a-labels.png", "a-overlay.png", "a-segment.json"]
    labels = np.array(Image.open("out/a-labels.png"))
    assert (labels == boxed.truth).mean() > 0.99
    found = json.loads((files / "out" / "a-coco.json").read_text("utf-8"))
    assert [one["name"] for one in found["categories"]] == ["ball", "block"]
    assert [(one["category_id"], one["score"]) for one in found["annotations"]] == [(3, 0.5), (4, 0.6), (3, 0.7)]
    assert [one["area"] for one in found["annotations"]] == np.bincount(labels.ravel())[1:].tolist()
    legend = json.loads((files / "out" / "a-labels.json").read_text("utf-8"))["labels"]["2"]
    assert (legend["name"], legend["category"], legend["score"]) == ("block", 4, 0.6)
    report = json.loads((files / "r.json").read_text("utf-8"))
    second = report["objects"][1]
    assert (second["value"], second["name"], second["score"], second["box"]) == (2, "block", 0.6, list(BOXES[1]))
    assert second["pixels"] == np.count_nonzero(labels == 2)


def test_command_on_a_folder_continues_without_boxes(files, capsys):
    assert run("in", "--boxes", "boxes.json", "--write", "labels,coco,cutout") == 0
    captured = capsys.readouterr()
    assert "3 done, 0 failed" in captured.out
    assert "c.png: 60x40, 0 boxes" in captured.out
    assert captured.err.splitlines()[-1] == "cutmatch segment: in/c.png: no box, so no object"
    assert not np.array(Image.open("out/c-labels.png")).any()
    assert sorted(path.name for path in (files / "out").glob("*-object*")) == [
        f"{name}-object{value}.png" for name in "ab" for value in (1, 2, 3)
    ]
    merged = json.loads((files / "out" / "coco.json").read_text("utf-8"))
    assert [one["image_id"] for one in merged["annotations"]] == [1, 1, 1, 2, 2, 2]
    assert len({one["id"] for one in merged["annotations"]}) == 6
