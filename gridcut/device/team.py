"""A team of threads: they enter a compiled function once per call, and meet there at barriers.

Starting a Python thread takes as long as a small step of a search, so the threads of a team stay in one kernel for all
steps.  They share `cells` (new_cells).  A step ends with

    generation += 1
    if is_last(cells, threads, generation):
        ...  # of all threads, only this one is running: choose the next step
        release(cells, generation)
    elif not wait(cells, generation):
        return

The last thread to arrive decides what comes next, while the others wait.  A waiting thread first spins for some
microseconds, then yields its processor, and sleeps if it has waited for about a millisecond; so a team does not slow
down if other work takes its processors.  Threads share the work of a step by a counter: `atomic_add(array, i, chunk)`
returns the first item of a thread's next chunk.

All writes before a barrier are visible to all threads after it: the arrival is sequentially consistent, the release
is a store that releases, and each waiting thread acquires it.

`run_team` runs the kernel on threads while the calling thread waits for them in Python.  So an interrupt is seen at
once.  It sets the abort cell, as a fault of any thread does; then `wait` returns False in all threads, which leave.
"""

import platform
import sys
import time

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from gridcut.device.atomics import atomic_add, atomic_load, atomic_store
from gridcut.device.compile import inner_kernel
from gridcut.device.threads import run_threads

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
