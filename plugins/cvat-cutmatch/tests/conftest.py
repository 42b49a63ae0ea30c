"""A server of masks, started from the clone that this folder is in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """The address of a server."""
    command = [sys.executable, "-m", "apps.cli", "app", "--api", "--no-browser", "--device", "cpu", "--out", "out"]
    folder = tmp_path_factory.mktemp("server")
    settings = {"PYTHONPATH": str(CLONE)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=os.environ | settings)
    line = process.stdout.readline()
    assert line, "cutmatch app did not start"
    yield line.split()[-1]
    process.terminate()
    process.communicate()
