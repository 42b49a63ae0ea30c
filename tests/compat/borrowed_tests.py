"""Test files of installed libraries, run against our functions: nothing of them is copied here."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def borrowed(module: str, **replaced) -> dict:
    """The tests of an installed test module in which the given names of its namespace are replaced.

    The source is compiled in memory, so the installed module itself stays as it is.  Functions read their globals when
    they are called, so replacing the names afterwards is what another import line would have done.  Without the
    module, which some distributions leave out, one skipped test says so.
    """
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None or found.origin is None:
        return {"test_borrowed": pytest.mark.skip(f"{module} is not installed")(lambda: None)}
    space = ModuleType(f"borrowed_{module.replace('.', '_')}")
    space.__package__ = module.rpartition(".")[0]
    exec(compile(Path(found.origin).read_text("utf-8"), found.origin, "exec"), space.__dict__)
    absent = replaced.keys() - vars(space).keys()
    assert not absent, f"{module} has no {absent}"
    vars(space).update(replaced)
    for thing in vars(space).values():  # iterators would be used up by the first collection
        for mark in getattr(thing, "pytestmark", ()):
            if mark.name == "parametrize":
                object.__setattr__(mark, "args", (mark.args[0], list(mark.args[1]), *mark.args[2:]))
    tests = {name: thing for name, thing in vars(space).items() if name.startswith(("test", "Test"))}
    return tests
