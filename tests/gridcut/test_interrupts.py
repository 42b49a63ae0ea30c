"""Interrupts while kernels are loaded and finalised: they wait, and the process goes on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gridcut.device.numba_internals import deferred
from tests.faults import HAS_TIMER

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not HAS_TIMER, reason="needs a timer that raises interrupts")


class Stopped(Exception):
    pass


@pytest.fixture
def alarm():
    """SIGALRM raises Stopped."""

    def stop(*_):
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    yield stop
    signal.signal(signal.SIGALRM, before)


def test_a_handler_runs_at_the_end(alarm):
    steps = []

    def step():
        with deferred():
            signal.raise_signal(signal.SIGALRM)
            with deferred():
                signal.raise_signal(signal.SIGALRM)
            steps.append("whole")

    with pytest.raises(Stopped):
        step()
    assert steps == ["whole"]
    assert signal.getsignal(signal.SIGALRM) is alarm
    with pytest.raises(Stopped):
        signal.raise_signal(signal.SIGALRM)


def test_the_error_of_a_step_is_its_own(alarm):
    with pytest.raises(ZeroDivisionError), deferred():
        1 / 0  # noqa: B018
    assert signal.getsignal(signal.SIGALRM) is alarm


# A new dispatcher loads its machine code again.
CODE = """
import random, numpy as np
from tests.faults import interrupted
from gridcut.device import kernel

def rule(values):
    total = 0.0
    for value in np.sort(values):
        total += value
    return total

kernel(rule)(np.arange(4.0))
random.seed({seed})
stopped = 0
for _ in range({repetitions}):
    found = kernel(rule)
    stopped += interrupted(lambda: found(np.arange(4.0)), random.uniform(1e-5, {seconds}))
    assert found(np.arange(4.0)) == 6.0
print(stopped)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_interrupts_while_a_kernel_is_loaded(tmp_path, seed):
    (tmp_path / "run.py").write_text(CODE.format(seed=seed, repetitions=200, seconds=0.004))
    done = subprocess.run(
        [sys.executable, tmp_path / "run.py"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20
