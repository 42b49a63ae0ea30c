"""Deveci, Kaya, Uçar, Çatalyürek, "A push-relabel-based ... algorithm on GPUs" (ICPP 2013): initial matchings
of table I, and the frequency of global relabeling.  Times on a GPU: deveci_gpu.py.
"""

from collections.abc import Mapping

from benchmarks.papers import deveci_gpu
from benchmarks.papers.azad import Start, starts
from benchmarks.papers.sections import Section, count, number
from benchmarks.table import geometric_mean
from matching.papers.push_relabel import ORDERS

TITLE = "Deveci, Kaya, Uçar, Çatalyürek, ICPP 2013, repeated"
# Table I: cardinality of the initial and of the maximum matching, of graphs whose families can be generated.
PRINTED = {
    "delaunay": ("delaunay_n20", 993_174, 1_048_576),
    "kron": ("kron_g500-logn20", 431_854, 513_334),
    "road": ("roadNet-CA", 1_668_268, 1_913_589),
}
FREQUENCIES = (0.1, 0.25, 0.5, 1.0, 2.0)

ON_GPU = (
    ("Fig. 1 to 4 from the serial cheap matching", "papers deveci_icpp --device cuda"),
    ("Table I, times", "matching --device cuda --paper"),
)


def prepared(quick: bool) -> Mapping[str, Start]:
    """The graphs with their cheap matching."""
    return starts(quick, inits=("cheap",))


def initial_matchings(quick: bool):
    """Columns IM and MM of table I."""
    rows = []
    for name, start in prepared(quick).items():
        row = [name, count(start.graph.rows), count(start.graph.edges)]
        for init in ("cheap", "karp_sipser"):
            row.append(number(100 * (start.start(init)[0] >= 0).sum() / start.size))
        printed, first, best = PRINTED.get(name, ("-", None, 1))
        rows.append([*row, printed, number(None if first is None else 100 * first / best)])
    columns = ["graph", "rows", "entries", "cheap, % of maximum", "Karp–Sipser, %", "graph of the paper"]
    note = "Initial matchings in % of a maximum matching; the paper's initial matching is the cheap one."
    yield Section("Table I, columns IM and MM", note, [*columns, "its IM / MM, %"], rows)


def serial_frequencies(quick: bool):
    """Section IV: k of the sequential algorithm, a global relabeling every k (m + n) pushes."""
    rows = []
    for name, start in prepared(quick).items():
        rows.append([name, *(count(start.run("push_relabel", frequency=k).stats["edges"]) for k in FREQUENCIES)])
    columns = ["graph", *(f"k = {k:g}: edges" for k in FREQUENCIES)]
    note = "Edges traversed by `push_relabel`, global relabelings included, after the cheap matching; exact."
    yield Section("Frequency of the sequential algorithm (§IV)", note, columns, rows)


def orders(quick: bool):
    """Section II-C: the order of the active columns."""
    rows, edges_of = [], {name: [] for name in ORDERS}
    for name, start in prepared(quick).items():
        row, pushes_of = [name], []
        for order in ORDERS:
            found = start.run("push_relabel", order=order, gap=False, frequency=0.5)
            # A push to a free row ends a path; one to a matched row lengthens a path by two edges.
            pushes_of.append(count((found.stats["path_length"] + found.stats["augmentations"]) // 2))
            edges_of[order].append(max(1, found.stats["edges"]))
            row.append(count(found.stats["edges"]))
        rows.append([*row, *pushes_of])
    means = [number(geometric_mean(of) / geometric_mean(edges_of["fifo"])) for of in edges_of.values()]
    rows.append(["mean / fifo", *means, *["-"] * len(means)])
    columns = ["graph", *(f"{order}: edges" for order in ORDERS), *(f"{order}: pushes" for order in ORDERS)]
    note = (
        "Algorithm 1 on one thread after the cheap matching, k = 0.5, without gap relabeling, in four orders of the "
        "active columns. Edges include those of global relabelings."
    )
    yield Section("Order of the sequential algorithm (§II-C)", note, columns, rows)


EXPERIMENTS = (initial_matchings, serial_frequencies, orders)
EXPERIMENTS_ON_GPU = deveci_gpu.ICPP
