"""One measurement in a separate process: python -m benchmarks.probe first|memory FOLDER SOLVER DEVICE.

FOLDER holds a saved Problem, SOLVER is a method of gridcut.max_flow or the name of a baseline.  Prints JSON.

first    seconds of `import gridcut`, and of the first call after it, everything that it compiles included
memory   bytes the process needs at its peak beyond what it holds when the inputs are loaded and the problem
         has been solved once and forgotten (imports and machine code do not count); result included
"""

import json
import re
import sys
import time
from pathlib import Path

from benchmarks.baselines import BASELINES


def solver_of(name, device):
    if name in BASELINES["grids"]:
        return lambda problem: BASELINES["grids"][name].prepare(problem)()
    import gridcut

    def run(problem):
        cut = gridcut.max_flow(problem.source, problem.sink, problem.edges, device=device, method=name)
        return cut.value, cut.labels

    return run


def resident(field):
    """Bytes of VmRSS (now) or VmHWM (peak) of this process.

    Not resource.ru_maxrss, which a child process inherits from its parent.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(re.search(rf"{field}:\s+(\d+) kB", status)[1])


def first(folder, name, device):
    from benchmarks.instances import Problem

    problem = Problem.read(folder)
    start = time.perf_counter()
    run = solver_of(name, device)
    imported = time.perf_counter()
    run(problem)
    return {"import": imported - start, "first": time.perf_counter() - imported}


def memory(folder, name, device):
    from benchmarks.instances import Problem

    problem = Problem.read(folder)
    run = solver_of(name, device)
    run(problem)  # not a tiny one: other kernels may run on it, and compiling takes memory
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak reached so far
    result = run(problem)
    return {"peak": resident("VmHWM") - before, "value": int(result[0])}


if __name__ == "__main__":
    measure = {"first": first, "memory": memory}[sys.argv[1]]
    print(json.dumps(measure(Path(sys.argv[2]), *sys.argv[3:])))
