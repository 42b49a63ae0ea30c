"""Clocks and scales: interleaved repeats, and measurements that need a separate process.

First calls need an empty kernel cache and peak memory needs a process that did nothing else, so both are
measured by benchmarks/probe.py in a fresh process.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

WAITING = 1.25  # a single-threaded run that takes more than this times its processor time had to wait


def interleaved(runs, repeats):
    """Median seconds of each of several callables, {name: callable}, and whether the machine was idle otherwise.

    Every round runs each of them once, so that a slow spell of the machine falls on all alike.  A round in
    which a run waited for the processor (others had it, or the process was stopped) is taken again, up to
    `repeats` times; if no round was calm, all count and the second result is False.
    """
    rounds = []
    while len(rounds) < 2 * repeats and sum(calm for _, calm in rounds) < repeats:
        seconds, calm = {}, True
        for name, run in runs.items():
            start, used = time.perf_counter(), time.process_time()
            run()
            seconds[name] = time.perf_counter() - start
            calm &= seconds[name] <= WAITING * (time.process_time() - used) + 0.005
        rounds.append((seconds, calm))
    calm = any(calm for _, calm in rounds)
    kept = [seconds for seconds, was_calm in rounds if was_calm or not calm]
    return {name: median(seconds[name] for seconds in kept) for name in runs}, calm


def rounds(runs: dict, repeats: int, once_above: float) -> tuple[dict, dict]:
    """Median seconds and the results of several callables, interleaved; more than `once_above` seconds: run once."""
    seconds = {name: [] for name in runs}
    results = {}
    for turn in range(repeats):
        for name, run in runs.items():
            if turn and seconds[name][0] > once_above:
                continue
            begin = time.perf_counter()
            results[name] = run()
            seconds[name].append(time.perf_counter() - begin)
    return {name: median(times) for name, times in seconds.items()}, results


def in_fresh_process(what, problem, *, solver, device="cpu", threads=1, empty_cache=False):
    """Run benchmarks/probe.py on a problem; returns what it measured."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        problem.save(folder)
        environment = dict(os.environ, NUMBA_NUM_THREADS=str(threads))
        # Return freed arrays to the system immediately: otherwise later ones reuse memory that is already counted.
        environment["MALLOC_MMAP_THRESHOLD_"] = "65536"
        if empty_cache:
            environment["NUMBA_CACHE_DIR"] = str(folder / "cache")
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.probe", what, str(folder), solver, device],
            capture_output=True,
            text=True,
            env=environment,
            cwd=Path(__file__).resolve().parents[1],
        )
    if done.returncode:
        raise RuntimeError(f"probe {what} failed:\n{done.stderr}")
    return json.loads(done.stdout)
