"""Peak memory in a separate process: python -m benchmarks.probe FOLDER SOLVER.

FOLDER holds a saved Problem, SOLVER is a method of gridcut.max_flow or the name of a baseline.  Prints the bytes that
the process needs at its peak beyond what it holds when the inputs are loaded and the problem has been solved once and
forgotten (imports and machine code do not count); result included.
"""

import re
import sys
from pathlib import Path

from benchmarks.baselines import BASELINES


def resident(field):
    """Bytes of VmRSS (now) or VmHWM (peak) of this process.

    Not resource.ru_maxrss, which a child process inherits from its parent.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(re.search(rf"{field}:\s+(\d+) kB", status)[1])


def main(folder, name):
    from benchmarks.instances import Problem

    problem = Problem.read(folder)
    if name in BASELINES["grids"]:
        run = BASELINES["grids"][name].prepare(problem)
    else:
        import gridcut

        def run():
            cut = gridcut.max_flow(problem.source, problem.sink, problem.edges, device="cpu", method=name)
            return cut.value, cut.labels

    run()  # not a tiny one: other kernels may run on it, and compiling takes memory
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak reached so far
    result = run()
    print(resident("VmHWM") - before)
    del result


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
