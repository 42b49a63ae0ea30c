"""The record beside each result: its content, its protection, and seconds that add up to the wall time."""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from apps import cli
from apps.common import clock
from apps.common.clock import Clock, charge, phases, shown_seconds, timed, whole_clock
from apps.many.result_record import inputs_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def here(files, monkeypatch):
    monkeypatch.chdir(files)
    grey = np.array(Image.open("photo.png").convert("L"))
    Image.fromarray(np.roll(grey, 1, axis=1)).save("next.png")
    return files


def run(line):
    return cli.main(line.split())


def record(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


COMMANDS = {
    "segment": ("segment photo.png --strokes strokes.png", "photo-segment.json"),
    "labels": ("segment photo.png --label-strokes strokes.png", "photo-segment.json"),
    "refine": ("refine photo.png strokes.png --kind labels", "photo-refine.json"),
    "denoise": ("denoise photo.png", "photo-denoise.json"),
    "superpixels": ("superpixels photo.png --regions 30,9", "photo-superpixels.json"),
    "stereo": ("stereo photo.png photo.png --max-disparity 3", "photo-stereo.json"),
    "track": ("track points.csv --search-range 2", "points-track.json"),
    "matching": ("matching graph.mtx", "graph-matching.json"),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_every_command_writes_a_record(here, capsys, case):
    line, name = COMMANDS[case]
    Path("points.csv").write_text(
        "frame,x,y\n" + "".join(f"{t},{k}0,{t}\n" for t in range(3) for k in range(4)), encoding="utf-8"
    )
    Path("graph.mtx").write_text(
        "%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n1 2\n2 2\n", encoding="utf-8"
    )
    start = time.perf_counter()
    assert run(f"{line} --device cpu") == 0
    wall = time.perf_counter() - start
    assert "s in total" in capsys.readouterr().out
    found = record(f"out/{name}")
    assert found["command"] == line.split()[0]
    assert {"cutmatch", "numba", "numpy", "opencv-python-headless"} <= set(found["versions"])
    assert found["options"]["device"] == found["device"] == "cpu"
    assert found["options"]["out"] == "out"
    assert "many" not in found["options"], "only what the user can set"
    seconds = found["seconds"]
    assert seconds["total"] == pytest.approx(sum(seconds[p] for p in seconds if p != "total"), abs=1e-6)
    assert 0 < seconds["total"] <= wall
    assert found["certificate"]["checked"] is (case == "matching")
    for files in [found["files"], *(level["files"] for level in found["result"].get("levels", ()))]:
        assert all((here / "out" / file).is_file() for file in files.values())
    main = next(iter(found["inputs"].values()))
    content = (here / line.split()[1]).read_bytes()
    assert main == {
        "name": line.split()[1],
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def test_content_for_segment(here):
    assert run("segment photo.png --strokes strokes.png --truth truth.png --min-area 5 --device cpu --quiet") == 0
    found = record("out/photo-segment.json")
    assert set(found["inputs"]) == {"image", "strokes", "truth"}
    assert (found["options"]["min_area"], found["options"]["spacing"]) == (5, None)
    assert found["options"]["box"] is None
    assert found["method"] == "ibfs"
    assert found["energy"] == found["result"]["energies"][-1]
    assert found["result"]["truth"]["iou_percent"] > 90
    assert found["files"]["mask"] == "photo-mask.png"
    phases = set(found["seconds"])
    assert {"import", "read", "strokes", "colours", "cuts", "matte", "figures", "write", "scores", "total"} <= phases


def test_no_record(here, capsys):
    assert run("denoise photo.png --no-record --json r.json --device cpu") == 0
    assert [p.name for p in Path("out").glob("*.json")] == []
    report = record("r.json")
    assert report["files"].keys() == {"restored"}
    assert report["elapsed"]["total"] > report["seconds"]["total"]


def test_a_record_is_protected_like_other_results(here, capsys):
    Path("out").mkdir()
    foreign = Path("out/photo-denoise.json")
    foreign.write_text("of another", encoding="utf-8")
    assert run("denoise photo.png --device cpu") == 2
    assert "'out/photo-denoise.json' already exists; choose" in capsys.readouterr().err
    assert os.listdir("out") == ["photo-denoise.json"], "checked before anything was written"
    assert foreign.read_text(encoding="utf-8") == "of another"
    assert run("denoise photo.png --device cpu --no-record") == 0
    assert foreign.read_text(encoding="utf-8") == "of another"
    assert run("denoise photo.png --device cpu --overwrite") == 0


def test_json_cannot_overwrite_the_record(here, capsys):
    assert run("denoise photo.png --device cpu --json out/photo-denoise.json") == 2
    assert "would be written for both" in capsys.readouterr().err


def test_batches_write_a_record_per_item(here, capsys):
    assert run("denoise photo.png next.png --workers 2 --json r.json --device cpu") == 0
    assert "; " in capsys.readouterr().out.splitlines()[-1]
    for name in ("photo", "next"):
        found = record(f"out/{name}-denoise.json")
        assert found["inputs"]["image"]["name"] == f"{name}.png"
        assert "start" not in found["seconds"], "the time of the process is not that of one of its items"
    report = record("r.json")
    assert report["elapsed"] > max(image["elapsed"]["total"] for image in report["images"])


def test_resume_verifies_the_record(here, capsys):
    line = "denoise photo.png next.png --resume --device cpu --json r.json --quiet"

    def skipped(more=""):
        assert run(f"{line} {more}") == 0
        return record("r.json")["skipped"]

    assert skipped("--no-record") == []
    assert skipped("--no-record") == ["photo.png", "next.png"]
    assert skipped() == [], "an item without its record is not finished"
    before = {path: path.read_bytes() for path in Path("out").glob("*.png")}
    assert skipped() == skipped("--no-record") == ["photo.png", "next.png"]
    assert skipped("--report page.html") == ["photo.png", "next.png"]
    assert before == {path: path.read_bytes() for path in Path("out").glob("*.png")}
    Path("out/photo-denoise.json").write_text("{}", encoding="utf-8")
    assert skipped() == ["next.png"]
    assert record("out/photo-denoise.json")["command"] == "denoise"


def test_an_unwritable_record_is_one_error(here, capsys):
    Path("out/photo-denoise.json").mkdir(parents=True)
    assert run("denoise photo.png --device cpu") == 2
    assert "photo-denoise.json' (it is a folder)" in capsys.readouterr().err
    assert not Path("out/photo-restored.png").exists()


def test_a_folder_has_the_digest_of_sha256sum(tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    for name in ("b", "a", ".hidden"):
        (folder / name).write_text(name)
    facts = inputs_of(folder)["file"]
    listing = subprocess.run("sha256sum * | sha256sum", shell=True, cwd=folder, capture_output=True, text=True).stdout
    assert facts == {"name": "frames", "files": 2, "bytes": 2, "sha256": listing.split()[0]}
    assert inputs_of(tmp_path / "gone")["file"] == {"name": "gone"}


def test_frames_of_a_video_have_digests(here):
    rng = np.random.default_rng(0)
    ground = rng.integers(0, 255, (40, 60), np.uint8).repeat(2, 0).repeat(2, 1)
    np.save("clip.npy", np.stack([np.roll(ground, t, axis=1) for t in range(2)]))
    assert run("flow clip.npy --device cpu --quiet") == 0
    inputs = record("out/clip-00000-flow.json")["inputs"]
    assert inputs["first"]["name"] == inputs["second"]["name"] == "clip.npy"
    assert inputs["first"]["shape"][:2] == [80, 120]
    assert inputs["first"]["sha256"] != inputs["second"]["sha256"]


def test_the_whole_process_is_timed(here):
    code = "import sys, time; time.sleep(0.5); from apps import cli; sys.exit(cli.main(sys.argv[1:]))"
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *"denoise photo.png --device cpu".split()],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    wall = time.perf_counter() - start
    assert done.returncode == 0, done.stderr
    seconds = record("out/photo-denoise.json")["seconds"]
    assert 0.5 < seconds["start"] < seconds["total"] <= wall
    printed = float(done.stdout.rsplit("; ", 1)[1].removesuffix(" s in total\n"))
    assert seconds["total"] <= printed + 0.01
    assert printed <= wall + 0.01


def test_phases_are_disjoint():
    with whole_clock() as whole:
        time.sleep(0.02)
        charge("first")
        method = Clock()
        time.sleep(0.03)
        with timed("inside"):
            time.sleep(0.05)
            with timed("innermost"):
                time.sleep(0.04)
        method.charge("method")
        time.sleep(0.02)
        seconds = phases(whole)
    assert seconds["total"] == pytest.approx(sum(seconds[p] for p in seconds if p != "total"))
    expected = {"first": 0.02, "inside": 0.05, "innermost": 0.04, "other": 0.02}
    assert all(seconds[phase] >= least for phase, least in expected.items())
    assert 0.03 <= seconds["method"] < seconds["total"] - sum(expected.values()) + 0.001
    assert method.seconds["method"] >= 0.12, "a method's own clock contains what it calls"


def test_time_of_other_threads_is_not_charged():
    from concurrent.futures import ThreadPoolExecutor

    with whole_clock() as whole, ThreadPoolExecutor(1) as pool:
        pool.submit(charge, "elsewhere").result()
        assert "elsewhere" not in phases(whole)
    charge("nowhere")  # outside any command


def test_compile_time_is_apart():
    import numba

    with whole_clock() as whole:
        charge("import")
        method = Clock()
        twice = numba.njit(lambda x: 2 * x + 1)
        assert numba.njit(lambda x: twice(x) + 3)(1) == 6
        method.charge("solve")
        seconds = phases(whole)
    own = method.total()
    assert own["compile"] > own["solve"], "compiling takes longer than one call"
    assert seconds["compile"] == pytest.approx(own["compile"], abs=1e-3)
    assert own["compile"] + own["solve"] <= own["total"]
    assert shown_seconds(own) == f"{own['total'] - own['compile']:.2f} s ({own['compile']:.2f} s compiling)"
    assert shown_seconds({"detect": 1.0, "link": 0.25}) == "1.25 s"


def test_age_of_a_process(monkeypatch):
    assert 0 < clock.process_age() < 10_000
    monkeypatch.setattr(sys, "argv", ["cutmatch", "denoise", "a.png"])
    assert clock.command_age(["a.png"]) == pytest.approx(clock.process_age(), abs=1)
    assert clock.command_age(["other.png"]) == 0, "called from a program that did more"
