"""The product imports what pyproject.toml declares, and declares what it imports."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from apps.app.app_command import PACKAGES as APP_PACKAGES

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("gridcut", "assign", "matching", "apps", "cutmatch")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Distributions that own a module but cannot be found by it, because they may not be installed.
OWNERS = {
    "numba_cuda": "numba-cuda",
    "cuda": "numba-cuda",
    "cupy": "",  # arrays of these libraries are accepted, and only when a caller has them
    "torch": "",
    "dask": "dask",
    "distributed": "dask",
    "pandas": "",
    "networkx": "",
    "matplotlib": "",
}

OWNERS_HERE = packages_distributions()


def names(requirements) -> set[str]:
    """Distributions in a list of requirements, in lower case, without versions and extras."""
    return {re.match(r"[\w.-]+", text)[0].lower().replace("_", "-") for text in requirements}


@cache
def parsed(folder: str) -> dict[Path, ast.Module]:
    """The files of a package."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / folder).rglob("*.py"))}


def imported(folder: str) -> dict[str, list[str]]:
    """{top-level module: files that import it} for the files of a package, without the standard library and our own."""
    found = {}
    for path, tree in parsed(folder).items():
        for node in ast.walk(tree):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            for module in modules:
                top = module.split(".")[0]
                if top not in sys.stdlib_module_names and top not in (*PRODUCT, "benchmarks", "tests"):
                    found.setdefault(top, []).append(str(path.relative_to(ROOT)))
    return found


def owners(module: str) -> set[str]:
    """Distributions that own a module; an empty set for one that only callers bring."""
    if module in OWNERS:
        return {OWNERS[module]} - {""}
    return {name.lower().replace("_", "-") for name in OWNERS_HERE.get(module, ())} or {module}


@pytest.mark.parametrize("package", PRODUCT)
def test_what_is_imported_is_declared(package):
    extras = [text for lines in PROJECT["optional-dependencies"].values() for text in lines]
    declared = names(PROJECT["dependencies"]) | names(extras)
    undeclared = {
        module: files
        for module, files in imported(package).items()
        if (of := owners(module)) and not of & declared and module not in ("llvmlite",)  # a part of numba
    }
    assert not undeclared


def test_what_is_declared_is_imported():
    used = set().union(*(owners(module) for package in PRODUCT for module in imported(package)))
    assert names(PROJECT["dependencies"]) - used == set()


def test_messages_name_the_packages_of_an_extra():
    """They are on an index, which this distribution is not."""
    named = {}
    for path, tree in parsed("apps").items():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if getattr(call.func, "id", "") == "install" and not isinstance(call.args[-1], ast.Starred):
                extra, *packages = (one.value for one in call.args)
                named[extra] = [package.strip("'") for package in packages]
        assert "pip install 'cutmatch" not in path.read_text("utf-8")
    named["app"] = APP_PACKAGES
    extras = {
        extra: names(PROJECT["optional-dependencies"][extra])
        for extra in ("app", "notebook", "video", "volumes", "dask")
    }
    assert {extra: names(packages) for extra, packages in named.items()} == extras


def test_the_oldest_versions_that_are_tested_are_the_declared_ones():
    """Those of .ci/oldest.txt, with which .ci/run tests the replacements of other libraries."""
    extras = PROJECT["optional-dependencies"]
    faces = [text for text in extras["test"] + extras["bench"] if text.startswith(("networkx", "PyMaxflow", "lapx"))]
    given = [text for text in PROJECT["dependencies"] + faces if "python_version >=" not in text]
    declared = dict(re.match(r"([\w-]+)>=([\w.]+)", text).groups() for text in given)
    lines = (ROOT / ".ci/oldest.txt").read_text("utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert declared.keys() == tested.keys()
    for name, version in declared.items():
        assert (tested[name] + ".").startswith(version + "."), f"{name} {version} is declared, {tested[name]} is tested"
