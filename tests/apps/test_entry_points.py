"""The image programs as functions of `apps`: they stay functions whatever is imported; importing `apps` is light."""

import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
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


def test_no_folder_has_the_name_of_a_function():
    """The import of a module below it would replace the function."""
    folders = {module.name for module in pkgutil.iter_modules(apps.__path__)}
    assert folders.isdisjoint(apps.__all__)


def test_functions_stay_when_modules_are_imported():
    code = "from apps import cli\nimport apps, inspect\nfrom apps.segmentation.segment_command import main\n"
    code += f"assert all(inspect.isfunction(getattr(apps, name)) for name in {PROGRAMS})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_arguments_and_results_are_those_of_the_function():
    image = np.zeros((24, 32, 3), np.uint8)
    image[6:18, 8:24] = 200
    found = apps.segment(image, box=(6, 4, 26, 20), device="cpu")
    assert type(found) is apps.Segmentation
    assert found.mask[12, 16]
    assert not found.mask[0, 0]
    assert len(apps.track([np.zeros((1, 2))] * 2, search_range=1.0)) == 1


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No apps attribute restore"):
        apps.restore  # noqa: B018


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


@pytest.mark.slow
def test_type_checkers_see_functions(tmp_path):
    api = pytest.importorskip("mypy.api")
    lines = ["import apps", "import apps.segmentation.segment_command", "from apps import segment_labels"]
    lines += [f"from apps import {name}\nreveal_type({name})\nreveal_type(apps.{name})" for name in PROGRAMS]
    (tmp_path / "caller.py").write_text("\n".join(lines))
    arguments = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    out, error, status = api.run([*arguments, str(tmp_path / "caller.py")])
    assert status == 0, out + error
    shown = [line for line in out.splitlines() if "Revealed type" in line]
    assert len(shown) == 2 * len(PROGRAMS)
    assert all('"def (' in line for line in shown)
