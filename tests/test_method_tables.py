"""The tables of methods of all packages: each entry states the parameters of its solver."""

import ast
import inspect
from importlib.util import find_spec
from pathlib import Path

import pytest

import assign.methods
import gridcut.methods
import matching.methods
from gridcut.device.choose import Implementation
from matching.general.greedy_methods import GREEDY_METHODS

TABLES = {
    "gridcut": gridcut.methods.METHODS,
    "assign": assign.methods.METHODS,
    "matching": matching.methods.METHODS,
    "initial matching": matching.methods.INITS,
    "greedy": GREEDY_METHODS,
}
# What the packages pass to solvers, and what callers may not.
CONTEXT = {"layout", "callback", "warm", "limit", "start", "matched"}
ENTRIES = [
    pytest.param(entry, id=f"{table}, {name}, {field}")
    for table, methods in TABLES.items()
    for name, method in methods.items()
    for field, entry in method._asdict().items()
    if isinstance(entry, Implementation)
]


def keywords_of(entry):
    """Keyword-only parameters of a solver; of one on a GPU by its source, as such modules cannot be imported here."""
    module, name = entry.solver.split(":")
    body = ast.parse(Path(find_spec(module).origin).read_text("utf-8")).body
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return [argument.arg for argument in node.args.kwonlyargs]
    return [p.name for p in inspect.signature(entry.function).parameters.values() if p.kind is p.KEYWORD_ONLY]


@pytest.mark.parametrize("entry", ENTRIES)
def test_parameters_are_those_of_the_solver(entry):
    assert list(entry.parameters) == [keyword for keyword in keywords_of(entry) if keyword not in CONTEXT]


def test_every_solver_of_matching_has_an_entry():
    """By the sources: a file of a method exports solve or initialise, and so does a plain version that is only read."""
    root = Path(__file__).parents[1]
    exporting = {
        f"{'.'.join(path.relative_to(root).with_suffix('').parts)}:{name}"
        for path in root.glob("matching/*/*.py")
        if not path.stem.startswith("plain_")
        for name in ("solve", "initialise")
        if f"\ndef {name}(" in path.read_text("utf-8")
    }
    assert exporting <= {row.values[0].solver for row in ENTRIES}
