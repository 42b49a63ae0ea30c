"""A script: solvers on threads of which one fails, cannot be started, or is interrupted.  It must end, and say so.

    python tests/thread_faults.py errors|starts|interrupts|large [seed]

Prints one line of JSON for each solver.  Run by test_thread_faults.py in a process of its own, since what it looks for
is a process that does not end.
"""

import itertools
import json
import random
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import assign
import gridcut
import matching
from assign.dense import cheap_columns as lists
from gridcut.device import run_threads
from gridcut.ibfs import ibfs, small_grid
from matching.general import general_graph, locally_dominant, parallel
from matching.papers import ms_bfs_graft
from matching.portfolio import portfolio
from tests.faults import alive, interrupted

THREADS = 3
ROUNDS = 25  # interrupts of each solver


class Fault(Exception):
    """What is raised in a worker."""


def road(side):
    """A square grid with 30 % of the edges gone: its numbering is local."""
    i = np.arange(side * side).reshape(side, side)
    edges = np.vstack([np.c_[i[:, :-1].ravel(), i[:, 1:].ravel()], np.c_[i[:-1].ravel(), i[1:].ravel()]])
    a, b = edges[np.random.default_rng(0).random(len(edges)) < 0.7].T
    return sp.csr_array((np.ones(2 * len(a), np.int8), (np.r_[a, b], np.r_[b, a])), shape=(side * side,) * 2)


def uniform(n, degree):
    row, col = np.random.default_rng(1).integers(0, n, (2, n * degree))
    return sp.csr_array((np.ones(len(row), np.int8), (row, col)), shape=(n, n))


def solvers() -> dict:
    """Name -> a call whose value is always the same; sizes from which on threads are used are set down."""
    portfolio.ONE_KERNEL_EDGES = portfolio.PARALLEL_MIN_EDGES = general_graph.PARALLEL_MIN_ENTRIES = 1
    ms_bfs_graft.TEAM_ROWS = 1
    parallel.PARALLEL_MIN_VERTICES = locally_dominant.PARALLEL_MIN_VERTICES = 100
    ibfs.STRIP_CELLS, ibfs.MIN_STRIP_LINES = 500, 1
    small_grid.MAX_PIXELS = 0  # no fast path
    lists.PARALLEL_MIN_COSTS = 1000

    local, scattered = matching.bipartite_graph(road(200)), matching.bipartite_graph(uniform(20_000, 4))
    symmetric = uniform(2000, 6) + uniform(2000, 6).T
    symmetric.data = symmetric.data.astype(np.int64) % 5 + 1
    rng = np.random.default_rng(2)
    source, sink, right, down = rng.integers(0, 60, (4, 70, 60), dtype=np.int32)
    cost = rng.integers(0, 500, (120, 120), dtype=np.int32)

    def pairs(graph, **how):
        return lambda: matching.maximum(graph, threads=THREADS, device="cpu", **how).cardinality

    def cut(**how):
        edges = {(0, 1): right, (1, 0): down}
        return lambda: int(gridcut.max_flow(source // 5, sink // 5, edges, device="cpu", **how).value)

    def graph_cut(**how):
        terminals = rng.integers(0, 400, (2, symmetric.shape[0]))
        return lambda: int(gridcut.graph_max_flow(symmetric, *terminals, **how).value)

    def greedy(method):
        return lambda: matching.greedy(symmetric, method=method, threads=THREADS, seed=1, device="cpu").weight

    def total(**how):
        return lambda: int(assign.solve(cost, device="cpu", **how).cost)

    return {
        "matching, local numbering": pairs(local),
        "matching, scattered": pairs(scattered),
        "p_dbfs": pairs(scattered, method="p_dbfs", init="cheap"),
        "p_pf": pairs(scattered, method="p_pf", init="cheap"),
        "p_hk": pairs(scattered, method="p_hk", init="cheap", wide=64),
        "ms_bfs_graft": pairs(scattered, method="ms_bfs_graft", init="cheap", wide=64),
        "greedy parallel": greedy("parallel"),
        "greedy locally_dominant": greedy("locally_dominant"),
        "lock_free cut": cut(method="lock_free", threads=THREADS),
        "async_global cut": cut(method="async_global", threads=THREADS),
        "ibfs": cut(method="ibfs"),
        "lock_free assignment": total(method="lock_free", threads=THREADS, cycle=200),
        "dense assignment": total(method="shortest_paths"),
    }


@contextmanager
def watched(faults):
    """run_threads of all modules replaced by one that asks `faults` about each call and worker.

    faults(call, site, index) may raise in the worker; yields the list of (site, workers) of the calls.
    """
    calls = []

    def watching(worker, count, *rest, **named):
        site = sys._getframe(1).f_code
        name = f"{Path(site.co_filename).stem}.{site.co_name}"
        number = len(calls)
        calls.append((name, count))

        def work(i):
            faults(number, name, i)
            return worker(i)

        return run_threads(work, count, *rest, **named)

    holders = [m for m in list(sys.modules.values()) if m and m.__dict__.get("run_threads") is run_threads]
    holders = [m for m in holders if m.__name__ != __name__]
    for module in holders:
        module.run_threads = watching
    try:
        yield calls
    finally:
        for module in holders:
            module.run_threads = run_threads


def nobody_runs() -> bool:
    """Whether all workers are gone, soon after an error."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        if not alive():
            return True
        time.sleep(0.001)
    return False


def errors(solve, value, rng):
    """An exception in each worker of the first calls, the last one, and one of each kind between."""
    with watched(lambda *_: None) as calls:
        assert solve() == value
    shared = [(k, site, count) for k, (site, count) in enumerate(calls) if count > 1]
    first_of_kind = {site: k for k, site, _ in reversed(shared)}
    chosen = {k for k, _, _ in shared[:3] + shared[-1:]} | set(first_of_kind.values())
    hits = {}
    for k, _, count in shared:
        for index in range(count if k in chosen else 0):

            def fault(call, site, i, k=k, index=index):
                if call == k and i == index:
                    hits[f"{site} {i}"] = hits.get(f"{site} {i}", 0) + 1
                    raise Fault

            before = sum(hits.values())
            with watched(fault):
                try:
                    solve()
                    failed = False
                except Fault:
                    failed = True
            # Calls of asynchronous solvers may differ from run to run, so one may not be there.
            assert failed == (sum(hits.values()) > before)
            assert nobody_runs()
    return hits


def starts(solve, value, rng):
    """The k-th thread cannot be started."""
    honest, hits = threading.Thread.start, {}
    for k in [*range(6), *range(6, 60, 9)]:
        number = itertools.count()

        def start(self, k=k, number=number):
            if self.name.startswith("cutmatch") and next(number) == k:
                hits[str(k)] = 1
                raise RuntimeError("can't start new thread")
            honest(self)

        threading.Thread.start = start
        before = len(hits)
        try:
            solve()
            failed = None
        except RuntimeError as error:
            failed = str(error)
        finally:
            threading.Thread.start = honest
        assert failed == ("can't start new thread" if len(hits) > before else None)
        assert nobody_runs()
    return hits


def seconds(solve) -> float:
    begin = time.perf_counter()
    solve()
    return time.perf_counter() - begin


def interrupts(solve, value, rng):
    """Ctrl-C at a random moment."""
    took = min(seconds(solve) for _ in range(5))  # a run that waited for other programs takes too long
    hits = {"in time": 0, "too late": 0}
    for _ in range(ROUNDS):
        hits["in time" if interrupted(solve, rng.uniform(1e-4, took)) else "too late"] += 1
        assert nobody_runs()
    return hits


def large() -> dict:
    """A graph that is matched by threads as it is: portfolio.PARALLEL_MIN_EDGES edges and more, local numbering."""
    graph = matching.bipartite_graph(road(850))
    assert graph.edges > portfolio.PARALLEL_MIN_EDGES
    return {"matching, large": lambda: matching.maximum(graph, threads=2, device="cpu").cardinality}


def main(mode, seed="0"):
    rng = random.Random(int(seed))
    for name, solve in (large if mode == "large" else solvers)().items():
        value = solve()
        hits = {"errors": errors, "starts": starts}.get(mode, interrupts)(solve, value, rng)
        assert solve() == value
        print(json.dumps({"solver": name, "hits": hits}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
