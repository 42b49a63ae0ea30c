"""check() proves what the caller holds: no field that a certificate proves can be altered unnoticed, nor in a copy."""

import copy
import dataclasses
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import assign
import gridcut
import matching
from tests.corruption import PROVED, RESULTS, altered, forged_fields, host, refuses, survey
from tests.gridcut.corruption import ON_GPU

ROOT = pathlib.Path(__file__).parents[1]
LEAST = 8  # falsifications of each field, or more
RARE = ("gridcut: convex, float", "gridcut: roof, float")  # numbers of arcs for which kernels are rarely compiled
ALL = [pytest.param(name, marks=pytest.mark.slow) if name in RARE else name for name in RESULTS]
ON_A_GPU = [pytest.param(f"gridcut: {name}", marks=pytest.mark.gpu) for name in ON_GPU]
SIMULATED = [pytest.param(f"gridcut: {name}", marks=pytest.mark.sim) for name in ("cut", "batch", "cut of a Solver")]
# Classes whose falsifications need the decomposition, the flow or the ranking: tested with these.
ELSEWHERE = {"BlockTriangular", "MinCostFlow", "RankedAssignments", "InfeasibleError", "InfeasibleFlowError"}
COPIES = {
    "pickle": lambda result: pickle.loads(pickle.dumps(result)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "copy of a pickle": lambda result: copy.deepcopy(pickle.loads(pickle.dumps(result))),
}


@pytest.mark.parametrize("name", [*ALL, *ON_A_GPU])
def test_no_falsified_field_passes(name, request):
    on_gpu = request.node.get_closest_marker("gpu") is not None
    tried, passed = survey(name, "cuda" if on_gpu else "cpu")
    assert not passed, "\n".join(passed)
    for field, count in tried.items():
        assert count >= (1 if field.startswith(("argument", "cut")) or name.endswith("no pixels") else LEAST), field


@pytest.mark.slow
def test_without_assertions(capsys):
    """The whole survey where `assert` says nothing."""
    command = [sys.executable, "-O", "-m", "tests.corruption"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert int(run.stdout.split()[0]) == len(RESULTS)


def test_every_class_of_results_is_falsified():
    """A new field fails here until check() certifies it, or it is one of those that say what ran."""
    public = {
        name for package in (gridcut, assign, matching) for name in package.__all__
        if hasattr(getattr(package, name), "check")
    }  # fmt: skip
    assert public - ELSEWHERE == set(PROVED)
    reported = {"method", "init", "device", "stats"}
    for make in RESULTS.values():
        result, _ = make(1, "cpu")
        fields = {field.name for field in dataclasses.fields(result) if field.repr}
        assert fields - reported <= set(PROVED[type(result).__name__]), type(result).__name__


def values(result):
    """All fields a caller sees, arrays as lists."""
    found = {}
    for field in dataclasses.fields(result):
        if field.repr:
            value = host(getattr(result, field.name))
            if dataclasses.is_dataclass(value):
                value = values(value)
            elif hasattr(value, "shape"):
                value = (value.shape, value.dtype, str(value.tolist() if isinstance(value, np.ndarray) else value))
            elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
                value = [values(one) for one in value]
            found[field.name] = value
    return found


@pytest.mark.parametrize("name", [*ALL, *ON_A_GPU, *SIMULATED])
def test_copies_are_equal_and_prove_themselves(name, request):
    marks = {mark.name for mark in request.node.iter_markers()}
    result, _ = RESULTS[name](1, "cuda" if marks & {"gpu", "sim"} else "cpu")
    for copied in COPIES.values():
        twin = copied(result)
        assert twin is not result
        assert type(twin) is type(result)
        assert values(twin) == values(result)
        twin.check()
    field, _, wrong = next(iter(forged_fields(twin, twin)), (None, None, None))
    assert field is None or refuses(altered(twin, field, wrong))
