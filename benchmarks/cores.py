"""`python -m benchmarks cores`: cuts, matchings and assignments with 1, 2, 4, ... threads, and what the host allows.

Each result is certified once, and has the value of the result with one thread.  The *host's limit* for T threads is the
throughput of T processes at once, which all run the same call with one thread, over that of one process: memory and
caches leave room for no more.  Times are medians of interleaved runs, of
one run above ONCE_ABOVE seconds; the share is the speed-up over that limit.

A second table has matchings of graphs of the papers' families, without that limit: whole calls against those with one
thread, which run the serial program.
"""

import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numba
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import maximum_bipartite_matching

import assign
import gridcut
import matching
from benchmarks import command
from benchmarks.assign_instances import BATCHED, geometric, stack
from benchmarks.baselines import BASELINES, pymaxflow
from benchmarks.gridcut import thread_limit
from benchmarks.instances import LARGE, SUITE, VOLUMES
from benchmarks.label_instances import camera
from benchmarks.matching_graphs import road, uniform
from benchmarks.papers.sections import classes
from benchmarks.table import geometric_mean, markdown
from benchmarks.timing import rounds

THREADS = "1,2,4,8,16"
ONCE_ABOVE = 1.0  # seconds


class Work(NamedTuple):
    """An instance, the call that is timed, its value, and the same by another program."""

    make: Callable[[], Any]
    call: Callable[[Any], Any]
    value: Callable[[Any], float]
    peer: Callable[[Any], Any] | None


def cut(problem):
    return gridcut.max_flow(problem.source, problem.sink, problem.edges, device="cpu")


def of_grid(make) -> Work:
    installed = BASELINES["PyMaxflow"].installed
    return Work(make, cut, lambda cut: cut.value, pymaxflow if installed else None)


def of_graph(make, method, peer=None) -> Work:
    return Work(make, partial(match, method=method), lambda found: found.cardinality, peer)


def match(graph, method):
    return matching.maximum(graph, method=method, threads=numba.get_num_threads(), device="cpu")


def expand(given):
    return gridcut.alpha_expansion(given.unary, given.weights, given.cost, device="cpu")


GRIDS = SUITE | {name: (VOLUMES | LARGE)[name] for name in ("vessels 128, 6", "vessels 256, 6")}
METHODS = {"auto": partial(maximum_bipartite_matching, perm_type="column"), "ms_bfs_graft": None}
WORKS = {
    **{name: of_grid(make) for name, make in GRIDS.items()},
    **{
        f"{name}, {method}": of_graph(make, method, peer)
        for name, make in {"uniform 5": partial(uniform, 1 << 20, 5), "road": partial(road, 1 << 10, 0.3)}.items()
        for method, peer in METHODS.items()
    },
    "geometric 4000": Work(
        lambda: geometric(10_000)(4000, np.random.default_rng(0)),
        partial(assign.solve, device="cpu"),
        lambda found: found.cost,
        linear_sum_assignment,
    ),
    **{
        f"1000 of {name}": Work(
            lambda name=name: stack(name, 1000, 100, np.random.default_rng(100)),
            partial(assign.solve_batch, device="cpu"),
            lambda found: found.cost.sum(),
            None,
        )
        for name in BATCHED
    },
    "expansion": Work(lambda: camera(None, 1), expand, lambda found: found.energy, None),
}
FAMILIES = {f"2^{scale} rows": scale for scale in (18, 20)}


def main(argv) -> int:
    options = _parser().parse_args(argv)
    names = options.works or [*WORKS, *FAMILIES]
    if command.unknown_instance(names, WORKS | FAMILIES):
        return 2
    threads = [t for t in options.threads if t <= numba.config.NUMBA_NUM_THREADS]
    report = command.begin("Threads and the host's limit", ["numba", "numpy", "scipy", "PyMaxflow"])
    columns = ["work", "peer / 1 thread", "1 thread ms"]
    columns += [what for t in threads[1:] for what in (f"{t} threads", f"{t} copies", "share")]
    gains = []
    rows = command.shown(measure(name, threads, options.repeats, gains) for name in names if name in WORKS)
    means = [f"{geometric_mean([gain[t] for gain in gains]):.2f}" for t in threads[1:]] if gains else []
    rows.append(["geometric mean", "-", "-", *(cell for mean in means for cell in (mean, "-", "-"))])
    tables = [markdown(columns, rows)] if gains else []
    columns = ["rows", "graph", "method", "1 thread ms", *(f"{t} threads" for t in threads[1:])]
    rows = command.shown(
        row for name in names if name in FAMILIES for row in families(FAMILIES[name], threads, options.repeats)
    )
    tables += [markdown(columns, rows)] if rows else []
    return command.finish(report, "\n\n".join(tables), options.save)


def certified(work: Work, name: str, given, threads: list[int]) -> dict[Any, Callable]:
    """The call with each number of threads, after one call of each, certified and of equal value."""

    def run(t):
        with thread_limit(t):
            return work.call(given)

    values = set()
    for t in threads:
        found = run(t)
        found.check()
        values.add(work.value(found))
    if len(values) > 1:
        raise AssertionError(f"{name}: {values}")
    return {t: partial(run, t) for t in threads}


def measure(name: str, threads: list[int], repeats: int, gains: list[dict[int, float]]) -> list[str]:
    """A row of the table; adds the speed-up of each number of threads to `gains`."""
    work = WORKS[name]
    given = work.make()

    runs = certified(work, name, given, threads)
    if work.peer:
        runs["peer"] = partial(work.peer, given)
    times, _ = rounds(runs, repeats, ONCE_ABOVE)
    limits = host_limits(name, threads, 1 if times[threads[0]] > ONCE_ABOVE else repeats)
    gain = {t: times[threads[0]] / times[t] for t in threads}
    gains.append(gain)
    peer = f"{times['peer'] / times[threads[0]]:.2f}" if work.peer else "-"
    row = [name, peer, f"{1e3 * times[threads[0]]:.1f}"]
    for t in threads[1:]:
        row += [f"{gain[t]:.2f}", f"{limits[t]:.2f}", f"{100 * gain[t] / limits[t]:.0f} %"]
    return row


def families(scale: int, threads: list[int], repeats: int):
    """Rows of the matchings of graphs of 2^scale rows, and of the means and least speed-ups of each method."""
    gains: dict[str, list] = {method: [] for method in METHODS}
    for graph, make in classes(False, scale).items():
        given = make()
        for method in METHODS:
            runs = certified(of_graph(make, method), f"{graph}, {method}", given, threads)
            times, _ = rounds(runs, repeats, ONCE_ABOVE)
            gains[method].append([times[threads[0]] / times[t] for t in threads[1:]])
            row = [f"2^{scale}", graph, method, f"{1e3 * times[threads[0]]:.1f}"]
            yield [*row, *(f"{gain:.2f}" for gain in gains[method][-1])]
    for what, summary in (("geometric mean", geometric_mean), ("least", min)):
        for method, of in gains.items():
            yield [f"2^{scale}", what, method, "-", *(f"{summary(list(some)):.2f}" for some in zip(*of, strict=True))]


def host_limits(name: str, threads: list[int], repeats: int) -> dict[int, float]:
    """The throughput of several processes over that of one, each with one thread."""
    context = multiprocessing.get_context("spawn")
    start, ended = context.Barrier(threads[-1] + 1), context.Barrier(threads[-1] + 1)
    copies = [context.Process(target=_copy, args=(i, name, threads, repeats, start, ended)) for i in range(threads[-1])]
    for copy in copies:
        copy.start()
    rates = {}
    for t in threads:
        taken = []
        for _ in range(repeats):
            start.wait()
            begin = time.perf_counter()
            ended.wait()
            taken.append(time.perf_counter() - begin)
        rates[t] = t / median(taken)
    for copy in copies:
        copy.join()
    return {t: rates[t] / rates[threads[0]] for t in threads}


def _copy(i: int, name: str, threads: list[int], repeats: int, start, ended) -> None:
    """A process of `host_limits`: the first t of them work in a round of t copies."""
    work = WORKS[name]
    with thread_limit(1):
        given = work.make()
        work.call(given)
        for t in threads:
            for _ in range(repeats):
                start.wait()
                if i < t:
                    work.call(given)
                ended.wait()


def _parser():
    parser = command.parser("cores", __doc__, "cores")
    parser.add_argument("works", nargs="*", metavar="WORK", help=f"of: {', '.join(WORKS | FAMILIES)} (default: all)")
    parser.add_argument("--threads", type=command.threads_of, default=THREADS, help=f"default {THREADS}")
    parser.add_argument("--repeats", type=int, default=5)
    return parser
