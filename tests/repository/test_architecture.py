"""The folders are those of docs/architecture.md; no import circle, and no file name twice in a package."""

import inspect
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("gridcut", "assign", "matching", "apps", "cutmatch")
SOURCES = {name: sorted((ROOT / name).rglob("*.py")) for name in PACKAGES}
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text("utf-8")


def test_every_folder_is_named():
    folders = {path.parent.relative_to(ROOT).as_posix() for paths in SOURCES.values() for path in paths}
    assert [folder for folder in sorted(folders) if f"`{folder}/`" not in ARCHITECTURE] == []


def test_every_file_and_folder_named_exists():
    named = re.findall(r"`((?:gridcut|assign|matching|apps)/[\w/.]*)`", ARCHITECTURE)
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("name", PACKAGES)
def test_file_names_are_unique(name):
    counts = Counter(path.name for path in SOURCES[name] if path.name not in ("__init__.py", "__main__.py"))
    assert [file for file, count in counts.items() if count > 1] == []


def test_no_import_circle():
    """Imports inside functions count, too."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    left = {module: set(graph.find_modules_directly_imported_by(module)) & graph.modules for module in graph.modules}
    while leaves := [module for module, imported in left.items() if not imported & left.keys()]:
        for module in leaves:
            del left[module]
    # What remains is in a circle, or leads to one; the latter has no importer left.
    while tops := [module for module in left if not any(module in imported for imported in left.values())]:
        for module in tops:
            del left[module]
    assert sorted(left) == []


def public_functions():
    """The functions of `__all__`, and the public methods and constructors of its classes."""
    for name in PACKAGES[:3]:
        package = import_module(name)
        for public in package.__all__:
            thing = getattr(package, public)
            if inspect.isfunction(thing):
                yield f"{name}.{public}", thing
            elif inspect.isclass(thing):
                for key, member in vars(thing).items():
                    if inspect.isfunction(member) and (key == "__init__" or not key.startswith("_")):
                        yield f"{name}.{public}.{key}", member


@pytest.mark.parametrize("function", [pytest.param(thing, id=name) for name, thing in public_functions()])
def test_every_public_parameter_is_annotated(function):
    parameters = inspect.signature(function).parameters.values()
    bare = [p.name for p in parameters if p.annotation is p.empty and p.name != "self" and p.kind is not p.VAR_KEYWORD]
    assert bare == []
