"""Progress of batches: a bar on a terminal, nothing but seldom lines in a log."""

import io
import sys

import pytest

from apps import cli


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
