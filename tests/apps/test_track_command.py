"""`cutmatch track` on synthetic particles: output files, printed lines, and rejected input."""

import csv
import json

import cv2
import numpy as np
import pytest
from PIL import Image

from tests.apps.conftest import run_in

run = run_in("track")


@pytest.fixture
def files(tmp_path):
    """Nine particles that drift by (2, 1): frames/, stack.npy, detections.csv."""
    y, x = np.mgrid[:64, :80]
    grid = np.stack(np.meshgrid([12.0, 32, 52], [12.0, 30, 48]), axis=-1).reshape(-1, 2)
    rng = np.random.default_rng(0)
    stack, rows = [], ["Frame; X ; y;mass;colour"]
    for t in range(6):
        frame = np.full((64, 80), 60.0)
        for k, (px, py) in enumerate(grid + (2 * t, t)):
            frame += 120 * np.exp(-((x - px) ** 2 + (y - py) ** 2) / 4.5)
            rows.append(f"{t};{px};{py};{k + 0.5};red")
        stack.append(np.clip(frame + rng.normal(0, 2, frame.shape), 0, 255).astype(np.uint8))
    (tmp_path / "frames").mkdir()
    for t, frame in enumerate(stack):
        Image.fromarray(frame).save(tmp_path / "frames" / f"{t}.png")
    np.save(tmp_path / "stack.npy", np.stack(stack))
    (tmp_path / "detections.csv").write_text("\n".join(rows) + "\n\n")
    return tmp_path


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", ["frames", "stack.npy"])
def test_particles_in_frames(files, name, capsys):
    assert run(files, name, "--search-range", 5, "--json", files / "r.json") == 0
    stem = name.split(".")[0]
    assert sorted(p.name for p in (files / "out").glob("[!.]*")) == [
        f"{stem}-{kind}" for kind in ("track.json", "tracks.csv", "trails.png")
    ]
    rows = read(files / "out" / f"{stem}-tracks.csv")
    assert list(rows[0]) == ["track", "frame", "x", "y", "mass", "link_margin"]
    assert len(rows) == 54
    for k in range(9):
        path = np.array([[float(r["x"]), float(r["y"])] for r in rows if r["track"] == str(k)])
        assert np.abs(np.diff(path, axis=0) - (2, 1)).max() < 0.3
    assert [r["link_margin"] for r in rows].count("") == 9
    report = json.loads((files / "r.json").read_text("utf-8"))
    assert (report["tracks"], report["links"], report["mean_length"]) == (9, 45, 6.0)
    assert report["detector"]["kind"] == "bright"
    assert report["frames"] == 6
    figure = np.array(Image.open(files / "out" / f"{stem}-trails.png"))
    assert figure.shape == (640, 640 * 80 // 64, 3) or figure.shape[0] % 64 == 0
    assert (np.ptp(figure.astype(int), axis=2) > 60).any(), "no coloured trails"
    assert (figure[-1, :40] == 255).all(), "the scale is in the lower left corner"
    captured = capsys.readouterr()
    assert "54 points in 6 frames, 9 tracks, 45 links" in captured.out
    assert captured.out.count("\n") == 1


def test_detections_from_a_table(files, capsys):
    assert run(files, "detections.csv", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["tracks"], report["detector"]) == (9, None)
    assert report["search_range"] == 9  # half of 18
    with open(files / "out" / "detections-tracks.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["track", "frame", "x", "y", "mass", "colour", "link_margin"]
    assert {row["colour"] for row in rows} == {"red"}
    assert [float(row["mass"]) for row in rows] == [k + 0.5 for k in range(9) for _ in range(6)]
    assert [row["link_margin"] for row in rows].count("") == 9


@pytest.mark.parametrize("suffix", [".mp4", ".avi", ".gif"])
def test_video(files, suffix):
    path = files / "deep" / f"trails{suffix}"
    assert run(files, "frames", "--quiet", "--video", path, "--tail", 3) == 0
    assert [p.name for p in path.parent.glob("[!.]*")] == [path.name]
    if suffix == ".gif":
        with Image.open(path) as image:
            assert image.n_frames == 6
    else:
        video = cv2.VideoCapture(str(path))
        assert sum(1 for _ in iter(lambda: video.read()[0], False)) == 6


def test_given_points_are_followed(tmp_path, capsys):
    import skimage.data

    photo = skimage.data.astronaut()
    (tmp_path / "frames").mkdir()
    for t in range(3):
        Image.fromarray(photo[100 + 2 * t :][:160, 200 - 4 * t :][:, :200]).save(tmp_path / "frames" / f"{t}.png")
    (tmp_path / "points.csv").write_text("x,y,name\n60,80,a\n120.5,60,b\n198,100,c\n")
    assert run(tmp_path, "frames", "--points", "points.csv", "--json", tmp_path / "r.json") == 0
    assert "3 points in 3 frames, in the last 2 seen, 0 occluded, 1 left, 0 lost" in capsys.readouterr().out
    rows = read(tmp_path / "out" / "frames-tracks.csv")
    assert list(rows[0]) == ["track", "frame", "x", "y", "state", "confidence", "link_margin"]
    last = [row for row in rows if row["frame"] == "2"]
    assert np.allclose([[float(row["x"]), float(row["y"])] for row in last], [[68, 76], [128.5, 56]], atol=0.5)
    assert (tmp_path / "out" / "frames-trails.png").exists()
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["last_states"]["left"] == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["frames", "--points", "points.csv", "--search-range", 5], "--points are neither detected nor linked"),
        (["detections.csv", "--points", "points.csv"], "--points are followed through frames"),
        (["frames", "--points", "outside.csv"], "outside the first frame"),
        (["frames", "--points", "missing.csv"], "--points: no file"),
    ],
)
def test_points_that_cannot_be_followed(files, line, message, capsys):
    (files / "points.csv").write_text("x,y\n10,10\n")
    (files / "outside.csv").write_text("x,y\n1000,10\n")
    assert run(files, *line) == 2
    assert message in capsys.readouterr().err
