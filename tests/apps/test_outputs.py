"""No command overwrites an input, or an existing file that it did not write without --overwrite."""

import os
import shutil

import numpy as np
import pytest
from PIL import Image

from apps import cli


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Images a.png and b.png, a clip, strokes, a matrix and a table of detections in the current folder."""
    monkeypatch.chdir(tmp_path)
    image = np.full((12, 16, 3), 200, np.uint8)
    image[:, :8] = 40
    for name in "ab":
        Image.fromarray(image).save(f"{name}.png")
    marks = np.zeros((12, 16), np.uint8)
    marks[:, :3], marks[:, -3:] = 1, 2
    Image.fromarray(marks).save("strokes.png")
    Image.fromarray(np.array([128, 255, 0], np.uint8)[marks]).save("trimap.png")
    Image.fromarray((marks > 0).astype(np.uint8)).save("labels.png")
    (tmp_path / "marks").mkdir()
    Image.fromarray(marks).save("marks/0.png")
    (tmp_path / "clip").mkdir()
    for name in ("clip/0.png", "clip/1.png"):
        Image.fromarray(image).save(name)
    (tmp_path / "p").mkdir()
    for number in range(2):
        dots = np.random.default_rng(0).integers(0, 9, (40, 40), np.uint8)
        dots[8:40:12, 8 + number :: 12] = 255
        Image.fromarray(dots).save(f"p/{number}.png")
    (tmp_path / "boxes.json").write_text('{"a": [2, 2, 9, 9]}')
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n")
    rows = [f"{frame},{5 * point + frame},{3 * point}" for frame in range(3) for point in range(4)]
    (tmp_path / "d.csv").write_text("\n".join(["frame,x,y", *rows]) + "\n")
    return tmp_path


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Files created from others of `here`, the command line, and the file that it must name.
OVER_INPUTS = {
    "trimap": ({"a-mask.png": "trimap.png"}, "segment a.png --trimap a-mask.png --out .", "--out: 'a-mask.png'"),
    "strokes": ({"a-cutout.png": "strokes.png"}, "segment a.png --strokes a-cutout.png --out .", "a-cutout.png"),
    "labels": (
        {"a-labels.png": "strokes.png"},
        "segment a.png --label-strokes a-labels.png --out .",
        "--out: 'a-labels.png'",
    ),
    "object": (
        {"a-object2.png": "b.png", "s/a.png": "strokes.png", "s/a-object2.png": "strokes.png"},
        "segment a.png a-object2.png --label-strokes s --out .",
        "--out: 'a-object2.png'",
    ),
    "boxes": ({"r.json": "boxes.json"}, "segment a.png --boxes r.json --json r.json", "--json: 'r.json'"),
    "mask": ({"a-restored.png": "strokes.png"}, "denoise a.png --mask a-restored.png --out .", "a-restored.png"),
    "image": ({"a-restored.png": "b.png"}, "denoise a.png a-restored.png --out .", "--out: 'a-restored.png'"),
    "folder of truths": (
        {"t/a.png": "a.png", "t/a-restored.png": "b.png"},
        "denoise a.png --truth t --out t",
        "--out: 't/a-restored.png'",
    ),
}


@pytest.mark.parametrize("link", ["", "symbolic", "hard"])
@pytest.mark.parametrize("case", OVER_INPUTS)
def test_inputs_are_never_overwritten(here, capsys, case, link):
    made, line, named = OVER_INPUTS[case]
    for name, source in made.items():
        (here / name).parent.mkdir(exist_ok=True)
        if link == "":
            shutil.copy(source, name)
        else:
            (os.symlink if link == "symbolic" else os.link)(here / source, name)
    before = contents(here)
    for more in ([], ["--overwrite"], ["--resume"]):  # a batch, whose other items are written
        is_batch = more == ["--resume"] or case in ("image", "object")
        status = 1 if is_batch and "--json" not in line else 2
        assert cli.main([*line.split(), *more]) == status
        captured = capsys.readouterr()
        assert is_batch or captured.out == ""
        assert captured.err.count("\n") == 1
        assert named in captured.err
        assert "is an input of this run and would be overwritten; choose another" in captured.err
        now = contents(here)
        assert now == before or (is_batch and now.items() > before.items())


# A command line, and one of its results.
RESULTS = {
    "segment": ("segment a.png --strokes strokes.png", "out/a-cutout.png"),
    "segment labels": ("segment a.png --label-strokes strokes.png", "out/a-object2.png"),
    "segment clip": ("segment clip --clip --strokes marks/0.png --write cutout", "out/clip-cutout0001.png"),
    "refine": ("refine a.png strokes.png --kind labels", "out/a-object1.png"),
    "denoise": ("denoise a.png", "out/a-restored.png"),
    "record": ("denoise a.png", "out/a-denoise.json"),
    "batch": ("denoise a.png b.png", "out/b-restored.png"),
    "resume": ("denoise a.png --resume", "out/a-restored.png"),
    "superpixels": ("superpixels a.png --regions 9", "out/a-outlines.png"),
    "track": ("track d.csv --search-range 2 --quiet", "out/d-tracks.csv"),
    "matching": ("matching m.mtx --dulmage-mendelsohn", "out/m-blocks.npz"),
    "json": ("info --json r.json", "r.json"),
    "video": ("track p --detect bright --size 5 --search-range 2 --quiet --video v.avi", "v.avi"),
}


@pytest.mark.parametrize("case", RESULTS)
def test_existing_files_are_replaced_only_on_request(here, capsys, case):
    line, result = RESULTS[case]
    foreign = here / result
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text("of another")
    before = contents(here)
    is_batch = case in ("batch", "resume")
    assert cli.main(line.split()) == (1 if is_batch else 2)
    error = capsys.readouterr().err
    assert f"{result!r} already exists; choose another" in error
    assert "or pass --overwrite to replace it" in error
    assert {path for path in contents(here).keys() - before.keys() if path.stem.split("-")[0] == "b"} == set()
    assert foreign.read_text("utf-8") == "of another"
    assert is_batch or contents(here) == before, "all results of an item or none"
    for _ in range(2):
        assert cli.main([*line.split(), "--overwrite"]) == 0
    assert foreign.read_bytes() != b"of another"


@pytest.mark.parametrize(
    "case", [case for case in RESULTS if case not in ("json", "record", "resume", "video", "session")]
)
def test_a_command_replaces_what_it_wrote(here, capsys, case):
    line, result = RESULTS[case]
    for _ in range(3):
        assert cli.main(line.split()) == 0, capsys.readouterr().err
    written = (here / result).read_bytes()
    (here / result).write_bytes(written + b" ")
    status = 1 if case == "batch" else 2
    assert cli.main(line.split()) == status
    assert f"{result!r} already exists" in capsys.readouterr().err, "it was changed"
    (here / result).write_bytes(written)
    assert cli.main([*line.split(), "--no-record"]) == status, "the record would become wrong"
    assert cli.main(line.split()) == 0


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "device"])
@pytest.mark.parametrize(
    ("line", "result"), [("denoise a.png", "a-restored.png"), ("info --json out/r.json", "r.json")]
)
def test_links_devices_and_pipes_are_never_replaced(here, capsys, kind, line, result):
    path = here / "out" / result
    (here / "out").mkdir()
    (here / "victim").write_text("old")
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"link": "../victim", "dangling": "nowhere", "device": os.devnull}[kind])
    for more in ([], ["--overwrite"]):
        assert cli.main([*line.split(), *more]) == 2
        assert "is a link, a device or a pipe; choose another" in capsys.readouterr().err
    assert (here / "victim").read_text("utf-8") == "old"
    assert os.listdir("out") == [result]
