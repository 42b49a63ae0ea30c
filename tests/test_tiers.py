"""A whole run includes every method, and the files that the tiers name exist."""

from pathlib import Path

import pytest

import assign.methods
import gridcut.methods
import matching.methods
from tests.tiers import FULL_TIER, LONGEST, is_whole_run

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("folder", "methods"),
    [
        ("tests/assign/", assign.methods.METHODS),
        ("tests/gridcut/", gridcut.methods.METHODS),
        ("tests/matching/", matching.methods.METHODS | matching.methods.INITS),
    ],
)
def test_a_whole_run_includes_every_method(request, folder, methods):
    if not is_whole_run(request.config):
        pytest.skip("a part of the tests was chosen")
    tests = [item for item in request.session.items if item.nodeid.startswith(folder) and hasattr(item, "callspec")]
    used = {str(value).split()[0] for item in tests for value in item.callspec.params.values() if str(value).strip()}
    runs_on = ("cpu", "dense_cpu", "sparse_cpu")
    on_cpu = {name for name, entry in methods.items() if any(getattr(entry, key, None) for key in runs_on)}
    if "auto" in used:
        used.add("ibfs")  # as tests/gridcut/oracles.py names it
    assert on_cpu - used == set()


def test_the_files_that_are_named_exist():
    assert {path.name for path in HERE.rglob("test_*.py")} >= FULL_TIER | LONGEST
