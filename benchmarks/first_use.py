"""Seconds of the first process that does a job, with no kernel compiled by this user, and of the second.

  python -m benchmarks first_use                    this environment
  python -m benchmarks first_use --python PATH      another one: a fresh one after `pip install .`, or with a wheel
  python -m benchmarks first_use --none-compiled    exit status 1 if any job compiles a kernel

Each job is one process: a command on sample files, or one call of a library.  The cache of compiled kernels is an empty
folder, so the first process compiles what the package does not carry.  Times are wall clocks of the processes, start
and imports included; medians of the repeats.  "kernels" is the number that the first process compiled, with those that
kernels call.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from apps.warmup.warmup_jobs import write_samples
from benchmarks import command
from benchmarks.table import markdown

# Commands on files of apps.warmup, other ones than those that `cutmatch warmup` runs, and code for the libraries.
JOBS = {
    "segment, strokes": "segment chelsea.jpg --strokes chelsea-strokes.png",
    "segment, box": "segment chelsea.jpg --box 60,20,400,290",
    "segment, labels": "segment chelsea.jpg --label-strokes chelsea-strokes.png",
    "segment, volume": "segment volume.npy --label-strokes volume-strokes.npy",
    "refine": "refine astronaut.jpg astronaut-rough.png",
    "superpixels": "superpixels coffee.jpg",
    "denoise": "denoise grey.png",
    "denoise, binary": "denoise silhouette.png --binary",
    "stereo": "stereo left.png right.png",
    "flow": "flow clip/0.png clip/2.png",
    "match": "match view2.jpg view1.jpg",
    "track": "track particles",
    "matching": "matching mesh.mtx",
    "max_flow, int32": "random(int32); gridcut.max_flow(a, b, {(0, 1): 9, (1, 0): 9}).check()",
    "max_flow, float64": "random(float64); gridcut.max_flow(a, b, {(0, 1): 9.0, (1, 0): 9.0}).check()",
    "max_flow, int32, 8": "random(int32); gridcut.max_flow(a, b, dict.fromkeys(((0, 1), (1, 0), (1, 1), (1, -1)), 9))",
    "assign.solve": "random(float64); assign.solve(a).check()",
    "linear_sum_assignment": "random(float64); assign.linear_sum_assignment(a)",
    "matching.maximum": "random(int32); matching.maximum(scipy.sparse.csr_array(a > 45)).check()",
}
LIBRARY = """
import sys
from numpy import float64, int32
import numpy
def random(dtype):
    global a, b
    values = numpy.random.default_rng(1).integers(-50, 50, (256, 256)).astype(dtype)
    a, b = numpy.maximum(values, 0), numpy.maximum(-values, 0)
"""
PROBE = """
import atexit, json, os
from numba.core import event
recorder = event.RecordingListener()
event.register("numba:compile", recorder)
def report():
    from gridcut.device.kernel_store import origins
    compiled = [found.data["dispatcher"].py_func for _, found in recorder.buffer if found.is_start]
    names = [f"{function.__module__}.{function.__name__}" for function in compiled]
    with open(os.environ["FIRST_USE_REPORT"], "w") as file:
        json.dump([names, list(origins.values()).count("carried")], file)
atexit.register(report)
"""


def run(python: str, job: str, folder: Path, cache: Path) -> dict:
    """Run a job in a process; return its seconds, and the kernels that it compiled and loaded from the package."""
    line = JOBS[job]
    if ";" in line:
        packages = {name for name in ("gridcut", "assign", "matching", "scipy.sparse") if f"{name}." in line}
        code = LIBRARY + "".join(f"import {name}\n" for name in sorted(packages)) + line.replace("; ", "\n")
    else:
        argv = [*line.split(), "--quiet", "--overwrite", "--out", str(cache.parent / "out")]
        code = f"from apps import cli\nraise SystemExit(cli.main({argv!r}))"
    report = cache.parent / "report.json"
    environment = dict(os.environ)
    if python != sys.executable:  # that environment's packages, not this one's
        environment.pop("PYTHONPATH", None)
    environment |= {"NUMBA_CACHE_DIR": str(cache), "FIRST_USE_REPORT": str(report)}
    start = time.perf_counter()
    done = subprocess.run(
        [python, "-c", PROBE + code], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{job}: {done.stderr.strip()}")
    kernels, carried = json.loads(report.read_bytes())
    return {"seconds": seconds, "kernels": kernels, "carried": carried}


def main(argv) -> int:
    options = command.parser("first_use", __doc__, "first-use", repeats=3)
    options.add_argument("--python", default=sys.executable, metavar="PATH", help="interpreter of the environment")
    options.add_argument("--none-compiled", action="store_true", help="fail if a kernel is compiled")
    chosen = options.parse_args(argv)
    rows, wrong = [], []
    report = command.begin("First use", ["numba", "numpy"])
    with tempfile.TemporaryDirectory(prefix="first-use-") as name:
        folder = Path(name) / "files"
        write_samples(folder)
        for job in JOBS:
            first, second = [], []
            for repeat in range(chosen.repeats):
                cache = Path(name) / f"{len(rows)}-{repeat}" / "cache"
                cache.parent.mkdir()
                first.append(run(chosen.python, job, folder, cache))
                second.append(run(chosen.python, job, folder, cache))
            compiled = len(first[0]["kernels"])
            if compiled:
                wrong.append(f"{job}: {', '.join(first[0]['kernels'])}")
            row = [job, *(f"{median(one['seconds'] for one in runs):.2f}" for runs in (first, second))]
            rows += command.shown([[*row, str(compiled), str(first[0]["carried"])]])
    columns = ["job", "first, s", "second, s", "kernels compiled", "loaded from the package"]
    command.finish(report, markdown(columns, rows), chosen.save)
    if chosen.none_compiled and wrong:
        print(f"benchmarks first_use: kernels were compiled for {'; '.join(wrong)}", file=sys.stderr)
        return 1
    return 0
