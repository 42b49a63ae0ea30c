"""Progress of batches: a bar on a terminal, nothing but seldom lines in a log."""

import io
import sys

import pytest

from apps import cli
from apps.many import progress
from apps.many.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def many(files):
    (files / "in").mkdir()
    for name in "abc":
        (files / "in" / f"{name}.png").write_bytes((files / "photo.png").read_bytes())
    return ["denoise", str(files / "in"), "--out", str(files / "out"), "--device", "cpu"]


def test_a_terminal_shows_a_bar(many, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert cli.main(many) == 0
    assert "3/3" in terminal.getvalue()


@pytest.mark.parametrize("more", [[], ["--workers", "2"]])
def test_a_log_stays_clean(many, capsys, more):
    assert cli.main([*many, *more]) == 0
    assert capsys.readouterr().err == ""


def test_a_log_gets_a_line_from_time_to_time(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    for quiet, total in ((False, 200), (True, 200), (False, None)):
        with Progress("denoise", "image", total, quiet) as shown:
            for _ in range(200):
                now[0] += 1
                shown.update()
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "cutmatch denoise: 60 of 200 (30 %) images finished",
        "cutmatch denoise: 120 of 200 (60 %) images finished",
        "cutmatch denoise: 180 of 200 (90 %) images finished",
        "cutmatch denoise: 60 images finished",
        "cutmatch denoise: 120 images finished",
        "cutmatch denoise: 180 images finished",
    ]


def test_tracking_shows_no_bar_in_a_log(tmp_path, capsys):
    rows = "".join(f"{t},{k}0,{t}\n" for t in range(5) for k in range(4))
    (tmp_path / "points.csv").write_text("frame,x,y\n" + rows)
    assert cli.main(["track", str(tmp_path / "points.csv"), "--search-range", "2", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err == ""
