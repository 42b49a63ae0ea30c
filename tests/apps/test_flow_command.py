"""The flow command on small frames: what it writes, what it prints, and how it rejects invalid input."""

import json
import re

import cv2
import numpy as np
import pytest
from PIL import Image

from apps.optical_flow.flow_files import read_flow
from tests.apps.conftest import run_in, texture
from tests.apps.flow_samples import write_flow

run = run_in("flow")

MOTION = (5, -3)


@pytest.fixture(scope="module")
def frames():
    """Three frames of a texture that moves by MOTION from each to the next, uint8 (72, 96, 3)."""
    wide = texture((120, 140, 3))
    return [wide[20 - n * MOTION[1] :, 20 - n * MOTION[0] :][:72, :96] for n in range(3)]


@pytest.fixture
def files(frames, tmp_path):
    """one.png, two.png, three.png; truth.flo of one to two; frames/ with the three."""
    (tmp_path / "frames").mkdir()
    for n, (name, frame) in enumerate(zip(("one", "two", "three"), frames, strict=True)):
        Image.fromarray(frame).save(tmp_path / f"{name}.png")
        Image.fromarray(frame).save(tmp_path / "frames" / f"f{n + 8}.png")  # f8, f9, f10
    write_flow(tmp_path / "truth.flo", np.full((72, 96, 2), MOTION, np.float32))
    return tmp_path


def test_writes_everything(files, capsys):
    arguments = "one.png", "two.png", "--truth", "truth.flo"
    assert run(files, *arguments, "--write", "all", "--json", files / "r.json") == 0
    names = sorted(p.name for p in (files / "out").glob("[!.]*"))
    kinds = ["-arrows.png", "-colour.png", "-error.png", "-flow.json", "-matches.csv", ".flo"]
    assert names == sorted(f"one{kind}" for kind in kinds)
    field, _ = read_flow(files / "out" / "one.flo")
    assert np.abs(field[8:-8, 8:-8] - MOTION).max() < 0.3
    np.testing.assert_array_equal(cv2.readOpticalFlow(str(files / "out" / "one.flo")), field)
    for kind, zoom in (("arrows", 4), ("colour", 4)):
        assert np.array(Image.open(files / "out" / f"one-{kind}.png")).shape == (72 * zoom, 96 * zoom, 3)
    report = json.loads((files / "r.json").read_text("utf-8"))
    assert report["truth"]["epe"] < 0.3
    assert report["truth"]["pixels"] == 72 * 96
    assert report["matches"] == len(np.loadtxt(files / "out" / "one-matches.csv", delimiter=",", skiprows=1)) > 20
    assert report["valid_percent"] > 70
    assert set(report["files"]) == {"flow", "matches", "arrows", "colour", "error", "record"}
    printed = capsys.readouterr().out
    assert re.search(r"motion 5\.\d+ px on average.* EPE 0\.\d+ px, Fl 0\.\d+ %", printed)


def test_fast(files, capsys):
    arguments = "one.png", "two.png", "--fast", "--truth", "truth.flo"
    assert run(files, *arguments, "--write", "matches", "--json", files / "r.json") == 0
    report = json.loads((files / "r.json").read_text("utf-8"))
    assert report["truth"]["epe"] < 0.5
    assert report["matches"] == len(np.loadtxt(files / "out" / "one-matches.csv", delimiter=",", skiprows=1)) > 4
    capsys.readouterr()
    assert run(files, "one.png", "two.png", "--fast", "--linker", "windows") == 2
    assert (
        "--fast links a grid of seeds and has no windows; pass another linker, or omit --fast"
        in capsys.readouterr().err
    )


def test_folder_in_the_order_of_numbers(files, capsys):
    (files / "truths").mkdir()
    for name in ("f8", "f9"):
        write_flow(files / "truths" / f"{name}.flo", np.full((72, 96, 2), MOTION, np.float32))
    assert run(files, files / "frames", "--truth", files / "truths", "--json", files / "r.json", "--max-motion", 9) == 0
    names = {p.name for p in (files / "out").glob("[!.]*")}
    kinds = (".flo", "-colour.png", "-error.png", "-flow.json")
    assert names == {f"{name}{kind}" for name in ("f8", "f9") for kind in kinds}
    report = json.loads((files / "r.json").read_text("utf-8"))
    assert [re.findall(r"f\d+", pair["pair"]) for pair in report["pairs"]] == [["f8", "f9"], ["f9", "f10"]]
    captured = capsys.readouterr()
    assert "2 done, 0 failed; EPE" in captured.out
    assert "2/2" not in captured.err, "a progress bar in a log"
    from apps.optical_flow.flow_figures import keyed_figure

    for name in ("f8", "f9"):
        expected = keyed_figure(read_flow(files / "out" / f"{name}.flo")[0], 9)
        found = np.array(Image.open(files / "out" / f"{name}-colour.png")).astype(int)
        assert np.abs(found - expected).max() <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("one.png two.png --write flow,colours", "unknown kind 'colours'; pass some of flow,colour,error,"),
        ("one.png two.png --write error", "--write error needs a ground truth; pass --truth"),
    ],
)
def test_kinds_that_cannot_be_written(files, arguments, message, capsys):
    assert run(files, *arguments.split()) == 2
    assert message in capsys.readouterr().err
    assert not (files / "out").exists()
