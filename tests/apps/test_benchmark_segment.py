"""The benchmark on a folder of one tiny image, and without any."""

import json

import numpy as np
import pytest
from PIL import Image

from apps.common.images import InputError
from apps.segmentation.strokes import marks_of
from benchmarks import segment


def test_skips_without_data(capsys, monkeypatch):
    monkeypatch.delenv("CUTMATCH_DATA", raising=False)
    assert segment.main([]) == 0
    assert "skipped, no folder given" in capsys.readouterr().out
    assert segment.main(["--data", "gone"]) == 0
    assert "skipped, no folder 'gone'" in capsys.readouterr().out


def test_table(scene, tmp_path, capsys):
    folder = tmp_path / "grabcut"
    for name in ("images", "gt", "scribbles2"):
        (folder / name).mkdir(parents=True)
    Image.fromarray(scene.image).save(folder / "images" / "a.png")
    Image.fromarray(np.uint8(255) * scene.truth.astype(np.uint8)).save(folder / "gt" / "a.png")
    Image.fromarray(scene.strokes).save(folder / "scribbles2" / "a.png")
    (folder / "boxes.json").write_text(json.dumps({"a": {"tight": [6, 7, 24, 25], "loose10": [4, 5, 26, 27]}}))
    kinds = ["strokes, set 2", "tight box"]
    assert segment.main(["--data", str(tmp_path), "--quick", "--kinds", *kinds]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if line.startswith("| strokes")]
    assert [row[2].strip() for row in rows] == ["cutmatch", "cv2.grabCut"]
    assert float(rows[0][4]) > 95


def test_failures_count(scene, monkeypatch):
    """A method that raises scores as an empty object, and an answer without overlap is a failure, too."""

    def raises(rgb, marks):
        raise InputError("no")

    truth = np.uint8(255) * scene.truth.astype(np.uint8)
    cases = [("a", np.float32(scene.image) / np.float32(255), truth, marks_of(scene.strokes))]
    corner = np.zeros(truth.shape, bool)
    corner[0, 0] = True
    monkeypatch.setattr(segment, "METHODS", {"raises": raises, "corner": lambda rgb, marks: corner})
    rows = list(segment.measure("strokes", cases))
    assert [(row[1], row[2], row[3], row[-1]) for row in rows] == [
        ("raises", "1", "0.00", "1"),
        ("corner", "1", "0.00", "1"),
    ]


@pytest.mark.slow  # ten boxes by every method
def test_several_boxes(scene, monkeypatch):
    truth = np.uint8(255) * scene.truth.astype(np.uint8)
    cases = [("a", np.float32(scene.image) / np.float32(255), truth, marks_of(scene.strokes))]
    monkeypatch.setattr(segment, "load", lambda data, kind: cases)
    rows = [[cell.strip() for cell in row.split("|")] for row in segment.boxes_table(None, 1).splitlines()[2:]]
    assert [row[1:4] for row in rows] == [[k, m, "1"] for k in ("tiles", "collages") for m in segment.METHODS]
    assert rows[0][4] == "10"
    assert float(rows[0][5]) > 95
