"""Pairs of features that a user may combine: what each of them promises holds beside the other."""

import json
import os

import numpy as np
import pytest
import tifffile
from PIL import Image

from apps import denoise as denoise_image
from apps.cli import main
from apps.common.errors import one_line

BOX = ["--box", "4,5,27,28"]


@pytest.fixture
def here(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


def kept_session():
    assert main(["segment", "photo.png", *BOX, "--save-session", "kept.json", "--quiet"]) == 0


def test_a_session_is_extended_in_place(here):
    kept_session()
    again = ["segment", "photo.png", "--overwrite", "--resume-session", "kept.json", "--strokes", "strokes.png"]
    assert main([*again, "--save-session", "kept.json"]) == 0
    assert json.loads((here / "kept.json").read_text("utf-8"))["format"] == "cutmatch-session"


@pytest.mark.parametrize("option", ["--json", "--overwrite --json"])
def test_a_session_is_an_input(here, option, capsys):
    kept_session()
    before = (here / "kept.json").read_bytes()
    arguments = ["segment", "photo.png", "--resume-session", "kept.json", *option.split(), "kept.json"]
    assert main(arguments) == 2
    assert "--json: 'kept.json' is an input of this run and would be overwritten" in capsys.readouterr().err
    assert (here / "kept.json").read_bytes() == before


def test_a_foreign_file_is_no_place_for_a_session(here, capsys):
    (here / "notes.json").write_text("{}")
    assert main(["segment", "photo.png", *BOX, "--save-session", "notes.json"]) == 2
    assert "choose another name, or pass --overwrite" in capsys.readouterr().err
    assert (here / "notes.json").read_text("utf-8") == "{}"


def test_records_find_files_in_other_folders(here):
    np.save(here / "stack.npy", np.stack([np.asarray(Image.open("photo.png").convert("L"))] * 3))
    assert main(["track", "stack.npy", "--table", "tables/t.csv", "--video", "film.gif", "--quiet"]) == 0
    files = json.loads((here / "out/stack-track.json").read_text("utf-8"))["files"]
    assert (files["table"], files["video"]) == ("../tables/t.csv", "../film.gif")
    assert all((here / "out" / name).is_file() for name in files.values())


@pytest.mark.parametrize("command", [["denoise"], ["superpixels", "--regions", "9"], ["segment", *BOX]])
def test_a_suffix_of_two_parts(here, command):
    tifffile.imwrite("one.ome.tif", np.asarray(Image.open("photo.png")), photometric="rgb", ome=True)
    assert main([*command, "one.ome.tif", "--quiet"]) == 0
    assert {path.name.split("-")[0] for path in (here / "out").glob("*.*")} - {".cutmatch"} == {"one"}


def test_folders_are_volumes_with_their_whole_names(here):
    planes = np.random.default_rng(0).integers(0, 99, (3, 9, 8), dtype=np.uint8)
    planes[:, 3:6, 3:6] += 150
    seeds = np.zeros(planes.shape, np.uint8)
    seeds[1, 4, 4], seeds[:, 0] = 1, 2
    np.save("seeds.npy", seeds)
    for name in ("scan.1", "scan.2"):
        (here / name).mkdir()
        for number, plane in enumerate(planes):
            Image.fromarray(plane).save(here / name / f"{number}.png")
    strokes = ["--volume", "--strokes", str(here / "seeds.npy"), "--out", str(here / "out"), "--quiet"]
    os.chdir("scan.1")
    assert main(["segment", ".", *strokes]) == 0
    assert main(["segment", "../scan.2", *strokes]) == 0
    names = {path.name for path in (here / "out").iterdir() if path.is_file()}
    assert names == {f"scan.{n}-{what}" for n in (1, 2) for what in ("mask.tif", "slices.png", "segment.json")}


@pytest.mark.parametrize("levels", [(90, 90), (90, 110), (0, 1), (255, 255), (0, 0)])
def test_grey_levels_are_not_mistaken_for_black_and_white(levels):
    image = np.full((40, 40), levels[0], np.uint8)
    image[10:30, 10:30] = levels[1]
    result = denoise_image(image)
    assert result.kind == "convex"
    np.testing.assert_array_equal(np.rint(255 * result.image), image)


def test_black_and_white_alone_are_binary():
    image = np.zeros((40, 40), np.uint8)
    image[10:30, 10:30] = 255
    assert denoise_image(image).kind == "binary"


def test_messages_have_one_line(here, capsys):
    (here / "in").mkdir()
    (here / "in" / "a\nb\x1b[2J.png").write_bytes(b"no image")
    assert main(["denoise", "in", "--quiet"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "in/a\\nb\\x1b[2J.png" in line
    assert one_line("é ×\u2028") == "é ×\\u2028"


LONG = "n" * 300


@pytest.mark.parametrize(
    "arguments", [[LONG, *BOX], ["photo.png", LONG, *BOX], [LONG, "--label-strokes", "strokes.png"]]
)
def test_names_that_no_file_can_have(here, arguments, capsys):
    assert main(["segment", *arguments]) in (1, 2)
    message = capsys.readouterr().err
    assert "File name too long" in message
    assert "shorten the name" in message


@pytest.mark.parametrize("spacing", ["0,1,1", "-1,1,1", "nan,1,1", "inf,1,1", "1e-300,1,1", "1,1,1e300"])
@pytest.mark.parametrize("marks", ["--start", "--strokes", "--label-strokes"])
def test_impossible_spacing(here, marks, spacing, capfd):
    """Of a rough mask, too, whose surroundings are measured in voxels."""
    volume = np.random.default_rng(0).integers(0, 99, (3, 9, 8), dtype=np.uint8)
    found = np.zeros(volume.shape, np.uint8)
    found[:, 3:6, 3:6] = 1
    found[:, 0] = 0 if marks == "--start" else 2
    np.save("volume.npy", volume + 150 * (found == 1).astype(np.uint8))
    np.save("marks.npy", found)
    assert main(["segment", "volume.npy", marks, "marks.npy", f"--spacing={spacing}"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "spacing" in line


def test_a_clip_has_no_spacing(here, capsys):
    assert main(["segment", "clip.mp4", "--strokes", "strokes.png", "--spacing", "1,1,1"]) == 2
    assert "--spacing does not apply to a clip; omit it" in capsys.readouterr().err
