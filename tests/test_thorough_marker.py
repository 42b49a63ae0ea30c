"""Long randomised batteries are deselected by default, also next to -m sim and -m gpu."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
TESTS = """
import pytest

def test_short(): pass

@pytest.mark.gpu
@pytest.mark.thorough
def test_long_gpu(): pass

@pytest.mark.thorough
def test_long(): pass
"""


@pytest.mark.parametrize(
    ("options", "demanded", "collected"),
    [
        ((), None, {"test_short"}),
        pytest.param(("-m", "not slow"), None, {"test_short"}, marks=pytest.mark.slow),
        pytest.param(("-m", "gpu"), None, set(), marks=pytest.mark.slow),
        (("-m", "thorough"), None, {"test_long_gpu", "test_long"}),
        pytest.param(("-m", "thorough and gpu"), None, {"test_long_gpu"}, marks=pytest.mark.slow),
        pytest.param(("-m", "not thorough"), None, {"test_short"}, marks=pytest.mark.slow),
        pytest.param((), "1", {"test_short", "test_long_gpu", "test_long"}, marks=pytest.mark.slow),
    ],
)
def test_thorough_tests_are_run_on_demand_only(tmp_path, monkeypatch, options, demanded, collected):
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text("utf-8"))
    (tmp_path / "test_some.py").write_text(TESTS)
    markers = "".join(f"\n    {name}: {name}" for name in ("gpu", "sim", "thorough", "slow"))
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nmarkers ={markers}\n")
    monkeypatch.setenv("CUTMATCH_TEST_GPU", "1")  # or tests marked gpu are left out
    monkeypatch.setenv("PYTHONPATH", str(HERE.parent))
    monkeypatch.delenv("CUTMATCH_THOROUGH", raising=False)
    if demanded:
        monkeypatch.setenv("CUTMATCH_THOROUGH", demanded)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        *options,
        str(tmp_path),
    ]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    names = {line.rpartition("::")[2] for line in found.stdout.splitlines() if "::" in line}
    assert names == collected, found.stdout + found.stderr
