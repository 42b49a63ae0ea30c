"""`python -m benchmarks graphs`: cuts of sparse graphs against other programs, from arrays to labels, on one thread.

Every program gets the arrays that it accepts, prepared outside of the clock, and is timed from them to its labels
(thinhpf, which has no function for them: to its value).  Times are medians of --rounds in which every program runs
once, after one run that is not timed; a program slower than ONCE_ABOVE seconds runs once, one slower than --limit is
stopped.
Our results are certified, and every program's value and labels must be those of a minimum cut.

With --device cuda: large graphs, each method of the GPU, and the CPU's default and PyMaxflow with one thread each.
"""

from typing import NamedTuple

import gridcut
from benchmarks import baselines, command, harness
from benchmarks.graph_instances import INSTANCES, LARGE, path
from benchmarks.table import means, milliseconds, number, ratio, records
from benchmarks.timing import timed
from gridcut.graph.graph_flow import METHODS

ONCE_ABOVE = 3.0  # seconds
BASELINES = baselines.BASELINES["graphs"]


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
        if program.name not in self.prepared:
            self.prepared[program.name] = BASELINES[program.name].prepare(*self.problem)
        (value, labels), seconds = timed(self.prepared[program.name])
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
    cuda = options.device == "cuda"
    known = LARGE if cuda else INSTANCES
    command.known_instances(options.instances, known)
    installed = baselines.installed("graphs")
    if cuda:
        methods = options.methods or [name for name, method in METHODS.items() if method.cuda]
        ours = [GraphProgram(method, {"device": "cuda", "method": method}) for method in methods]
        others = [GraphProgram("CPU", {"device": "cpu"}), *[GraphProgram("PyMaxflow")] * ("PyMaxflow" in installed)]
    else:
        ours, others = [GraphProgram("gridcut")], [GraphProgram(name) for name in installed]
    distributions = ["numba", "numpy", *(one.distribution for one in installed.values())]
    report = command.report_on(options.device, "graphs", "cuts of sparse graphs", distributions)
    rows, ratios = [], {}
    for name in options.instances or known:
        worker = harness.Worker(name, options.limit or None, GraphBench)
        found = harness.measure(name, worker, [*others, *ours], options.rounds, ONCE_ABOVE, patience=patience)
        if cuda:
            found.raise_failures()
        rows += command.shown(rows_of(found, [one.name for one in ours], [one.name for one in others], ratios))
    text = f"\n{records(rows)}\n\n{means(ratios)}\n\nstopped: took more than {options.limit:g} s."
    return command.finish(report, text, options.save and options.save.format(device=options.device))


def patience(program: GraphProgram) -> float:
    """Seconds in addition to the limit, which is for methods on a GPU and for baselines."""
    return harness.PATIENCE if program.given.get("device") == "cpu" else 0.0


def rows_of(found: harness.Measured, ours, others, ratios):
    """The rows of one instance, one per program of ours; its ratios are added."""
    for method in ours:
        row = {"instance": found.name, "nodes": str(found.shape[0]), "entries": str(found.entries), "program": method}
        row["certified"] = found.state[method]
        if method in found.ran:
            ran, call = found.ran[method], found.seconds[method]
            row |= {"build ms": milliseconds(ran.build), "solve ms": milliseconds(ran.solve)}
            row |= {"call ms": milliseconds(call), "launches": str(ran.launches or "-")}
        for other in others:
            spent = found.seconds.get(other)
            quotient = ratio(spent, found.seconds.get(method))
            ratios.setdefault(f"{other} / {method}", []).append(quotient)
            row |= {f"{other} ms": milliseconds(spent), f"{other} / call": number(quotient)}
        yield row


def _parser():
    parser = command.parser("graphs", __doc__, "graphs-{device}", devices=True)
    names = "; ".join(INSTANCES | LARGE)
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help=f"of: {names} (default: all of the device)")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), help="on a GPU (default: all that it has)")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each program (default: 5)")
    parser.add_argument("--limit", type=float, default=30, metavar="SECONDS", help="of a program (0: none)")
    return parser
