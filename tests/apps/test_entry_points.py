"""The image programs as library calls: every public name imports from its folder, and importing a folder is light."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import apps

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ["segment", "refine", "superpixels", "denoise", "stereo", "flow", "match", "track"]
NAMES = [(name, public) for name in PROGRAMS for public in importlib.import_module(f"apps.{name}").__all__]


@pytest.mark.parametrize(("program", "public"), NAMES)
def test_every_public_name_imports(program, public):
    package = importlib.import_module(f"apps.{program}")
    thing = getattr(package, public)
    assert callable(thing)
    assert thing.__name__ == public
    assert inspect.getdoc(thing)
    assert public in dir(package)


@pytest.mark.parametrize(("program", "public"), NAMES)
def test_docstring_parameters_match_the_signature(program, public):
    thing = getattr(importlib.import_module(f"apps.{program}"), public)
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}|\Z)", inspect.getdoc(thing), re.DOTALL | re.MULTILINE
    )
    parameters = inspect.signature(thing).parameters
    if section is None or any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return  # results list their attributes; a wrapper documents the parameters of what it calls
    entries = re.findall(r"^(\w[\w, ]*?)(?: : .*)?$", section[1], re.MULTILINE)
    assert [name.strip() for entry in entries for name in entry.split(",")] == list(parameters)


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_module_takes_the_place_of_a_public_name(program):
    package = importlib.import_module(f"apps.{program}")
    assert {module.name for module in pkgutil.iter_modules(package.__path__)}.isdisjoint(package.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No apps.denoise attribute restore"):
        apps.denoise.restore  # noqa: B018


@pytest.mark.parametrize(
    "file", ["README.md", *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))]
)
def test_documented_imports_exist(file):
    text = (ROOT / file).read_text("utf-8")
    for module, names in re.findall(r"^from (apps[\w.]*) import ([\w, ]+)", text, re.MULTILINE):
        for name in names.split(","):
            assert hasattr(importlib.import_module(module), name.strip()), f"{module}.{name.strip()}"


def test_importing_the_programs_is_light():
    imports = "".join(f"import apps.{name}\n" for name in PROGRAMS)
    code = f"import sys\n{imports}print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    for heavy in ("numpy", "numba", "scipy", "cv2", "skimage", "PIL", "argparse"):
        assert f"'{heavy}'" not in done.stdout
