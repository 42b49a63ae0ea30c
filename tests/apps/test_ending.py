"""The end of a command: a one-line message and the right exit status, also with closed, broken and full streams."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from apps.common.errors import OutputError, ending
from apps.denoising import denoise_command as denoise
from gridcut.device import CertificateError
from tests.tiers import in_quick_tier

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
ENVIRONMENT["PYTHONPATH"] = str(ROOT)


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p").mkdir()
    for name in ("a", "b"):
        Image.fromarray(np.full((8, 9), 90, np.uint8)).save(tmp_path / "p" / f"{name}.png")
    (tmp_path / "p" / "c.png").touch()
    return tmp_path


def shell(line, **more):
    command = line.replace("cutmatch", f"{sys.executable} -m apps.cli")
    how = {"capture_output": True, "timeout": 300, "env": ENVIRONMENT | more}
    return subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], **how)


@pytest.mark.parametrize(
    ("error", "line", "status"),
    [
        (CertificateError("flow 3 is not 4"), "this is a defect in cutmatch, please report it: flow 3 is not 4", 70),
        (KeyError("x"), "this is a defect in cutmatch, please report it: KeyError: 'x' (tests/apps/", 70),
        (RecursionError("too deep"), "this is a defect in cutmatch, please report it: too deep (tests", 70),
        (RuntimeError("no GPU here"), "no GPU here", 2),
        (MemoryError(), "out of memory; use a smaller image", 2),
        (MemoryError("needs 9 GiB; use blocks"), "needs 9 GiB; use blocks", 2),
        (PermissionError(13, "Permission denied", "f"), "cannot use 'f' (Permission denied)", 2),
        (IsADirectoryError(21, "Is a directory", b"f"), "cannot use 'f' (Is a directory)", 2),
        (OSError(28, "No space left on device"), "cannot use a file (No space left on device)", 1),
        (OutputError("--out: full", 1), "--out: full", 1),
        (KeyboardInterrupt(), "stopped", 130),
    ],
)
def test_every_error_is_one_line_and_a_status(error, line, status, capsys):
    with ending("cutmatch test") as end:
        raise error
    assert end.status == status
    captured = capsys.readouterr().err
    assert captured.startswith(f"cutmatch test: {line}")
    assert captured.count("\n") == 1


def test_a_traceback_on_request(capsys, monkeypatch):
    monkeypatch.setenv("CUTMATCH_TRACEBACK", "1")
    with ending("cutmatch test") as end:
        {}["x"]
    assert end.status == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--resume"]])
def test_a_result_that_fails_its_certificate(photos, capsys, monkeypatch, more):
    """In a batch the other items are finished; the status of a defect overrides that of a failed input."""
    work = denoise._denoise_one

    def fails(job, chosen):
        if job.image.stem == "a":
            raise CertificateError("the cut is not minimal")
        return work(job, chosen)

    monkeypatch.setattr(denoise, "_denoise_one", fails)
    assert denoise.main(["p", *more]) == 70
    captured = capsys.readouterr()
    assert "p/a.png: this is a defect in cutmatch, please report it: the cut is not minimal" in captured.err
    assert "1 done, " in captured.out
    assert "2 failed" in captured.out


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("cutmatch info | true", 0),
        pytest.param("cutmatch --help | true", 0, marks=pytest.mark.slow),
        pytest.param("cutmatch denoise --help | true", 0, marks=pytest.mark.slow),
        pytest.param("cutmatch denoise p/a.png --quiet | true", 0, marks=pytest.mark.slow),
        ("cutmatch denoise p --json r.json | true", 1),
        pytest.param("cutmatch nothing 2>&1 | true", 2, marks=pytest.mark.slow),
        pytest.param("cutmatch denoise --nothing 2>&1 | true", 2, marks=pytest.mark.slow),
        pytest.param("cutmatch denoise nothing.png 2>&1 | true", 2, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("unbuffered", in_quick_tier(["", "1"], "".__eq__))
def test_a_reader_that_has_exited(photos, line, status, unbuffered):
    """Nothing is printed; the status is that of the work, which is finished."""
    done = shell(line, PYTHONUNBUFFERED=unbuffered)
    assert done.stderr == b"" or b"c.png: image: " in done.stderr
    assert b"Broken" not in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.returncode == status
    if "r.json" in line:
        assert (photos / "r.json").read_text("utf-8").startswith("{")


@pytest.mark.parametrize("unbuffered", in_quick_tier(["", "1"], "".__eq__))
@pytest.mark.parametrize("line", in_quick_tier(["info", "info --json", "--help"], "info --json".__eq__))
def test_a_full_standard_output(photos, line, unbuffered):
    done = shell(f"cutmatch {line} >/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 1
    assert done.stderr.decode().count("\n") == 1
    assert "cannot write to standard output (No space left on device)" in done.stderr.decode()
