"""The papers' experiments with several threads: Azad and others, Fig. 3 to 5 and V-B; Fagginger Auer, Fig. 4 and 5.

The graphs are of the same families as those of the other sections, with 2^20 vertices instead of 2^15, since threads
share only wide levels.  Times are medians on the clock, interleaved.  Every program and number of threads is
certified once before it is timed.
"""

from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np

import matching
from benchmarks.greedy import plain, renumbered, weighed
from benchmarks.matching_images import new_figure
from benchmarks.papers import azad
from benchmarks.papers.fagginger_auer import families, greedy
from benchmarks.papers.sections import CLASSES, Section, class_of, classes, number, spanned
from benchmarks.table import geometric_mean

SCALE = 20
PARALLEL = {"MS-BFS-Graft": "ms_bfs_graft", "PF": "p_pf"}
RUNS = 10  # as in the paper
PATIENCE = 2.0  # seconds of all runs of one program with one number of threads


def sensitivity(seconds: list[float]) -> float:
    """ψ of section V-B: 100 σ / μ."""
    return float(100 * np.std(seconds) / np.mean(seconds))


def interleaved(runs: dict, repeats: int) -> dict[object, list[float]]:
    """The times of each of several callables that return seconds; a slow one runs less often."""
    seconds: dict[object, list[float]] = {key: [] for key in runs}
    for _ in range(repeats):
        for key, run in runs.items():
            if sum(seconds[key]) < PATIENCE:
                seconds[key].append(run())
    return seconds


def search_time(start: azad.Start, method: str, **given) -> float:
    """Seconds of a search from the initial matching."""
    rows, cols = start.rows.copy(), start.cols.copy()
    search = matching.methods.solver(method, "cpu")
    begin = perf_counter()
    search(start.graph, rows, cols, **given)
    return perf_counter() - begin


def tree_grafting(quick: bool, threads: list[int]):
    """Azad and others: relative speeds with one and all threads, speed-ups, search rates, variation."""
    gains, most, repeats = {}, threads[-1], 1 if quick else RUNS
    speeds, scaling, varied = [], [], []
    for graph, make in classes(quick, SCALE).items():
        start = azad.Start(make())
        if start.initial == start.size:
            continue
        runs, edges = {}, {}
        for name, method in PARALLEL.items():
            for t in threads:
                edges[name, t] = max(1, start.run(method, threads=t).stats["edges"])  # compiles and certifies
                runs[name, t] = partial(search_time, start, method, threads=t)
        start.run("push_relabel")
        runs["PR", 1] = partial(search_time, start, "push_relabel")
        runs["again", most] = runs["MS-BFS-Graft", most]
        seconds = interleaved(runs, repeats)
        middle = {key: median(times) for key, times in seconds.items()}
        graft = middle["MS-BFS-Graft", 1], middle["MS-BFS-Graft", most]
        row = [graph, class_of(graph), number(1e3 * graft[0], 1), number(1e3 * graft[1], 1)]
        row += [number(middle[other] / graft[0]) for other in (("PR", 1), ("PF", 1))]
        row.append(number(middle["PF", most] / graft[1]))
        rate = [edges[name, most] / middle[name, most] / 1e6 for name in ("MS-BFS-Graft", "PF")]
        row += [number(rate[0], 1), number(rate[1], 1), number(rate[0] / rate[1])]
        speeds.append([*row, number(middle["again", most] / graft[1])])
        gains[graph] = [middle["MS-BFS-Graft", 1] / middle["MS-BFS-Graft", t] for t in threads]
        of_pf = [middle["PF", 1] / middle["PF", t] for t in threads]
        scaling.append([graph, class_of(graph), *map(number, (*gains[graph], *of_pf))])
        psi = [number(sensitivity(seconds[name, most]), 1) for name in PARALLEL]
        varied.append([graph, *psi, *(spanned(1e3 * np.array(seconds[name, most]), 1) for name in PARALLEL)])
    for kind in CLASSES:
        mean = [
            geometric_mean([gains[graph][i] for graph in CLASSES[kind] if graph in gains]) for i in range(len(threads))
        ]
        scaling.append([f"mean, {kind}", "-", *map(number, mean), *["-"] * len(threads)])
    psi = [number(float(np.mean([float(row[i]) for row in varied])), 1) for i in range(1, 1 + len(PARALLEL))]
    varied.append(["mean", *psi, *["-"] * len(PARALLEL)])
    note = (
        f"Search alone, graphs of 2^{8 if quick else SCALE} vertices. Times of PR (serial here) and PF over that of "
        "MS-BFS-Graft with as many threads; millions of edges traversed per second. Graphs whose initial matching is "
        "maximum are left out."
    )
    columns = ["graph", "class", "Graft, 1 thread, ms", f"{most}, ms", "PR / Graft, 1", "PF / Graft, 1"]
    columns += [
        f"PF / Graft, {most}",
        f"rate Graft, {most}",
        f"rate PF, {most}",
        "rate Graft / PF",
        "Graft again / Graft",
    ]
    yield Section(f"Fig. 3 and Fig. 4 with {most} threads", note, columns, speeds)
    columns = ["graph", "class", *(f"{name}, {t}" for name in PARALLEL for t in threads)]
    note = "Time with one thread over that with several, of the same program; classes: geometric means."
    yield Section("Fig. 5", note, columns, scaling, {"threads": threads, "gains": gains})
    note = f"ψ = 100 σ / μ of the times of up to {repeats} runs with {most} threads, percent, and their range."
    columns = ["graph", *PARALLEL, *(f"{name}, ms" for name in PARALLEL)]
    yield Section("Variation over runs (§V-B)", note, columns, varied)


def greedy_matching(quick: bool, threads: list[int]):
    """Fagginger Auer and Bisseling: algorithm 3 with several threads, against the serial algorithms 1 and 2."""
    scaling, against, gains, most = [], [], {}, threads[-1]
    for name, graph in families(quick, SCALE).items():
        graph = renumbered(graph, 0)
        unweighted, heavy = plain(graph), weighed(graph)
        calls: dict[object, Callable] = {
            "random": partial(greedy, unweighted, method="random", shuffled=False),
            "weighted": partial(greedy, heavy, method="weighted", shuffled=False),
            "sorted": partial(greedy, heavy, method="sorted"),
        }
        for t in threads:
            calls["parallel", t] = partial(greedy, unweighted, method="parallel", threads=t)
            calls["heaviest", t] = partial(greedy, heavy, method="parallel", threads=t)
        for run in calls.values():
            run()  # compiles and certifies
        runs = {key: partial(call_time, run) for key, run in calls.items()}
        runs["again"] = runs["parallel", most]
        seconds = interleaved(runs, 1 if quick else RUNS)
        middle = {key: median(times) for key, times in seconds.items()}
        gains[name] = [middle["parallel", threads[0]] / middle["parallel", t] for t in threads]
        row = [name, number(1e3 * middle["parallel", threads[0]], 1), *map(number, gains[name])]
        row += [
            spanned(1e3 * np.array(seconds["parallel", most]), 1),
            number(middle["again"] / middle["parallel", most]),
        ]
        scaling.append(row)
        row = [name, number(middle["random"] / middle["parallel", most])]
        row += [number(middle[serial] / middle["heaviest", most]) for serial in ("weighted", "sorted")]
        against.append(row)
    note = f"Algorithm 3, graphs of 2^{8 if quick else SCALE} vertices, permuted; times over that of one thread."
    columns = ["graph", f"{threads[0]} thread, ms", *(f"speed-up, {t}" for t in threads)]
    columns += [f"{most} threads, ms", f"{most} threads again / {most} threads"]
    yield Section("Fig. 4", note, columns, scaling, {"threads": threads, "gains": gains})
    note = (
        f"Time of the serial algorithms over that of algorithm 3 with {most} threads. The paper: at most 1.1, 0.7, 13."
    )
    columns = ["graph", "random / parallel", "weighted / parallel, heaviest", "sorted / parallel, heaviest"]
    yield Section(f"Fig. 5 with {most} threads", note, columns, against)


def call_time(run: partial) -> float:
    """Seconds of the method alone in a call of `greedy`, without the certificate."""
    return matching.greedy(*run.args, **run.keywords, device="cpu").stats["seconds"]["solve"]


EXPERIMENTS = {"azad": tree_grafting, "fagginger_auer": greedy_matching}


def figures(sections: list[Section]) -> dict:
    """Speed-ups over threads, a line for each graph, of the section that holds them."""
    data = next(section.data for section in sections if section.data)
    drawn, (axes,) = new_figure(1)
    threads = data["threads"]
    for name, gains in data["gains"].items():
        axes.plot(threads, gains, "o-", markersize=3, label=name)
    axes.plot(threads, threads, color="0.7", linewidth=0.8, label="linear")
    axes.set(xlabel="threads", ylabel="times as fast as one thread", xscale="log", yscale="log")
    axes.set_xticks(threads, map(str, threads))
    axes.minorticks_off()
    axes.legend(fontsize="x-small")
    return {"": drawn}
