"""`python -m benchmarks greedy`: greedy matchings of general graphs, pairs, weights and seconds of every method.

call       matching.greedy from a SciPy matrix, including validation and the weight of the matching
solve      the method alone
pairs %    of "random" of the same graph
weight %   of "sorted", edges by decreasing weight; weights are random, equal at both ends, in (0, 1]
C ms       algorithm 1 of Fagginger Auer and Bisseling as a serial pass in C, gcc 12 -O3 -march=native, on the graph as
           numbered or permuted before; recorded on a two-core AMD EPYC, not run here, and not of another machine

"permuted" follows the paper: vertices get random numbers first, which is not timed, and the serial method then takes
them in this order.  The other methods shuffle the order of the vertices and leave the graph as it is.  The second table
compares with the paper's results: averages over 425 matrices with weights of their own, which differ from ours.

Medians of --runs, interleaved; a program that takes more than ONCE_ABOVE seconds is timed once.  A row appears only if
its matching is certified: pairs of neighbours, no edge between two unmatched vertices, and for "locally_dominant"
heaviest first.

With --device cuda, of large graphs on a GPU and on the CPU:

  python -m benchmarks greedy --device cuda --cache /tmp/graphs      graphs of more than 10^7 edges
  python -m benchmarks greedy --device cuda "road 1000^2" --quick    others; without the CPU's slow methods

solve       the method alone; of methods on a GPU, from a graph on the GPU
transfers   including the transfer of the graph to the GPU and of the matching to the host
pairs %     of "random" on the CPU, the serial pass that the last column compares with
the same    a method's matching equals that of its twin on the CPU, of "sorted" for "locally_dominant", in every run
"""

from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse

import matching
from benchmarks import command, harness
from benchmarks import matching_instances as instances
from benchmarks.harness import CERTIFIED, PATIENCE
from benchmarks.matching_graphs import SEED
from benchmarks.table import milliseconds, number, ratio, records
from benchmarks.timing import timed

PLAIN, PERMUTED, WEIGHTED = range(3)
SERIAL = "random, CPU"
ONCE_ABOVE = 2.0  # seconds
TINY = 9  # vertices of a graph to compile on


class Program(NamedTuple):
    """A row's name; the form of the graph, the arguments of matching.greedy, and the program with an equal matching."""

    name: str
    form: int
    given: dict
    twin: str | None = None


ON_CPU = [
    Program("random", PLAIN, {"method": "random"}),
    Program("random, as numbered", PLAIN, {"method": "random", "shuffled": False}),
    Program("parallel", PLAIN, {"method": "parallel"}),
    Program("parallel, p = 0.3", PLAIN, {"method": "parallel", "p": 0.3}),
    Program("permuted: random", PERMUTED, {"method": "random", "shuffled": False}),
    Program("permuted: parallel", PERMUTED, {"method": "parallel"}),
    Program("weighted", WEIGHTED, {"method": "weighted"}),
    Program("parallel, heaviest", WEIGHTED, {"method": "parallel"}),
    Program("sorted", WEIGHTED, {"method": "sorted"}),
    Program("locally_dominant", WEIGHTED, {"method": "locally_dominant"}),
]
CUDA = {"device": "cuda"}
# In an order in which twins come first.
ON_GPU = [
    Program(SERIAL, PLAIN, {"method": "random"}),
    Program("parallel, CPU", PLAIN, {"method": "parallel"}),
    Program("parallel, GPU", PLAIN, {"method": "parallel", **CUDA}, "parallel, CPU"),
    Program("sorted, CPU", WEIGHTED, {"method": "sorted"}),
    Program("locally_dominant, CPU", WEIGHTED, {"method": "locally_dominant"}, "sorted, CPU"),
    Program("parallel, heaviest, CPU", WEIGHTED, {"method": "parallel"}),
    Program("parallel, heaviest, GPU", WEIGHTED, {"method": "parallel", **CUDA}, "parallel, heaviest, CPU"),
]
SLOW = ("sorted, CPU", "parallel, heaviest, CPU")
# Milliseconds of the C pass, by graph and row.
RECORDED = {
    "delaunay 2^20": {"random": 13.4, "random, as numbered": 13.7, "permuted: random": 13.4, "weighted": 20.3},
    "rgg 2^18": {"random": 4.2, "random, as numbered": 2.5, "permuted: random": 4.2, "weighted": 8.9},
    "kron 2^18": {"random": 4.9, "random, as numbered": 3.9, "permuted: random": 4.9, "weighted": 8.1},
    "grid 1000^2": {"random": 9.8, "random, as numbered": 1.9, "permuted: random": 9.8, "weighted": 12.9},
}


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


def form_of(graph, form):
    """The graph without weights, the same with vertices in random order, or with weights; 32-bit indices."""
    ptr, adj = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)
    weighted = scipy.sparse.csr_array((graph.data, adj, ptr), shape=graph.shape)
    if form == WEIGHTED:
        return weighted
    return plain(weighted) if form == PLAIN else renumbered(plain(weighted), SEED)


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
    """A weighted graph in its forms, and runs on it."""

    def open(self, source):
        """`source`: a SciPy matrix with weights, or the file of a graph that has none."""
        if not scipy.sparse.issparse(source):
            source = weighed(instances.read(source).matrix)
        self.graph, self.forms, self.found = source, {}, {}
        return source.shape, source.nnz // 2, None

    def compile(self, program: Program) -> None:
        ends = np.arange(TINY - 1), np.arange(1, TINY)
        path = scipy.sparse.csr_array((np.ones(2 * TINY - 2), (np.r_[ends], np.r_[ends[::-1]])), shape=(TINY, TINY))
        matching.greedy(form_of(path, program.form), **{"device": "cpu", **program.given})

    def run(self, program: Program, calls: bool = False) -> Run:
        if program.form not in self.forms:
            self.forms[program.form] = form_of(self.graph, program.form)
        graph = self.forms[program.form]
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
    if cuda:
        names, known, programs = options.instances or list(instances.GREEDY), instances.known(), ON_GPU
        programs = [program for program in ON_GPU if not (options.quick and program.name in SLOW)]
    else:
        known = instances.GREEDY_QUICK if options.quick else instances.GREEDY_CPU
        names, programs = options.instances or list(known), ON_CPU
    if command.unknown_instance(names, known):
        return 2
    report = command.report_on(options.device, "greedy", "Greedy matching", ["numba", "numpy", "scipy"])
    if report is None:
        return 2
    sources = instances.prepared(names, options.cache) if cuda else {name: known[name] for name in names}
    rows, measured = [], {}
    for name, source in sources.items():
        worker = harness.Worker(source if cuda else weighed(source()), options.timeout if cuda else None, Bench)
        measured[name] = harness.measure(name, worker, programs, options.runs, ONCE_ABOVE, patience=patience)
        if not cuda:
            measured[name].raise_failures()
        rows += command.shown(rows_of(measured[name], programs))
    parts = [f"{numba.get_num_threads()} thread(s).", records(rows)]
    command.finish(report, "\n" + "\n\n".join(parts), options.save and options.save.format(device=options.device))
    return int(any(m.failures for m in measured.values()))


def rows_of(m, programs):
    """The rows of one graph."""
    heaviest = next((m.ran[who] for who in ("sorted", "sorted, CPU", "locally_dominant, CPU") if who in m.ran), None)
    for program in programs:
        who, run = program.name, m.ran.get(program.name)
        row = {"graph": m.name, "vertices": str(m.shape[0]), "edges": str(m.entries), "method": who}
        row["certified"] = m.state[who]
        if run is None:
            yield row
            continue
        serial = "permuted: random" if program.form == PERMUTED else "random"
        serial = m.ran.get(serial, m.ran.get(SERIAL))
        weight = run.weight if program.form == WEIGHTED else None
        taken, recorded = m.seconds[who], RECORDED.get(m.name, {}).get(who)
        row |= {"the same": "-" if run.same is None else CERTIFIED, "pairs": str(run.size)}
        row |= {"pairs %": number(serial and 100 * run.size / serial.size), "weight": number(weight, 1)}
        row |= {"weight %": number(weight and heaviest and 100 * weight / heaviest.weight), "rounds": str(run.rounds)}
        row |= {"call ms": milliseconds(run.call), "solve ms": milliseconds(taken)}
        row["transfers ms"] = milliseconds(run.whole) if "device" in program.given else "-"
        row |= {"C ms (recorded)": number(recorded, 1), "solve / C": number(recorded and 1e3 * taken / recorded)}
        yield row | {f"{SERIAL} / solve": number(ratio(m.seconds.get(SERIAL), taken))}


def patience(program) -> float:
    """Seconds in addition to the limit, which is for programs on a GPU."""
    return 0.0 if "device" in program.given else PATIENCE


def _parser():
    options = command.parser("greedy", __doc__, "greedy-{device}")
    command.add_device_option(options)
    options.add_argument("instances", nargs="*", help="graphs by name (default: the families of the device)")
    options.add_argument("--quick", action="store_true", help="small graphs; on a GPU without the CPU's slow methods")
    options.add_argument("--threads", type=int, metavar="N", help="numba's threads (default: all)")
    options.add_argument("--runs", type=int, default=5, help="(default: %(default)s)")
    limit = {"type": lambda text: float(text) or None, "default": 30.0, "metavar": "SECONDS"}
    options.add_argument("--timeout", **limit, help="on a GPU: stop programs that take longer; 0: never (default: 30)")
    options.add_argument("--cache", metavar="FOLDER", help="on a GPU: keep graphs here (default: make them again)")
    return options
