"""Worker threads for kernels that run concurrently: Python threads, each in a kernel that has released the GIL.

Workers that wait for one another must not wait for a failed one, so they share an *abort cell*: an array, or another
mutable sequence, whose first entry is 0.  `run_threads` sets it to 1 when a worker raises an exception, a thread cannot
be started, or the calling thread is interrupted.  A worker reads the cell only while it waits, and returns if the cell
is set.  Its result is then discarded, since `run_threads` raises the error.

A thread and its caller agree through `claims` on whether the thread runs its worker: the first of the two to enter
its claim (RUNS or CANCELLED) decides.  So the caller never waits for a thread that was interrupted before it started,
and a thread that starts late does nothing.  `Thread.join` alone is not enough: before Python 3.13 an interrupted `join`
treats a running thread as finished.  The threads are daemons, since an interrupt in `Thread.start` may leave a thread
that never runs, for which Python would wait at exit.
"""

import sys
import threading
from collections.abc import Callable, MutableSequence
from typing import Any

import numba
import numpy as np

from gridcut.device.numba_internals import thread_count_without_lock

RUNS, CANCELLED = "runs", "cancelled"
RECHECK = 0.1  # seconds; an interrupt may lose the signal of a finished thread, but not its entry in `ended`


def thread_count() -> int:
    """Number of threads that a solver may use: numba's (numba.set_num_threads, NUMBA_NUM_THREADS)."""
    return thread_count_without_lock() or numba.get_num_threads()


def run_threads(
    worker: Callable[[int], Any],
    count: int,
    abort: MutableSequence | np.ndarray | None = None,
    *,
    in_caller: bool = True,
) -> list:
    """Run worker(0) to worker(count - 1) concurrently.

    Parameters
    ----------
    worker : callable
        Called with an index; should release the GIL.
    count : int
        Number of workers.  A single one runs in the calling thread.
    abort : mutable sequence, optional
        The abort cell, for workers that wait for one another; its first entry is set to 1 after an error.
    in_caller : bool, default: True
        Whether the last worker runs in the calling thread, which sees interrupts only between two calls of kernels.

    Returns
    -------
    list
        The results of the workers, by index.

    Raises
    ------
    BaseException
        The first error that a worker raised, or the interrupt of the calling thread.

    Notes
    -----
    When this function returns or raises, no worker is running.
    """
    if count == 0:
        return []
    if count == 1:
        return [worker(0)]
    started = count - in_caller
    results = [None] * count
    errors, handled = [], sys.exc_info()[1]
    claims, ended = {}, [False] * count
    signals = [threading.Lock() for _ in range(started)]

    def stop_others():
        if abort is not None:
            abort[0] = 1

    def fail(error):
        errors.append(error)
        stop_others()

    def run_in_thread(i):
        if claims.setdefault(i, RUNS) == RUNS:
            try:
                results[i] = worker(i)
            except BaseException as error:
                fail(error)
        ended[i] = True
        signals[i].release()

    def wait():
        for i, thread in enumerate(threads):
            if claims.get(i) == CANCELLED:
                continue
            while not ended[i]:
                signals[i].acquire(timeout=RECHECK)
            thread.join()

    def end_early():
        stop_others()
        for i in range(started):
            claims.setdefault(i, CANCELLED)
        wait()

    threads = [
        threading.Thread(target=run_in_thread, args=(i,), name=f"cutmatch-{i}", daemon=True) for i in range(started)
    ]
    for signal in signals:
        signal.acquire()
    try:
        for thread in threads:
            thread.start()
        if in_caller:
            try:
                results[-1] = worker(count - 1)
            except BaseException as error:
                fail(error)
        wait()
    except BaseException as error:  # an interrupt outside the worker, or a thread that cannot be started
        # Python's own locks may fail when they are interrupted, and raise another error.
        interrupted = isinstance(error.__context__, KeyboardInterrupt) and error.__context__ is not handled
        errors.append(error.__context__ if interrupted else error)
        _insist(end_early)
    if errors:
        raise errors[0]
    return results


def _insist(action) -> None:
    """Repeat an action until it completes without an interrupt."""
    while True:
        try:
            return action()
        except BaseException:
            continue
