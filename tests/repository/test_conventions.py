"""The conventions that a machine can check: imports, prints, references, docstrings, import contract."""

import importlib
import inspect
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from gridcut.device.choose import numba_cuda_is_installed

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["gridcut", "assign", "matching", "apps", "cutmatch"]


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_come_from_this_checkout(name):
    """The names are generic: another distribution's `matching` would be taken without a word."""
    assert Path(importlib.import_module(name).__file__).resolve() == ROOT / name / "__init__.py"
    assert (ROOT / name / "py.typed").exists()


def modules_of(name):
    """All modules below a package; those of the CUDA side only where numba-cuda is installed."""
    for path in sorted((ROOT / name).rglob("*.py")):
        if numba_cuda_is_installed() or not imports_cuda(path):
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def imports_cuda(path):
    """Whether importing a module imports numba.cuda or the driver's bindings with it."""
    if path == ROOT / "gridcut/device/cuda.py":
        return True
    for module, names in re.findall(r"^from ([\w.]+) import (.*)", path.read_text("utf-8"), re.MULTILINE):
        if module.startswith("cuda."):
            return True
        if module.split(".")[0] in PACKAGES[:3]:
            place = ROOT / module.replace(".", "/")
            found = [place.with_suffix(".py"), *(place / f"{name.strip()}.py" for name in names.split(","))]
            if any(file.exists() and imports_cuda(file) for file in found):
                return True
    return False


@pytest.mark.parametrize("used", ["gridcut.max_flow", "assign.solve"])
def test_importing_is_light(used):
    """No imaging libraries, no numba.cuda (its driver starts slowly), and no kernel compiled at import."""
    code = (
        "import numba, scipy.sparse, sys, time, json\n"
        "start = time.process_time()\n"
        f"import {used.split('.')[0]}\n"
        f"{used}\n"
        "print(json.dumps([time.process_time() - start, sorted(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", cwd=ROOT, check=True)
    seconds, modules = json.loads(done.stdout)
    heavy = {"cv2", "skimage", "imageio", "matplotlib", "tqdm", "numba.cuda", "apps"}
    assert heavy.isdisjoint(modules)
    assert seconds < 1.0, f"{used} took {seconds:.2f} s of a processor to import, on top of numba and SciPy"


@pytest.mark.parametrize("name", ["gridcut", "assign", "matching"])
def test_public_names_survive_importing_everything(name):
    """A module imported late must not take the place of a function of the same name."""
    for module in modules_of(name):
        importlib.import_module(module)
    package = importlib.import_module(name)
    assert [public for public in package.__all__ if inspect.ismodule(getattr(package, public))] == []


def public_functions():
    """Functions and classes of `__all__` of every package, with numpydoc parameter lists."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        for public in getattr(package, "__all__", []):
            thing = getattr(package, public)
            if callable(thing):
                yield pytest.param(thing, id=f"{name}.{public}")


@pytest.mark.parametrize("thing", list(public_functions()))
def test_docstring_parameters_match_the_signature(thing):
    docstring = inspect.getdoc(thing)
    assert docstring, "a public name needs a docstring"
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}|\Z)", docstring, re.DOTALL | re.MULTILINE)
    if section is None:  # frozen results list their fields in prose
        assert not inspect.isfunction(thing) or not inspect.signature(thing).parameters, "no Parameters section"
        return
    entries = re.findall(r"^(\*{0,2}\w[\w*, ]*?)(?: : .*)?$", section[1], re.MULTILINE)
    documented = [name.strip().lstrip("*") for entry in entries for name in entry.split(",")]
    assert documented == [name for name in inspect.signature(thing).parameters if name != "self"]
