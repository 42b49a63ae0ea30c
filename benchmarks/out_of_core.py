"""`python -m benchmarks out_of_core`: grids larger than the memory they are solved in, killed once and resumed.

Each instance is written to a folder (benchmarks/stored_instances.py) and solved by max_flow with method="out_of_core"
and a given memory budget in a separate process, which is killed in the middle of loading, and a second one in the
middle of a sweep; a third one finishes and certifies the cut.  Seconds are the sum of all three.  `peak` is the largest
resident set of any of them, the capacities' mapped pages included.

With --compare, the same grid in memory: the value and the labels must be the same, pixel for pixel.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import command
from benchmarks.table import ROOT, markdown
from benchmarks.timing import in_process
from gridcut.out_of_core.plan import memory_bytes

# name: kind, length of a side, memory
INSTANCES = {
    "slide 20000": ("slide", 20000, "4 GB"),
    "vessels 512, 6": ("vessels", 512, "6 GB"),
    "slide 4000": ("slide", 4000, "700 MB"),
    "vessels 128, 6": ("vessels", 128, "500 MB"),
}
KILLS = ("load", "sweep")  # phases in the middle of which a process is killed, one each
COLUMNS = ["instance", "size", "budget, GB", "peak, GB", "certified", "killed", "strips", "sweeps", "discharges"]
COLUMNS += ["solve, s", "check, s", "check peak, GB", "on disk, GB", "in memory, s", "its peak, GB", "ratio"]


def main(argv):
    options = _parser().parse_args(argv)
    report = command.begin("Grids larger than memory, out of core", ["numba", "numpy"])
    with tempfile.TemporaryDirectory(prefix="cutmatch-benchmark-") as scratch:
        rows = command.shown(measure(name, Path(scratch), options.compare) for name in options.names)
    return command.finish(report, markdown(COLUMNS, rows), options.save)


def measure(name: str, scratch: Path, compare: bool) -> list[str]:
    kind, size, memory = INSTANCES[name]
    budget = memory_bytes(memory)
    instance, state = scratch / name.replace(" ", "-"), scratch / "state"
    in_process("benchmarks.stored_instances", kind, size, instance)  # in a process whose memory does not count
    events, killed, seconds = [], [], 0.0
    for phase in (*KILLS, None):
        start = time.perf_counter()
        found, was_killed = run(instance, state, "out_of_core", budget, kill_in=phase)
        seconds += time.perf_counter() - start
        events += found
        killed += [phase] if was_killed else []
        if not was_killed:
            break
    on_disk = sum(path.stat().st_size for path in state.iterdir())
    shutil.rmtree(state)
    solved, certified = event(events, "solved"), event(events, "certified")
    seconds -= certified["seconds"]
    peak = max(e["peak"] for e in events if e["event"] != "certified")
    row = [name, "x".join([str(size)] * (3 if kind == "vessels" else 2)), gb(budget), gb(peak), "✓"]
    row += [" ".join(killed) or "-", *(str(solved["stats"][key]) for key in ("strips", "sweeps", "discharges"))]
    row += [f"{seconds:.0f}", f"{certified['seconds']:.0f}", gb(certified["peak"]), gb(on_disk)]
    if not compare:
        return [*row, "-", "-", "-"]
    whole, _ = run(instance, state, "auto", 0)
    other = event(whole, "solved")
    assert solved["value"] == other["value"], f"{name}: {solved['value']} in blocks, {other['value']} in memory"
    assert solved["labels"] == other["labels"], f"{name}: other labels in blocks than in memory"
    return [*row, f"{other['seconds']:.0f}", gb(other["peak"]), f"{seconds / other['seconds']:.1f}"]


def run(instance: Path, state: Path, method: str, budget: int, kill_in: str | None = None) -> tuple[list, bool]:
    """The events of one process, and whether it was killed: halfway through the phase `kill_in`, if it comes."""
    check = method == "out_of_core"
    arguments = [str(instance), str(state), method, str(budget), str(int(check))]
    # Return freed arrays to the system immediately: otherwise later arrays reuse memory that is already counted.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    probe = [sys.executable, "-m", "benchmarks.out_of_core_probe", *arguments]
    events = []
    with subprocess.Popen(probe, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            events.append(json.loads(line))
            now = events[-1]
            print(" ", *(f"{key}={value}" for key, value in now.items() if key != "stats"), file=sys.stderr)
            if now["event"] == "progress" and now["phase"] == kill_in and now["done"] >= math.ceil(now["of"] / 2):
                process.kill()
                return events, True
    if process.returncode:
        raise RuntimeError(f"{instance.name}: the process ended with status {process.returncode}")
    return events, False


def event(events: list, name: str) -> dict:
    return next(e for e in events if e["event"] == name)


def gb(size: int) -> str:
    return f"{size / 1e9:.2f}"


def _parser():
    parser = command.parser("out_of_core", __doc__, "out-of-core-cpu")
    default = list(INSTANCES)[:2]
    parser.add_argument("names", nargs="*", default=default, metavar="NAME", help=f"of {', '.join(INSTANCES)}")
    parser.add_argument("--compare", action="store_true", help="solve in memory too")
    return parser
