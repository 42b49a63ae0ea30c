"""What a run tries: every choice of every parameter once; with --all, and of what is named, all combinations.

Long randomised batteries are run on demand only, also next to -m sim and -m gpu.
"""

import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

import assign.methods
import gridcut.methods
import matching.methods
from tests.tiers import FULL_TIER, LONGEST, is_whole_run

HERE = Path(__file__).parent
TESTS = """
import pytest
from tests.tiers import in_quick_tier

@pytest.fixture(params=["p", "q"])
def place(request):
    return request.param

@pytest.mark.parametrize(("letter", "bit"), [("x", 0), ("y", 0), ("x", 1)])
@pytest.mark.parametrize("number", [7, 8, 9, 10])
def test_product(letter, bit, number, place): pass

@pytest.mark.parametrize("kind", in_quick_tier("abc", "b".__eq__))
def test_kinds(kind): pass

@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float16", "float32"])
def test_types(dtype): pass

@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("size", "shape"), [(1, "a"), (2, "b"), (3, "c")])
def test_data(seed, size, shape): pass

@pytest.mark.slow
def test_slow(): pass

@pytest.mark.gpu
def test_gpu(): pass

@pytest.mark.thorough
def test_long(): pass
"""
EVERYTHING = {
    *(f"test_product[{place}-{n}-{row}]" for place, n, row in product("pq", (7, 8, 9, 10), ("x-0", "y-0", "x-1"))),
    *("test_kinds[a]", "test_kinds[b]", "test_kinds[c]", "test_slow"),
    *(f"test_types[{name}]" for name in ("bool", "int32", "int64", "float16", "float32")),
    *(f"test_data[{row}-{seed}]" for row in ("1-a", "2-b", "3-c") for seed in range(3)),
}
GPU, THOROUGH = {"CUTMATCH_TEST_GPU": "1"}, {"CUTMATCH_THOROUGH": "1"}
SLOW = {"test_kinds[a]", "test_kinds[c]", "test_slow"}
QUICK = {
    *("test_product[p-7-x-0]", "test_product[q-8-y-0]", "test_product[p-9-x-1]", "test_product[p-10-x-0]"),
    *("test_kinds[b]", "test_types[int64]", "test_types[float32]", "test_data[2-b-1]"),
}


@pytest.fixture
def suite(tmp_path):
    """A project whose tests are chosen as this one's are."""
    (tmp_path / "tests").mkdir()
    for name in ("conftest.py", "tiers.py"):
        shutil.copy(HERE / name, tmp_path / "tests")
    (tmp_path / "tests" / "test_some.py").write_text(TESTS)
    markers = "".join(f"\n    {name}: {name}" for name in ("gpu", "sim", "thorough", "slow"))
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\ntestpaths = tests\npythonpath = .\naddopts = --import-mode=importlib\nmarkers ={markers}\n"
    )
    return tmp_path


def pytest_in(folder, *options, **environment):
    clean = {key: value for key, value in os.environ.items() if key not in ("CUTMATCH_TEST_GPU", "CUTMATCH_THOROUGH")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={**clean, "PYTHONPATH": str(HERE.parent), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "environment", "expected"),
    [
        ((), {}, QUICK),
        (("--all",), {}, EVERYTHING),
        (("tests/test_some.py",), {}, EVERYTHING),
        (("-m", "thorough"), {}, {"test_long"}),
        pytest.param(("-m", "not slow"), {}, EVERYTHING - SLOW, marks=pytest.mark.slow),
        pytest.param(
            (), GPU | {"CUTMATCH_THOROUGH": "1"}, EVERYTHING | {"test_gpu", "test_long"}, marks=pytest.mark.slow
        ),
    ],
)
def test_what_is_run(suite, options, environment, expected):
    printed = pytest_in(suite, "--collect-only", "-q", *options, **environment)
    assert {line.rpartition("::")[2] for line in printed.splitlines() if "::" in line} == expected
    left = len(EVERYTHING) - len(QUICK)
    assert (f"{left} further combinations: ./run tests --all" in printed) == (expected is QUICK)


@pytest.mark.slow
def test_the_summary_says_how_many_are_left(suite):
    pytest.importorskip("xdist")
    printed = pytest_in(suite, "-n", "2")
    assert f"{len(EVERYTHING) - len(QUICK)} further combinations: ./run tests --all" in printed
    assert f"{len(QUICK)} passed" in printed


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
    assert on_cpu - used == set()


def test_the_files_that_are_named_exist():
    assert {path.name for path in HERE.rglob("test_*.py")} >= FULL_TIER | LONGEST
