"""`python -m benchmarks graphs --device cuda`: cuts of large sparse graphs on a GPU, against one thread of the CPU.

load, solve   parts of the call
call          gridcut.graph_max_flow(device="cuda"), from arrays on the host to labels on the host
CPU           the CPU's default, one thread, likewise
PyMaxflow     its general graph, one thread, likewise

Medians of --rounds, in each of which all programs run in turn, after one run that is not timed; those slower than
ONCE_ABOVE seconds run once.  Every cut is certified, and has the value of the CPU's.  A method that takes more than
--limit seconds is stopped.
"""

from benchmarks import command, harness
from benchmarks.graph_baselines import BASELINES
from benchmarks.graph_instances import LARGE
from benchmarks.graphs import ONCE_ABOVE, GraphBench, GraphProgram
from benchmarks.harness import PATIENCE
from benchmarks.table import geometric_mean, markdown
from gridcut.graph.graph_methods import METHODS

COLUMNS = ["instance", "nodes", "arcs", "method", "certified", "load s", "solve s", "call s", "launches", "CPU s"]
COLUMNS += ["CPU / call", "PyMaxflow s", "PyMaxflow / call"]
CPU, BASELINE = "CPU", "PyMaxflow"


def main(argv) -> int:
    options = _parser().parse_args(argv)
    if command.unknown_instance(options.instances, LARGE):
        return 2
    report = command.gpu_header(
        "graphs --device cuda", "cuts of sparse graphs on a GPU", ["numba-cuda", "numba", "numpy", "PyMaxflow"]
    )
    if report is None:
        return 2
    programs = [GraphProgram(CPU, {"device": "cpu"})]
    programs += [GraphProgram(method, {"device": "cuda", "method": method}) for method in options.methods]
    programs += [GraphProgram(BASELINE)] * BASELINES[BASELINE].installed
    ratios = {method: {CPU: [], BASELINE: []} for method in options.methods}
    rows = []
    for name in options.instances or LARGE:
        worker = harness.Worker(name, options.limit, GraphBench)
        found = harness.measure(name, worker, programs, options.rounds, ONCE_ABOVE, patience=patience)
        found.raise_failures()
        rows += command.shown(rows_of(found, ratios))
    lines = ["", markdown(COLUMNS, rows), ""]
    for method, of_method in ratios.items():
        for name, of in of_method.items():
            if of:
                lines.append(f"{method}: {name} / call: geometric mean {geometric_mean(of):.2f}, least {min(of):.2f}.")
    return command.finish(report, "\n".join(lines), options.save)


def patience(program: GraphProgram) -> float:
    """Seconds in addition to the limit, which is for methods on a GPU."""
    return 0.0 if program.given.get("device") == "cuda" else PATIENCE


def rows_of(found: harness.Measured, ratios):
    """The rows of one instance, one per method of `ratios`, to which its ratios are added."""
    for method, of_method in ratios.items():
        row = [found.name, str(found.shape[0]), str(found.entries), method]
        if method not in found.ran:
            yield [*row, "-", "-", "-", found.state[method], "-", f"{found.seconds[CPU]:.3f}", "-", "-", "-"]
            continue
        ran, call = found.ran[method], found.seconds[method]
        row += [harness.CERTIFIED, f"{ran.build:.3f}", f"{ran.solve:.3f}", f"{call:.3f}", str(ran.launches or "-")]
        for program, of in of_method.items():
            spent = found.seconds.get(program)
            if spent is None:
                row += ["-", "-"]
                continue
            of.append(spent / call)
            row += [f"{spent:.3f}", f"{spent / call:.2f}"]
        yield row


def _parser():
    known = [name for name, method in METHODS.items() if method.cuda]
    parser = command.parser("graphs --device cuda", __doc__, "graphs-cuda")
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help=f"of: {'; '.join(LARGE)} (default: all)")
    parser.add_argument("--methods", nargs="+", choices=known, default=known, help="default: all of them")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs (default: 3)")
    parser.add_argument("--limit", type=float, default=30, help="seconds of a method (default: 30)")
    return parser
