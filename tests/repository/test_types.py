"""The type checker reads every module that defines a public name, and the stubs agree with what Python imports."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUBS = [ROOT / f"{name}/__init__.pyi" for name in ("gridcut", "assign", "matching")]
STUBS += sorted((ROOT / "apps").glob("*/__init__.pyi"))
CHECKED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]["files"]


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_defining_modules_are_checked(stub):
    package = ".".join(stub.parent.relative_to(ROOT).parts)
    wanted = {stub}
    for module in re.findall(r"^from \.([\w.]+) import", stub.read_text("utf-8"), re.MULTILINE):
        wanted.add(Path(import_module(f"{package}.{module}").__file__))
    assert {path.relative_to(ROOT).as_posix() for path in wanted} <= set(CHECKED)


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_stub_exports_what_the_package_exports(stub):
    package = import_module(".".join(stub.parent.relative_to(ROOT).parts))
    listed = re.search(r"__all__ = \[(.*?)\]", stub.read_text("utf-8"), re.DOTALL)[1]
    assert re.findall(r'"(\w+)"', listed) == package.__all__
