"""Atomics, threads, and device selection."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import gridcut
from gridcut.device import (
    atomic_add,
    atomic_cas,
    atomic_load,
    atomic_store,
    kernel,
    run_threads,
)
from gridcut.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]


@kernel
def count_kernel(cells, rounds):
    for i in range(rounds):
        atomic_add(cells, i % 3, 1)
        seen = atomic_load(cells, 3)
        while atomic_cas(cells, 3, seen, seen + 2) != seen:
            seen = atomic_load(cells, 3)
    atomic_store(cells, 4, rounds)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_atomics_lose_no_update(dtype):
    cells = np.zeros(5, dtype)
    run_threads(lambda i: count_kernel(cells, 30_000), 4)
    assert cells.tolist() == [40_000, 40_000, 40_000, 240_000, 30_000]


def python(code, **environment):
    """Run a script in a new interpreter and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_solvers_run_with_jit_disabled():
    code = """
        import numpy as np, gridcut
        rng = np.random.default_rng(0)
        problem = *rng.integers(0, 9, (2, 3, 4)), {(0, 1): 2, (1, 0): 3}
        for method in {methods}:
            cut = gridcut.max_flow(*problem, method=method)
            cut.check()
            print(cut.value)
    """
    methods = [name for name, entry in METHODS.items() if entry.cpu and name != "ibfs"]
    values = python(code.replace("{methods}", repr(methods)), NUMBA_DISABLE_JIT="1").split()
    rng = np.random.default_rng(0)
    want = gridcut.max_flow(*rng.integers(0, 9, (2, 3, 4)), {(0, 1): 2, (1, 0): 3}).value
    assert values == [str(want)] * len(methods)


@pytest.mark.usefixtures("gpu")
def test_a_gpu_is_used_if_available():
    assert gridcut.max_flow(np.ones(3, int), np.ones(3, int), {(1,): 1}).device == "cuda"
