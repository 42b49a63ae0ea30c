"""Solvers that keep state: copies are independent and right, and no error at any line leaves one between two states."""

import copy
import math
import os
import pickle
import random
import threading
import time
from collections import Counter
from functools import partial

import numpy as np
import pytest

from gridcut.compat import maxflow
from gridcut.ibfs import ibfs
from tests.faults import HAS_TIMER, fails_at, first_and_last, interrupted, lines_of
from tests.gridcut.oracles import drawn
from tests.gridcut.states import CASES, LARGE, ON_GPU, STAGES, SUBJECTS, Grids
from tests.tiers import in_quick_tier

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda solver: pickle.loads(pickle.dumps(solver)),
}
BASE = int(os.environ.get("CUTMATCH_SEED", "0"))
# The others differ in types of costs, a mask and kinds of arcs, for which kernels are compiled once more.
USUAL = ("small", "push_relabel", "lock_free", "graph", "labels")


def usual_ones(cases):
    """Pairs of a subject and a change, for parametrize; the quick tier takes the usual ones."""
    is_quick = {(name, change): name in USUAL and change != "floats" for name, change in cases}
    return [case if is_quick[case] else pytest.param(*case, marks=pytest.mark.slow) for case in cases]


each_subject = pytest.mark.parametrize("name", in_quick_tier(SUBJECTS, USUAL.__contains__))


def judge(subject, solver, *allowed):
    """Solve, and assert that the result is right for one of the costs in `allowed`; returns their index."""
    result = solver.solve()
    found = [subject.wrong(result, reference) for reference in allowed]
    assert None in found, f"{subject.name}: {found}"
    return found.index(None)


# Copies


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize(("name", "change"), usual_ones(CASES))
def test_copies_are_independent(name, change, how, stage):
    subject = SUBJECTS[name]
    solver, start = subject.at(stage)
    given = subject.changes[change]
    after = subject.updated(start, given)
    twin, late = COPIES[how](solver), COPIES[how](solver)
    assert type(twin) is type(solver)
    twin.update(**given)
    judge(subject, twin, after)
    judge(subject, solver, start)
    solver.update(**given)
    judge(subject, solver, after)
    judge(subject, late, start)
    again = COPIES[how](twin)
    judge(subject, again, after)
    judge(subject, twin, after)


# Errors at every line


def fail_everywhere(subject, stage, operate, change, ks, counts):
    """Let operate(solver) fail at the lines ks and continue: the costs are those before or after a change."""
    given = subject.changes[change]
    for k in ks:
        solver, start = subject.at(stage)
        after = subject.after(change) if start is subject.start else subject.updated(start, given)
        kept = solver.solve() if stage == "after" else None
        counts["failed" if fails_at(partial(operate, solver), k) else "ended before"] += 1
        if kept is not None:
            try:
                kept.check()  # valid, or known to be stale
            except RuntimeError as error:
                assert "stale" in str(error), error  # noqa: PT017
        twin = copy.deepcopy(solver) if k % 5 == 0 else None
        which = judge(subject, solver, start, after)
        if twin is not None:
            judge(subject, twin, (start, after)[which])
        solver.update(**given)
        judge(subject, solver, after)


def line_faults(subject, change, stage, counts, step=1):
    """Let `update`, then `update` and `solve`, fail before each line: when it is executed first, and last.

    step   at every step-th of these only
    """
    given = subject.changes[change]

    def update(solver):
        solver.update(**given)

    def update_and_solve(solver):
        solver.update(**given)
        solver.solve()

    update_and_solve(subject.at(stage)[0])  # compiles
    done = 0
    for operate in (update, update_and_solve):
        lines = lines_of(partial(operate, subject.at(stage)[0]))
        ks = [k for k in first_and_last(lines) if k >= done]
        fail_everywhere(subject, stage, operate, change, ks[::step], counts)
        done = len(lines)


@pytest.fixture(scope="module")
def counts(request):
    """Counter of faults by subject and kind; printed at the end."""
    found = Counter()
    yield found
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(*(f"\n  {what}: {number}" for what, number in sorted(found.items())))


SOME = [
    ("small", "few pixels"),
    ("small", "terminals and some edges"),
    ("floats", "all edges"),
    ("graph", "a graph and a terminal"),
    ("labels", "few pixels"),
]


each_step = pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])


@each_step
@pytest.mark.parametrize(("name", "change"), usual_ones(SOME))
def test_errors_at_lines(name, change, step, counts):
    line_faults(SUBJECTS[name], change, "after", counts, step)


@pytest.mark.thorough
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(("name", "change"), CASES)
def test_thorough_errors_at_every_line(name, change, stage, counts):
    line_faults(SUBJECTS[name], change, stage, counts)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ON_GPU)
def test_states_on_a_gpu(name, counts):
    subject = ON_GPU[name]
    for number, change in enumerate([*subject.changes][::2]):
        for how in COPIES.values():
            solver, start = subject.at("between")
            twin = how(solver)
            twin.update(**subject.changes[change])
            judge(subject, twin, subject.updated(start, subject.changes[change]))
            judge(subject, solver, start)
        line_faults(subject, change, STAGES[number % 3], counts, step=12)


@pytest.mark.sim
def test_states_in_the_simulator(counts):
    rng = np.random.default_rng(45)
    subject = Grids(
        "tiny",
        drawn(rng, (2, 3), [(0, 1), (1, 0)], directed=True),
        {"terminals": {"source": rng.integers(0, 9, (2, 3)), "edges": {(0, 1): rng.integers(0, 9, (2, 3))}}},
        device="cuda",
    )
    for how in COPIES.values():
        solver, start = subject.at("between")
        judge(subject, how(solver), start)
    line_faults(subject, "terminals", "after", counts, step=180)


@pytest.fixture
def strips(monkeypatch):
    """Strips of a few lines, which are cut apart and merged, also in small grids."""
    monkeypatch.setattr(ibfs, "STRIP_CELLS", 64)
    monkeypatch.setattr(ibfs, "MIN_STRIP_LINES", 2)


@pytest.mark.parametrize("stage", ["before", pytest.param("between", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("change", ["one terminal", pytest.param("all edges", marks=pytest.mark.thorough)])
@each_step
def test_errors_in_strips(change, stage, step, strips, counts):
    line_faults(SUBJECTS["small"], change, stage, counts, step)


@each_subject
def test_errors_while_copying(name):
    subject = SUBJECTS[name]
    for how in COPIES.values():
        solver, start = subject.at("between")
        for k in first_and_last(lines_of(lambda: how(solver))):  # noqa: B023
            fails_at(lambda: how(solver), k)  # noqa: B023
        judge(subject, solver, start)


# Interrupts by a timer


def timer_faults(name, rounds, counts):
    """Interrupt `update`, `solve` or both at random moments, and continue; switch between two states of the costs."""
    subject, rng = LARGE[name], random.Random(BASE)
    solver = subject.make(subject.start)
    changes = {change: (given, subject.undo(given)) for change, given in subject.changes.items()}
    took = dict.fromkeys(changes, math.inf)
    for _ in range(2):  # the first compiles
        for change, both in changes.items():
            begin = time.perf_counter()
            for given in both:
                solver.update(**given)
                solver.solve()
            took[change] = min(took[change], (time.perf_counter() - begin) / 2)
    for _ in range(rounds):
        change = rng.choice(list(changes))
        after = subject.after(change)
        for given, before, then in zip(changes[change], (subject.start, after), (after, subject.start), strict=True):
            interrupt_and_judge(subject, solver, given, before, then, took[change], rng, counts)


def interrupt_and_judge(subject, solver, given, before, after, seconds, rng, counts):
    kind = rng.choice(["update", "solve", "update and solve"])
    if kind == "solve":
        solver.update(**given)

    def call():
        if kind != "solve":
            solver.update(**given)
        if kind != "update":
            solver.solve()

    share = 0.3 if kind == "update" else 1.1
    if interrupted(call, rng.uniform(1e-5, max(2e-5, share * seconds))):
        counts[f"{subject.name}, {kind}"] += 1
    judge(subject, solver, after if kind == "solve" else before, after)
    solver.update(**given)
    judge(subject, solver, after)


@pytest.mark.skipif(not HAS_TIMER, reason="no timer that interrupts")
@pytest.mark.parametrize("name", LARGE)
def test_interrupts(name, counts):
    timer_faults(name, 5, counts)


@pytest.mark.thorough
@pytest.mark.skipif(not HAS_TIMER, reason="no timer that interrupts")
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("name", LARGE)
def test_thorough_interrupts(name, part, counts):
    before = counts.total()
    while counts.total() < before + 100:
        timer_faults(name, 10, counts)


# Two calls at once


@each_subject
def test_a_solver_in_use_is_refused(name):
    """From another thread, by a copy, and in a callback of its own; afterwards all is as before."""
    subject = SUBJECTS[name]
    solver, start = subject.at("after")
    given = next(iter(subject.changes.values()))
    inside, leave = threading.Event(), threading.Event()

    def wait():
        inside.set()
        assert leave.wait(60)

    class Capacities:
        """An argument whose conversion to an array takes long."""

        def __array__(self, dtype=None, copy=None):
            wait()
            return np.zeros((1, 1, 1, 1, 1), np.int32)

    def refused_update():
        with pytest.raises((TypeError, ValueError)):
            solver.update(**dict.fromkeys(list(given)[:1], Capacities()))

    thread = threading.Thread(target=refused_update)
    thread.start()
    assert inside.wait(60)
    message = f"this {type(solver).__name__} is in use by another thread"
    for call in (solver.solve, partial(solver.update, **given), *(partial(how, solver) for how in COPIES.values())):
        with pytest.raises(RuntimeError, match=message):
            call()
    leave.set()
    thread.join()
    judge(subject, solver, start)


@pytest.mark.parametrize("name", ["small", "labels"])
def test_a_callback_cannot_change_its_solver(name, strips):
    subject = SUBJECTS[name]
    given = next(iter(subject.changes.values()))
    for use in (lambda solver: solver.update(**given), lambda solver: solver.solve(), copy.deepcopy):
        solver, start = subject.at("before")
        with pytest.raises(RuntimeError, match="or by the call whose callback uses it"):
            solver.solve(callback=lambda stats: use(solver))  # noqa: B023
        judge(subject, solver, start)


@pytest.mark.parametrize("name", LARGE)
def test_threads_on_one_solver(name):
    """Every call is right or refused, and so is the solver when the threads have ended."""
    subject = LARGE[name]
    solver = subject.make(subject.start)
    given = next(iter(subject.changes.values()))
    both = subject.start, subject.after(next(iter(subject.changes)))
    refused, done = [], []

    def work(i):
        for _ in range(10):
            try:
                solver.update(**(given if i % 2 else subject.undo(given)))
                done.append(solver.solve())
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("is in use by another thread" in message for message in refused)
    assert done
    judge(subject, solver, *both)
    solver.update(**given)
    judge(subject, solver, both[1])


# Graphs as PyMaxflow's


def flow_network():
    """A graph of both kinds of arcs and terminals."""
    rng = np.random.default_rng(46)
    graph = maxflow.GraphInt()
    nodes = graph.add_grid_nodes((4, 5))
    graph.add_grid_edges(nodes, rng.integers(0, 9, (4, 5)))
    graph.add_edge(0, 19, 3, 1)
    graph.add_grid_tedges(nodes, *rng.integers(0, 9, (2, 4, 5)))
    graph.add_tedge(7, 40, 0)
    return graph


@pytest.mark.parametrize("how", [*COPIES, "its method"])
def test_copies_of_flow_networks(how):
    for solved in (False, True):
        graph = flow_network()
        value, edges = flow_network().maxflow(), graph.get_edge_count()
        if solved:
            graph.maxflow()
        twin = graph.copy() if how == "its method" else COPIES[how](graph)
        other = flow_network()
        for one in (twin, other):
            one.add_edge(7, 12, 50, 50)
            one.add_tedge(12, 0, 50)
        assert (graph.maxflow(), graph.get_edge_count()) == (value, edges)
        assert twin.get_edge_count() == edges + 2
        assert twin.maxflow() == other.maxflow() > value


def test_errors_at_every_line_of_flow_networks():
    """A call that fails has been made or not."""
    calls = {
        "an edge": lambda graph: graph.add_edge(7, 12, 50, 50),
        "edges": lambda graph: graph.add_edges([7, 1], [12, 2], [50, 1], 0),
        "edges of the grid": lambda graph: graph.add_grid_edges(np.arange(20).reshape(4, 5), 30),
        "a terminal": lambda graph: graph.add_tedge(12, 0, 50),
        "terminals": lambda graph: graph.add_grid_tedges(np.arange(20), 1, np.arange(20)),
        "a solve": lambda graph: graph.maxflow(),
    }
    for name, call in calls.items():
        allowed = set()
        for graph in (flow_network(), changed := flow_network()):
            if graph is changed:
                call(graph)
            allowed.add((graph.get_edge_count(), graph.maxflow(), graph.get_grid_segments(np.arange(20)).tobytes()))
        for k in range(len(lines_of(lambda: call(flow_network())))):  # noqa: B023
            graph = flow_network()
            fails_at(lambda: call(graph), k)  # noqa: B023
            found = (graph.get_edge_count(), graph.maxflow(), graph.get_grid_segments(np.arange(20)).tobytes())
            assert found in allowed, name
