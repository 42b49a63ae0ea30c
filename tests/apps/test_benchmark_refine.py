"""The benchmark of refinement on a folder of one tiny image, and without any."""

import json

import numpy as np
from PIL import Image

from benchmarks import refine


def test_skips_without_data(capsys, monkeypatch):
    monkeypatch.delenv("CUTMATCH_DATA", raising=False)
    assert refine.main([]) == 0
    assert "skipped, no folder given" in capsys.readouterr().out


def test_table(scene, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(refine, "SIZES", (16,))
    truth = Image.fromarray(np.uint8(255) * scene.truth.astype(np.uint8))
    for kind, truths in (("grabcut", "gt"), ("coopcuts", "groundtruth")):
        for name in ("images", truths, "seeds"):
            (tmp_path / kind / name).mkdir(parents=True)
        Image.fromarray(scene.image).save(tmp_path / kind / "images" / "a.png")
        truth.save(tmp_path / kind / truths / "a.png")
        Image.fromarray(scene.strokes).save(tmp_path / kind / "seeds" / "a.png")
    (tmp_path / "grabcut" / "boxes.json").write_text(json.dumps({"a": {"tight": [6, 7, 24, 25]}}))
    assert refine.main(["--data", str(tmp_path), "--quick"]) == 0
    rows = [[cell.strip() for cell in line.split("|")] for line in capsys.readouterr().out.splitlines()]
    score = {(row[1], row[3]): float(row[5]) for row in rows if len(row) > 9 and row[2] == "16"}
    kinds = {"photographs", "eroded", "dilated", "hole", "missing", "thin structures"}
    assert {kind for kind, _ in score} == kinds
    assert all(score[kind, "cutmatch"] >= score[kind, "enlarged"] for kind in kinds)
