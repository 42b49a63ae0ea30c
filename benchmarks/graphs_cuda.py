"""`python -m benchmarks graphs --device cuda`: cuts of large sparse graphs on a GPU, against one thread of the CPU.

load, solve   parts of the call
call          gridcut.graph_max_flow(device="cuda"), from arrays on the host to labels on the host
CPU           the CPU's default, one thread, likewise
PyMaxflow     its general graph, one thread, likewise; run once

Medians of --rounds, in each of which all methods and the CPU run in turn.  Every cut is certified, and has the value of
the CPU's.  A method whose first call takes more than --limit seconds is stopped after the launch in progress.
"""

import signal
from contextlib import contextmanager

import gridcut
from benchmarks import command, graph_instances
from benchmarks.graph_baselines import BASELINES
from benchmarks.graphs import capacity
from benchmarks.harness import timed
from benchmarks.table import geometric_mean, markdown
from benchmarks.timing import rounds
from gridcut.graph.graph_methods import METHODS

TABLE = "graphs-cuda"
ONCE_ABOVE = 3.0
DEVICE = "cuda"  # the tests put "cpu" here

# About 10^7 arcs each.
INSTANCES = {
    "cells, 1.7 10^6": lambda: graph_instances.cells(1_700_000, 2, 1.5),
    "tetrahedra, 6.5 10^5": lambda: graph_instances.cells(650_000, 3, 2.0),
    "random, 2.5 10^6": lambda: graph_instances.random(2_500_000, 10_000_000),
    "roads, 3.6 10^6": lambda: graph_instances.roads(1900),
    "path, 5 10^6": lambda: graph_instances.path(5_000_000),
}
COLUMNS = ["instance", "nodes", "arcs", "method", "certified", "load s", "solve s", "call s", "launches", "CPU s"]
COLUMNS += ["CPU / call", "PyMaxflow s", "PyMaxflow / call"]


def main(argv) -> int:
    parser = _parser()
    options = parser.parse_args(argv)
    if command.unknown_instance(options.instances, INSTANCES):
        return 2
    report = command.gpu_header(
        "graphs --device cuda", "cuts of sparse graphs on a GPU", ["numba-cuda", "numba", "numpy", "PyMaxflow"]
    )
    if report is None:
        return 2
    for method in options.methods:
        gridcut.graph_max_flow(*graph_instances.path(1000), device=DEVICE, method=method)  # compiles
    found = {method: {"CPU": [], "PyMaxflow": []} for method in options.methods}
    rows = []
    for name in options.instances or INSTANCES:
        for row in measure(name, options.rounds, options.limit, found):
            rows.append(row)
            print(" | ".join(row), flush=True)
    lines = ["", markdown(COLUMNS, rows), ""]
    for method, ratios in found.items():
        for name, of in ratios.items():
            if of:
                lines.append(f"{method}: {name} / call: geometric mean {geometric_mean(of):.2f}, least {min(of):.2f}.")
    return command.finish(report, "\n".join(lines), options.save)


def measure(name: str, repeats: int, limit: float, found: dict[str, dict[str, list[float]]]) -> list[list[str]]:
    """The rows of one instance, one per method of `found`, to which the ratios are added."""
    problem = INSTANCES[name]()
    runs = {"CPU": lambda: gridcut.graph_max_flow(*problem, device="cpu")}
    for method in found:

        def run(method=method):
            return gridcut.graph_max_flow(*problem, device=DEVICE, method=method)

        if ends_within(limit, run):  # once untimed
            runs[method] = run
    runs["CPU"]()
    seconds, cuts = rounds(runs, repeats, ONCE_ABOVE)
    for method in found:
        if method in cuts:
            cuts[method].check()
            if cuts[method].value != cuts["CPU"].value:
                raise AssertionError(f"{name}, {method}: value {cuts[method].value}, the CPU's {cuts['CPU'].value}")
    taken = seconds_of_pymaxflow(name, problem, cuts["CPU"].value)
    rows = []
    for method, ratios in found.items():
        row = [name, str(len(problem[1])), str(problem[0].nnz), method]
        if method not in cuts:
            rows.append([*row, "-", "-", "-", f"> {limit:g}", "-", f"{seconds['CPU']:.3f}", "-", "-", "-"])
            continue
        stats, call = cuts[method].stats, seconds[method]
        row += ["✓", *(f"{stats['seconds'].get(part, 0):.3f}" for part in ("load", "solve"))]
        row += [f"{call:.3f}", str(stats.get("launches", "-"))]
        for program, spent in (("CPU", seconds["CPU"]), ("PyMaxflow", taken)):
            if spent is None:
                row += ["-", "-"]
                continue
            ratios[program].append(spent / call)
            row += [f"{spent:.3f}", f"{spent / call:.2f}"]
        rows.append(row)
    return rows


def seconds_of_pymaxflow(name: str, problem, value) -> float | None:
    """The time of PyMaxflow, whose cut must have this value; None if it is not installed."""
    baseline = BASELINES["PyMaxflow"]
    if not baseline.installed:
        return None
    arrays = baseline.prepare(*problem)
    (its_value, labels), taken = timed(lambda: baseline.run(arrays))
    if its_value != value or capacity(problem, labels) != value:
        raise AssertionError(f"{name}: PyMaxflow's cut is another")
    return taken


def ends_within(limit: float, run) -> bool:
    """Whether a callable returns within `limit` seconds; else it is stopped when it executes Python code again."""
    try:
        with alarm(limit):
            run()
    except TimeoutError:
        return False
    return True


@contextmanager
def alarm(seconds: float):
    """Raise TimeoutError in the block after that time, by the signal of a timer."""

    def stop(number, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _parser():
    known = [name for name, method in METHODS.items() if method.cuda]
    parser = command.parser("graphs --device cuda", __doc__, TABLE)
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help=f"of: {'; '.join(INSTANCES)} (default: all)")
    parser.add_argument("--methods", nargs="+", choices=known, default=known, help="default: all of them")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs (default: 3)")
    parser.add_argument("--limit", type=float, default=30, help="seconds of the first call of a method (default: 30)")
    return parser
