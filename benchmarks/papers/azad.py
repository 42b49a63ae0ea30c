"""Azad, Buluç, Pothen, "A parallel tree grafting algorithm ..." (IPDPS 2015): Fig. 1, 3, 4, 7 and table II.

All programs start from the same one-sided Karp-Sipser matching: the two-sided one of this library leaves almost nothing
to do on generated graphs, where the paper's left up to 5.7 % of the vertices.  Where the one-sided matching is maximum,
too, they start from the cheap one.  Graphs are of the families of table II with 2^15 vertices on a side.
"""

from collections.abc import Mapping
from functools import cache, partial
from types import MappingProxyType

import numpy as np

import matching
from benchmarks.papers.sections import (
    CLASSES,
    Section,
    class_of,
    classes,
    count,
    least_processor_time,
    number,
    repeated,
)
from benchmarks.table import geometric_mean

TITLE = "Azad, Buluç, Pothen 2015, repeated"
FIVE = {"SS-DFS": "ss_dfs", "SS-BFS": "ss_bfs", "PF": "pothen_fan", "MS-BFS": "ms_bfs", "HK": "hopcroft_karp"}
PLAIN_BFS = {"direction_optimising": False, "threads": 1}  # the MS-BFS of Fig. 1
THREE = {"MS-BFS-Graft": "ms_bfs_graft", "PF": "pothen_fan", "PR": "push_relabel"}
STEPS = {
    "MS-BFS": {"grafting": False, "direction_optimising": False},
    "direction": {"grafting": False, "direction_optimising": True},
    "grafting": {"grafting": True, "direction_optimising": False},
    "both": {"grafting": True, "direction_optimising": True},
}

ON_GPU = (
    (
        "Fig. 7 with ms_bfs_graft on a GPU",
        "matching --device cuda --method ms_bfs_graft,ms_bfs_graft-top_down,ms_bfs_graft-anew",
    ),
)


class Start:
    """A graph by rows with its initial matching and the size of a maximum matching, certified.

    inits   initial matchings; the first one is used that is not maximum, else the last one
    """

    def __init__(self, graph, inits=("karp_sipser_one_sided", "cheap")):
        self.graph = matching.bipartite_graph(graph)
        self.entries = len(self.graph.row_adj)
        best = matching.maximum(self.graph, device="cpu", threads=1)
        best.check()
        self.size = best.cardinality
        for self.init in inits:
            self.rows, self.cols = self.start(self.init)
            self.initial = int((self.rows >= 0).sum())
            if self.initial < self.size:
                break

    def start(self, init: str):
        """The matches of rows and of columns by an initial matching."""
        rows, cols = np.full(self.graph.rows, -1, np.int32), np.full(self.graph.cols, -1, np.int32)
        matching.methods.initialiser(init, "cpu")(self.graph, rows, cols)
        return rows, cols

    def run(self, method: str, **parameters):
        """The matching by a method from the initial one; certified."""
        found = matching.maximum(self.graph, method=method, init="none", start=self.rows, device="cpu", **parameters)
        found.check()
        if found.cardinality != self.size:
            raise AssertionError(f"{method}: {found.cardinality} pairs, expected {self.size}")
        return found

    def search(self, method: str, **parameters) -> dict:
        """The stats of the method's search alone, not certified: for times."""
        rows, cols = self.rows.copy(), self.cols.copy()
        return matching.methods.solver(method, "cpu")(self.graph, rows, cols, **parameters)


@cache
def starts(quick: bool, **given) -> Mapping[str, Start]:
    """The graphs of all classes, which all experiments share; `given` as for Start."""
    return MappingProxyType({name: Start(make(), **given) for name, make in classes(quick).items()})


def table_two(quick: bool):
    """Table II: maximal and maximum cardinality, % of all vertices."""
    rows = []
    for name, start in starts(quick).items():
        vertices = start.graph.rows + start.graph.cols
        row = [name, class_of(name), count(vertices), count(2 * start.entries), number(2 * start.entries / vertices)]
        two_sided = (start.start("karp_sipser")[0] >= 0).sum()
        row += [start.init, *(number(200 * size / vertices) for size in (start.initial, two_sided, start.size))]
        rows.append(row)
    columns = ["graph", "class", "vertices", "edges, both ways", "mean degree"]
    columns += ["initial", "initial %", "Karp–Sipser %", "maximum %"]
    yield Section("Table II", "Vertices in the initial matchings and in a maximum matching.", columns, rows)


def figure_one(quick: bool):
    """Fig. 1 (a) to (c): edges traversed, phases, mean length of augmenting paths."""
    rows = []
    for graph, start in starts(quick).items():
        for name, method in FIVE.items():
            stats = start.run(method, **(PLAIN_BFS if method == "ms_bfs" else {})).stats
            paths = stats["augmentations"]
            length = stats["path_length"] / paths if paths else None
            row = [graph, name, count(start.size - start.initial), count(stats["edges"])]
            row += [number(stats["edges"] / start.entries), count(stats["phases"]), number(length)]
            rows.append(row)
    columns = ["graph", "algorithm", "missing", "edges traversed", "edges / entries", "phases", "mean path length"]
    note = (
        "Exact counts, one thread. Phases: searches of the single-source algorithms, passes over all unmatched rows of "
        "the others. HK augments along shortest paths only (tests/matching/test_shortest_paths.py)."
    )
    yield Section("Fig. 1", note, columns, rows)


def figure_three(quick: bool):
    """Fig. 3 (a) and 4: relative performance and search rate of three algorithms on one core."""
    repeats = 1 if quick else 9
    rows, gains, rates = [], {"PR": {}, "PF": {}}, {}
    for graph, start in starts(quick).items():
        runs = {name: partial(start.search, method) for name, method in THREE.items()}
        for method in THREE.values():
            start.run(method)  # compiles and certifies
        seconds, stats = least_processor_time(runs, repeats)
        slowest = max(seconds[name] for name in THREE)
        for other in gains:
            gains[other][graph] = seconds[other] / seconds["MS-BFS-Graft"]
        rate = {name: max(1, stats[name]["edges"]) / seconds[name] for name in THREE}
        rates[graph] = rate["MS-BFS-Graft"] / rate["PF"]
        row = [graph, class_of(graph), *(number(slowest / seconds[name]) for name in THREE)]
        row += [count(stats[name]["edges"]) for name in THREE]
        rows.append([*row, number(rates[graph]), repeated(seconds)])
    for kind in CLASSES:
        mean = [geometric_mean([of[graph] for graph in CLASSES[kind]]) for of in (*gains.values(), rates)]
        rows.append([f"mean, {kind}", f"PR {mean[0]:.2f}", f"PF {mean[1]:.2f}", *["-"] * 5, number(mean[2]), "-"])
    columns = ["graph", "class", *(f"{name}: speed" for name in THREE), *(f"{name}: edges" for name in THREE)]
    columns += ["rate Graft / PF", "Graft again / Graft"]
    note = (
        f"Speed relative to the slowest of the three by processor time, minima of {repeats}, interleaved, one thread, "
        "search alone. Rate: edges traversed per second. Rows of means: time of PR and of PF over that of MS-BFS-Graft."
    )
    yield Section("Fig. 3 (a) and Fig. 4", note, columns, rows)


def figure_seven(quick: bool):
    """Fig. 7: direction optimisation and grafting switched on and off."""
    repeats = 1 if quick else 9
    rows, gains = [], {step: {} for step in list(STEPS)[1:]}
    for graph, start in starts(quick).items():
        for given in STEPS.values():
            start.run("ms_bfs_graft", **given)
        runs = {step: partial(start.search, "ms_bfs_graft", **given) for step, given in STEPS.items()}
        seconds, stats = least_processor_time(runs, repeats)
        for step in gains:
            gains[step][graph] = seconds["MS-BFS"] / seconds[step]
        row = [graph, class_of(graph), *(count(stats[step]["edges"]) for step in STEPS)]
        row += [f"{stats['MS-BFS']['phases']} / {stats['both']['phases']}"]
        row += [f"{stats['MS-BFS']['levels']} / {stats['both']['levels']}"]
        rows.append([*row, *(number(gains[step][graph]) for step in gains), repeated(seconds)])
    for kind in (*CLASSES, "all"):
        some = [name for name in gains["both"] if kind in ("all", class_of(name))]
        mean = [geometric_mean([gains[step][name] for name in some]) for step in gains]
        rows.append([f"mean, {kind}", *["-"] * 7, *map(number, mean), "-"])
    columns = ["graph", "class", *(f"{step}: edges" for step in STEPS)]
    columns += [
        "phases, MS-BFS / both",
        "levels, MS-BFS / both",
        *(f"{step}: gain" for step in gains),
        "MS-BFS again / MS-BFS",
    ]
    note = (
        f"Edges traversed, exact; gains over MS-BFS in processor time, minima of {repeats}, interleaved, search alone."
    )
    yield Section("Fig. 7", note, columns, rows)


EXPERIMENTS = (
    table_two,
    figure_one,
    figure_three,
    figure_seven,
)
