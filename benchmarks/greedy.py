"""`python -m benchmarks greedy`: greedy matchings of large general graphs: pairs, weights and seconds, CPU and GPU.

  python -m benchmarks greedy "grid 1000^2"                          on the CPU
  python -m benchmarks greedy --device cuda --cache /tmp/graphs      and on a GPU: graphs of more than 10^7 edges
  python -m benchmarks greedy --device cuda "road 1000^2" --quick    others; without the CPU's slow methods

call        matching.greedy from a SciPy matrix, including validation and the weight of the matching
solve       the method alone; of methods on a GPU, from a graph on the GPU
transfers   including the transfer of the graph to the GPU and of the matching to the host
pairs %     of "random" on the CPU, the serial pass that the last column compares with
weight %    of "sorted", edges by decreasing weight; weights are random, equal at both ends, in (0, 1]
the same    a method's matching equals that of its twin on the CPU, of "sorted" for "locally_dominant", in every run

Medians of --runs, interleaved; a program that takes more than ONCE_ABOVE seconds is timed once.  A row appears only if
its matching is certified: pairs of neighbours, no edge between two unmatched vertices, and for "locally_dominant"
heaviest first.  `python -m benchmarks papers fagginger_auer` has the ratios of the paper.
"""

from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse

import matching
from benchmarks import command, harness
from benchmarks import matching_instances as instances
from benchmarks.harness import CERTIFIED, PATIENCE
from benchmarks.table import milliseconds, number, ratio, records
from benchmarks.timing import timed

SERIAL = "random, CPU"
ONCE_ABOVE = 2.0  # seconds
TINY = 9  # vertices of a graph to compile on


class Program(NamedTuple):
    """A row's name; is the graph weighted, the arguments of matching.greedy, and the program with an equal matching."""

    name: str
    weighted: bool
    given: dict
    twin: str | None = None


CUDA = {"device": "cuda"}
PROGRAMS = [  # in an order in which twins come first
    Program(SERIAL, False, {"method": "random"}),
    Program("parallel, CPU", False, {"method": "parallel"}),
    Program("parallel, GPU", False, {"method": "parallel", **CUDA}, "parallel, CPU"),
    Program("sorted, CPU", True, {"method": "sorted"}),
    Program("locally_dominant, CPU", True, {"method": "locally_dominant"}, "sorted, CPU"),
    Program("parallel, heaviest, CPU", True, {"method": "parallel"}),
    Program("parallel, heaviest, GPU", True, {"method": "parallel", **CUDA}, "parallel, heaviest, CPU"),
]
SLOW = ("sorted, CPU", "parallel, heaviest, CPU")


def weighed(pattern):
    """The graph with weights in (0, 1] that depend on the edge alone."""
    row = np.repeat(np.arange(pattern.shape[0], dtype=np.uint64), np.diff(pattern.indptr))
    col = pattern.indices.astype(np.uint64)
    key = np.minimum(row, col) << np.uint64(32) | np.maximum(row, col)
    # splitmix64, as in matching/general/order.py
    key = (key ^ key >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ key >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    weight = ((key ^ key >> np.uint64(31)) >> np.uint64(11)) * 2.0**-53 + 2.0**-53
    return scipy.sparse.csr_array((weight, pattern.indices, pattern.indptr), shape=pattern.shape)


def plain(graph):
    """The graph without weights."""
    return scipy.sparse.csr_array((np.ones(graph.nnz, bool), graph.indices, graph.indptr), shape=graph.shape)


def renumbered(graph, seed: int):
    """The graph with its vertices in random order; neighbour lists ascend again."""
    order = np.random.default_rng(seed).permutation(graph.shape[0])
    found = scipy.sparse.csr_array(graph[order][:, order])
    found.sort_indices()
    return found


class Run(NamedTuple):
    """One run: seconds of the method alone, of the method with transfers, and of the call; and what was found."""

    seconds: float
    whole: float
    call: float
    size: int
    weight: float
    rounds: int
    wrong: str | None
    same: bool | None

    CLOCKS = ("whole", "call")


class Bench:
    """A graph with and without weights, and runs on it."""

    def open(self, source):
        """`source`: the file of a graph without weights."""
        graph = weighed(instances.read(source).matrix)
        graph.indptr, graph.indices = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)
        self.forms, self.found = {True: graph, False: plain(graph)}, {}
        return graph.shape, graph.nnz // 2, None

    def compile(self, program: Program) -> None:
        ends = np.arange(TINY - 1), np.arange(1, TINY)
        path = scipy.sparse.csr_array((np.ones(2 * TINY - 2), (np.r_[ends], np.r_[ends[::-1]])), shape=(TINY, TINY))
        matching.greedy(path if program.weighted else plain(path), **{"device": "cpu", **program.given})

    def run(self, program: Program, calls: bool = False) -> Run:
        graph = self.forms[program.weighted]
        self.last, call = timed(lambda: matching.greedy(graph, **{"device": "cpu", **program.given}))
        seconds = self.last.stats["seconds"]
        partner = self.last.partner
        self.found.setdefault(program.name, partner)
        same = None
        if program.twin in self.found:
            same = bool((partner == self.found[program.twin]).all())
        wrong = "another matching than its twin" if same is False else None
        pairs, rounds = self.last.cardinality, int(self.last.stats.get("rounds", 0))
        solve = seconds.get("search", seconds["solve"])
        return Run(solve, seconds["solve"], call, pairs, float(self.last.weight), rounds, wrong, same)

    def certify(self, program: Program) -> None:
        self.last.check()


def main(argv):
    options = _parser().parse_args(argv)
    cuda = options.device == "cuda"
    if options.threads:
        numba.set_num_threads(options.threads)
    programs = [one for one in PROGRAMS if cuda or "device" not in one.given]
    programs = [one for one in programs if not (options.quick and one.name in SLOW)]
    names = options.instances or list(instances.GREEDY)
    command.known_instances(names, instances.known())
    report = command.report_on(options.device, "greedy", "Greedy matching", ["numba", "numpy", "scipy"])
    rows, measured = [], {}
    for name, path in instances.prepared(names, options.cache).items():
        worker = harness.Worker(path, options.timeout, Bench)
        measured[name] = harness.measure(name, worker, programs, options.runs, ONCE_ABOVE, patience=patience)
        rows += command.shown(rows_of(measured[name], programs))
    parts = [f"{numba.get_num_threads()} thread(s).", records(rows)]
    command.finish(report, "\n" + "\n\n".join(parts), options.save and options.save.format(device=options.device))
    return int(any(m.failures for m in measured.values()))


def rows_of(m, programs):
    """The rows of one graph."""
    heaviest = next((m.ran[who] for who in ("sorted, CPU", "locally_dominant, CPU") if who in m.ran), None)
    for program in programs:
        who, run = program.name, m.ran.get(program.name)
        row = {"graph": m.name, "vertices": str(m.shape[0]), "edges": str(m.entries), "method": who}
        row["certified"] = m.state[who]
        if run is None:
            yield row
            continue
        serial, taken = m.ran.get(SERIAL), m.seconds[who]
        weight = run.weight if program.weighted else None
        row |= {"the same": "-" if run.same is None else CERTIFIED, "pairs": str(run.size)}
        row |= {"pairs %": number(serial and 100 * run.size / serial.size), "weight": number(weight, 1)}
        row |= {"weight %": number(weight and heaviest and 100 * weight / heaviest.weight), "rounds": str(run.rounds)}
        row |= {"call ms": milliseconds(run.call), "solve ms": milliseconds(taken)}
        row["transfers ms"] = milliseconds(run.whole) if "device" in program.given else "-"
        yield row | {f"{SERIAL} / solve": number(ratio(m.seconds.get(SERIAL), taken))}


def patience(program) -> float:
    """Seconds in addition to the limit, which is for programs on a GPU."""
    return 0.0 if "device" in program.given else PATIENCE


def _parser():
    options = command.parser("greedy", __doc__, "greedy-{device}", devices=True)
    options.add_argument("instances", nargs="*", help="graphs by name (default: large ones)")
    options.add_argument("--quick", action="store_true", help="without the CPU's slow methods")
    options.add_argument("--threads", type=int, metavar="N", help="numba's threads (default: all)")
    options.add_argument("--runs", type=int, default=5, help="(default: %(default)s)")
    limit = {"type": lambda text: float(text) or None, "default": 30.0, "metavar": "SECONDS"}
    options.add_argument("--timeout", **limit, help="stop programs that take longer; 0: never (default: 30)")
    options.add_argument("--cache", metavar="FOLDER", help="keep graphs here (default: make them again)")
    return options
