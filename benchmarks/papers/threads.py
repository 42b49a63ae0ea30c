"""The papers' experiments with several threads: Azad and others, Fig. 3 to 5 and V-B; Fagginger Auer, Fig. 4 and 5.

The graphs are of the same families as those of the other sections, with 2^20 vertices instead of 2^15, since threads
share only wide levels.  Times are medians on the clock, interleaved.  Every program and number of threads is
certified once before it is timed.
"""

from functools import partial
from statistics import median
from time import perf_counter

import numpy as np

import matching
from benchmarks.greedy import plain, renumbered, weighed
from benchmarks.papers import azad
from benchmarks.papers.fagginger_auer import families, greedy
from benchmarks.papers.sections import AGAIN, Section, classes, number, spanned
from benchmarks.table import geometric_mean

SCALE = 20
PARALLEL = {"MS-BFS-Graft": "ms_bfs_graft", "PF": "p_pf"}
RUNS = 10  # as in the paper
PATIENCE = 2.0  # seconds of all runs of one program with one number of threads
COLUMNS = ["graph", "program", "threads", "ms", "range, ms", "ψ %", "speed-up", "time / first program's"]


def table(title: str, note: str, graphs, repeats: int) -> Section:
    """A row for each graph, program and number of threads, and geometric means of the speed-ups over the graphs.

    graphs   pairs of a name and {(program, threads): callable that returns its seconds}
    """
    rows, gains = [], {}
    for graph, runs in graphs:
        first, most = next(iter(runs))[0], max(threads for _, threads in runs)
        runs = {**runs, (f"{first}, {AGAIN}", most): runs[first, most]}
        seconds = {key: [] for key in runs}
        for _ in range(repeats):
            for key, run in runs.items():
                if sum(seconds[key]) < PATIENCE:
                    seconds[key].append(run())
        middle = {key: median(times) for key, times in seconds.items()}
        for (program, threads), times in seconds.items():
            taken, psi = middle[program, threads], 100 * np.std(times) / np.mean(times)
            row = [graph, program, str(threads), number(1e3 * taken, 1), spanned(1e3 * np.array(times), 1)]
            alone = middle.get((program, 1))
            if alone:
                gains.setdefault((program, threads), []).append(alone / taken)
            rows.append([*row, number(psi, 1), number(alone and alone / taken), number(taken / middle[first, threads])])
    for (program, threads), of in gains.items():
        rows.append(["mean", program, str(threads), *["-"] * 3, number(geometric_mean(of)), "-"])
    note += f" Medians of up to {repeats} runs; ψ = 100 σ / μ (§V-B of Azad and others); speed-up over one thread."
    return Section(title, note, COLUMNS, rows)


def search_time(start: azad.Start, method: str, **given) -> float:
    """Seconds of a search from the initial matching."""
    rows, cols = start.rows.copy(), start.cols.copy()
    search = matching.methods.solver(method, "cpu")
    begin = perf_counter()
    search(start.graph, rows, cols, **given)
    return perf_counter() - begin


def searches(quick: bool, threads: list[int]):
    """The searches of each graph whose initial matching is not maximum; push-relabel, which is serial here, once."""
    for graph, make in classes(quick, SCALE).items():
        start = azad.Start(make())
        if start.initial == start.size:
            continue
        given = {(name, t): (method, {"threads": t}) for name, method in PARALLEL.items() for t in threads}
        given["PR", 1] = ("push_relabel", {})
        for method, of in given.values():
            start.run(method, **of)  # compiles and certifies
        yield graph, {key: partial(search_time, start, method, **of) for key, (method, of) in given.items()}


def tree_grafting(quick: bool, threads: list[int]):
    """Azad and others: relative speeds, speed-ups, variation."""
    note = f"Search alone, graphs of 2^{8 if quick else SCALE} vertices whose initial matching is not maximum."
    yield table("Fig. 3 to 5, and variation over runs (§V-B)", note, searches(quick, threads), 1 if quick else RUNS)


def greedy_calls(quick: bool, threads: list[int]):
    """The calls of each graph: algorithm 3 with several threads, against the serial algorithms 1 and 2."""
    for name, graph in families(quick, SCALE).items():
        graph = renumbered(graph, 0)
        unweighted, heavy = plain(graph), weighed(graph)
        calls = {("parallel", t): partial(greedy, unweighted, method="parallel", threads=t) for t in threads}
        calls |= {("parallel, heaviest", t): partial(greedy, heavy, method="parallel", threads=t) for t in threads}
        calls["random", 1] = partial(greedy, unweighted, method="random", shuffled=False)
        calls["weighted", 1] = partial(greedy, heavy, method="weighted", shuffled=False)
        calls["sorted", 1] = partial(greedy, heavy, method="sorted")
        for run in calls.values():
            run()  # compiles and certifies
        yield name, {key: partial(call_time, run) for key, run in calls.items()}


def greedy_matching(quick: bool, threads: list[int]):
    """Fagginger Auer and Bisseling."""
    note = f"Methods alone, graphs of 2^{8 if quick else SCALE} vertices, permuted. The paper: at most 1.1, 0.7, 13."
    yield table("Fig. 4 and Fig. 5", note, greedy_calls(quick, threads), 1 if quick else RUNS)


def call_time(run: partial) -> float:
    """Seconds of the method alone in a call of `greedy`, without the certificate."""
    return matching.greedy(*run.args, **run.keywords, device="cpu").stats["seconds"]["solve"]


EXPERIMENTS = {"azad": tree_grafting, "fagginger_auer": greedy_matching}
