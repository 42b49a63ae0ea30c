"""The tables of methods: each entry runs the solver of its name, and states the parameters of that solver."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from matching.general.greedy_methods import GREEDY_METHODS
from matching.methods import INITS, METHODS

FOLDERS = ("papers", "portfolio", "forest", "general", "initial")
TABLES = {"maximum": METHODS, "initial": INITS, "greedy": GREEDY_METHODS}
ENTRIES = [
    pytest.param(name, device, getattr(entry, device), id=f"{table}-{name}-{device}")
    for table, entries in TABLES.items()
    for name, entry in entries.items()
    for device in ("cpu", "cuda")
    if getattr(entry, device)
]


def keywords_of(module: str, name: str) -> tuple[str, ...]:
    """Keyword-only parameters of a function by its source: modules for CUDA cannot be imported everywhere."""
    body = ast.parse(Path(find_spec(module).origin).read_text(encoding="utf-8")).body
    (found,) = (node for node in body if isinstance(node, ast.FunctionDef) and node.name == name)
    return tuple(argument.arg for argument in found.args.kwonlyargs)


@pytest.mark.parametrize(("name", "device", "entry"), ENTRIES)
def test_parameters_are_those_of_the_solver(name, device, entry):
    module, function = entry.solver.split(":")
    assert name == function or module.split(".")[-1] == (name if device == "cpu" else f"{name}_cuda")
    assert entry.parameters == keywords_of(module, function)


def test_every_solver_has_an_entry():
    """By the sources: a file of a method exports solve or initialise, and so does a plain version that is only read."""
    root = Path(__file__).parents[2]
    exporting = {
        f"{'.'.join(path.relative_to(root).with_suffix('').parts)}:{name}"
        for folder in FOLDERS
        for path in root.glob(f"matching/{folder}/*.py")
        if not path.stem.startswith("plain_")
        for name in ("solve", "initialise")
        if f"\ndef {name}(" in path.read_text("utf-8")
    }
    listed = {entry.solver for table in TABLES.values() for method in table.values() for entry in method if entry}
    assert exporting <= listed
