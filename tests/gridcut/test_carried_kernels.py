"""Kernels that came with the package: loaded on other processors of the family, never where they do not fit."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gridcut.device import kernel_store

ROOT = Path(__file__).resolve().parents[2]
# Folders of the libraries, if PYTHONPATH names some; not this checkout.
LIBRARIES = [
    path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and Path(path).resolve() != ROOT
]
FITS = platform.machine() == "x86_64" and not kernel_store.missing_features()
pytestmark = pytest.mark.skipif(not FITS, reason=f"needs a processor with {kernel_store.CPU}")

KERNELS = """
from gridcut.device import kernel
@kernel
def rule(x):
    return x + 1
@kernel
def use(x):
    return 2 * rule(x)
"""
CODE = """
import json
from gridcut.device import kernel_store
from box.kernels import use
assert use(1) == 4 and use(1.5) == 5.0
found = list(kernel_store.origins.values())
print(json.dumps([{origin: found.count(origin) for origin in sorted(set(found))}, kernel_store.obstacle()]))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """An installation that carries kernels: a copy of gridcut/device and a package `box` with two kernels."""
    folder = tmp_path_factory.mktemp("built")
    os.chmod(folder, 0o755)
    shutil.copytree(
        ROOT / "gridcut" / "device", folder / "gridcut" / "device", ignore=shutil.ignore_patterns("__pycache__")
    )
    (folder / "gridcut" / "__init__.py").write_text("")
    (folder / "box").mkdir()
    (folder / "box" / "__init__.py").write_text("")
    (folder / "box" / "kernels.py").write_text(KERNELS)
    portable = {
        "NUMBA_CPU_NAME": kernel_store.CPU,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(folder / "made"),
    }
    assert counts_of(folder, **portable) == {"compiled": 2}
    shutil.move(folder / "made" / "cutmatch-kernels", folder / "gridcut" / "_kernels")
    (folder / "gridcut" / "_kernels" / kernel_store.ABOUT.name).write_text(json.dumps(kernel_store.about()))
    return folder


@pytest.fixture
def box(built, tmp_path):
    """A copy of that installation for one test, with an empty cache folder."""
    folder = tmp_path / "site"
    shutil.copytree(built, folder, ignore=shutil.ignore_patterns("__pycache__"))
    os.chmod(tmp_path, 0o755)
    return folder


def run(folder: Path, code: str = CODE, **environment):
    environment.setdefault("NUMBA_CACHE_DIR", str(folder.parent / "cache"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *LIBRARIES]), **environment},
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def counts_of(folder, **environment) -> dict[str, int]:
    return run(folder, **environment)[0]


def edit_about(folder, change) -> None:
    path = folder / "gridcut" / "_kernels" / kernel_store.ABOUT.name
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content))


def test_nothing_is_compiled_from_another_place_at_another_time(box):
    """The files were moved and their times changed; only two kernels are loaded, because they contain the others."""
    for path in box.rglob("*.py"):
        os.utime(path, (1, 1))
    assert run(box) == [{"carried": 2}, ""]
    assert list((box.parent / "cache").rglob("*.nbc")) == [], "what came with the package is not copied"


@pytest.mark.parametrize("place", ["", pytest.param("/nonexistent/cache", marks=pytest.mark.slow)])
def test_without_a_folder_to_write_to(box, place):
    for path in (box, *box.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert counts_of(box, NUMBA_CACHE_DIR=place, HOME="/nonexistent", XDG_CACHE_HOME="") == {"carried": 2}


@pytest.mark.parametrize("name", ["python", pytest.param("llvmlite", marks=pytest.mark.slow)])
def test_other_versions(box, name):
    edit_about(box, lambda content: content.update({name: "0.1"}))
    counts, obstacle = run(box)
    assert counts["compiled"] == 2
    assert obstacle.startswith(f"the compiled kernels of this package are for {name} 0.1; this is {name} ")


@pytest.mark.slow
def test_an_older_processor(box):
    code = f"""
import llvmlite.binding
class Few(dict):
    def flatten(self, sort=True):
        return "+avx2"
llvmlite.binding.get_host_cpu_features = lambda: Few(avx2=True)
{CODE}"""
    counts, obstacle = run(box, code)
    assert counts["compiled"] == 2
    lacks = "bmi, bmi2, f16c, fma, lzcnt, movbe"
    assert obstacle == f"the compiled kernels of this package need x86-64-v3; this processor lacks {lacks}"
