"""The benchmarks of the image programs, whole on tiny data, and without any."""

import json

import numpy as np
import pytest
from PIL import Image

from benchmarks import (
    flow,
    flow_clip,
    follow,
    interactive,
    interactive_latency,
    superpixels,
    track,
    track_identities,
)
from benchmarks import refine as refine_benchmark
from benchmarks.__main__ import main
from tests.apps.conftest import texture
from tests.apps.flow_samples import write_flow

pytestmark = pytest.mark.filterwarnings("ignore")


def textures(shift):
    wide = texture((110, 130, 3))
    return wide[10:90, 10:110], wide[10 - shift[1] : 90 - shift[1], 10 - shift[0] : 110 - shift[0]]


@pytest.fixture
def photos(scene, tmp_path):
    """The scene as the only image of both sets of photographs."""
    truth = np.uint8(255) * scene.truth.astype(np.uint8)
    folders = {"grabcut": {"images": scene.image, "gt": truth, "scribbles2": scene.strokes, "seeds": scene.strokes}}
    folders["coopcuts"] = {"images": scene.image, "groundtruth": truth, "seeds": scene.strokes}
    for kind, images in folders.items():
        for name, pixels in images.items():
            (tmp_path / kind / name).mkdir(parents=True)
            Image.fromarray(pixels).save(tmp_path / kind / name / "a.png")
    (tmp_path / "grabcut" / "boxes.json").write_text(json.dumps({"a": {"tight": [6, 7, 24, 25]}}))
    return tmp_path


def rows_of(line, capsys, first=""):
    assert main([str(word) for word in line]) == 0
    printed = capsys.readouterr().out
    return [[c.strip() for c in row.split("|")[1:]] for row in printed.splitlines() if row.startswith(f"| {first}")]


@pytest.mark.parametrize("name", ["flow", "interactive", "refine", "segment", "superpixels"])
def test_skips_without_data(name, capsys, monkeypatch):
    for variable in ("CUTMATCH_DATA", "CUTMATCH_FLOW_DATA"):
        monkeypatch.delenv(variable, raising=False)
    assert main([name, "--data", "gone"]) == main([name]) == 0
    printed = capsys.readouterr().out
    assert "skipped, no folder 'gone'" in printed
    assert "skipped, no folder given" in printed


@pytest.mark.parametrize(
    ("line", "first", "methods"),
    [
        ("segment --kinds 'strokes, set 2' --quick", "strokes", {"cutmatch", "cv2.grabCut"}),
        ("superpixels --regions 20", "grabcut", set(superpixels.METHODS)),
        ("refine", "photographs", {"16"}),
    ],
)
def test_tables_of_photographs(photos, line, first, methods, capsys, monkeypatch):
    monkeypatch.setattr(refine_benchmark, "SIZES", (16,))
    words = line.replace("'strokes, set 2'", "strokes,_set_2").split()
    rows = rows_of([word.replace("_", " ") for word in words] + ["--data", photos], capsys, first)
    assert {row[1] for row in rows} >= methods


def test_flow(tmp_path, capsys):
    folder = tmp_path / "middlebury" / "Texture"
    folder.mkdir(parents=True)
    for name, frame in zip(("frame10", "frame11"), textures((4, -2)), strict=True):
        Image.fromarray(frame).save(folder / f"{name}.png")
    write_flow(folder / "flow10.flo", np.full((80, 100, 2), (4, -2), np.float32))
    rows = rows_of(["flow", "--data", tmp_path, "--repeats", 1, "--clip", 0], capsys, "Middlebury")
    assert {row[1] for row in rows} >= {*flow.DENSE, *flow.SPARSE}
    assert next(float(row[3]) for row in rows if row[1] == "cutmatch") < 0.3


@pytest.mark.slow
def test_flow_of_a_clip(monkeypatch):
    monkeypatch.setattr(flow_clip, "HEIGHT", 120)
    monkeypatch.setattr(flow_clip, "WIDTH", 160)
    rows = [line.strip("|").split("|") for line in flow_clip.clip_table(3).splitlines() if "|" in line]
    alone, sequence, *_ = [float(row[1]) for row in rows[2:]]
    assert alone == sequence < 2


@pytest.mark.slow
def test_follow(monkeypatch, capsys):
    monkeypatch.setattr(follow, "CLIPS", {"3 frames": (3, 1)})
    rows = rows_of(["follow", "--points", 100], capsys, "3 frames")
    assert [row[2] for row in rows] == [*follow.METHODS] * 2
    assert float(rows[0][3]) > 90


def test_stereo(tmp_path, capsys):
    left, right = textures((-4, 0))
    (tmp_path / "Made").mkdir()
    for name, pixels in (("left", left), ("right", right), ("truth-8", np.full((80, 100), 32, np.uint8))):
        Image.fromarray(pixels).save(tmp_path / "Made" / f"{name}.png")
    rows = rows_of(["stereo", "--data", tmp_path, "--no-sample", "--repeats", 1], capsys, "Made")
    assert len(rows) > 1


def test_track(monkeypatch, capsys):
    monkeypatch.setattr(track, "COUNTS", (5,))
    for name, value in {"COUNT": 40, "FRAMES": 12, "SEEDS": 1, "SPACINGS": (8.0,), "FAULTS": ((0.1, 0.1),)}.items():
        monkeypatch.setattr(track_identities, name, value)
    rows = rows_of(["track", "--frames", 6, "--side", 128, "--repeats", 1], capsys)
    assert [row[3] for row in rows[-2 - ("trackpy" in rows[-1]) :]][:2] == ["cutmatch", "cutmatch --global"]


@pytest.mark.parametrize("strokes", [False, True])
@pytest.mark.parametrize("name", ["session", "segment"])
def test_interactive(name, strokes):
    truth = np.zeros((60, 100), np.uint8)
    truth[20:40, 10:90] = 255
    image = np.where(truth[..., None] > 0, (0.8, 0.5, 0.2), 0.3).astype(np.float32)
    history = interactive.clicks(interactive.METHODS[name], image, truth, True, strokes)
    assert len(history) <= 2
    assert history[-1][0] > 0.9


@pytest.mark.parametrize("shape", [(60, 80), (12, 12, 12)], ids=["image", "volume"])
def test_latencies_of_strokes(shape):
    found = interactive_latency.measure(shape, 4)
    assert 0 < found["answer"] <= found["complete"]
