"""run_threads: no worker keeps running after an error in a worker or an interrupt of the caller."""

import random
import threading
import time

import numba
import pytest
from numba.np.ufunc import parallel as numba_threads

from gridcut.device import run_threads, thread_count
from tests.faults import HAS_TIMER, alive, interrupted

LIMIT = 30  # seconds until a waiting worker fails the test


def wait_for(abort) -> str:
    """Wait until the abort cell is set."""
    end = time.monotonic() + LIMIT
    while not abort[0]:
        assert time.monotonic() < end, "the abort cell was not set"
        time.sleep(1e-4)
    return "aborted"


@pytest.mark.parametrize("failing", range(4))
def test_an_error_sets_the_abort_cell(failing):
    abort = [0]

    def work(i):
        if i == failing:
            raise ValueError(f"from worker {i}")
        return wait_for(abort)

    with pytest.raises(ValueError, match=f"from worker {failing}"):
        run_threads(work, 4, abort)
    assert not alive()


@pytest.mark.parametrize("which", range(3))
def test_a_thread_that_cannot_be_started(which, monkeypatch):
    abort, ran, honest = [0], [], threading.Thread.start

    def start(thread):
        if thread.name == f"cutmatch-{which}":
            raise RuntimeError("can't start new thread")
        honest(thread)

    def work(i):
        ran.append(i)
        return wait_for(abort)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run_threads(work, 4, abort)
    assert set(ran) <= set(range(which)), "neither this thread nor later ones run"
    assert not alive()


def test_a_thread_that_starts_too_late_does_nothing(monkeypatch):
    """The caller is interrupted while it starts a thread, which runs only after the interrupt."""
    late, ran = [], []

    def start(thread):
        late.append(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(KeyboardInterrupt):
            run_threads(ran.append, 3)
    for thread in late:
        thread.start()
        thread.join()
    assert ran == []


def test_an_error_of_an_interrupted_lock_counts_as_the_interrupt(monkeypatch):
    """`Condition.wait` may raise such an error.  One raised while the caller handles an earlier interrupt is kept."""

    def start(thread):
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        run_threads(lambda i: i, 2)

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(RuntimeError, match="can't start"):
            run_threads(lambda i: i, 2)


def test_the_first_error_is_the_one_raised():
    abort = [0]

    def work(i):
        if i == 1:
            raise ValueError("first")
        wait_for(abort)
        raise KeyError("second")

    with pytest.raises(ValueError, match="first"):
        run_threads(work, 3, abort)


def test_without_an_abort_cell_and_with_one_worker():
    assert run_threads(lambda i: i + 1, 0) == []
    assert run_threads(lambda i: i + 1, 1) == [1]
    assert run_threads(lambda i: i * i, 5) == [0, 1, 4, 9, 16]
    with pytest.raises(ValueError, match="alone"):
        run_threads(lambda i: (_ for _ in ()).throw(ValueError("alone")), 1, [0])


@pytest.mark.skipif(not HAS_TIMER, reason="no timer that interrupts")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("own_worker_waits", [True, False], ids=["in the worker", "in the end"])
def test_interrupts(own_worker_waits):
    """At random moments: while threads start, in the caller's own worker, and while it waits for the others."""
    rng = random.Random(1)
    for _ in range(300):
        abort, running = [0], set()

        def work(i, abort=abort, running=running):
            running.add(i)
            if i < 3 or own_worker_waits:
                wait_for(abort)
            running.discard(i)

        begin = time.monotonic()
        # Repeated, since Python drops an interrupt that arrives while it cleans up after a thread.
        assert interrupted(lambda: run_threads(work, 4, abort), rng.uniform(1e-5, 2e-3), again=0.5)  # noqa: B023
        assert running <= {3}, "only the caller's own worker ends in the middle"
        while alive():  # a thread that was cancelled before it started ends without running its worker
            assert time.monotonic() - begin < LIMIT
            time.sleep(1e-4)
        assert time.monotonic() - begin < LIMIT


def test_the_count_takes_no_lock():
    """An interrupt may leave numba's lock acquired by the main thread; other threads must not wait for it."""
    numba.set_num_threads(numba.get_num_threads())  # numba's threads run from here on
    with numba_threads._backend_init_process_lock:
        thread = threading.Thread(target=thread_count, daemon=True)
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
