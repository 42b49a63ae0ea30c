"""Each command on a 32 x 32 image: its files, its output, and its messages for bad input."""

import io
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from apps import cli, demo
from apps.common import clock
from apps.segmentation import segment_command as segment


def run(files, *arguments, image="photo.png"):
    return segment.main([str(files / image), "--out", str(files / "out"), *map(str, arguments)])


def test_writes_mask_overlay_and_cutout(files, scene, capsys):
    status = run(
        files,
        "--strokes",
        files / "strokes.png",
        "--truth",
        files / "truth.png",
        "--json",
        files / "r.json",
    )
    assert status == 0
    mask = np.array(Image.open(files / "out" / "photo-mask.png"))
    assert set(np.unique(mask)) == {0, 255}
    assert ((mask == 255) == scene.truth).mean() > 0.97
    assert np.array(Image.open(files / "out" / "photo-overlay.png")).shape == (32, 32, 3)
    cutout = np.array(Image.open(files / "out" / "photo-cutout.png"))
    assert cutout.shape == (32, 32, 4)
    assert cutout[16, 15, 3] == 255
    assert cutout[0, 0].tolist() == [0, 0, 0, 0]
    assert sorted(p.name for p in (files / "out").glob("[!.]*")) == [
        "photo-cutout.png",
        "photo-mask.png",
        "photo-overlay.png",
        "photo-segment.json",
        "photo-strokes.png",
    ]
    report = json.loads((files / "r.json").read_text("utf-8"))
    assert report["object_pixels"] == (mask == 255).sum()
    assert report["truth"]["iou_percent"] > 93
    assert report["truth"]["error_percent"] < 3
    energies = report["energies"]
    assert all(a >= b for a, b in zip(energies, energies[1:], strict=False))
    assert "IoU" in capsys.readouterr().out


def test_demo(tmp_path, monkeypatch, capsys):
    shown = [line for line in demo.LINES if line.split()[0] in ("superpixels", "denoise")]
    monkeypatch.setattr(demo, "LINES", shown)
    for _ in range(2):
        assert cli.main(["demo", "--out", str(tmp_path), "--threads", "1"]) == 0
        printed = capsys.readouterr().out
    assert all(f"cutmatch {line}" in printed for line in shown)
    assert printed.count(" s -> ") == 2
    assert (tmp_path / "chelsea-outlines.png").exists()
    (tmp_path / "coffee-noisy-restored.png").write_bytes(b"of another")
    assert cli.main(["demo", "--out", str(tmp_path), "--threads", "1", "--quiet"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "coffee-noisy-restored.png' already exists" in captured.err


def test_demo_samples_are_those_of_data(tmp_path, capsys):
    folder, data = tmp_path / "samples", Path(__file__).resolve().parents[2] / "data"
    assert cli.main(["demo", "--samples", str(folder)]) == 0
    contents = [
        {path.relative_to(top): path.read_bytes() for path in top.rglob("*") if path.is_file()}
        for top in (folder, data)
    ]
    assert contents[0] == contents[1]
    assert f"{len(contents[0])} files in" in capsys.readouterr().out
    assert sum(map(len, contents[0].values())) < 4_000_000


def test_info(capsys):
    assert cli.main(["info"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^numba +\d", printed, re.MULTILINE)
    assert re.search(r"^gpu +(none|\S.* GiB, driver \S)", printed, re.MULTILINE)
    assert cli.main(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["numba"] in printed


def test_command_line(capsys):
    assert cli.main(["--help"]) == 0
    assert "cutmatch segment" in capsys.readouterr().out
    assert cli.main([]) == 2
    assert cli.main(["fly"]) == 2
    assert "no command 'fly'" in capsys.readouterr().err
    assert cli.main(["segmnt"]) == 2
    assert "did you mean segment?" in capsys.readouterr().err
    assert cli.main(["segment", "gone.png", "--box", "1,1,5,5"]) == 2
    for name in cli.COMMANDS:
        with pytest.raises(SystemExit) as stop:
            cli.main([name, "--help"])
        assert stop.value.code == 0


def test_importing_the_commands_is_light():
    """Help and errors must not load image libraries or compilers."""
    imports = ", ".join(("apps.cli", *cli.COMMANDS.values()))
    code = f"import sys, {imports}; print([m for m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numba", "cv2", "skimage", "matplotlib", "scipy"):
        assert f"'{heavy}'" not in loaded


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_elapsed_time_is_shown_on_a_terminal(monkeypatch):
    monkeypatch.setattr(clock, "DISPLAY_DELAY", 0.01)
    for stream, quiet, shows in ((Terminal(), False, True), (Terminal(), True, False), (io.StringIO(), False, False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with clock.elapsed_display(quiet):
            deadline = time.monotonic() + 5 * shows
            while "working, 00:00" not in stream.getvalue() and time.monotonic() < deadline:
                time.sleep(0.01)
        assert ("working, 00:00" in stream.getvalue()) == shows


def test_a_batch_has_a_bar_on_a_terminal_and_none_in_a_log(files, monkeypatch, capsys):
    for name in "abc":
        (files / "in").mkdir(exist_ok=True)
        (files / "in" / f"{name}.png").write_bytes((files / "photo.png").read_bytes())
    line = ["denoise", str(files / "in"), "--out", str(files / "out"), "--device", "cpu"]
    for more in ([], ["--workers", "2"]):
        assert cli.main([*line, *more]) == 0
        assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert cli.main(line) == 0
    assert "3/3" in terminal.getvalue()
