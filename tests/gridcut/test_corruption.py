"""check() proves what the caller holds: no field that a certificate proves can be altered unnoticed."""

import copy
import dataclasses
import multiprocessing
import pathlib
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import gridcut
from tests.gridcut.corruption import NEAR, ON_CPU_ONLY, PROVED, RESULTS, capacities, host, named, survey

ROOT = pathlib.Path(__file__).parents[2]
LEAST = 12  # falsifications of each field, or more


@pytest.mark.parametrize("name", named(RESULTS | ON_CPU_ONLY))
def test_no_falsified_field_passes(name):
    tried, passed = survey(name)
    assert not passed, "\n".join(passed)
    for field, count in tried.items():
        few = {"cut": 3}.get(field, 1 if field.startswith("argument") or name == "cut, no pixels" else LEAST)
        assert count >= few, (field, count)


@pytest.mark.gpu
@pytest.mark.parametrize("name", RESULTS)
def test_no_falsified_field_passes_on_a_gpu(name):
    tried, passed = survey(name, "cuda")
    assert tried
    assert not passed, "\n".join(passed)


@pytest.mark.slow
def test_every_result_and_every_field_is_tried_without_assertions(capsys):
    """The whole survey where `assert` says nothing, and its counts."""
    command = [sys.executable, "-O", "-m", "tests.gridcut.corruption"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    with capsys.disabled():
        print(f"\n{run.stdout.strip()}")
    words = run.stdout.split()
    results, fields, tried = int(words[0]), int(words[2]), int(words[4])
    assert results == len(RESULTS) + len(ON_CPU_ONLY)
    assert fields >= 2 * results + 2 * sum(name.startswith(("binary", "convex", "roof")) for name in RESULTS)
    assert tried >= LEAST * 2 * results


def test_every_class_of_results_is_listed():
    classes = {name for name in gridcut.__all__ if hasattr(getattr(gridcut, name), "check")}
    assert classes == set(PROVED)


# Copies

COPIES = {
    "pickle": lambda result: pickle.loads(pickle.dumps(result)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "copy of a pickle": lambda result: copy.deepcopy(pickle.loads(pickle.dumps(result))),
}
ALL = RESULTS | ON_CPU_ONLY


def values(result):
    """All fields a caller sees, arrays as lists."""
    found = {}
    for field in dataclasses.fields(result):
        if field.repr:
            value = getattr(result, field.name)
            if dataclasses.is_dataclass(value):
                value = values(value)
            elif hasattr(value, "shape"):
                value = (value.shape, value.dtype, host(value).tolist())
            found[field.name] = value
    return found


@pytest.mark.parametrize("name", named(ALL))
def test_copies_are_equal_and_prove_themselves(name):
    result, _ = ALL[name](1, "cpu")
    for copied in COPIES.values():
        twin = copied(result)
        assert twin is not result
        assert type(twin) is type(result)
        assert values(twin) == values(result)
        twin.check()
    field = PROVED[type(result).__name__][0]
    right = getattr(twin, field)
    wrong = ~np.array(right) if np.asarray(right).dtype.kind == "b" else right + 1
    if np.size(wrong):
        with pytest.raises(gridcut.CertificateError):
            dataclasses.replace(twin, **{field: wrong}).check()


@pytest.mark.gpu
@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("how", COPIES)
def test_copies_of_results_of_a_gpu(name, how):
    result, _ = RESULTS[name](1, "cuda")
    twin = COPIES[how](result)
    assert values(twin) == values(result)
    twin.check()


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_copies_hold_capacities_of_their_own(how):
    source, sink, edges = capacities(3)
    cut = gridcut.max_flow(source, sink, edges, device="cpu")
    residual, flow = cut.residual((0, 1)), cut.flow((0, 1))
    twin = COPIES[how](cut)
    source += 1
    with pytest.raises(gridcut.CertificateError):
        cut.check()
    twin.check()
    assert np.array_equal(twin.residual((0, 1)), residual)
    assert np.array_equal(twin.flow((0, 1)), flow)


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_copies_of_cuts_of_a_solver_that_has_gone_on(how, device):
    source, sink, edges = capacities(3)
    solver = gridcut.Solver(source, sink, edges, device=device)
    first = solver.solve()
    early = COPIES[how](first)
    solver.update(source=sink)
    late = COPIES[how](first)
    early.check()
    assert late.value == first.value
    assert np.array_equal(late.labels, first.labels)
    for cut in (first, late, COPIES[how](late)):
        for ask in (cut.check, lambda cut=cut: cut.flow((0, 1)), lambda cut=cut: cut.residual((0, 1))):
            with pytest.raises(RuntimeError, match=r"call residual\(\), flow\(\) and check\(\) before that"):
                ask()


def test_cuts_come_back_from_other_processes():
    source, sink, edges = capacities(5)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        cut = pool.submit(gridcut.max_flow, source, sink, edges, device="cpu").result()
        batch = pool.submit(gridcut.max_flow_batch, source[None], sink, NEAR, device="cpu").result()
    cut.check()
    batch.check()
    assert cut.value == gridcut.max_flow(source, sink, edges, device="cpu").value
