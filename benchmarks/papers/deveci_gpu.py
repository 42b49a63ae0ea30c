"""The programs of both papers by Deveci and others on a GPU, against those of the CPU, from the same initial matching.

The papers start every program from a serial cheap matching, which leaves fewer columns for the search than a cheap
matching computed in parallel.  Here every program gets that matching, computed once; only searches are timed.
"""

from collections.abc import Callable
from functools import cache
from os import cpu_count
from typing import NamedTuple

import numpy as np

from benchmarks import harness
from benchmarks import matching_instances as instances
from benchmarks.matching_programs import VARIANTS, GpuBench, Program, program_of
from benchmarks.papers.sections import Section, number
from benchmarks.table import geometric_mean
from benchmarks.timing import timed
from matching.methods import METHODS, initialiser

SEQUENTIAL = ("push_relabel", "hkdw", "hopcroft_karp", "pothen_fan")
PARALLEL = ("p_dbfs", "p_pf", "p_hk")
AUGMENTING = tuple(name for name in VARIANTS if name.startswith("ap"))
PUSHING = tuple(name for name in VARIANTS if name.startswith("g_pr"))
BEST_PUSHING, BEST_AUGMENTING = "g_pr_shr-adaptive-0.7", "apfb-gpubfs_wr-ct"  # the papers' choices
GRAPHS = instances.MEDIUM
QUICK = ("uniform 3",)
ROUNDS = 3
ONCE_ABOVE = 1.0  # seconds
LIMIT: float | None = 5.0  # seconds of a run; None: in this process
AGAIN = ", again"  # no difference between variants is an effect if it is smaller than that of a repeat
FAR, CLOSE = 5.0, 1.5  # ratios at which the papers read their profiles


class Run(NamedTuple):
    """One search, from the initial matching to a maximum matching; `wrong`: None or the reason."""

    seconds: float
    wrong: str | None
    phases: int
    levels: int

    CLOCKS = ()


class SameStartBench(GpuBench):
    """A graph with both adjacency lists and its serial cheap matching, on the host and on a GPU."""

    def take(self, graph, size: int):
        self.start = np.full(graph.rows, -1, np.int32), np.full(graph.cols, -1, np.int32)
        initialiser("cheap", "cpu")(graph, *self.start)
        graph.by_col  # noqa: B018  computed on first use
        return super().take(graph, size)

    def run(self, program: Program, calls: bool = False) -> Run:
        entry = METHODS[program.method]
        if entry.cpu is not None:
            self.found = tuple(match.copy() for match in self.start)
            stats, seconds = timed(lambda: entry.cpu.function(self.graph, *self.found, **program.parameters))
        else:
            stats, seconds = self.on_gpu(entry.cuda.function, program)
        pairs = [int(np.count_nonzero(match >= 0)) for match in self.found]
        wrong = None if pairs == [self.size] * 2 else f"{pairs[0]} pairs of {self.size}"
        return Run(seconds, wrong, stats.get("phases", 0), stats.get("levels", 0))

    def on_gpu(self, search: Callable, program: Program):
        from gridcut.device.arrays import download, synchronize, upload
        from matching.core.problem_cuda import uploaded

        if self.held is None:
            self.held = uploaded(self.graph)
        matches = [upload(match) for match in self.start]

        def solve():
            stats = search(self.held, *matches, **program.parameters)
            synchronize()
            return stats

        synchronize()
        stats, seconds = timed(solve)
        self.found = tuple(download(match)[:n] for match, n in zip(matches, self.graph.shape, strict=True))
        return stats, seconds


def programs() -> list[Program]:
    """All programs of the papers; those of the CPU that run in parallel on all processors."""
    found = [Program(name, name) for name in SEQUENTIAL]
    found += [Program(name, name, parameters={"threads": cpu_count()}) for name in PARALLEL]
    found += [program_of(name) for name in (*AUGMENTING, *PUSHING)]
    return found + [program_of(name)._replace(name=f"{name}{AGAIN}") for name in (BEST_AUGMENTING, BEST_PUSHING)]


@cache
def measured(quick: bool) -> list[harness.Measured]:
    """Every program on every graph, in its own order and permuted."""
    names = [one for name in (QUICK if quick else GRAPHS) for one in (name, name + instances.PERMUTED)]
    found = []
    for name, path in instances.prepared(names, None).items():
        worker = harness.Worker(path, LIMIT, SameStartBench)
        found.append(harness.measure(name, worker, programs(), ROUNDS, ONCE_ABOVE, say=say))
        found[-1].raise_failures()
        path.unlink()
    return found


def say(*words) -> None:
    print(*words, flush=True)


def groups(quick: bool) -> dict[str, list[harness.Measured]]:
    of = {"original": [], "permuted": []}
    for one in measured(quick):
        of["permuted" if one.name.endswith(instances.PERMUTED) else "original"].append(one)
    return of


def seconds_of(one: harness.Measured, who: str) -> float:
    """Seconds of one program, its limit if it was stopped."""
    return min(one.seconds[who], LIMIT or np.inf)


def best_of(one: harness.Measured, names) -> float:
    return min(seconds_of(one, name) for name in names)


def ratios(some, of: Callable, to: Callable) -> list[float]:
    return [of(one) / to(one) for one in some]


def times(quick: bool):
    """Milliseconds on each graph."""
    shown = (*SEQUENTIAL, *PARALLEL, BEST_AUGMENTING, BEST_PUSHING)
    rows = [[one.name, *(number(1e3 * seconds_of(one, name), 1) for name in shown)] for one in measured(quick)]
    note = (
        f"Milliseconds of the search from the serial cheap matching, medians of {ROUNDS}, certified. The first four "
        f"run on one thread, the next three on {cpu_count()}. A program is stopped at {LIMIT} s, and counts with that."
    )
    yield Section("Searches from the serial cheap matching", note, ["graph", *shown], rows)


def variants(quick: bool, names) -> list[list[str]]:
    """Geometric means of milliseconds, phases and levels of variants, on original and on permuted graphs."""
    rows = []
    for name in names:
        row = [name]
        for some in groups(quick).values():
            row.append(number(1e3 * geometric_mean([seconds_of(one, name) for one in some]), 1))
            ran = [one.ran[name] for one in some if name in one.ran]
            for counts in ([run.phases for run in ran], [run.levels for run in ran]):
                row.append(number(geometric_mean([max(1, value) for value in counts]), 1))
        rows.append(row)
    return rows


COLUMNS = ["ms", "phases", "levels", "permuted: ms", "phases", "levels"]


def pushes(quick: bool):
    """ICPP 2013, Fig. 1."""
    note = "Geometric means over the graphs. Phases: global relabelings; levels: of their searches."
    yield Section(
        "ICPP 2013, Fig. 1: variants and strategies",
        note,
        ["program", *COLUMNS],
        variants(quick, (*PUSHING, BEST_PUSHING + AGAIN)),
    )


def searches(quick: bool):
    """Euro-Par 2013, table 1 and Fig. 2."""
    note = "Geometric means over the graphs. Phases: iterations, each with one search; levels: launches of its kernel."
    title = "Euro-Par 2013, table 1 and Fig. 2: eight variants"
    yield Section(title, note, ["program", *COLUMNS], variants(quick, (*AUGMENTING, BEST_AUGMENTING + AGAIN)))


def comparison(quick: bool, ours: str, others: dict[str, tuple[str, ...]]) -> list[list[str]]:
    """Speed-ups of one program over the fastest of others, and how often it is the fastest of all."""
    rows = []
    for group, some in groups(quick).items():
        for label, names in others.items():
            found = ratios(some, lambda one, names=names: best_of(one, names), lambda one: seconds_of(one, ours))
            rows.append(
                [group, label, number(min(found)), number(geometric_mean(found)), number(max(found))]
                + [f"{sum(ratio >= 1 for ratio in found)} of {len(found)}"]
                + [f"{sum(ratio >= FAR for ratio in found)} of {len(found)}"]
            )
        every = {name for names in others.values() for name in names}
        behind = ratios(some, lambda one: seconds_of(one, ours), lambda one, every=every: best_of(one, every))
        best = sum(ratio <= 1 for ratio in behind)
        close = sum(ratio <= CLOSE for ratio in behind)
        rows.append([group, "all of these", "-", "-", "-", f"{best} of {len(behind)}", f"{close} within {CLOSE}"])
    return rows


COMPARED = ["graphs", "over", "least speed-up", "mean", "largest", "at least as fast", "5 times as fast"]


def push_profile(quick: bool):
    """ICPP 2013, Fig. 2 to 4."""
    others = {
        "PR": ("push_relabel",),
        "G-HKDW (APFB)": (BEST_AUGMENTING,),
        "P-DBFS": ("p_dbfs",),
    }
    note = f"Speed-ups of {BEST_PUSHING}; means are geometric."
    title = "ICPP 2013, Fig. 2 to 4: speed-ups and profiles"
    yield Section(title, note, COMPARED, comparison(quick, BEST_PUSHING, others))


def search_profile(quick: bool):
    """Euro-Par 2013, Fig. 3 to 5."""
    others = {
        "HK": ("hkdw", "hopcroft_karp"),
        "PFP": ("pothen_fan",),
        "the fastest sequential program": ("hkdw", "hopcroft_karp", "pothen_fan"),
        "P-DBFS": ("p_dbfs",),
        "P-PFP": ("p_pf",),
        "P-HK": ("p_hk",),
    }
    note = f"Speed-ups of {BEST_AUGMENTING}; means are geometric. HK: the faster of `hopcroft_karp` and `hkdw`."
    title = "Euro-Par 2013, Fig. 3 to 5: speed-ups and profiles"
    yield Section(title, note, COMPARED, comparison(quick, BEST_AUGMENTING, others))


ICPP = (times, pushes, push_profile)
EUROPAR = (times, searches, search_profile)
