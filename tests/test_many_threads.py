"""One process that serves many requests at once: 32 threads on all solvers, every answer certified and as alone."""

import threading
import time
from functools import partial

import numpy as np
import pytest
import scipy.sparse

import assign.methods
import gridcut.methods
import matching.methods
from gridcut.device import run_threads
from tests.tiers import in_quick_tier

THREADS = 32
LEAST_COUNT = 25  # turns of a thread beside a long kernel; if kernels held the lock, it would have 1 to 5


def cut(rng, **keywords):
    source, sink, right, down = rng.integers(0, 60, (4, 40, 50), dtype=np.int32)
    found = gridcut.max_flow(source, sink, {(0, 1): right, (1, 0): down}, device="cpu", **keywords)
    found.check()
    return found.value, found.labels.tobytes()


def graph_cut(rng, **keywords):
    graph = scipy.sparse.random_array((400, 400), density=0.02, format="csr", rng=rng) * 100
    found = gridcut.graph_max_flow(graph.astype(np.int64), *rng.integers(0, 300, (2, 400)), **keywords)
    found.check()
    return found.value, found.labels.tobytes()


def warm_cut(rng):
    source, sink, right, down = rng.integers(0, 60, (4, 40, 50), dtype=np.int32)
    solver = gridcut.Solver(source, sink, {(0, 1): right, (1, 0): down}, device="cpu")
    solver.solve().check()
    source = source.copy()
    source[rng.integers(0, 40, 30), rng.integers(0, 50, 30)] = 90
    solver.update(source=source)
    found = solver.solve()
    found.check()
    return found.value, found.labels.tobytes()


def expansion(rng):
    unary = rng.integers(0, 90, (5, 20, 30), dtype=np.int32)
    found = gridcut.alpha_expansion(unary, dict.fromkeys(gridcut.neighbourhood(4), 20), device="cpu")
    return found.energy, found.labels.tobytes()


def dense(rng, **keywords):
    found = assign.solve(rng.integers(0, 1000, (60, 70)), device="cpu", **keywords)
    found.check()
    return (found.cost,)


def sparse(rng):
    found = assign.solve(scipy.sparse.csr_array(rng.integers(1, 1000, (50, 60))), device="cpu")
    found.check()
    return (found.cost,)


def many_small(rng):
    cost = rng.integers(0, 99, (20, 8, 9))
    found = assign.solve_batch(cost, device="cpu")
    found.check()
    return tuple(np.take_along_axis(cost, found.col_of_row[..., None], axis=2).sum(axis=(1, 2)).tolist())


def pairs(rng, **keywords):
    graph = scipy.sparse.random_array((300, 280), density=0.01, format="csr", rng=rng)
    found = matching.maximum(graph, device="cpu", **keywords)
    found.check()
    return (found.cardinality,)


def greedy(rng):
    graph = scipy.sparse.random_array((200, 200), density=0.03, format="csr", rng=rng)
    found = matching.greedy(graph + graph.T, seed=1, device="cpu")
    found.check()
    return (found.cardinality,)


def threaded(entries, key):
    """Names of the methods that run on several threads of the CPU, by a table of methods."""
    return [name for name, entry in entries.items() if "threads" in getattr(getattr(entry, key), "parameters", ())]


REQUESTS = {
    "ibfs": cut,
    "push_relabel": partial(cut, method="push_relabel"),
    "graph ibfs": graph_cut,
    "warm": warm_cut,
    "expansion": expansion,
    "dense": dense,
    "sparse": sparse,
    "batch": many_small,
    "maximum": pairs,
    "greedy": greedy,
    **{f"cut {name}": partial(cut, method=name, threads=2) for name in threaded(gridcut.methods.METHODS, "cpu")},
    **{
        f"dense {name}": partial(dense, method=name, threads=2)
        for name in threaded(assign.methods.METHODS, "dense_cpu")
    },
    **{f"pairs {name}": partial(pairs, method=name, threads=2) for name in threaded(matching.methods.METHODS, "cpu")},
    **{f"init {name}": partial(pairs, init=name, threads=2) for name in threaded(matching.methods.INITS, "cpu")},
}


@pytest.fixture(scope="module", params=in_quick_tier([1, 3], (1).__eq__))
def answers(request):
    """Every request by itself, for this number of seeds."""
    seeds = range(request.param)
    return {(name, seed): REQUESTS[name](np.random.default_rng(seed)) for name in REQUESTS for seed in seeds}


def test_32_threads_get_the_answers_of_one(answers):
    """Each thread sends all requests, each in an order of its own; all begin at once."""
    together = threading.Barrier(THREADS)
    wrong = []

    def serve(i):
        together.wait()
        for j in np.random.default_rng(i).permutation(len(answers)):
            name, seed = list(answers)[j]
            if REQUESTS[name](np.random.default_rng(seed)) != answers[name, seed]:
                wrong.append((name, seed))
        return len(answers)

    assert run_threads(serve, THREADS) == [len(answers)] * THREADS
    assert not wrong


def test_an_error_in_one_thread_is_that_thread_s_alone(answers):
    """Half of the requests are refused, and one in the middle of its work; the others do not notice."""

    def stop(stats):
        raise KeyboardInterrupt

    def serve(i):
        rng = np.random.default_rng(0)
        if i % 4 == 0:
            return cut(rng) == answers["ibfs", 0]
        if i % 4 == 1:
            with pytest.raises(KeyboardInterrupt):
                cut(rng, callback=stop)
        elif i % 4 == 2:
            with pytest.raises(ValueError, match="source holds -1"):
                gridcut.max_flow(np.array([1, -1]), np.array([1, 1]), {(1,): 1}, device="cpu")
        else:
            with pytest.raises(ValueError, match="cost"):
                assign.solve(np.array([[np.nan]]), device="cpu")
        return True

    assert all(run_threads(serve, THREADS))


def long_solves():
    """One kernel each that takes some tenths of a second, by package."""
    rng = np.random.default_rng(0)
    source, sink, right, down = rng.integers(0, 60, (4, 64, 64), dtype=np.int32)
    cost = rng.random((1100, 1)) * rng.random(1100)
    graph = scipy.sparse.random_array((400_000, 400_000), density=6e-6, format="csr", rng=rng)
    slow = {"method": "push_relabel", "global_every": np.inf, "gap": False}
    return {
        "gridcut": partial(
            gridcut.max_flow, source // 9, sink // 9, {(0, 1): right, (1, 0): down}, device="cpu", **slow
        ),
        "assign": partial(assign.solve, cost, method="jonker_volgenant", device="cpu"),
        "matching": partial(matching.maximum, graph, method="ss_dfs", init="none", device="cpu"),
    }


@pytest.mark.parametrize("package", ["gridcut", "assign", "matching"])
def test_solvers_let_other_threads_run_while_they_solve(package):
    """Kernels do not hold the lock of the interpreter: this thread counts while another one is in them."""
    solve = long_solves()[package]
    solve().check()  # compiles, which holds the lock
    thread = threading.Thread(target=solve)
    thread.start()
    count = 0
    while thread.is_alive():
        time.sleep(0.001)
        count += 1
    assert count > LEAST_COUNT
