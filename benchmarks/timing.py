"""Clocks and scales: interleaved repeats, and measurements that need a separate process."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.table import ROOT

LEAST_ROUNDS, MAX_SECONDS = 3, 1.0  # of `least`


def timed(run, clock=time.perf_counter) -> tuple:
    """What a callable returns, and its seconds."""
    begin = clock()
    found = run()
    return found, clock() - begin


def rounds(runs: dict, repeats: int, once_above: float = float("inf"), clock=time.perf_counter) -> tuple[dict, dict]:
    """Median seconds and the last results of several callables, {name: callable}.

    Every round runs each of them once, so that a slow spell of the machine falls on all alike; one that takes more than
    `once_above` seconds runs in the first round only.
    """
    seconds = {name: [] for name in runs}
    results = {}
    for turn in range(repeats):
        for name, run in runs.items():
            if turn and seconds[name][0] > once_above:
                continue
            results[name], taken = timed(run, clock)
            seconds[name].append(taken)
    return {name: median(times) for name, times in seconds.items()}, results


def least(
    runs: dict, most_rounds: int, clock=time.perf_counter, most_seconds: float = MAX_SECONDS
) -> tuple[dict, dict]:
    """Least seconds and last results of several callables, {name: callable}, one call of each per round.

    Not medians: of short calls they depend more on other work on the machine than on the calls.  Each round begins with
    another callable: one that follows another program's copy of the data finds less of it in the caches.  Rounds end
    after `most_seconds`, but there are at least three, or `most_rounds`.
    """
    seconds, results, names = dict.fromkeys(runs, float("inf")), {}, list(runs)
    end = time.perf_counter() + most_seconds
    for turn in range(most_rounds):
        if turn >= LEAST_ROUNDS and time.perf_counter() >= end:
            break
        for k in range(len(names)):
            name = names[(turn + k) % len(names)]
            results[name], taken = timed(runs[name], clock)
            seconds[name] = min(seconds[name], taken)
    return seconds, results


def in_process(*words, environment=()) -> str:
    """What `python -m WORDS` prints, run with the packages of this checkout."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path} | dict(environment),
    )
    return done.stdout


def peak_memory(problem, solver) -> int:
    """Bytes that a solver needs for a problem, by benchmarks/probe.py in a process that does nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        problem.save(Path(folder))
        # Return freed arrays to the system immediately: otherwise later ones reuse memory that is already counted.
        environment = {"NUMBA_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
        return int(in_process("benchmarks.probe", folder, solver, environment=environment))
