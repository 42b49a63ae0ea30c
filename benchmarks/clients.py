"""Whole processes of programs that use another library, with that library and with ours by a changed import.

The programs are in benchmarks/client_programs.py.  For each duration of --seconds, one process with the other library
does as much work as fits; then both do that work in turns, --repeats times.  "wall" and "CPU" are seconds of the whole
process, start and imports included; "solver" is the time within the functions that were replaced, the first call
included.  Ratios are theirs to ours, medians of the rounds.  A row appears only if both results are equal.

Kernels must be compiled, and bytecode written (without it, Python compiles numba's 150 modules for 1.1 s in each
process), so the first process of ours is not timed.  A program whose packages are not installed is left
out: pip install kamui[extra] motmetrics laptrack stardist pyomo lapx PyMaxflow pandas.
"""

import json
import os
import subprocess
import sys
import time
from statistics import median

from benchmarks import command
from benchmarks.client_programs import PROGRAMS
from benchmarks.table import ROOT, markdown

COLUMNS = (
    "program", "replaced", "work s", "theirs wall s", "ours wall s", "ratio wall", "ratio CPU", "theirs solver s",
    "ours solver s", "ratio solver",
)  # fmt: skip


# Relative, of results.  FAQ goes on from one of several assignments of equal cost, so it may end in another optimum.
TOLERANCE = {"graph_matching": 1e-3}


def run(name, which, seconds, units):
    """A process: its output, with its wall and CPU seconds; None if a package is missing."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.client_programs", name, which, str(seconds), str(units)],
        capture_output=True, text=True, cwd=ROOT, env=environment,
    )  # fmt: skip
    wall, after = time.perf_counter() - start, os.times()
    if "ModuleNotFoundError" in done.stderr or "backend is not installed" in done.stderr:
        return None
    if done.returncode:
        raise RuntimeError(f"{name}, {which}: {done.stderr[-2000:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {**json.loads(done.stdout.splitlines()[-1]), "wall": wall, "cpu": cpu}


def compared(name, seconds, repeats):
    """A row of the table, or None."""
    first = run(name, "theirs", seconds, 0)
    if first is None or run(name, "ours", seconds, 1) is None:
        print(f"{name}: skipped, a package is not installed", flush=True)
        return None
    rounds = []
    for _ in range(repeats):
        theirs, ours = (run(name, which, seconds, first["units"]) for which in ("theirs", "ours"))
        if abs(theirs["result"] - ours["result"]) > TOLERANCE.get(name, 1e-6) * abs(theirs["result"]):
            raise AssertionError(f"{name}: results {theirs['result']} and {ours['result']}")
        rounds.append((theirs, ours))

    def ratio(of):
        return f"{median(theirs[of] / ours[of] for theirs, ours in rounds):.2f}"

    def seconds_of(which, of):
        return f"{median(pair[which][of] for pair in rounds):.3g}"

    return [
        name, PROGRAMS[name][1], f"{seconds:g}", seconds_of(0, "wall"), seconds_of(1, "wall"), ratio("wall"),
        ratio("cpu"), seconds_of(0, "seconds"), seconds_of(1, "seconds"), ratio("seconds"),
    ]  # fmt: skip


def main(argv):
    options = command.parser("clients", __doc__, "clients-cpu")
    options.add_argument("--programs", nargs="*", choices=list(PROGRAMS), default=list(PROGRAMS), help="default: all")
    options.add_argument("--seconds", nargs="*", type=float, default=[2, 10], help="durations of the work (2 10)")
    options.add_argument("--repeats", type=int, default=3, metavar="N", help="rounds (default: 3)")
    chosen = options.parse_args(argv)
    packages = ["numpy", "scipy", "numba", "lapx", "PyMaxflow", "networkx", "kamui", "motmetrics"]
    title = "Programs of other people, with one changed import"
    report = command.begin(title, [*packages, "laptrack", "stardist", "pyomo"])
    found = (compared(name, seconds, chosen.repeats) for name in chosen.programs for seconds in chosen.seconds)
    rows = command.shown(filter(None, found))
    return command.finish(report, markdown(COLUMNS, rows), chosen.save)
