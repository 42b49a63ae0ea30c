"""Options with several numbers: commas and blanks are the same; boxes are clipped; odd results are reported."""

import argparse
import json
import re

import numpy as np
import pytest
from PIL import Image

from apps import cli, segment
from apps.common.number_lists import joined, three_numbers

METAVARS = {"--box": "X0,Y0,X1,Y1", "--spacing": "Z,Y,X", "--regions": "N[,N...]", "--truth": "FILE"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("--box 40 30 300 280 a.png", "--box=40,30,300,280 a.png"),
        ("--box 40,30,300,280 a.png", "--box 40,30,300,280 a.png"),
        ("a.png --box -5 0 9 9", "a.png --box=-5,0,9,9"),
        ("--box -5,0,9,9 a.png", "--box=-5,0,9,9 a.png"),
        ("--box boxes.json 7", "--box boxes.json 7"),
        ("--box 1 2 3 4 5", "--box=1,2,3,4 5"),
        ("--box 1 2 a.png", "--box=1,2 a.png"),
        ("--box", "--box"),
        ("--box --quiet", "--box --quiet"),
        ("--spacing 2.5 1 1e-3 a.tif", "--spacing=2.5,1,1e-3 a.tif"),
        ("--spacing nan 1 inf", "--spacing=nan,1,inf"),
        ("--regions 500 a.png", "--regions=500 a.png"),
        ("--regions 100 200 400 2024", "--regions=100,200,400 2024"),
        ("--truth 1 2 3", "--truth 1 2 3"),
        ("a.png -- --box 1 2", "a.png -- --box 1 2"),
    ],
)
def test_numbers_are_joined(given, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "2024").mkdir()
    words = joined(given.split(), METAVARS)
    assert " ".join(words) == expected or [w.replace(" ", "=") for w in words] == expected.split()


def test_three_numbers():
    assert three_numbers("2.5,1,1") == three_numbers("2.5 1 1") == (2.5, 1.0, 1.0)
    for text in ("1,2", "1,2,3,4", "a,b,c", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="needs three numbers"):
            three_numbers(text)


def run(files, *arguments):
    return cli.main(
        ["segment", *(str(word) for word in arguments), "--out", str(files / "out"), "--overwrite", "--json=-"]
    )


def test_a_box_with_blanks_is_a_box_with_commas(files, capfd):
    masks = []
    for box in (["4,5,27,28"], ["4", "5", "27", "28"], ["4 5 27 28"]):
        assert run(files, "--box", *box, files / "photo.png") == 0
        masks.append(np.array(Image.open(files / "out/photo-mask.png")))
    assert (masks[0] == masks[1]).all()
    assert (masks[0] == masks[2]).all()
    captured = capfd.readouterr()
    assert captured.err == ""


def test_a_box_partly_outside_is_clipped_with_a_note(files, scene, capfd):
    assert run(files, files / "photo.png", "--box", "-5", "3", "40", "30") == 0
    captured = capfd.readouterr()
    note = "box -5,3,40,30 exceeds the image, which is 32 wide and 32 high; it was clipped"
    assert captured.err == f"cutmatch segment: {files / 'photo.png'}: {note}\n"
    assert json.loads(captured.out)["warnings"] == [note]
    with pytest.warns(UserWarning, match="it was clipped"):
        clipped = segment(scene.image, box=(-5, 3, 40, 30)).mask
    np.testing.assert_array_equal(clipped, segment(scene.image, box=(0, 3, 32, 30)).mask)


@pytest.mark.parametrize("box", ["-9,3,0,9", "32,0,40,9", "3,-9,9,-1", "3,32,9,50"])
def test_a_box_completely_outside_is_rejected(files, box, rejects):
    line = ["segment", files / "photo.png", "--box", box, "--out", files / "out"]
    rejects(line, f"box {box} is outside the image, which is 32 wide and 32 high", files)


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


def test_an_object_that_covers_nearly_everything_is_not_silent(scene):
    flat = np.full((32, 32, 3), 90, np.uint8)
    strokes = np.ones((32, 32), np.uint8)
    strokes[0, 0], strokes[5, 5] = 2, 0
    with pytest.warns(UserWarning, match=r"the object covers 99.9 % of the image; add background strokes"):
        segment(flat, strokes=strokes)


def test_a_stroke_that_the_other_label_surrounds_is_named(files, capfd):
    photo = np.full((32, 32, 3), 40, np.uint8)
    photo[8:26, 6:26] = 200
    strokes = np.zeros((32, 32), np.uint8)
    strokes[1:4, 2:30], strokes[20:24, 8:24], strokes[11:16, 12:17] = 2, 1, 2
    note = "around the stroke at (12, 11) have the other label"
    with pytest.warns(UserWarning, match=re.escape(note)):
        segment(photo, strokes=strokes)
    Image.fromarray(photo).save(files / "square.png")
    Image.fromarray(strokes).save(files / "two.png")
    assert run(files, files / "square.png", "--strokes", files / "two.png", "--quiet") == 0
    captured = capfd.readouterr()
    assert note in captured.err
    (warning,) = json.loads(captured.out)["warnings"]
    assert note in warning


def test_a_usual_object_gives_no_warning(files, capfd):
    assert run(files, files / "photo.png", "--strokes", files / "strokes.png") == 0
    captured = capfd.readouterr()
    assert captured.err == ""
    assert json.loads(captured.out)["warnings"] == []


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


def test_one_kind_of_stroke_is_enough_with_a_box(scene):
    strokes = np.where(scene.strokes == 1, 1, 0)
    result = segment(scene.image, box=scene.box, strokes=strokes)
    assert (result.mask == scene.truth).mean() > 0.98
    far = np.zeros_like(strokes)
    far[6, 5:8] = 2
    assert (segment(scene.image, box=scene.box, strokes=far).mask == scene.truth).mean() > 0.98


def test_spacing_with_commas(tmp_path, capfd):
    volume = np.random.default_rng(0).integers(0, 90, (4, 12, 12)).astype(np.uint8)
    volume[1:3, 4:8, 4:8] += 60
    seeds = np.zeros_like(volume)
    seeds[1, 5:7, 5:7], seeds[1, 0] = 1, 2
    np.save(tmp_path / "v.npy", volume)
    np.save(tmp_path / "s.npy", seeds)
    energies = []
    for spacing in (["--spacing", "2.5", "1", "1"], ["--spacing", "2.5,1,1"], []):
        line = [
            "segment",
            tmp_path / "v.npy",
            "--label-strokes",
            tmp_path / "s.npy",
            *spacing,
            "--out",
            tmp_path / "out",
        ]
        assert cli.main([*map(str, line), "--overwrite", "--json=-"]) == 0
        energies.append(json.loads(capfd.readouterr().out)["energies"])
    assert energies[0] == energies[1] != energies[2]
