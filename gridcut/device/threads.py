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

import platform
import sys
import threading
import time
from collections.abc import Callable, MutableSequence
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from gridcut.device.compile import inner_kernel
from gridcut.device.intrinsics import atomic_add, atomic_load, atomic_store
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


# Teams

CELL = 16  # int64 between two cells that different threads write: two cache lines, as they are loaded in pairs
ABORT, ARRIVED, GENERATION = 0, CELL, 2 * CELL
SPINS, YIELDS = 300, 2000  # about 10 microseconds, and about a millisecond
SLEEP = 50  # microseconds

if sys.platform == "win32":
    _yield = types.ExternalFunction("SwitchToThread", types.int32())
    _sleep = types.ExternalFunction("Sleep", types.void(types.uint32))  # milliseconds: 0 yields
    SLEEP = 1
else:
    _yield = types.ExternalFunction("sched_yield", types.int32())
    _sleep = types.ExternalFunction("usleep", types.int32(types.uint32))
HAS_PAUSE = platform.machine() in ("x86_64", "AMD64")


def new_cells() -> np.ndarray:
    """The cells of a team: abort, arrivals, generation."""
    return np.zeros(3 * CELL, np.int64)


def run_team(worker, threads: int, cells: np.ndarray) -> list:
    """Run worker(0) to worker(threads - 1), which meet at the barriers of `cells`; returns their results.

    A single worker runs in the calling thread; otherwise this only waits, for results and interrupts.
    """
    return run_threads(worker, threads, cells, in_caller=False)


@inner_kernel
def is_last(cells, threads, generation):
    """Arrive at a barrier; whether all other threads have arrived, so that this one must call `release`."""
    return atomic_add(cells, ARRIVED, 1) == generation * threads - 1


@inner_kernel
def release(cells, generation):
    """Let the threads go on that wait for this generation."""
    atomic_store(cells, GENERATION, generation)


@inner_kernel
def wait(cells, generation):
    """Wait until the last thread calls `release`; returns False if the team has to end early."""
    turns = 0
    while atomic_load(cells, GENERATION) < generation:
        if atomic_load(cells, ABORT):
            return False
        turns += 1
        if turns < SPINS:
            pause()
        elif turns < YIELDS:
            yield_processor()
        else:
            sleep()
    return atomic_load(cells, ABORT) == 0


def pause():
    """Tell the processor that this thread is spinning."""


def yield_processor():
    """Let another thread run on this processor, if one is waiting for it."""
    time.sleep(0)


def sleep():
    """Sleep for SLEEP microseconds."""
    time.sleep(1e-6 * SLEEP)


@intrinsic
def _pause(typingctx):
    def build(context, builder, sig, args):
        if HAS_PAUSE:
            kind = ir.FunctionType(ir.VoidType(), [])
            name = "llvm.x86.sse2.pause"
            builder.call(builder.module.globals.get(name) or ir.Function(builder.module, kind, name), [])
        return context.get_dummy_value()

    return types.void(), build


overload(pause)(lambda: lambda: _pause())
overload(yield_processor)(lambda: lambda: _yield())
overload(sleep)(lambda: lambda: _sleep(SLEEP))
