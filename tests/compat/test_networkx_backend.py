"""networkx finds the backend by the entry points of pyproject.toml, and the cases of networkx_cases.py hold."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytest.importorskip("networkx", minversion="3.2", reason="networkx is not installed (extra 'test')")
ROOT = Path(__file__).parents[2]
GROUPS = ("networkx.backends", "networkx.backend_info")


@pytest.fixture
def environment(tmp_path):
    """Variables of a process that has the entry points, also if the distribution is not installed."""
    if any(not entry_points(group=group, name="cutmatch") for group in GROUPS):
        declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
        folder = tmp_path / "cutmatch_entries-0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: cutmatch-entries\nVersion: 0\n")
        lines = [f"[{group}]\n{name} = {value}\n" for group in GROUPS for name, value in declared[group].items()]
        (folder / "entry_points.txt").write_text("\n".join(lines))
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path), os.environ.get("PYTHONPATH", "")])}


def test_cases(environment):
    cases = Path(__file__).with_name("networkx_cases.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(cases)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]


def test_importing_networkx_stays_light(environment):
    """The information for networkx imports nothing of ours that is heavy."""
    code = (
        "import sys, networkx\n"
        "from networkx.utils.backends import backends\n"
        "heavy = {'numba', 'numpy', 'gridcut', 'matching', 'apps.compat.networkx'} & sys.modules.keys()\n"
        "assert 'cutmatch' in backends, backends\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
