"""`python -m benchmarks greedy`: greedy matchings of general graphs, pairs, weights and seconds of every method.

C          algorithm 1 of Fagginger Auer and Bisseling in C, over the vertices as numbered, compiled here if there is a
           compiler: what a serial pass costs.  "numbered" is the same pass of ours, the others shuffle the vertices
call       matching.greedy from a SciPy matrix: checking the graph and weighing the matching included
solve      the method alone
pairs %    against "random"
weight %   against "sorted", edges taken heaviest first; weights are random, equal at both ends, in (0, 1]

Medians of --repeats, taken in turn.  A row appears only if its matching is certified.
"""

import argparse
import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

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
# Name of the row: whether it sees the weights, what matching.greedy is told.
METHODS = {
    "random": (False, {"method": "random"}),
    "random, numbered": (False, {"method": "random", "shuffled": False}),
    "parallel": (False, {"method": "parallel"}),
    "parallel, p = 0.3": (False, {"method": "parallel", "p": 0.3}),
    "weighted": (True, {"method": "weighted"}),
    "parallel, heaviest": (True, {"method": "parallel"}),
    "sorted": (True, {"method": "sorted"}),
    "locally_dominant": (True, {"method": "locally_dominant"}),
}
SERIAL = """
int match(int n, const int *ptr, const int *adj, int *partner) {
    int pairs = 0;
    for (int v = 0; v < n; v++)
        for (int k = ptr[v]; k < ptr[v + 1] && partner[v] < 0; k++)
            if (partner[adj[k]] < 0) {
                partner[v] = adj[k];
                partner[adj[k]] = v;
                pairs++;
            }
    return pairs;
}
"""


def main(argv):
    options = _parser().parse_args(argv)
    if options.threads:
        numba.set_num_threads(options.threads)
    report = header(f"Greedy matching on {numba.get_num_threads()} thread(s)", ["numba", "numpy", "scipy"])
    print(report, flush=True)
    graphs = QUICK if options.quick else GRAPHS
    columns = ["graph", "vertices", "edges", "method", "certified", "pairs", "pairs %", "weight", "weight %"]
    columns += ["call ms", "solve ms", "solve / C"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        serial = compile_serial(Path(folder))
        if serial is None:
            print("no C compiler: the rows C are missing")
        for name, make in graphs.items():
            for row in measure(name, weighed(make()), serial, options.repeats):
                rows.append(row)
                print(" ".join(row), flush=True)
    text = markdown(columns, rows)
    print(text)
    if options.save:
        print("saved to", save("greedy-cpu", f"{report}\n{text}"))
    return 0


def weighed(pattern):
    """The graph with weights in (0, 1] that depend on the edge alone."""
    row = np.repeat(np.arange(pattern.shape[0], dtype=np.uint64), np.diff(pattern.indptr))
    col = pattern.indices.astype(np.uint64)
    key = np.minimum(row, col) << np.uint64(32) | np.maximum(row, col)
    # splitmix64, as in matching/cpu/greedy/order.py
    key = (key ^ key >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ key >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    weight = ((key ^ key >> np.uint64(31)) >> np.uint64(11)) * 2.0**-53 + 2.0**-53
    return scipy.sparse.csr_array((weight, pattern.indices, pattern.indptr), shape=pattern.shape)


def compile_serial(folder):
    """The serial pass as a C function, or None."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    (folder / "serial.c").write_text(SERIAL)
    command = [compiler, "-O3", "-shared", "-fPIC", "-o", folder / "serial.so", folder / "serial.c"]
    if subprocess.run(command, check=False).returncode:
        return None
    return ctypes.CDLL(str(folder / "serial.so")).match


def serial_run(match, graph):
    """A call of the C function on arrays made before: its pairs."""
    ptr, adj = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)
    arrays = [ptr, adj, np.empty(graph.shape[0], np.int32)]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]

    def run():
        arrays[2][:] = -1
        return match(graph.shape[0], *pointers)

    return run


def measure(name, graph, serial, repeats):
    """A row for the C pass and one for each method."""
    plain = scipy.sparse.csr_array((np.ones(graph.nnz, bool), graph.indices, graph.indptr), shape=graph.shape)
    found, calls, solves = {}, {who: [] for who in METHODS}, {who: [] for who in METHODS}
    in_c = None if serial is None else serial_run(serial, graph)
    pairs_in_c, seconds_in_c = (None, []) if in_c is None else (in_c(), [])
    for who, (with_weights, given) in METHODS.items():
        found[who] = matching.greedy(graph if with_weights else plain, **given)  # compiles
        found[who].check()
    for _ in range(repeats):
        if in_c is not None:
            begin = time.perf_counter()
            in_c()
            seconds_in_c.append(time.perf_counter() - begin)
        for who, (with_weights, given) in METHODS.items():
            begin = time.perf_counter()
            found[who] = matching.greedy(graph if with_weights else plain, **given)
            calls[who].append(time.perf_counter() - begin)
            solves[who].append(found[who].stats["seconds"]["solve"])
    start = [name, str(graph.shape[0]), str(graph.nnz // 2)]
    if in_c is not None:
        share = 100 * pairs_in_c / found["random"].size
        yield [
            *start,
            "C",
            "-",
            str(pairs_in_c),
            f"{share:.2f}",
            "-",
            "-",
            "-",
            f"{1e3 * median(seconds_in_c):.1f}",
            "-",
        ]
    best = found["sorted"].weight
    for who, (with_weights, _) in METHODS.items():
        result = found[who]
        row = [*start, who, "✓", str(result.size), f"{100 * result.size / found['random'].size:.2f}"]
        row += [f"{result.weight:.0f}", f"{100 * result.weight / best:.2f}"] if with_weights else ["-", "-"]
        row += [f"{1e3 * median(calls[who]):.1f}", f"{1e3 * median(solves[who]):.1f}"]
        yield [*row, "-" if in_c is None else f"{median(solves[who]) / median(seconds_in_c):.2f}"]


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks greedy",
        description=__doc__.replace("%", "%%"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--threads", type=int, metavar="N", help="numba's threads (default: all)")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="runs of each method (default: 5)")
    parser.add_argument("--quick", action="store_true", help="two small graphs")
    parser.add_argument("--save", action="store_true", help="write the table to benchmarks/results/")
    return parser
