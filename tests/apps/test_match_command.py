"""`cutmatch match` on a photograph and its warp: output files, printed lines, and rejected input."""

import csv
import json
import re

import cv2
import numpy as np
import pytest
import skimage.data
from PIL import Image

from apps.point_matching import match_command as match
from tests.apps.conftest import run_in

run = run_in("match")

SLANT = np.array([[0.9, -0.15, 20.0], [0.1, 0.95, -5], [3e-4, 0, 1]])


@pytest.fixture
def files(tmp_path):
    """photo.png, its warp seen.png, the homography as text, and images that cannot be matched."""
    photo = skimage.data.astronaut()[:240, 100:400]
    Image.fromarray(photo).save(tmp_path / "photo.png")
    Image.fromarray(cv2.warpPerspective(photo, SLANT, (280, 220))).save(tmp_path / "seen.png")
    (tmp_path / "truth.txt").write_text("\n".join(" ".join(map(str, row)) for row in SLANT))
    return tmp_path


def test_homography(files, capsys):
    assert run(files, "photo.png", "seen.png", "--truth", files / "truth.txt", "--json", files / "r.json") == 0
    names = ["match.json", "matches.csv", "matches.png", "matrix.txt", "over.png"]
    assert sorted(p.name for p in (files / "out").glob("[!.]*")) == [f"photo-seen-{name}" for name in names]
    report = json.loads((files / "r.json").read_text("utf-8"))
    matrix = files / "out" / "photo-seen-matrix.txt"
    np.testing.assert_array_equal(np.loadtxt(matrix), report["matrix"])
    assert "homography: maps (x, y, 1) of the first image" in matrix.read_text("utf-8")
    with open(files / "out" / "photo-seen-matches.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["x0", "y0", "x1", "y1", "cost", "margin", "confidence", "residual"]
    for row in rows:
        x, y, w = np.array(report["matrix"]) @ (float(row["x0"]), float(row["y0"]), 1)
        off = np.hypot(x / w - float(row["x1"]), y / w - float(row["y1"]))
        assert off == pytest.approx(float(row["residual"]), abs=1e-5)
    assert report["matches"] == len(rows)
    assert report["model"] == "homography"
    assert np.abs(np.array(report["matrix"]) - SLANT).max() < 1.5
    assert report["matrix"][2][2] == 1
    assert report["truth"]["corner_error"] < 1
    assert report["truth"]["right_percent"] > 97
    assert report["truth"]["right"] <= report["matches"]
    assert 0 < report["first_inliers"] <= report["first_matches"]
    figure = np.array(Image.open(files / "out" / "photo-seen-matches.png"))
    assert figure.shape == (240, 300 + 8 + 280, 3)
    over = np.array(Image.open(files / "out" / "photo-seen-over.png"))
    photo = np.array(Image.open(files / "photo.png"))
    assert over.shape[1] == photo.shape[1]
    assert (over[-1] == 255).all(), "a note below"
    assert np.median(np.abs(over[60:180, 80:220].astype(int) - photo[60:180, 80:220])) < 3
    out = capsys.readouterr().out
    assert re.search(r"homography, \d+ of \d+ first matches are inliers", out)
    assert "corner error" in out


def test_fundamental_matrix_as_json(files, capsys):
    left, right, _ = skimage.data.stereo_motorcycle()
    Image.fromarray(left[100:, :]).save(files / "left.png")
    Image.fromarray(right[100:, :]).save(files / "right.png")
    assert run(files, "left.png", "right.png", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["model"] == "fundamental"
    assert not (files / "out" / "left-right-over.png").exists()
    np.testing.assert_array_equal(np.loadtxt(files / "out" / "left-right-matrix.txt"), report["matrix"])
    table = np.genfromtxt(files / "out" / "left-right-matches.csv", delimiter=",", names=True)
    points = [
        np.column_stack([table[x], table[y], np.ones(report["matches"])]) for x, y in (("x0", "y0"), ("x1", "y1"))
    ]
    matrix = np.array(report["matrix"])
    lines = points[0] @ matrix.T
    off = np.abs((points[1] * lines).sum(axis=1)) / np.linalg.norm(lines[:, :2], axis=1)
    assert np.median(off) < 0.5
    assert run(files, "left.png", "right.png", "--quiet", "--model", "homography", "--json", files / "r.json") == 0
    assert json.loads((files / "r.json").read_text("utf-8"))["model"] == "homography"


def test_the_matrix_is_a_truth(files):
    assert run(files, "photo.png", "photo.png", "--quiet") == 0
    matrix = files / "out" / "photo-photo-matrix.txt"
    assert np.abs(np.loadtxt(matrix) - np.eye(3)).max() < 0.01
    again = ["--truth", matrix, "--quiet", "--json", files / "r.json", "--out", files / "again"]
    assert match.main([str(files / "photo.png")] * 2 + list(map(str, again))) == 0
    assert json.loads((files / "r.json").read_text("utf-8"))["truth"]["corner_error"] == 0
