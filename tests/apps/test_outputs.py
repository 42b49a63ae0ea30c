"""No command overwrites an input, or a file that an earlier run of the same command did not create."""

import json
import os
import shutil
import time
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from apps import cli, matching
from apps.common.errors import InputError
from apps.common.ledgers import claim, one_item
from apps.denoise import denoise_command as denoise
from apps.flow import flow_command as flow
from apps.match import match_command as match
from apps.segment import segment_command as segment
from apps.stereo import stereo_command as stereo
from apps.superpixels import superpixels_command as superpixels
from apps.track import track_command as track
from tests.apps.flow_samples import write_flow


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Images a.png and b.png, strokes, a matrix and a table of detections in the current folder."""
    monkeypatch.chdir(tmp_path)
    image = np.full((12, 16, 3), 200, np.uint8)
    image[:, :8] = 40
    for name in "ab":
        Image.fromarray(image).save(f"{name}.png")
    marks = np.zeros((12, 16), np.uint8)
    marks[:, :3], marks[:, -3:] = 1, 2
    Image.fromarray(marks).save("strokes.png")
    (tmp_path / "boxes.json").write_text('{"a": [2, 2, 9, 9]}')
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n")
    rows = [f"{frame},{5 * point + frame},{3 * point}" for frame in range(3) for point in range(4)]
    (tmp_path / "d.csv").write_text("\n".join(["frame,x,y", *rows]) + "\n")
    return tmp_path


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Files created from others of `here`, the command line, and the option and the file that it must name.
OVER_INPUTS = {
    "trimap": ({"a-mask.png": "strokes.png"}, "segment a.png --trimap a-mask.png --out .", "--out: 'a-mask.png'"),
    "scribbles": ({"a-cutout.png": "strokes.png"}, "segment a.png --scribbles a-cutout.png --out .", "a-cutout.png"),
    "labels": ({"a-labels.png": "strokes.png"}, "segment a.png --labels a-labels.png --out .", "--out: 'a-labels.png'"),
    "object": (
        {"a-object2.png": "b.png", "s/a.png": "strokes.png", "s/a-object2.png": "strokes.png"},
        "segment a.png a-object2.png --labels s --out .",
        "--out: 'a-object2.png'",
    ),
    "boxes": ({"r.json": "boxes.json"}, "segment a.png --box r.json --json r.json", "--json: 'r.json'"),
    "mask": ({"a-restored.png": "strokes.png"}, "denoise a.png --mask a-restored.png --out .", "a-restored.png"),
    "image": ({"a-restored.png": "b.png"}, "denoise a.png a-restored.png --out .", "--out: 'a-restored.png'"),
    "true segments": ({"a-means.png": "b.png"}, "superpixels a.png --truth a-means.png --out .", "a-means.png"),
    "true disparities": ({"a-error.png": "b.png"}, "stereo a.png b.png --truth a-error.png --out .", "a-error.png"),
    "true flow": ({"a.flo": "d.csv"}, "flow a.png b.png --truth a.flo --out .", "--out: 'a.flo'"),
    "matches": ({"a-matches.csv": "d.csv"}, "flow a.png b.png --matches a-matches.csv --out .", "a-matches.csv"),
    "homography": ({"t.csv": "d.csv"}, "match a.png b.png --truth t.csv --table t.csv", "--table: 't.csv'"),
    "detections": ({}, "track d.csv --table d.csv", "--table: 'd.csv'"),
    "spelling": ({}, "track d.csv --table ../{here}/d.csv", "/d.csv' is an input"),
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
    if link and not made:
        (os.symlink if link == "symbolic" else os.link)("d.csv", "other.csv")
        line = line.replace("--table d.csv", "--table other.csv")
        named = named.replace("'d.csv'", "'other.csv'")
    before = contents(here)
    # As a batch too, which --table is not for.
    for more in ([], ["--overwrite"], *([] if "--table" in line else [["--resume"]])):
        assert cli.main([*line.format(here=here.name).split(), *more]) == 2, more
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert named in captured.err
        assert "is an input of this run and would be overwritten; choose another" in captured.err
        assert contents(here) == before


# A command line, one of its results, and the input that it results from.
RESULTS = {
    "segment": (segment, "a.png --scribbles strokes.png", "a-cutout.png"),
    "segment labels": (segment, "a.png --labels strokes.png", "a-object2.png"),
    "denoise": (denoise, "a.png", "a-restored.png"),
    "superpixels": (superpixels, "a.png --regions 9", "a-means.png"),
    "track": (track, "d.csv --search-range 2 --quiet", "d-trails.png"),
    "matching": (matching, "m.mtx --dulmage-mendelsohn", "m-blocks.npz"),
}


@pytest.mark.parametrize("case", RESULTS)
def test_only_own_results_are_replaced(here, capsys, case):
    program, line, result = RESULTS[case]
    arguments = [*line.split(), "--device", "cpu"]
    (here / "out").mkdir()
    foreign = here / "out" / result
    foreign.write_text("of another")
    assert program.main(arguments) == 2
    message = "already exists and was not created by an earlier run of cutmatch"
    captured = capsys.readouterr()
    assert f"'out/{result}' {message}" in captured.err
    assert "pass --overwrite" in captured.err
    assert [p.name for p in (here / "out").iterdir()] == [result], "checked before anything was written"
    assert foreign.read_text("utf-8") == "of another"

    assert program.main([*arguments, "--overwrite"]) == 0
    first = foreign.read_bytes()
    assert first != b"of another"
    assert program.main(arguments) == 0, "a command may replace its own results"
    if case != "matching":  # a .npz holds times
        assert foreign.read_bytes() == first
    shutil.rmtree(here / "out" / ".cutmatch")
    capsys.readouterr()
    assert program.main(arguments) == 2, "without its ledger it cannot know"
    assert message in capsys.readouterr().err


def test_results_of_another_command_or_input_are_kept(here, capsys):
    assert superpixels.main(["a.png", "--regions", "9"]) == 0
    assert segment.main(["a.png", "--labels", "strokes.png"]) == 2
    assert "'out/a-labels.png' already exists and was not created by" in capsys.readouterr().err
    Image.open("a.png").save("a.bmp")
    assert denoise.main(["a.png"]) == 0
    assert denoise.main(["a.bmp"]) == 2
    assert "'out/a-restored.png' already exists and was created from 'a.png'" in capsys.readouterr().err
    assert denoise.main(["a.bmp", "--overwrite"]) == 0
    assert denoise.main(["a.bmp"]) == 0
    assert denoise.main(["a.png"]) == 2


def test_all_previous_result_names_remain_in_the_ledger(here):
    for regions in ("9,4", "9", "9,4"):
        assert superpixels.main(["a.png", "--regions", regions]) == 0


def test_links_and_devices_are_not_own_results(here, capsys):
    assert denoise.main(["a.png"]) == 0
    result = here / "out" / "a-restored.png"
    (here / "victim").write_text("old")
    for plant in (lambda: result.symlink_to("../victim"), lambda: os.mkfifo(result)):
        result.unlink()
        plant()
        assert denoise.main(["a.png"]) == 2
        assert "was not created by an earlier run" in capsys.readouterr().err
    assert (here / "victim").read_text("utf-8") == "old"


def test_reports_are_recognised_by_their_content(here, capsys):
    (here / "r.json").write_text('{"a": [0, 0, 5, 5]}')
    for command in (["denoise", "a.png"], ["denoise", "a.png", "b.png"], ["info"], ["matching", "m.mtx"]):
        assert cli.main([*command, "--json", "r.json"]) == 2
        assert "--json: 'r.json' already exists and was not written by cutmatch" in capsys.readouterr().err
        assert json.loads((here / "r.json").read_text("utf-8")) == {"a": [0, 0, 5, 5]}
    assert cli.main(["denoise", "a.png", "--json", "r.json", "--overwrite"]) == 0
    for command in (["denoise", "a.png"], ["denoise", "a.png", "b.png"], ["info"], ["matching", "m.mtx"]):
        assert cli.main([*command, "--json", "r.json"]) == 0
    for text in ("[]", "", "[1]", "{}", "words", "[" * 100_000):
        (here / "r.json").write_text(text)
        assert cli.main(["info", "--json", "r.json"]) == 2
        assert (here / "r.json").read_text("utf-8") == text


def test_tables_named_by_options(here, capsys):
    for line in (
        "track d.csv --search-range 2 --quiet --table {}.csv",
        "track d.csv --search-range 2 --quiet --video {}.avi",
        "matching m.mtx --table {}.npy",
        "superpixels a.png --regions 9 --csv {}.csv",
        "superpixels a.png b.png --regions 9 --csv {}.csv",
    ):
        command = line.format("t").split()
        path = here / command[-1]
        path.write_text("of another")
        assert cli.main(command) == 2
        assert f"{command[-2]}: {command[-1]!r} already exists and was not written by" in capsys.readouterr().err
        assert path.read_text("utf-8") == "of another"
        path.unlink()
        assert cli.main(command) == 0
        assert cli.main(command) == 0, "its own"
        path.unlink()
        for folder in ("out", ".cutmatch"):
            shutil.rmtree(here / folder, ignore_errors=True)


def test_two_results_of_the_same_name(here, capsys):
    for line in (
        "superpixels a.png --regions 9 --csv out/r.csv --json out/r.json --out out",
        "track d.csv --search-range 2 --quiet --table out/t.csv --json out/t.json",
    ):
        assert cli.main(line.split()) == 0
    for line, both in (
        ("track d.csv --table r2.json --json ./r2.json", "'--json' and '--table'"),
        ("track d.csv --table out/d-tracks.json --json out/d-tracks.json", "'--json' and '--table'"),
    ):
        assert cli.main(line.split()) == 2
        assert both in capsys.readouterr().err
    assert denoise.main(["a.png", "./a.png"]) == 2
    assert "2 inputs are named 'a'" in capsys.readouterr().err


def test_images_of_one_name_in_separate_runs(here, capsys):
    """a.webp, a.bmp and a.avif would all be written to a-mask.png."""
    others = [f"a.{suffix}" for suffix in ("webp", "bmp", "avif")]
    for name in others:
        Image.open("a.png").save(name)
    box = ["--box", "2,2,9,9"]
    for program, how in ((denoise, []), (segment, box), (superpixels, ["--regions", "9"])):
        assert program.main([others[0], "--out", "mixed", *how]) == 0
        before = {path: path.read_bytes() for path in Path("mixed").glob("a-*")}
        for name in others[1:]:
            assert program.main([name, "--out", "mixed", *how]) == 2
            assert "already exists and was created from 'a.webp'; choose another folder" in capsys.readouterr().err
        assert before == {path: path.read_bytes() for path in Path("mixed").glob("a-*")}
        assert program.main([others[1], "--out", "mixed", "--overwrite", *how]) == 0
        for path in Path("mixed").glob("a-*"):
            path.unlink()


def test_results_in_the_input_folder_are_not_read_as_inputs(here, capsys):
    for name in ("strokes.png",):
        (here / name).rename(here / "strokes")
    for program, how in ((denoise, []), (segment, ["--box", "2,2,9,9"]), (superpixels, ["--regions", "9"])):
        for _ in range(3):
            assert program.main([".", "--out", ".", *how]) == 0
            assert "2 done, 0 failed" in capsys.readouterr().out
    images = sorted(p.name for p in here.glob("*.png"))
    kinds = ("cutout", "labels", "mask", "means", "outlines", "overlay", "restored")
    assert images == sorted(f"{n}{k}.png" for n in "ab" for k in ("", *(f"-{kind}" for kind in kinds)))
    assert denoise.main([".", "--out", ".", "--resume"]) == 0
    assert "0 done, 2 skipped, 0 failed" in capsys.readouterr().out
    assert denoise.main([".", "--out", "elsewhere"]) == 0
    assert "16 done" in capsys.readouterr().out, "another folder takes all of them"
    assert denoise.main(["elsewhere", "--out", "elsewhere"]) == 2
    assert "holds only results of earlier runs" in capsys.readouterr().err
    assert denoise.main(["a-restored.png", "--out", "."]) == 0, "an image that is named is done"


def test_results_among_frames_or_slices_are_rejected(here, capsys):
    (here / "frames").mkdir()
    for name in "ab":
        shutil.copy(f"{name}.png", here / "frames")
    before = contents(here)
    for line in (
        "track frames --out frames",
        "track frames --table frames/t.csv",
        "track frames --video frames/v.gif",
        "segment frames --volume --labels strokes.png --out frames",
    ):
        assert cli.main(line.split()) == 2
        assert "all of whose files are read as one input; choose another folder" in capsys.readouterr().err
    assert contents(here) == before


def test_flow_of_a_folder_into_itself(here, capsys):
    rng = np.random.default_rng(0)
    frame = np.repeat(np.repeat(rng.integers(0, 256, (20, 24), np.uint8), 4, 0), 4, 1)
    (here / "f").mkdir()
    for n in range(2):
        Image.fromarray(np.roll(frame, n, 1)).save(here / "f" / f"{n}.png")
    for _ in range(2):
        assert flow.main(["f", "--out", "f"]) == 0
        assert "1 done, 0 failed" in capsys.readouterr().out
    (here / "t").mkdir()
    write_flow(here / "t" / "0.flo", np.zeros((80, 96, 2), np.float32))
    assert flow.main(["f", "--out", "t", "--truth", "t"]) == 2
    assert "'t/0.flo' is an input of this run" in capsys.readouterr().err
    (here / "t" / "0.flo").unlink()
    assert flow.main(["f", "--out", "t"]) == 0
    before = contents(here / "t")
    assert flow.main(["f", "--out", "t", "--truth", "t"]) == 1, "its own, but read by this run"
    assert "'t/0.flo' is an input of this run" in capsys.readouterr().err
    assert contents(here / "t") == before


def test_pairs_check_both_folders(here, capsys):
    for folder in ("one", "two"):
        (here / folder).mkdir()
        shutil.copy("a.png", folder)
    shutil.copy("b.png", "two/a-valid.png")
    shutil.copy("b.png", "two/a-a-over.png")
    before = contents(here)
    for program in (stereo, match):
        assert program.main(["one", "two", "--out", "two", "--overwrite"]) == 2
        assert "is an input of this run" in capsys.readouterr().err
    assert contents(here) == before


# Commands for inputs of one name in the folders a and b, and one of their results.
SAME_NAMES = {
    "segment": ("segment {}/p.png --box 2,2,9,9", "p-mask.png"),
    "segment labels": ("segment {}/p.png --labels strokes.png", "p-object2.png"),
    "segment volume": ("segment {}/v.npy --labels seeds.npy", "v-labels.npy"),
    "segment clip": ("segment {}/c --clip --scribbles 0.png", "c-mask0000.png"),
    "denoise": ("denoise {}/p.png", "p-restored.png"),
    "superpixels": ("superpixels {}/p.png --regions 9", "p-labels.png"),
    "stereo": ("stereo {}/p.png b.png --max-disparity 2", "p-disparity.png"),
    "stereo right": ("stereo b.png {}/p.png --max-disparity 2", "b-disparity.png"),
    "flow": ("flow {}/f.png f.png", "f.flo"),
    "flow second": ("flow f.png {}/f.png", "f.flo"),
    "flow stack": ("flow {}/s.tif", "s-00000.flo"),
    "track": ("track {}/d.csv --search-range 2 --quiet", "d-tracks.csv"),
    "matching": ("matching {}/m.mtx", "m-pairs.csv"),
}


@pytest.fixture
def folders(here):
    """The folders a and b, with different inputs of the same names."""
    rng = np.random.default_rng(1)
    frame = rng.integers(0, 255, (20, 24), np.uint8).repeat(4, 0).repeat(4, 1)
    Image.fromarray(frame).save("f.png")
    shutil.copy("strokes.png", "0.png")
    np.save("seeds.npy", np.array(Image.open("strokes.png"))[None].repeat(4, 0))
    for shift, folder in enumerate("ab", 1):
        os.makedirs(f"{folder}/c")
        for name in ("p.png", "c/0.png", "c/1.png"):
            pixels = np.full((12, 16, 3), 60, np.uint8)
            pixels[3:9, 3:9] = 200
            Image.fromarray(pixels + rng.integers(0, 9, pixels.shape, np.uint8)).save(f"{folder}/{name}")
        frames = [np.roll(frame, n * shift, 1) for n in range(2)]
        Image.fromarray(frames[1]).save(f"{folder}/f.png")
        tifffile.imwrite(f"{folder}/s.tif", np.stack(frames), photometric="minisblack")
        np.save(f"{folder}/v.npy", pixels[None, ..., 0].repeat(4, 0) + rng.integers(0, 9, (4, 12, 16), np.uint8))
        shutil.copy("m.mtx", folder)
        (here / folder / "d.csv").write_text(f"{(here / 'd.csv').read_text()}2,{shift},1\n")
    return here


RARE = ("segment labels", "superpixels", "stereo", "flow", "flow second")  # others write in the same way


@pytest.mark.parametrize(("case", "how"), [
    *(pytest.param(case, [], marks=[pytest.mark.slow] * (case in RARE)) for case in SAME_NAMES),
    *(("denoise", [how]) for how in ("--no-record", "--resume")),
    pytest.param("denoise", ["--workers=99999999999999999999"], marks=pytest.mark.slow),
    *(pytest.param(case, ["--resume"], marks=pytest.mark.slow) for case in ("segment clip", "flow stack", "track")),
    ("stereo right", ["--resume"]),
])  # fmt: skip
def test_inputs_of_one_name_in_two_folders(folders, capsys, case, how):
    line, result = SAME_NAMES[case]

    def run(folder, *more):
        return cli.main([*line.format(folder).split(), *how, *more])

    assert run("a") == 0
    before = contents(folders / "out")
    capsys.readouterr()
    assert run("b") == (1 if how == ["--resume"] or case == "flow stack" else 2)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "already exists and was created from '" in error
    assert f"'a/{line.split('{}/')[1].split()[0]}'" in error
    assert contents(folders / "out") == before
    assert run("a", "--quiet") == 0, "its own"
    assert run("b", "--overwrite") == 0
    assert run("b") == 0
    assert run("a") != 0
    assert (folders / "out" / result).exists()


def test_a_record_of_another_input_is_found_before_results_of_other_names(folders, capsys):
    assert denoise.main(["a/p.png"]) == 0
    before = contents(folders / "out")
    assert denoise.main(["b/p.png", "--resume", "--format", "tif"]) == 1
    assert "p-denoise.json' already exists and was created from 'a/p.png'" in capsys.readouterr().err
    assert contents(folders / "out") == before
    assert denoise.main(["a/p.png"]) == 0


def test_an_input_that_was_edited_or_moved_with_its_results(folders, capsys, monkeypatch):
    assert denoise.main(["a/p.png"]) == 0
    shutil.copy("b/p.png", "a/p.png")
    assert denoise.main(["a/p.png"]) == 0, "edited in place"
    os.symlink("a", "link")
    assert denoise.main(["link/p.png", "--out", str(folders / "out")]) == 0, "another spelling"
    os.mkdir("moved")
    for name in ("a", "b", "out"):
        os.rename(name, f"moved/{name}")
    monkeypatch.chdir("moved")
    assert denoise.main(["a/p.png"]) == 0
    assert denoise.main(["b/p.png"]) == 2
    os.rename("a", "c")
    capsys.readouterr()
    assert denoise.main(["c/p.png"]) == 2
    assert "was created from 'a/p.png'; choose another folder, or pass --overwrite" in capsys.readouterr().err
    os.rename("c", "a")
    assert denoise.main(["a/p.png", "--resume"]) == 0
    os.rename("a", "c")
    assert denoise.main(["c/p.png", "--resume"]) == 0
    assert "1 skipped" in capsys.readouterr().out, "a finished item replaces nothing"


def test_runs_of_one_item_at_the_same_time(tmp_path):
    """Results of two runs are never mixed, and a run from another input is rejected."""
    chosen = Namespace(out=str(tmp_path / "out"), overwrite=False)

    def run(number):
        source, text = tmp_path / "ab"[number % 2] / "p.png", str(number)
        try:
            with one_item():
                for kinds in (("mask", "overlay"), ("record",)):
                    files = [tmp_path / "out" / f"p-{kind}" for kind in kinds]
                    claim(chosen, "segment", "p", source, files)
                    for path in files:
                        path.write_text(text)
                        time.sleep(0.001)
                return text, [path.read_text() for path in sorted((tmp_path / "out").glob("p-*"))]
        except InputError as error:
            return str(error), None

    for _ in range(20):
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(run, range(8)))
        done = [one for one in found if one[1] is not None]
        assert len(done) == 4, found
        assert all(texts == [text] * 3 for text, texts in done)
        assert all("was created from" in text for text, texts in found if texts is None)
        shutil.rmtree(tmp_path / "out")
