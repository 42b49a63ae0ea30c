"""Deveci, Kaya, Uçar, Çatalyürek, "A push-relabel-based ... algorithm on GPUs" (ICPP 2013): initial matchings
of table I, the frequency of global relabeling, and rounds of G-PR.  Times on a GPU: deveci_gpu.py.
"""

from collections.abc import Mapping

from benchmarks.matching_images import new_figure
from benchmarks.papers import deveci_gpu
from benchmarks.papers.azad import Start, starts
from benchmarks.papers.gpu_rounds import push_in_rounds
from benchmarks.papers.sections import Section, bars, count, data_of, number
from benchmarks.table import geometric_mean
from matching.papers.push_relabel import ORDERS

TITLE = "Deveci, Kaya, Uçar, Çatalyürek, ICPP 2013, repeated"
# Table I: cardinality of the initial and of the maximum matching, of graphs whose families can be generated.
PRINTED = {
    "delaunay": ("delaunay_n20", 993_174, 1_048_576),
    "kron": ("kron_g500-logn20", 431_854, 513_334),
    "road": ("roadNet-CA", 1_668_268, 1_913_589),
}
STRATEGIES = {
    "(adaptive, 0.3)": (0.3, True),
    "(adaptive, 0.7)": (0.7, True),
    "(adaptive, 1)": (1.0, True),
    "(adaptive, 1.5)": (1.5, True),
    "(adaptive, 2)": (2.0, True),
    "(fix, 10)": (10.0, False),
    "(fix, 50)": (50.0, False),
}
FIXED = {name: of for name, of in STRATEGIES.items() if name.startswith("(fix")}
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


def strategies(quick: bool):
    """Fig. 1: strategies of global relabeling."""
    rows, data = [], {name: {} for name in STRATEGIES}
    for name, start in prepared(quick).items():
        for strategy, of in STRATEGIES.items():
            found = start.counted(push_in_rounds, (*start.graph.by_row, *start.graph.by_col), *of, True)
            pushing, relabelings, levels, pushes, conflicts, edges, few, fixed = found
            data[strategy][name] = pushing + levels
            row = [name, strategy, count(pushing), count(relabelings), count(levels), count(pushing + levels)]
            rows.append([*row, count(pushes), count(conflicts), count(edges), count(few), count(fixed)])
    for strategy, of in data.items():
        some = [launches for launches in of.values() if launches]
        rows.append(["geometric mean", strategy, *["-"] * 3, number(geometric_mean(some), 0), *["-"] * 5])
    columns = ["graph", "strategy", "push kernels", "global relabelings", "their levels", "launches"]
    columns += ["pushes", "conflicts", "edges", "kernels with few columns", "columns fixed"]
    note = (
        "Algorithms 3 to 6 (G-PR-First) after the cheap matching, with all reads of a kernel before its writes. "
        "Launches: push kernels and levels of global relabelings. Conflicts: pushes to a row that another column took "
        "in the same kernel. Few columns: at most 32 active ones. Fixed: columns without a row that still name one at "
        "the end."
    )
    yield Section("Fig. 1, rounds", note, columns, rows, data)


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


def first_relabelings(quick: bool):
    """Section III-A: a global relabeling at the start."""
    rows, gains = [], {name: [] for name in FIXED}
    for name, start in prepared(quick).items():
        row, lists = [name], (*start.graph.by_row, *start.graph.by_col)
        for strategy, of in FIXED.items():
            found = [start.counted(push_in_rounds, lists, *of, exact_start) for exact_start in (True, False)]
            launches = [pushing + levels for pushing, _, levels, *_ in found]
            row += map(count, launches)
            if min(launches):
                gains[strategy].append(launches[1] / launches[0])
        rows.append(row)
    rows.append(
        ["mean, without / with", *(cell for of in gains.values() for cell in ("-", number(geometric_mean(of))))]
    )
    columns = ["graph", *(f"{name}, {what}" for name in FIXED for what in ("with", "without"))]
    note = (
        "Launches of G-PR-First, as in the section on Fig. 1, with and without a global relabeling at the start. "
        "Without it, labels of rows are 0 and those of columns 1 until the first periodic one."
    )
    yield Section("A global relabeling at the start (§III-A)", note, columns, rows)


EXPERIMENTS = (initial_matchings, serial_frequencies, orders, strategies, first_relabelings)
EXPERIMENTS_ON_GPU = deveci_gpu.ICPP


def figures(sections) -> dict:
    """Launches by strategy."""
    figure, (axes,) = new_figure(1)
    bars(axes, data_of(sections, "Fig. 1"), "launches of kernels")
    axes.set_title("G-PR-First: launches by strategy of global relabeling")
    return {"launches": figure}
