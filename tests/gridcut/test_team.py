"""Teams of threads: no thread passes a barrier before all have arrived, and faults and interrupts end all of them."""

import threading
import time

import numpy as np
import pytest

from gridcut.device import atomic_add, kernel
from gridcut.device.threads import CELL, is_last, new_cells, release, run_team, wait
from tests.faults import HAS_TIMER, interrupted

STEPS = 40
SUM, WRONG = 0, CELL


@kernel
def meet(cells, threads, s, delays, steps):
    """Add to a sum in each step; the last thread to arrive compares it.  Returns the steps that were finished."""
    generation = 0
    while generation < steps:
        for _ in range(delays[generation % delays.size]):
            atomic_add(s, 2 * CELL, 1)
        atomic_add(s, SUM, 1)
        generation += 1
        if is_last(cells, threads, generation):
            s[WRONG] += s[SUM] != threads * generation
            release(cells, generation)
        elif not wait(cells, generation):
            return generation - 1
    return generation


@pytest.mark.parametrize("threads", [1, 2, 3, 16, pytest.param(64, marks=pytest.mark.slow)])
def test_all_arrive_before_one_goes_on(threads):
    rng = np.random.default_rng(threads)
    delays = rng.integers(0, 300, (threads, STEPS)) * (rng.random((threads, STEPS)) < 0.1)
    cells, s = new_cells(), np.zeros(3 * CELL, np.int64)
    ended = run_team(lambda i: meet(cells, threads, s, delays[i], STEPS), threads, cells)
    assert ended == [STEPS] * threads
    assert (s[SUM], s[WRONG]) == (threads * STEPS, 0)


@pytest.mark.parametrize("faulty", [0, 1, 2])
def test_a_fault_ends_all_threads(faulty):
    cells, s, ended = new_cells(), np.zeros(3 * CELL, np.int64), []

    def work(i):
        if i == faulty:
            time.sleep(0.01)  # the others sleep at their first barrier by then
            raise ZeroDivisionError
        ended.append(meet(cells, 3, s, np.zeros(1, np.int64), STEPS))

    with pytest.raises(ZeroDivisionError):
        run_team(work, 3, cells)
    assert ended == [0, 0]


@pytest.mark.skipif(not HAS_TIMER, reason="no timer that interrupts")
def test_an_interrupt_ends_all_threads():
    cells, s = new_cells(), np.zeros(3 * CELL, np.int64)
    run_team(lambda i: meet(cells, 2, s, np.zeros(1, np.int64), 1), 2, cells)  # compiles
    cells, before = new_cells(), threading.active_count()
    assert interrupted(lambda: run_team(lambda i: meet(cells, 2, s, np.full(1, 100), 2**40), 2, cells), 0.05)
    assert threading.active_count() == before
