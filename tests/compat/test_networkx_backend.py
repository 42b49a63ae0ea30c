"""networkx finds the backend by the entry points of pyproject.toml, and the cases of networkx_cases.py hold."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compat.networkx_entries import write_entries

pytest.importorskip("networkx", minversion="3.2", reason="networkx is not installed (extra 'test')")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def environment(tmp_path):
    """Variables of a process that has the entry points, also if the distribution is not installed."""
    path = [str(write_entries(tmp_path)), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path)}


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
        "heavy = {'numba', 'numpy', 'gridcut', 'matching', 'cutmatch.networkx_backend'} & sys.modules.keys()\n"
        "assert 'cutmatch' in backends, backends\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
