"""`python -m benchmarks greedy --device cuda`: greedy matchings of large graphs on a GPU and on the CPU.

  python -m benchmarks greedy --device cuda --cache /tmp/graphs      graphs of more than 10^7 edges
  python -m benchmarks greedy --device cuda "road 1000^2" --quick    others; without the CPU's slow methods

solve       the method alone; on the GPU the graph lies there
transfers   with the graph's way to the GPU and the matching's way back
pairs %     against "random" on the CPU, the serial pass that the last column compares with
weight %    against "sorted" on the CPU, edges taken heaviest first; weights are random in (0, 1]
the same    a method's matching is that of its twin on the CPU, of "sorted" for "locally_dominant", in every run

Medians of --runs, interleaved; a run over --time-once-above seconds is timed once.  A time appears only if the
matching is certified: pairs of neighbours, no edge between two free vertices, and for "locally_dominant" heaviest
first.
"""

import argparse
import time
from statistics import median
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import scipy.sparse

from apps.info import gpu_facts
from benchmarks import matching_cuda_instances as instances
from benchmarks.greedy import weighed
from benchmarks.matching_cuda_runs import COMPILING, PATIENCE, Worker
from benchmarks.table import header, markdown, save
from gridcut.device import CertificateError
from matching.general.general_graph import check_graph
from matching.general.greedy_certificate import certify, weight_of
from matching.general.greedy_matching import HEAVIEST_FIRST
from matching.general.greedy_methods import GREEDY_METHODS

SERIAL = "random, CPU"
TINY = 9  # vertices of a graph to compile on


class Program(NamedTuple):
    """A method on a device, with or without weights, and whose matching it should find."""

    method: str
    device: str
    weighted: bool
    twin: str | None


# In an order in which twins come first.
PROGRAMS = {
    SERIAL: Program("random", "cpu", False, None),
    "parallel, CPU": Program("parallel", "cpu", False, None),
    "parallel, GPU": Program("parallel", "cuda", False, "parallel, CPU"),
    "sorted, CPU": Program("sorted", "cpu", True, None),
    "locally_dominant, CPU": Program("locally_dominant", "cpu", True, "sorted, CPU"),
    "locally_dominant, GPU": Program("locally_dominant", "cuda", True, "sorted, CPU"),
    "parallel, heaviest, CPU": Program("parallel", "cpu", True, None),
    "parallel, heaviest, GPU": Program("parallel", "cuda", True, "parallel, heaviest, CPU"),
}
SLOW = ("sorted, CPU", "parallel, heaviest, CPU")


class Ran(NamedTuple):
    """One run: seconds of the method alone and of all of it, what was found, and what was wrong, if anything."""

    solve: float
    whole: float
    pairs: int
    weight: float
    rounds: int
    wrong: str | None
    same: bool | None


class GreedyBench:
    """A graph with and without weights, and runs on it."""

    def open(self, path):
        kept = instances.read(path)
        ones = np.ones(len(kept.adj), np.int8)
        matrix = weighed(scipy.sparse.csr_array((ones, kept.adj, kept.ptr), shape=kept.shape))
        return self.take(matrix)

    def take(self, matrix):
        self.graphs = {weighted: check_graph(matrix if weighted else matrix.astype(bool)) for weighted in (False, True)}
        self.found = {}
        return self.graphs[False].n, self.graphs[False].edges

    def compile(self, who: str) -> None:
        """Run on a graph where it cannot take long."""
        ends = np.arange(TINY - 1), np.arange(1, TINY)
        path = scipy.sparse.csr_array((np.ones(2 * TINY - 2), (np.r_[ends], np.r_[ends[::-1]])), shape=(TINY, TINY))
        tiny = GreedyBench()
        tiny.take(path)
        tiny.run(who, prove=False)

    def run(self, who: str, prove: bool) -> Ran:
        program = PROGRAMS[who]
        graph = self.graphs[program.weighted]
        partner = np.full(graph.n, -1, np.int32)
        method = GREEDY_METHODS[program.method]
        solve = method.cuda if program.device == "cuda" else method.cpu
        if program.device == "cuda":
            from gridcut.device.arrays import synchronize

            synchronize()
        begin = time.perf_counter()
        stats = solve(graph, partner)
        whole = time.perf_counter() - begin
        alone = stats["seconds"]["search"] if program.device == "cuda" else whole
        pairs, weight = int(np.count_nonzero(partner >= 0)) // 2, weight_of(graph, partner)
        wrong = None
        if prove:
            try:
                certify(graph, partner, pairs, weight, program.method in HEAVIEST_FIRST)
            except CertificateError as error:
                wrong = str(error)
        self.found.setdefault(who, partner)
        twin = self.found.get(program.twin, self.found[who])
        same = None if program.twin not in self.found else bool((partner == twin).all())
        return Ran(alone, whole, pairs, weight, int(stats.get("rounds", 0)), wrong, same)


def main(argv):
    options = parser().parse_args(argv)
    names = options.instances or list(instances.GREEDY)
    known = instances.known()
    if unknown := [name for name in names if name not in known]:
        print(f"benchmarks greedy --device cuda: no graph {unknown[0]!r}; there are {', '.join(known)}")
        return 2
    if options.prepare:
        for name, path in instances.prepared(names, options.cache).items():
            print(f"{name}: {path}")
        return 0
    gpu = gpu_facts()
    if gpu is None:
        print("benchmarks greedy --device cuda: numba finds no CUDA GPU here")
        return 2
    report = header("Greedy matching on a GPU", ["numba-cuda", "numba", "numpy", "scipy"])
    report += f"\n{gpu['name']}, {gpu['memory'] / 2**30:.0f} GiB, driver {gpu['driver']}.\n"
    print(report, flush=True)
    columns = [
        "graph",
        "vertices",
        "edges",
        "method",
        "certified",
        "the same",
        "pairs",
        "pairs %",
        "weight",
        "weight %",
    ]
    columns += ["rounds", "solve ms", "transfers ms", f"{SERIAL} / solve"]
    rows, wrong = [], False
    for name, path in instances.prepared(names, options.cache).items():
        for row, state in measure(name, path, options):
            rows.append(row)
            wrong |= state
            print(" ".join(row), flush=True)
        text = markdown(columns, rows)
        if options.save:  # what is known by now: the next graph may take for ever
            save(options.save, f"{report}\n{text}")
    print(f"\n{text}")
    if options.save:
        print("saved to", save(options.save, f"{report}\n{text}"))
    return int(wrong)


def measure(name, path, options):
    """Rows of a graph, and whether something was wrong in them."""
    worker = Worker(path, options.timeout, GreedyBench)
    vertices, edges = worker.open()
    programs = [who for who in PROGRAMS if not (options.quick and who in SLOW)]
    taken, state = {who: [] for who in programs}, {}
    for turn in range(options.runs + 1):  # the clock of the first is not looked at
        for who in programs:
            runs = taken[who]
            if who in state or (len(runs) > 1 and runs[-1].solve > options.time_once_above):
                continue
            try:
                if not turn:
                    worker.ask("compile", who, patience=COMPILING)
                ran = worker.ask("run", who, turn == 0, patience=PATIENCE * (PROGRAMS[who].device == "cpu"))
            except TimeoutError:
                state[who] = "stopped"
            except RuntimeError as error:
                state[who] = f"failed: {error}"
            else:
                if ran.wrong or ran.same is False:
                    state[who] = f"WRONG: {ran.wrong or 'another matching than its twin'}"
                runs.append(ran)
    worker.stop()
    kept = {who: of_runs(runs) for who, runs in taken.items() if who not in state}
    for who in programs:
        row = [name, str(vertices), str(edges), who]
        if who not in kept:
            yield [*row, state[who], *["-"] * 9], state[who] != "stopped"
            continue
        of = kept[who]
        best, serial = kept.get("sorted, CPU", kept.get("locally_dominant, CPU")), kept.get(SERIAL)
        row += ["✓", "-" if of.same is None else "✓", str(of.pairs)]
        row += [f"{100 * of.pairs / serial.pairs:.2f}" if serial else "-"]
        weighted = PROGRAMS[who].weighted
        row += [f"{of.weight:.1f}" if weighted else "-"]
        row += [f"{100 * of.weight / best.weight:.2f}" if weighted and best else "-", str(of.rounds)]
        row += [f"{1e3 * of.solve:.2f}", f"{1e3 * of.whole:.2f}" if PROGRAMS[who].device == "cuda" else "-"]
        yield [*row, f"{serial.solve / of.solve:.2f}" if serial else "-"], False


def of_runs(runs):
    """The last run, its seconds being medians of all but the first."""
    counted = runs[1:] or runs
    times = {"solve": median(r.solve for r in counted), "whole": median(r.whole for r in counted)}
    return SimpleNamespace(**{**runs[-1]._asdict(), **times})


def parser():
    options = argparse.ArgumentParser(
        prog="python -m benchmarks greedy --device cuda",
        description=__doc__.replace("%", "%%"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("instances", nargs="*", help="graphs by name; default: those of more than 10^7 edges")
    options.add_argument("--runs", type=int, default=7)
    options.add_argument(
        "--time-once-above", type=float, default=2.0, metavar="SECONDS", help="timed once if it takes longer"
    )
    options.add_argument("--timeout", type=lambda text: float(text) or None, default=30.0, metavar="SECONDS")
    options.add_argument("--cache", metavar="FOLDER", help="keep graphs here; else they are made anew")
    options.add_argument("--prepare", action="store_true", help="make the graphs, side by side, and end")
    options.add_argument("--quick", action="store_true", help="without the CPU's slow methods")
    options.add_argument("--save", nargs="?", const="greedy-cuda", metavar="NAME", help="to benchmarks/results/NAME.md")
    return options
