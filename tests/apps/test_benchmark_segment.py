"""The benchmark on a folder of one tiny image, and without any."""

import json

import numpy as np
from PIL import Image

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
