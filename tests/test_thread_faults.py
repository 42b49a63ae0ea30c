"""Where one of several threads fails, cannot be started or is interrupted, the others end, and so does the call.

What would hang runs in a process of its own (thread_faults.py), which has to end in time.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import HAS_TIMER

HERE = Path(__file__).resolve().parent
SECONDS = 1200  # for compilation mostly
SOLVERS = 13
# A worker of each of these waits for all others.
WAITING = (
    "threads.run_team",
    "async_global.run_round",
    "lock_free.run_round",
)


def run(mode) -> dict:
    """What thread_faults.py prints: solver -> hits."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "NUMBA_NUM_THREADS": "3"}
    command = [sys.executable, HERE / "thread_faults.py", mode]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["solver"]: line["hits"] for line in lines}


@pytest.mark.slow
def test_an_error_in_any_worker_ends_the_others():
    hits = run("errors")
    assert len(hits) == SOLVERS
    for name, sites in hits.items():
        assert {site[-1] for site in sites} == {"0", "1", "2"}, name
    sites = set().union(*hits.values())
    assert {f"{site} {i}" for site in WAITING for i in range(3)} <= sites


@pytest.mark.slow
def test_a_thread_that_cannot_be_started_ends_the_others():
    hits = run("starts")
    assert len(hits) == SOLVERS
    assert all(hits.values())


@pytest.mark.skipif(not HAS_TIMER, reason="no timer that interrupts")
@pytest.mark.parametrize("mode", ["interrupts", pytest.param("large", marks=pytest.mark.slow)])
def test_an_interrupt_ends_all_threads(mode):
    hits = run(mode)
    assert len(hits) == (SOLVERS if mode == "interrupts" else 1)
    assert all(counts["in time"] for counts in hits.values())
