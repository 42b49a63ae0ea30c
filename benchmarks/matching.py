"""`python -m benchmarks matching`: maximum-cardinality bipartite matching, against SciPy and igraph.

ours       matching.maximum from a SciPy matrix to a matching: checking, transposing and initialisation included
solve      the same without the check of the input and without transposing it
SciPy, igraph   from the form each likes best, made before the clock starts

Medians of --repeats, one after another.  SciPy takes exponential time on permuted meshes, so it runs only on graphs in
their own order, and on permuted ones with --patient.  A row appears only if the matching is certified (König cover) and
all programs agree on its size.
"""

import argparse
import time
from statistics import median

import numpy as np

import matching
from benchmarks import matching_instances as instances
from benchmarks.table import geometric_mean, header, markdown, save


def main(argv):
    options = parser().parse_args(argv)
    report = header("matching on a CPU", ["numba", "numpy", "scipy", "python-igraph"])
    print(report, flush=True)
    graphs = instances.QUICK if options.quick else instances.GRAPHS
    graphs = {name: make for name, make in graphs.items() if options.permuted or "permuted" not in name}
    unknown = [name for name in options.instances if name not in instances.GRAPHS]
    if unknown:
        print(f"benchmarks matching: no graph {unknown[0]!r}; there are {', '.join(instances.GRAPHS)}")
        return 2
    if options.instances:
        graphs = {name: instances.GRAPHS[name] for name in options.instances}
    columns = [
        "graph",
        "rows",
        "entries",
        "size",
        "method",
        "init",
        "certified",
        "ours ms",
        "solve ms",
        "SciPy ms",
        "igraph ms",
    ]
    columns += ["SciPy / ours", "igraph / ours"]
    rows, ratios = [], []
    for name, make in graphs.items():
        for method in options.method.split(","):
            row, ratio = measure(name, make(), method, options)
            rows.append(row)
            ratios.append(ratio)
            print(" ".join(row), flush=True)
    text = markdown(columns, rows)
    means = []
    for i, rival in enumerate(("SciPy", "igraph")):
        found = [ratio[i] for ratio in ratios if ratio[i]]
        if found:
            means.append([rival, str(len(found)), f"{geometric_mean(found):.2f}", f"{min(found):.2f}"])
    if means:
        text += "\n\n" + markdown(["rival / ours", "graphs", "geometric mean", "least"], means)
    print(text)
    if options.save:
        print("saved to", save(options.save, f"{report}\n{text}"))
    return 0


def measure(name, graph, method, options):
    given = {"method": method, "init": options.init, "threads": options.threads}
    found = matching.maximum(graph, **given)  # compiles
    found.check()
    runs = {"ours": lambda: matching.maximum(graph, **given)}
    if "scipy" in options.rivals and ("permuted" not in name or options.patient):
        runs["SciPy"] = scipy_run(graph)
    if "igraph" in options.rivals:
        run = igraph_run(graph)
        runs |= {"igraph": run} if run else {}
    seconds = {who: [] for who in runs}
    for _ in range(options.repeats):
        for who, run in runs.items():
            if seconds[who] and seconds[who][0] > options.rarely:
                continue
            begin = time.perf_counter()
            result = run()
            seconds[who].append(time.perf_counter() - begin)
            size = result.cardinality if who == "ours" else result
            if size != found.cardinality:
                raise AssertionError(f"{who} found {size} pairs on {name}, we {found.cardinality}")
            if who == "ours":
                found = result
    times = {who: median(taken) for who, taken in seconds.items()}
    solve = found.stats["seconds"]["init"] + found.stats["seconds"]["solve"]
    row = [name, str(graph.shape[0]), str(graph.nnz), str(found.cardinality), found.method, found.init, "✓"]
    row += [f"{1e3 * times['ours']:.1f}", f"{1e3 * solve:.1f}"]
    row += [f"{1e3 * times[who]:.1f}" if who in times else "-" for who in ("SciPy", "igraph")]
    ratio = [times[who] / times["ours"] if who in times else None for who in ("SciPy", "igraph")]
    return row + [f"{r:.2f}" if r else "-" for r in ratio], ratio


def scipy_run(graph):
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return lambda: int(np.count_nonzero(maximum_bipartite_matching(graph, perm_type="row") >= 0))


def igraph_run(graph):
    try:
        import igraph
    except ImportError:
        return None
    n, m = graph.shape
    coo = graph.tocoo()
    edges = np.column_stack([coo.row, coo.col.astype(np.int64) + n])
    built = igraph.Graph(n + m, edges)
    sides = [False] * n + [True] * m
    return lambda: len(built.maximum_bipartite_matching(types=sides))


def parser():
    options = argparse.ArgumentParser(prog="python -m benchmarks matching", description=__doc__.split("\n")[0])
    options.add_argument("instances", nargs="*", help="graphs; all by default")
    options.add_argument("--method", default="auto", help="one, or several with commas between")
    options.add_argument("--init", default="auto")
    options.add_argument("--threads", type=int)
    options.add_argument("--permuted", action="store_true", help="also with rows and columns permuted")
    options.add_argument("--patient", action="store_true", help="let SciPy try permuted graphs")
    options.add_argument("--quick", action="store_true", help="small graphs")
    options.add_argument("--rivals", type=lambda s: s.split(","), default=["scipy", "igraph"])
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--rarely", type=float, default=4.0, metavar="SECONDS", help="timed once if it takes longer")
    options.add_argument("--save", metavar="NAME", help="write benchmarks/results/NAME.md")
    return options
