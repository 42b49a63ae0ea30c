"""The tables of methods: each entry runs the solver of its name, and states the parameters of that solver."""

import ast
import inspect
from importlib.util import find_spec
from pathlib import Path

import pytest

from matching.general.greedy_methods import GREEDY_METHODS
from matching.methods import INITS, METHODS

FOLDERS = ("papers", "portfolio", "forest", "general", "initial")
TABLES = {"maximum": METHODS, "initial": INITS, "greedy": GREEDY_METHODS}
ENTRIES = [
    pytest.param(name, device, getattr(entry, device), entry, id=f"{table}-{name}-{device}")
    for table, entries in TABLES.items()
    for name, entry in entries.items()
    for device in ("cpu", "cuda")
    if getattr(entry, device)
]


def imported_by(function) -> tuple[str, str]:
    """(module, name) of the one import in a function."""
    (node,) = (node for node in ast.walk(ast.parse(inspect.getsource(function))) if isinstance(node, ast.ImportFrom))
    return node.module, node.names[0].name


def keywords_of(module: str, name: str) -> tuple[str, ...]:
    """Keyword-only parameters of a function by its source: modules for CUDA cannot be imported everywhere."""
    body = ast.parse(Path(find_spec(module).origin).read_text(encoding="utf-8")).body
    (found,) = (node for node in body if isinstance(node, ast.FunctionDef) and node.name == name)
    return tuple(argument.arg for argument in found.args.kwonlyargs)


@pytest.mark.parametrize(("name", "device", "function", "entry"), ENTRIES)
def test_parameters_are_those_of_the_solver(name, device, function, entry):
    module, imported = imported_by(function)
    assert module.split(".")[-1] == (name if device == "cpu" else f"{name}_cuda")
    known = keywords_of(module, imported)
    listed = getattr(entry, "parameters" if device == "cpu" else "cuda_parameters", ())
    assert listed == known
    forwards = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())
    assert forwards == bool(known)


def test_every_solver_has_an_entry():
    """By the sources: a file of a method exports solve or initialise, and so does a plain version that is only read."""
    folder = Path(__file__).parents[2] / "matching"
    exporting = {
        path.stem.removesuffix("_cuda")
        for name in FOLDERS
        for path in folder.glob(f"{name}/*.py")
        if not path.stem.startswith("plain_")
        for line in path.read_text("utf-8").splitlines()
        if line.startswith(("def solve(", "def initialise("))
    }
    assert exporting == {*METHODS, *INITS, *GREEDY_METHODS} - {"none"}
