"""Tables of what benchmarks/matching_runs.py measured, one function each; and two measurements of their own.

detail, means        each graph and method against SciPy and igraph; geometric means over graphs
by_method            graphs by methods, milliseconds
statistics           what searches did: edges, phases, paths (Azad, Buluç, Pothen 2015, section II-E)
steps                direction optimisation and grafting, each switched on and off (their Fig. 7)
calls                the cost of a whole call on small matrices
"""

import timeit
from statistics import median
from typing import NamedTuple

import matching
from benchmarks.matching_runs import BASELINES, STOPPED, scipy_run
from benchmarks.table import geometric_mean, markdown


def milliseconds(seconds) -> str:
    if seconds is None:
        return "-"
    if seconds == STOPPED:
        return "stopped"
    return f"{1e3 * seconds:.1f}" if seconds >= 1e-3 else f"{1e3 * seconds:.3f}"


def ratio(above, below) -> float | None:
    """Of two times, if both were measured."""
    return above / below if above and below and STOPPED not in (above, below) else None


def number(value, digits=2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def detail(measured, methods, threads):
    """Each graph and method: what was found, what it took with each number of threads, and what baselines took."""
    columns = ["graph", "rows", "entries", "size", "asked", "method", "init", "certified", "ours ms", "solve ms"]
    columns += [text for t in threads[1:] for text in (f"{t} threads ms", "gain")]
    columns += [f"{baseline} ms" for baseline in BASELINES] + [f"{baseline} / ours" for baseline in BASELINES]
    rows = []
    for m in measured:
        for method in methods:
            ours, ran = m.seconds[method], m.runs.get(method)
            row = [m.name, str(m.rows), str(m.entries), str(m.size) if ran else "-", method]
            if ran:
                solve = ran.stats["seconds"]["init"] + ran.stats["seconds"]["solve"]
                row += [ran.method, ran.init, "✓", milliseconds(ours), milliseconds(solve)]
            else:
                row += ["-", "-", "-", milliseconds(ours), "-"]
            for t in threads[1:]:
                shared = m.seconds.get(f"{method}, {t} threads")
                row += [milliseconds(shared), number(ratio(ours, shared))]
            baselines = [m.seconds.get(baseline) for baseline in BASELINES]
            row += [milliseconds(s) for s in baselines] + [number(ratio(s, ours)) for s in baselines]
            rows.append(row)
    return markdown(columns, rows)


def means(measured, methods):
    """Geometric mean, over the graphs where both ran, of a baseline's time over ours."""
    rows = []
    for method in methods:
        for baseline in BASELINES:
            found = [ratio(m.seconds.get(baseline), m.seconds[method]) for m in measured]
            found = [r for r in found if r]
            if found:
                mean, least = geometric_mean(found), min(found)
                rows.append([f"{baseline} / {method}", str(len(found)), f"{mean:.2f}", f"{least:.2f}"])
    return markdown(["baseline / ours", "graphs", "geometric mean", "least"], rows) if rows else ""


def by_method(measured, programs):
    """Milliseconds of all programs, the least in bold; and how far each is from the least, in geometric mean."""
    rows = []
    for m in measured:
        least = _least(m, programs)
        cells = [milliseconds(m.seconds.get(p)) for p in programs]
        rows.append(
            [m.name, *(f"**{c}**" if m.seconds.get(p) == least else c for c, p in zip(cells, programs, strict=True))]
        )
    last = []
    for p in programs:
        off = [ratio(m.seconds.get(p), _least(m, programs)) for m in measured]
        off = [r for r in off if r]
        last.append(f"{geometric_mean(off):.2f} ({len(off)})" if off else "-")
    rows.append(["times the least, geometric mean (graphs)", *last])
    return "milliseconds\n\n" + markdown(["graph", *programs], rows)


def _least(m, programs):
    return min(m.seconds[p] for p in programs if p in m.seconds)


def statistics(measured, methods):
    """What the searches of each method did, from the initial matching on."""
    columns = ["graph", "asked", "method", "init", "missing", "edges", "edges / entries", "phases", "mean path length"]
    rows = []
    for m in measured:
        for method in methods:
            if method not in m.runs:
                continue
            ran, stats = m.runs[method], m.runs[method].stats
            row = [m.name, method, ran.method, ran.init, str(m.size - stats["initial"]), str(stats["edges"])]
            row += [number(stats["edges"] / max(1, m.entries)), str(stats["phases"])]
            paths = stats["augmentations"]
            rows.append([*row, number(stats["path_length"] / paths if paths else None)])
    return markdown(columns, rows)


class Steps(NamedTuple):
    """Of each of STEPS: seconds of search and edges traversed; and the pairs that the initial matching lacked."""

    seconds: dict
    edges: dict
    missing: int


STEPS = {
    "MS-BFS": {"grafting": False, "direction_optimising": False},
    "direction": {"grafting": False, "direction_optimising": True},
    "grafting": {"grafting": True, "direction_optimising": False},
    "both": {"grafting": True, "direction_optimising": True},
}


def measure_steps(graph, init: str, threads: int, repeats: int) -> Steps:
    """Direction optimisation and grafting on and off, from the same initial matching."""
    checked = matching.bipartite_graph(graph)
    seconds, edges, missing = {name: [] for name in STEPS}, {}, set()
    for turn in range(repeats + 1):
        for name, switches in STEPS.items():
            found = matching.maximum(checked, method="ms_bfs_graft", init=init, threads=threads, **switches)
            if not turn:  # compiles
                found.check()
            else:
                seconds[name].append(found.stats["seconds"]["solve"])
                edges[name] = found.stats["edges"]
            missing.add(found.cardinality - found.stats["initial"])
    if len(missing) > 1:
        raise AssertionError(f"the initial matching {init!r} differs from run to run")
    return Steps({name: median(taken) for name, taken in seconds.items()}, edges, missing.pop())


def steps(taken):
    """Milliseconds of search, gains over plain MS-BFS, and edges traversed in thousands; `taken` {graph: Steps}."""
    gains = list(STEPS)[1:]
    columns = ["search only", "missing", *(f"{name} ms" for name in STEPS), *(f"{name} x" for name in gains)]
    columns += [f"{name} k edges" for name in STEPS]
    rows = []
    for graph, of in taken.items():
        row = [graph, str(of.missing), *(f"{1e3 * s:.1f}" for s in of.seconds.values())]
        row += [number(of.seconds["MS-BFS"] / of.seconds[name]) for name in gains]
        rows.append(row + [f"{count / 1e3:.0f}" for count in of.edges.values()])
    mean = [geometric_mean([of.seconds["MS-BFS"] / of.seconds[name] for of in taken.values()]) for name in gains]
    blank = ["-"] * len(STEPS)
    rows.append(["geometric mean", "-", *blank, *(number(m) for m in mean), *blank])
    return markdown(columns, rows)


def calls(graphs, repeats: int):
    """Microseconds of whole calls on small matrices: the least of rounds, each of which makes many calls in a row.

    Not medians: at this scale other work on the machine makes more of them than the calls themselves.  A round goes
    through all matrices, so that a slow spell falls on few of a matrix's.
    """
    columns = ["matrix", "rows", "columns", "entries", "size", "maximum µs", "graph made once µs", "drop-in µs"]
    columns += ["SciPy µs", "SciPy / maximum"]
    first, taken = {}, {}
    for name, make in graphs.items():
        graph = make()
        found = matching.maximum(graph)
        found.check()
        size = scipy_run(graph)()[0]
        if size != found.cardinality:
            raise AssertionError(f"SciPy found {size} pairs on {name}, we {found.cardinality}")
        first[name] = [name, *(str(n) for n in (*graph.shape, graph.nnz, found.cardinality))]
        taken[name] = [(timer, max(1, round(5e-3 / timer.timeit(1))), []) for timer in timers_of(graph)]
    for _ in range(repeats):
        for timers in taken.values():
            for timer, count, seconds in timers:
                seconds.append(timer.timeit(count) / count)
    rows, ratios = [], []
    for name, timers in taken.items():
        least = [min(seconds) for _, _, seconds in timers]
        ratios.append(least[-1] / least[0])
        rows.append([*first[name], *(f"{1e6 * s:.1f}" for s in least), number(ratios[-1])])
    rows.append(["geometric mean", *["-"] * 8, number(geometric_mean(ratios))])
    return markdown(columns, rows)


def timers_of(graph):
    """Of matching.maximum from a SciPy matrix, from a graph made once, the drop-in, and SciPy; each called once."""
    checked = matching.bipartite_graph(graph)
    runs = (
        lambda: matching.maximum(graph, threads=1),
        lambda: matching.maximum(checked, threads=1),
        lambda: matching.maximum_bipartite_matching(graph),
        scipy_run(graph),
    )
    for run in runs:
        run()
        yield timeit.Timer(run)
