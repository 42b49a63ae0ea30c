"""Deveci, Kaya, Uçar, Çatalyürek, "GPU accelerated maximum cardinality matching algorithms ..." (Euro-Par 2013): Fig. 2
and the sequential algorithms on original and permuted graphs.  Times on a GPU: deveci_gpu.py.
"""

from functools import partial

import numpy as np

import matching
from benchmarks.matching_graphs import permuted
from benchmarks.matching_images import new_figure
from benchmarks.papers import deveci_gpu
from benchmarks.papers.azad import Start
from benchmarks.papers.gpu_rounds import augment_in_rounds
from benchmarks.papers.sections import (
    Section,
    classes,
    count,
    data_of,
    least_processor_time,
    number,
    repeated,
)
from benchmarks.table import geometric_mean

TITLE = "Deveci, Kaya, Uçar, Çatalyürek, Euro-Par 2013, repeated"
VARIANTS = {  # shortest, with roots, from recorded rows
    "APFB, GPUBFS": (False, False, False),
    "APFB, GPUBFS-WR": (False, True, False),
    "APFB, GPUBFS-WR, recorded rows": (False, True, True),
    "APsB, GPUBFS": (True, False, False),
    "APsB, GPUBFS-WR": (True, True, True),
}

ON_GPU = (
    ("Table 1 and Fig. 2 to 5 from the serial cheap matching", "papers deveci_europar --device cuda"),
    ("Table 2", "matching --device cuda --paper"),
)


def families(quick: bool) -> dict:
    """The graphs, and each with rows and columns permuted (RCP)."""
    found = {}
    for name, make in classes(quick).items():
        graph = make()
        found[name], found[f"{name}, RCP"] = graph, permuted(graph)
    return found


def iterations(quick: bool):
    """Fig. 2: rounds, and levels of each round."""
    rows, data = [], {}
    for name, matrix in families(quick).items():
        start = Start(matrix, inits=("cheap",))
        for variant, rules in VARIANTS.items():
            levels, edges = start.counted(augment_in_rounds, start.graph.by_col, *rules)
            data.setdefault(name, {})[variant] = levels
            row = [name, variant, count(len(levels)), count(levels.sum())]
            rows.append([*row, number(levels.mean(), 1), count(levels.max()), count(edges)])
    for is_permuted, name in ((False, "geometric mean, original"), (True, "geometric mean, RCP")):
        some = [of for key, of in data.items() if key.endswith("RCP") == is_permuted]
        for variant in VARIANTS:
            means = [geometric_mean([quantity(of[variant]) for of in some]) for quantity in (len, np.sum)]
            rows.append([name, variant, number(means[0], 1), number(means[1], 0), *["-"] * 3])
    columns = ["graph", "variant", "iterations", "BFS kernels", "levels per iteration", "most levels", "edges"]
    note = (
        "Kernels in one legal order of their threads, after the cheap matching. BFS kernels: levels of all iterations."
    )
    yield Section("Fig. 2", note, columns, rows, data)


def sequential(quick: bool):
    """Section 4: HK is the faster sequential algorithm on original graphs, PFP on permuted ones."""
    repeats = 1 if quick else 3
    rows, ratios = [], {False: [], True: []}
    for name, matrix in families(quick).items():
        graph = matching.bipartite_graph(matrix)
        runs = {
            method: partial(matching.maximum, graph, method=method, init="cheap", device="cpu")
            for method in ("hopcroft_karp", "pothen_fan", "hkdw")
        }
        for run in runs.values():
            run().check()
        seconds, found = least_processor_time(runs, repeats)
        ratio = seconds["pothen_fan"] / seconds["hopcroft_karp"]
        ratios[name.endswith("RCP")].append(ratio)
        row = [name, *(count(found[method].stats["edges"]) for method in runs)]
        row += [count(found[method].stats["phases"]) for method in runs]
        rows.append([*row, number(ratio), repeated(seconds)])
    for is_permuted, name in ((False, "mean, original"), (True, "mean, RCP")):
        rows.append([name, *["-"] * 6, number(geometric_mean(ratios[is_permuted])), "-"])
    columns = ["graph", "HK: edges", "PFP: edges", "HKDW: edges", "HK: phases", "PFP: phases", "HKDW: phases"]
    note = f"Edges and phases are exact; processor times are minima of {repeats}, interleaved, of whole calls."
    yield Section("Sequential algorithms (§4)", note, [*columns, "time PFP / HK", "HK again / HK"], rows)


EXPERIMENTS = (iterations, sequential)
EXPERIMENTS_ON_GPU = deveci_gpu.EUROPAR


def figures(sections) -> dict:
    """Fig. 2: levels of each iteration."""
    figure, axes = new_figure(2)
    for one, graph in zip(axes, ("uniform 3", "delaunay"), strict=True):
        for variant, levels in data_of(sections, "Fig. 2")[graph].items():
            one.plot(range(1, len(levels) + 1), levels, marker=".", label=variant)
        one.set(title=graph, xlabel="iteration", ylabel="levels of the search", yscale="log")
        one.legend(fontsize="x-small")
    return {"iterations": figure}
