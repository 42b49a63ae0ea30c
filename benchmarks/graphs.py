"""`python -m benchmarks graphs`: cuts of sparse graphs against other programs, from arrays to labels, on one thread.

Every program gets the arrays that it accepts, prepared outside of the clock, and is timed from them to its labels
(thinhpf, which has no function for them: to its value).  Times are medians of rounds in which every program runs once,
after one run that is not timed; a program slower than ONCE_ABOVE seconds runs once, one slower than LIMIT is stopped.
Our result is certified, and every program's value and labels must be those of a minimum cut.  ratio = program / ours.
"""

from typing import NamedTuple

import gridcut
from benchmarks import command, harness
from benchmarks.graph_baselines import BASELINES
from benchmarks.graph_instances import INSTANCES, LARGE, path
from benchmarks.table import geometric_mean, markdown
from benchmarks.timing import timed

ONCE_ABOVE, LIMIT = 3.0, 30.0  # seconds
OURS = "gridcut"


class GraphProgram(NamedTuple):
    """A name of BASELINES, or any other one and arguments of gridcut.graph_max_flow."""

    name: str
    given: dict = {}


class GraphRun(NamedTuple):
    """One run; `wrong`: None or the reason."""

    seconds: float
    wrong: str | None
    build: float | None = None
    solve: float | None = None
    launches: int | None = None

    CLOCKS = ("build", "solve")


class GraphBench:
    """One instance and the runs of programs on it, as benchmarks/harness.py requires."""

    def open(self, source):
        self.problem = (INSTANCES | LARGE)[source]()
        self.prepared = {}
        cut = gridcut.graph_max_flow(*self.problem, device="cpu")
        cut.check()
        self.value = cut.value
        graph = self.problem[0]
        return graph.shape, graph.nnz, None

    def compile(self, program):
        if program.name not in BASELINES:
            gridcut.graph_max_flow(*path(1000), **program.given)

    def run(self, program, calls):
        if program.name not in BASELINES:
            cut, seconds = timed(lambda: gridcut.graph_max_flow(*self.problem, **program.given))
            self.cut = cut
            wrong = None if cut.value == self.value else f"value {cut.value}, not {self.value}"
            parts = (cut.stats["seconds"].get(part, 0.0) for part in ("load", "solve"))
            return GraphRun(seconds, wrong, *parts, cut.stats.get("launches"))
        baseline = BASELINES[program.name]
        if program.name not in self.prepared:
            self.prepared[program.name] = baseline.prepare(*self.problem)
        arrays = self.prepared[program.name]
        (value, labels), seconds = timed(lambda: baseline.run(arrays))
        wrong = None if value == self.value else f"value {value}, not {self.value}"
        if wrong is None and labels is not None and (found := capacity(self.problem, labels)) != self.value:
            wrong = f"its labels are a cut of {found}, not {self.value}"
        return GraphRun(seconds, wrong)

    def certify(self, program):
        if program.name not in BASELINES:
            self.cut.check()


def capacity(problem, labels) -> int:
    """The capacity of a cut."""
    graph, source, sink = problem
    arcs = graph.tocoo()
    crossing = arcs.data[labels[arcs.row] & ~labels[arcs.col]].sum()
    return int(crossing + source[~labels].sum() + sink[labels].sum())


def main(argv):
    options = _parser().parse_args(argv)
    if command.unknown_instance(options.instances, INSTANCES):
        return 2
    installed = [name for name in BASELINES if BASELINES[name].installed]
    distributions = [BASELINES[name].distribution for name in installed]
    report = command.begin("cuts of sparse graphs on the CPU, one thread", ["numba", "numpy", *distributions])
    programs = [GraphProgram(name) for name in (OURS, *installed)]
    ratios = {name: [] for name in installed}
    rows = command.shown(
        row_of(
            harness.measure(name, harness.Worker(name, LIMIT, GraphBench), programs, options.rounds, ONCE_ABOVE),
            installed,
            ratios,
        )
        for name in options.instances or INSTANCES
    )
    columns = ["instance", "nodes", "entries", "certified", "ours, ms", "build, ms", "solve, ms"]
    for name in installed:
        columns += [f"{name}, ms", "ratio"]
    lines = ["", markdown(columns, rows), ""]
    for name, found in ratios.items():
        if found:
            least = min(found)
            lines.append(f"{name}: geometric mean of the ratios {geometric_mean(found):.2f}, least {least:.2f}.")
    lines += [f"{name} is not installed." for name in BASELINES if name not in installed]
    lines.append(f"stopped: took more than {LIMIT:.0f} s.")
    return command.finish(report, "\n".join(lines), options.save)


def row_of(result: harness.Measured, installed, ratios) -> list[str]:
    """The cells of one instance; adds its ratios."""
    cells = [result.name, str(result.shape[0]), str(result.entries)]
    if OURS not in result.ran:
        return [*cells, result.state[OURS], *["-"] * (3 + 2 * len(installed))]
    ran, ours = result.ran[OURS], result.seconds[OURS]
    cells += [harness.CERTIFIED, *(f"{1e3 * seconds:.1f}" for seconds in (ours, ran.build, ran.solve))]
    for name in installed:
        if name in result.ran:
            ratio = result.seconds[name] / ours
            ratios[name].append(ratio)
            cells += [f"{1e3 * result.seconds[name]:.1f}", f"{ratio:.2f}"]
        else:
            cells += [result.state.get(name, "-"), "-"]
    return cells


def _parser():
    parser = command.parser("graphs", __doc__, "graphs-cpu")
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help=f"of: {'; '.join(INSTANCES)} (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each program (default: 5)")
    return parser
