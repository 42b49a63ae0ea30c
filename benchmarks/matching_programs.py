"""Programs that match, run and timed side by side: what `python -m benchmarks matching` makes its tables of.

Times are medians of rounds in which every program runs once.  With a limit, a program is first tried on a graph in
another process, which can be stopped: searches may take exponential time, and a running kernel cannot be left.
"""

import multiprocessing
import time
from dataclasses import dataclass, field
from statistics import median, median_low
from typing import NamedTuple

import numpy as np

import matching
from benchmarks.matching_instances import uniform
from matching.methods import INITS, METHODS

STOPPED = float("inf")  # seconds of a program that was over the limit


class Program(NamedTuple):
    """A way to a maximum matching, and its name in tables; `how` are keywords of matching.maximum, if it is ours."""

    name: str
    how: dict | None = None

    @property
    def ours(self) -> bool:
        return self.how is not None

    def runner(self, graph):
        """A callable without arguments that returns the size and, of ours, the matching found; None if not installed.

        What a baseline wants its graph to look like is made here, before any clock starts.
        """
        if self.ours:
            return lambda: _sized(matching.maximum(graph, **self.how))
        return BASELINES[self.name](graph)


def _sized(found):
    return found.cardinality, found


def scipy_run(graph):
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return lambda: (int(np.count_nonzero(maximum_bipartite_matching(graph, perm_type="row") >= 0)), None)


def igraph_run(graph):
    try:
        import igraph
    except ImportError:
        return None
    n, m = graph.shape
    coo = graph.tocoo()
    built = igraph.Graph(n + m, np.column_stack([coo.row, coo.col.astype(np.int64) + n]))
    sides = [False] * n + [True] * m
    return lambda: (len(built.maximum_bipartite_matching(types=sides)), None)


BASELINES = {"SciPy": scipy_run, "igraph": igraph_run}


def program_of(text: str, init: str, threads: int) -> Program:
    """METHOD or METHOD+INIT as a program; raises ValueError for names there are not."""
    method, _, own = text.partition("+")
    for kind, name, names in (("method", method, METHODS), ("init", own or init, INITS)):
        if name not in ("auto", *names):
            raise ValueError(f"no {kind} {name!r}; there are {', '.join(('auto', *names))}")
    return Program(text, {"method": method, "init": own or init, "threads": threads})


class Run(NamedTuple):
    """What ran for a program of ours, and its counts and seconds by step."""

    method: str
    init: str
    stats: dict


@dataclass(slots=True)
class Measured:
    """What was measured on one graph.

    seconds    by program's name, medians; STOPPED if over the limit; programs that were not run are left out
    runs       of each program of ours, by its name, the run whose seconds are the (lower) median
    """

    name: str
    rows: int
    entries: int
    size: int
    seconds: dict
    runs: dict[str, Run] = field(default_factory=dict)


def measure(name, graph, programs, repeats: int, rarely: float, limit: float | None) -> Measured:
    """Run programs on a graph in turn; certify ours, and demand the same size of all.

    Programs that took more than `rarely` seconds are timed once, and with `limit`, those over it not at all.
    """
    result = Measured(name, graph.shape[0], graph.nnz, -1, {})
    runners, seconds, runs = {}, {}, {}
    trials = Trials(graph, limit)
    for program in programs:
        run = program.runner(graph)
        if run is None:
            continue
        seconds[program.name], runs[program.name] = [], []
        if limit is not None:
            tried = trials.run(program)
            if tried is None:
                result.seconds[program.name] = STOPPED
                continue
            taken, size, ran = tried
            if taken > rarely:
                _agree(result, program.name, size)
                seconds[program.name].append(taken)
                runs[program.name].append(ran)
                continue
        if program.ours:
            size, found = run()  # compiles
            found.check()
            _agree(result, program.name, size)
        runners[program.name] = run
    trials.stop()
    for _ in range(repeats):
        for who, run in runners.items():
            if seconds[who] and seconds[who][0] > rarely:
                continue
            begin = time.perf_counter()
            size, found = run()
            seconds[who].append(time.perf_counter() - begin)
            runs[who].append(ran_of(found))
            _agree(result, who, size)
    for who, taken in seconds.items():
        if taken:
            result.seconds[who] = median(taken)
            ran = runs[who][taken.index(median_low(taken))]
            if ran is not None:
                result.runs[who] = ran
    return result


def ran_of(found) -> Run | None:
    return None if found is None else Run(found.method, found.init, found.stats)


def _agree(result: Measured, who: str, size: int) -> None:
    if result.size not in (-1, size):
        raise AssertionError(f"{who} found {size} pairs on {result.name}, others {result.size}")
    result.size = size


class Trials:
    """Runs of programs on a graph in a process that is stopped when one takes too long, and started anew."""

    def __init__(self, graph, limit: float | None):
        self.graph, self.limit = graph, limit
        self.child = None

    def run(self, program: Program):
        """(seconds, size, Run of ours) of a certified run; None if it was stopped at the limit."""
        if self.child is None:
            self._start()
        self.pipe.send(program)
        try:
            self.pipe.recv()  # it has compiled, and begins
            if self.pipe.poll(self.limit):
                return self.pipe.recv()
        except EOFError:
            raise RuntimeError(f"{program.name} ended without a result; the error is above") from None
        self.stop()
        return None

    def stop(self) -> None:
        if self.child is not None:
            self.child.terminate()
            self.child.join()
            self.child = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, there = context.Pipe()
        self.child = context.Process(target=_serve, args=(there, self.graph), daemon=True)
        self.child.start()
        there.close()


def _serve(pipe, graph) -> None:
    while True:
        program = pipe.recv()
        program.runner(uniform(200, 2))()
        run = program.runner(graph)
        pipe.send("begin")
        begin = time.perf_counter()
        size, found = run()
        seconds = time.perf_counter() - begin
        if found is not None:
            found.check()
        pipe.send((seconds, size, ran_of(found)))
