"""The record beside each result: its content, its protection, and seconds that add up to the wall time."""

import hashlib
import json
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from apps import cli


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
    assert 0 < seconds["total"] <= wall
    assert found["certificate"]["checked"] is (case == "matching")
    assert all((here / "out" / file).is_file() for file in found["files"].values())
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


def test_batches_write_a_record_per_item(here, capsys):
    assert run("denoise photo.png next.png --workers 2 --json r.json --device cpu") == 0
    assert "; " in capsys.readouterr().out.splitlines()[-1]
    for name in ("photo", "next"):
        found = record(f"out/{name}-denoise.json")
        assert found["inputs"]["image"]["name"] == f"{name}.png"
    report = record("r.json")
    assert report["elapsed"] > max(image["elapsed"]["total"] for image in report["images"])
