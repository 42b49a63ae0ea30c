"""The type checker checks most modules, and the stubs agree with what Python imports."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUBS = [ROOT / f"{name}/__init__.pyi" for name in ("gridcut", "assign", "matching")]
STUBS += sorted((ROOT / "apps").glob("*/__init__.pyi"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
UNCHECKED = next(part["module"] for part in SETTINGS["overrides"] if part.get("ignore_errors"))
MIN_SHARE = 0.6  # of the lines


def lines_of(path):
    return len(path.read_text("utf-8").splitlines())


def test_most_lines_are_checked():
    files = {
        path for package in SETTINGS["files"] for kind in ("*.py", "*.pyi") for path in (ROOT / package).rglob(kind)
    }
    left_out = set()
    for module in UNCHECKED:
        place = ROOT / module.removesuffix(".*").replace(".", "/")
        found = {*place.rglob("*.py")} if place.is_dir() else {place.with_suffix(".py")} & files
        assert found, f"[tool.mypy] names {module}, which does not exist"
        left_out |= found
    assert 1 - sum(map(lines_of, left_out)) / sum(map(lines_of, files)) > MIN_SHARE


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_stub_exports_what_the_package_exports(stub):
    package = import_module(".".join(stub.parent.relative_to(ROOT).parts))
    listed = re.search(r"__all__ = \[(.*?)\]", stub.read_text("utf-8"), re.DOTALL)[1]
    assert re.findall(r'"(\w+)"', listed) == package.__all__
