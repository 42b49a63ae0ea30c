"""Deveci, Kaya, Uçar, Çatalyürek, "GPU accelerated maximum cardinality matching algorithms ..." (Euro-Par 2013): the
sequential algorithms on original and permuted graphs.  Times on a GPU: deveci_gpu.py.
"""

from functools import partial

import matching
from benchmarks.matching_graphs import permuted
from benchmarks.papers import deveci_gpu
from benchmarks.papers.sections import (
    Section,
    classes,
    count,
    least_processor_time,
    number,
    repeated,
)
from benchmarks.table import geometric_mean

TITLE = "Deveci, Kaya, Uçar, Çatalyürek, Euro-Par 2013, repeated"

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


EXPERIMENTS = (sequential,)
EXPERIMENTS_ON_GPU = deveci_gpu.EUROPAR
