"""Other projects have packages named apps, assign or matching: what works beside them, and how the rest is refused."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cutmatch
from cutmatch.own_packages import NEEDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/guide/install.md").read_text("utf-8")
(MESSAGE,) = re.findall(r"^cutmatch\.segment needs.*", PAGE, re.MULTILINE)
# Of the table there: other projects' packages, whether they come first on the path, the cells.
ROWS = [
    pytest.param(re.findall(r"\w+(?=`)", where), where.endswith(", before ours"), cells.split(" | "), id=where)
    for where, cells in re.findall(r"^\| (`.*? ours) \| (.*) \|$", PAGE, re.MULTILINE)
]
ONE_CUT = "cutmatch.max_flow([3, 0], [0, 2], {(1,): 1}).value"
OUTCOMES = f"""
import json
from importlib.util import find_spec
import cutmatch

def outcome(use):
    try:
        return use()
    except ImportError as error:
        return str(error)

found = {{name: outcome(lambda: getattr(cutmatch, name) and "works") for name in cutmatch.__all__}}
found["a cut"] = outcome(lambda: int({ONE_CUT}))
found |= {{f"import {{name}}": find_spec(name).origin for name in ("gridcut", "assign", "matching", "apps")}}
print(json.dumps(found))
"""


@pytest.fixture
def foreign(tmp_path):
    """Makes a folder with packages of these names, each with a function of its own."""

    def make(*names, text="OWNER = 'the project'\n"):
        for name in names:
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text(text)
        return tmp_path

    return make


def python(*arguments, path, cwd=None):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, timeout=300)


def printed(code, path):
    done = python("-c", f"import cutmatch; print({code})", path=path)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(("names", "first", "cells"), ROWS)
def test_the_table_of_the_guide(foreign, names, first, cells):
    """Every attribute of cutmatch works or is refused in the words of the guide, the command works."""
    folder = foreign(*names)
    path = [folder, ROOT] if first else [ROOT, folder]
    done = python("-c", OUTCOMES, path=path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for package, cell in zip(("gridcut", "assign", "matching", "apps"), cells, strict=False):
        owner = folder if package in names and first else ROOT
        assert found.pop(f"import {package}") == str(owner / package / "__init__.py")
        hidden = next((name for name in NEEDS[package] if name in names and first), "")
        refusal = MESSAGE.replace("package apps", f"package {hidden}").replace("/apps/", f"/{hidden}/")
        refusal = refusal.replace("OURS", str(ROOT)).replace("THEIRS", str(folder))
        for name in (package, *cutmatch._NAMES[package].split()):
            refused = refusal.replace("cutmatch.segment", f"cutmatch.{name}")
            assert found.pop(name) == {"work": "works", "refused": refused}[cell]
    cut, cell = found.pop("a cut"), cells[0]
    assert cut == 1 if cell == "work" else cut.startswith("cutmatch.max_flow needs the package gridcut in")
    assert not found
    assert cells[4] == "works"
    assert python("-m", "cutmatch", "info", path=path).returncode == 0


def test_the_project_keeps_its_own_package(foreign):
    """Our package never comes into the place of the project's, in whichever order they are imported."""
    path = [foreign("apps"), ROOT]
    code = f"({ONE_CUT}, __import__('apps').OWNER)"
    assert printed(code, path) == "(1, 'the project')"
    done = python("-c", "import apps, cutmatch; cutmatch.segment", path=path)
    assert "cutmatch.segment needs the package apps" in done.stderr


def test_the_command_finds_its_own_packages(foreign):
    """Also if the project's packages cannot even be imported, in the project's folder."""
    folder = foreign("apps", "assign", "matching", "gridcut", text="raise RuntimeError('the project was imported')\n")
    done = python("-m", "cutmatch", "info", path=[folder, ROOT], cwd=folder)
    assert done.returncode == 0, done.stderr
    assert str(folder) not in done.stdout
    photos = [ROOT / "data/frame1.png", ROOT / "data/frame2.png"]
    work = ["superpixels", *photos, "--regions", "20", "--workers", "2", "--out", folder / "out"]
    done = python("-m", "cutmatch", *map(str, work), path=[folder, ROOT], cwd=folder)
    assert done.returncode == 0, done.stderr


def test_every_attribute_is_typed_and_loads():
    stub = (ROOT / "cutmatch/__init__.pyi").read_text("utf-8")
    typed = {line.split(" as ")[1] for line in stub.splitlines()}
    assert typed == set(cutmatch.__all__)
    for name in cutmatch.__all__:
        assert getattr(cutmatch, name).__name__.split(".")[-1].strip("_") == name
    with pytest.raises(AttributeError, match="has no attribute 'max_flows'"):
        _ = cutmatch.max_flows
