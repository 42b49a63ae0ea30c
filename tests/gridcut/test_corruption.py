"""check() proves what the caller holds: no field that a certificate proves can be altered unnoticed."""

import pathlib
import subprocess
import sys

import pytest

from tests.gridcut.corruption import ON_CPU_ONLY, PROVED, RESULTS, named, survey

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
    import gridcut

    classes = {name for name in gridcut.__all__ if hasattr(getattr(gridcut, name), "check")}
    assert classes == set(PROVED)
