"""The image programs as functions of `apps`: they stay functions whatever is imported; importing `apps` is light."""

import importlib
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import apps

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ["denoise", "flow", "match", "refine", "segment", "stereo", "superpixels", "track"]


def test_all_programs_are_listed():
    folders = {path.parent.name: path.stem for path in (ROOT / "apps").glob("*/*_command.py")}
    commands = {stem.removesuffix("_command") for stem in folders.values()}
    assert commands - {"app", "warmup"} == set(PROGRAMS), "these two are for commands only"
    assert all(f"`{name}`" in apps.__doc__ for name in PROGRAMS)
    assert set(PROGRAMS) <= set(apps.__all__)


@pytest.mark.parametrize("name", apps.__all__)
def test_public_names_are_functions_and_classes(name):
    thing = getattr(apps, name)
    assert inspect.isfunction(thing) or inspect.isclass(thing)
    assert thing.__name__ == name
    assert inspect.getdoc(thing)
    assert name in dir(apps)
    assert pickle.loads(pickle.dumps(thing)) is thing


@pytest.mark.parametrize(
    "file", ["README.md", *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))]
)
def test_documented_imports_exist(file):
    text = (ROOT / file).read_text("utf-8")
    for module, names in re.findall(r"^from (apps[\w.]*) import ([\w, ]+)", text, re.MULTILINE):
        for name in names.split(","):
            assert hasattr(importlib.import_module(module), name.strip()), f"{module}.{name.strip()}"


def test_importing_is_light():
    code = "import sys, apps, apps.segmentation, apps.optical_flow; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    heavy = {"numpy", "numba", "scipy", "cv2", "skimage", "PIL", "argparse"}
    assert heavy.isdisjoint(done.stdout.split())
