"""`python -m benchmarks graphs --device cuda`: cuts of large sparse graphs on a GPU, against one thread of the CPU.

load, solve   parts of the call
call          gridcut.graph_max_flow(device="cuda"), from arrays on the host to labels on the host
CPU           the CPU's default, one thread, likewise
PyMaxflow     its general graph, one thread, likewise; run once

Medians of --rounds.  Every cut is certified, and has the value of the CPU's.
"""

import gridcut
from benchmarks import command, graph_instances
from benchmarks.graph_baselines import BASELINES
from benchmarks.graphs import capacity
from benchmarks.harness import timed
from benchmarks.table import geometric_mean, markdown
from benchmarks.timing import rounds

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


def main(argv) -> int:
    options = _parser().parse_args(argv)
    if command.unknown_instance(options.instances, INSTANCES):
        return 2
    report = command.gpu_header(
        "graphs --device cuda", "cuts of sparse graphs on a GPU", ["numba-cuda", "numba", "numpy", "PyMaxflow"]
    )
    if report is None:
        return 2
    gridcut.graph_max_flow(*graph_instances.path(1000), device=DEVICE, method="lock_free")  # compiles
    rows, found = [], {"CPU": [], "PyMaxflow": []}
    for name in options.instances or INSTANCES:
        rows.append(measure(name, options.rounds, found))
        print(" | ".join(rows[-1]), flush=True)
    columns = ["instance", "nodes", "arcs", "certified", "load s", "solve s", "call s", "launches", "CPU s"]
    columns += ["CPU / call", "PyMaxflow s", "PyMaxflow / call"]
    lines = ["", markdown(columns, rows), ""]
    for name, of in found.items():
        if of:
            lines.append(f"{name} / call: geometric mean {geometric_mean(of):.2f}, least {min(of):.2f}.")
    return command.finish(report, "\n".join(lines), options.save)


def measure(name: str, repeats: int, found: dict[str, list[float]]) -> list[str]:
    """The cells of one instance; adds its ratios to `found`."""
    problem = INSTANCES[name]()
    runs = {
        "call": lambda: gridcut.graph_max_flow(*problem, device=DEVICE, method="lock_free"),
        "CPU": lambda: gridcut.graph_max_flow(*problem, device="cpu"),
    }
    for run in runs.values():  # once untimed
        run()
    seconds, cuts = rounds(runs, repeats, ONCE_ABOVE)
    cut = cuts["call"]
    cut.check()
    if cut.value != cuts["CPU"].value:
        raise AssertionError(f"{name}: value {cut.value}, the CPU's {cuts['CPU'].value}")
    cells = [name, str(len(problem[1])), str(problem[0].nnz), "✓"]
    cells += [f"{cut.stats['seconds'].get(part, 0):.3f}" for part in ("load", "solve")]
    cells += [f"{seconds['call']:.3f}", str(cut.stats.get("launches", "-")), f"{seconds['CPU']:.3f}"]
    found["CPU"].append(seconds["CPU"] / seconds["call"])
    cells.append(f"{found['CPU'][-1]:.2f}")
    baseline = BASELINES["PyMaxflow"]
    if not baseline.installed:
        return [*cells, "-", "-"]
    arrays = baseline.prepare(*problem)
    (value, labels), taken = timed(lambda: baseline.run(arrays))
    if value != cut.value or capacity(problem, labels) != value:
        raise AssertionError(f"{name}: PyMaxflow's cut is another")
    found["PyMaxflow"].append(taken / seconds["call"])
    return [*cells, f"{taken:.3f}", f"{found['PyMaxflow'][-1]:.2f}"]


def _parser():
    parser = command.parser("graphs --device cuda", __doc__, TABLE)
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help=f"of: {'; '.join(INSTANCES)} (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs (default: 3)")
    return parser
