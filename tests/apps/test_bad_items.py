"""A bad input fails alone: the others of a batch are finished, in every command and engine."""

import json
import os

import numpy as np
import pytest
from PIL import Image

from apps import cli


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """p/ with good.png and one bad file of each kind; strokes/ with the same names."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    image = np.full((16, 20, 3), 200, np.uint8)
    image[:, :10] = 40
    image += rng.integers(0, 9, image.shape, np.uint8)
    marks = np.zeros((16, 20), np.uint8)
    marks[:, :3], marks[:, -3:] = 1, 2
    for name in ("p", "strokes", "rights"):
        (tmp_path / name).mkdir()
    p = tmp_path / "p"
    Image.fromarray(image).save(p / "good.png")
    Image.fromarray(image).save(tmp_path / "rights" / "good.png")
    (p / "empty.png").touch()
    (p / "folder.png").mkdir()
    (p / "nowhere.png").symlink_to("gone")
    (p / "four.tif").write_bytes(b"II*\0")
    os.mkfifo(p / "fifo.png")
    (p / "zero.png").symlink_to("/dev/zero")
    for path in p.iterdir():
        Image.fromarray(marks).save(tmp_path / "strokes" / f"{path.stem}.png")
    return tmp_path


WRONG = ("empty.png", "fifo.png", "folder.png", "four.tif", "nowhere.png", "zero.png")


@pytest.mark.parametrize(
    "line",
    [
        "denoise p",
        "denoise p --resume",
        "denoise p --workers 1",
        "superpixels p --regions 9",
        "segment p --strokes strokes",
        "segment p --box 3,3,17,13",
        "segment p --label-strokes strokes",
        "stereo p rights --max-disparity 4",
    ],
)
def test_each_bad_input_has_its_line_and_the_good_one_is_done(folder, capsys, line):
    assert cli.main([*line.split(), "--json", "r.json", "--device", "cpu"]) == 1
    captured = capsys.readouterr()
    assert "1 done, " in captured.out
    assert f"{len(WRONG)} failed" in captured.out
    report = json.loads((folder / "r.json").read_text("utf-8"))
    failed = report["failures"]
    assert len(failed) == len(WRONG)
    for name, failure in zip(WRONG, failed, strict=True):
        shown = failure.get("image", failure.get("pair"))
        assert name in shown
        assert f"{shown}: " in captured.err
        assert "defect" not in failure["error"]
    assert "Traceback" not in captured.err
