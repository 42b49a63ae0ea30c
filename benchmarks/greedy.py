"""`python -m benchmarks greedy`: greedy matchings of general graphs, pairs, weights and seconds of every method.

call       matching.greedy from a SciPy matrix: checking the graph and weighing the matching included
solve      the method alone
pairs %    against "random" of the same graph
weight %   against "sorted", edges taken heaviest first; weights are random, equal at both ends, in (0, 1]
C ms       algorithm 1 of Fagginger Auer and Bisseling as a serial pass in C, gcc 12 -O3 -march=native, on the graph as
           numbered or permuted before; recorded on a two-core AMD EPYC, not run here, and not of another machine

"permuted" is what the paper does: the vertices get random numbers first, which takes no part in the time, and then the
serial method takes them as numbered.  The others shuffle the order of the vertices and leave the graph as it is.  The
second table sets what the paper found beside it: averages over 425 matrices with weights of their own, which ours are
not.

Medians of --repeats, taken in turn.  A row appears only if its matching is certified.
"""

import argparse
import time
from statistics import median
from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse

import matching
from benchmarks import matching_instances as instances
from benchmarks.table import header, markdown, save

GRAPHS = {
    "delaunay 2^20": lambda: instances.delaunay(20),
    "rgg 2^18": lambda: instances.random_geometric(18, 15),
    "kron 2^18": lambda: instances.rmat(18, 16, (0.57, 0.19, 0.19, 0.05), both=True),
    "grid 1000^2": lambda: instances.road(1000, 0.0),
}
QUICK = {"delaunay 2^12": lambda: instances.delaunay(12), "grid 40^2": lambda: instances.road(40, 0.0)}
PLAIN, PERMUTED, WEIGHTED = range(3)
# Name of the row: the form of the graph, and what matching.greedy is told.
METHODS = {
    "random": (PLAIN, {"method": "random"}),
    "random, as numbered": (PLAIN, {"method": "random", "shuffled": False}),
    "parallel": (PLAIN, {"method": "parallel"}),
    "parallel, p = 0.3": (PLAIN, {"method": "parallel", "p": 0.3}),
    "permuted: random": (PERMUTED, {"method": "random", "shuffled": False}),
    "permuted: parallel": (PERMUTED, {"method": "parallel"}),
    "weighted": (WEIGHTED, {"method": "weighted"}),
    "parallel, heaviest": (WEIGHTED, {"method": "parallel"}),
    "sorted": (WEIGHTED, {"method": "sorted"}),
    "locally_dominant": (WEIGHTED, {"method": "locally_dominant"}),
}
# Milliseconds of the C pass, by graph and row.
RECORDED = {
    "delaunay 2^20": {"random": 13.4, "random, as numbered": 13.7, "permuted: random": 13.4, "weighted": 20.3},
    "rgg 2^18": {"random": 4.2, "random, as numbered": 2.5, "permuted: random": 4.2, "weighted": 8.9},
    "kron 2^18": {"random": 4.9, "random, as numbered": 3.9, "permuted: random": 4.9, "weighted": 8.1},
    "grid 1000^2": {"random": 9.8, "random, as numbered": 1.9, "permuted: random": 9.8, "weighted": 12.9},
}
# What is compared, one row, the other, and what the paper says.
RATIOS = (
    ("size", "parallel", "random", "above 99 %"),
    ("size", "parallel, p = 0.3", "random", "-"),
    ("size", "permuted: parallel", "permuted: random", "above 99 %"),
    ("weight", "parallel, heaviest", "weighted", "115 %"),
    ("weight", "parallel, heaviest", "sorted", "85 %"),
    ("weight", "locally_dominant", "sorted", "-"),
)


class Row(NamedTuple):
    """What a method found, and its seconds."""

    size: int
    weight: float
    call: float
    solve: float


def main(argv):
    options = _parser().parse_args(argv)
    if options.threads:
        numba.set_num_threads(options.threads)
    report = header(f"Greedy matching on {numba.get_num_threads()} thread(s)", ["numba", "numpy", "scipy"])
    print(report, flush=True)
    columns = ["graph", "vertices", "edges", "method", "certified", "pairs", "pairs %", "weight", "weight %"]
    columns += ["call ms", "solve ms", "C ms (recorded)", "solve / C"]
    lines, found = [], {}
    for name, make in (QUICK if options.quick else GRAPHS).items():
        graph = weighed(make())
        found[name] = measure(graph, options.repeats)
        for line in report_rows(name, graph, found[name]):
            lines.append(line)
            print(" ".join(line), flush=True)
    text = f"{markdown(columns, lines)}\n\n{compare(found)}"
    print(text)
    if options.save:
        print("saved to", save("greedy-cpu", f"{report}\n{text}"))
    return 0


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


def forms_of(graph):
    """The graph without weights, the same with vertices in random order, and with weights; 32-bit indices."""
    ptr, adj = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)
    plain = scipy.sparse.csr_array((np.ones(graph.nnz, bool), adj, ptr), shape=graph.shape)
    order = np.random.default_rng(instances.SEED).permutation(graph.shape[0])
    permuted = scipy.sparse.csr_array(plain[order][:, order])
    permuted.sort_indices()
    return plain, permuted, scipy.sparse.csr_array((graph.data, adj, ptr), shape=graph.shape)


def measure(graph, repeats):
    """A Row for each method."""
    forms = forms_of(graph)
    found, calls, solves = {}, {who: [] for who in METHODS}, {who: [] for who in METHODS}
    for who, (form, given) in METHODS.items():
        found[who] = matching.greedy(forms[form], **given)  # compiles
        found[who].check()
    for _ in range(repeats):
        for who, (form, given) in METHODS.items():
            begin = time.perf_counter()
            result = matching.greedy(forms[form], **given)
            calls[who].append(time.perf_counter() - begin)
            solves[who].append(result.stats["seconds"]["solve"])
    return {
        who: Row(result.cardinality, result.weight, median(calls[who]), median(solves[who]))
        for who, result in found.items()
    }


def report_rows(name, graph, found):
    """The lines of one graph."""
    best = found["sorted"].weight
    for who, row in found.items():
        form = METHODS[who][0]
        reference = found["permuted: random" if form == PERMUTED else "random"]
        line = [name, str(graph.shape[0]), str(graph.nnz // 2), who, "✓", str(row.size)]
        line += [f"{100 * row.size / reference.size:.2f}"]
        line += [f"{row.weight:.0f}", f"{100 * row.weight / best:.2f}"] if form == WEIGHTED else ["-", "-"]
        line += [f"{1e3 * row.call:.1f}", f"{1e3 * row.solve:.1f}"]
        recorded = RECORDED.get(name, {}).get(who)
        yield line + (["-", "-"] if recorded is None else [f"{recorded:.1f}", f"{1e3 * row.solve / recorded:.2f}"])


def compare(found):
    """The ratios that the paper gives, of the same matchings."""
    lines = []
    for what, one, other, paper in RATIOS:
        ratios = [100 * getattr(rows[one], what) / getattr(rows[other], what) for rows in found.values()]
        name = f"{one} / {other}, {'pairs' if what == 'size' else 'weight'}"
        lines.append([name, paper, *(f"{ratio:.2f} %" for ratio in ratios)])
    return markdown(["ratio", "paper", *found], lines)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks greedy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--threads", type=int, metavar="N", help="numba's threads (default: all)")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="runs of each method (default: 5)")
    parser.add_argument("--quick", action="store_true", help="two small graphs")
    parser.add_argument("--save", action="store_true", help="write the table to benchmarks/results/")
    return parser
