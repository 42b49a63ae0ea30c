"""Boxes are clipped, and odd results are reported."""

import json

import numpy as np
import pytest
from PIL import Image

from apps import cli, segment


def run(files, *arguments):
    return cli.main(
        ["segment", *(str(word) for word in arguments), "--out", str(files / "out"), "--overwrite", "--json=-"]
    )


def test_a_box_partly_outside_is_clipped_with_a_note(files, scene, capfd):
    assert run(files, files / "photo.png", "--box=-5,3,40,30") == 0
    captured = capfd.readouterr()
    note = "box -5,3,40,30 exceeds the image, which is 32 wide and 32 high; it was clipped"
    assert captured.err == f"cutmatch segment: {files / 'photo.png'}: {note}\n"
    assert json.loads(captured.out)["warnings"] == [note]
    with pytest.warns(UserWarning, match="it was clipped"):
        clipped = segment(scene.image, box=(-5, 3, 40, 30)).mask
    np.testing.assert_array_equal(clipped, segment(scene.image, box=(0, 3, 32, 30)).mask)


@pytest.mark.parametrize("box", ["-9,3,0,9", "32,0,40,9", "3,-9,9,-1", "3,32,9,50"])
def test_a_box_completely_outside_is_rejected(files, box, rejects):
    line = ["segment", files / "photo.png", f"--box={box}", "--out", files / "out"]
    rejects(line, f"box {box} contains no pixel of the image, which is 32 wide and 32 high", files)


def test_an_empty_object_is_not_silent(files, capfd):
    flat = np.full((32, 32, 3), 90, np.uint8)
    Image.fromarray(flat).save(files / "flat.png")
    assert run(files, files / "flat.png", "--box", "4,5,27,28", "--min-area", 2000, "--quiet") == 0
    captured = capfd.readouterr()
    report = json.loads(captured.out)
    assert report["object_pixels"] == 0
    assert captured.err.startswith(f"cutmatch segment: {files / 'flat.png'}: the object is empty; add object strokes")
    with pytest.warns(UserWarning, match="the object is empty"):
        segment(flat, box=(4, 5, 27, 28), min_area=2000)


def test_box_and_strokes_together(files, scene, capfd):
    scene.image[7:11, 24:26] = (40, 60, 90)
    strokes = np.zeros((32, 32), np.uint8)
    strokes[3, 10:20] = 1  # outside of the box: strokes prevail
    strokes[14:16, 10:20] = 2
    Image.fromarray(strokes).save(files / "more.png")
    line = (files / "photo.png", "--box", "4,5,27,28", "--strokes", files / "more.png")
    assert run(files, *line) == 0
    mask = np.array(Image.open(files / "out/photo-mask.png")) > 0
    assert mask[strokes == 1].all()
    assert not mask[strokes == 2].any()
    outside = strokes != 1
    outside[5:28, 4:27] = False
    assert not mask[outside].any()
    found = segment(scene.image, box=scene.box, trimap=np.where(strokes == 0, 128, np.where(strokes == 1, 255, 0)))
    assert found.mask[strokes == 1].all()
